//! Error details of failed jobs and runs: the `details` that the specification defines for a code.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;

use super::json_object::set_field;
use crate::engine::output_schema::Violation;

/// The job or run that failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ErrorContext {
    /// The ID of the job or run.
    pub(super) id: String,
    /// The number of images that were generated.
    pub(super) images: usize,
    /// The URLs that the output should have contained.
    pub(super) rejected_urls: Vec<String>,
    pub(super) violations: Vec<Violation>,
}

impl ErrorContext {
    pub(super) fn for_job(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..Self::default()
        }
    }
}

/// Returns the details for a code, if it has any.
pub(super) fn details(code: &ErrorCode, context: &ErrorContext) -> Option<Value> {
    Some(match code {
        ErrorCode::OutputSchemaUnsatisfied => {
            let harvested = match context.images {
                0 => json!({}),
                images => json!({"image": images}),
            };
            let mut details = json!({"violations": context.violations, "harvested": harvested});
            let urls = (!context.rejected_urls.is_empty()).then(|| json!(context.rejected_urls));
            set_field(&mut details, "rejected_urls", urls);
            details
        }
        ErrorCode::AgentReportedFailure => {
            json!({"reason": "failure requested by a magic word"})
        }
        ErrorCode::IncompleteAssembly => {
            let token = context.id.split_once('_').map_or("", |(_, token)| token);
            let job = json!({
                "id": format!("job_{token}"),
                "type": "image_generation",
                "status": "processing",
            });
            json!({"pending_job_count": 1, "pending_jobs": [job]})
        }
        ErrorCode::OutputExtractionFailed => json!({"reason": "harvest_threw"}),
        ErrorCode::McpUnavailable => json!({"retryable": true, "charged": false}),
        ErrorCode::ProviderUnavailable => json!({"retryable": true}),
        _ => return None,
    })
}

//! What is told of a failure beyond its code: the `details` that the specification gives for the
//! code, of runs and of jobs that fail at will.

use serde_json::{Value, json};
use svc_sdk::contract::ErrorCode;

use crate::engine::output_schema::Violation;

/// What the details are made from.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ErrorContext {
    /// Whose failure it is.
    pub(super) id: String,
    /// How many images were made.
    pub(super) images: usize,
    /// The files that the output should have had in it.
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

/// The details of a failure, where its code has any.
pub(super) fn details(code: &ErrorCode, context: &ErrorContext) -> Option<Value> {
    Some(match code {
        ErrorCode::OutputSchemaUnsatisfied => {
            let harvested = match context.images {
                0 => json!({}),
                images => json!({"image": images}),
            };
            let mut details = json!({"violations": context.violations, "harvested": harvested});
            if let Some(fields) = details.as_object_mut()
                && !context.rejected_urls.is_empty()
            {
                fields.insert("rejected_urls".to_owned(), json!(context.rejected_urls));
            }
            details
        }
        ErrorCode::AgentReportedFailure => {
            json!({"reason": "The agent said that it did not deliver, as a magic word asked."})
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

//! Error details of failed jobs and runs: the `details` that the specification defines for a code.

use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus};

use crate::engine::Time;
use crate::engine::output_schema::Violation;
use crate::engine::runs::GenerationJob;

/// The job or run that failed.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ErrorContext {
    /// The number of images that were generated.
    pub(super) images: usize,
    /// The URLs of the output that are not files of the run.
    pub(super) rejected_urls: Vec<String>,
    pub(super) violations: Vec<Violation>,
    /// The generation jobs that are unfinished.
    pub(super) pending_jobs: Vec<GenerationJob>,
}

impl ErrorContext {
    pub(super) fn for_job(id: &str) -> Self {
        // The job itself is what the service waited for in vain.
        let job = GenerationJob {
            id: id.to_owned(),
            status: JobStatus::Processing,
            error: None,
            started_at: Time::default(),
            updated_at: Time::default(),
        };
        Self { pending_jobs: vec![job], ..Self::default() }
    }
}

pub(super) fn details(code: &ErrorCode, context: &ErrorContext) -> Option<Value> {
    Some(match code {
        ErrorCode::OutputSchemaUnsatisfied => {
            let harvested = match context.images {
                0 => json!({}),
                images => json!({"image": images}),
            };
            match context.rejected_urls.is_empty() {
                true => json!({"violations": context.violations, "harvested": harvested}),
                false => json!({"rejected_urls": context.rejected_urls, "harvested": harvested}),
            }
        }
        ErrorCode::AgentReportedFailure => {
            json!({"reason": "failure requested by a directive"})
        }
        ErrorCode::IncompleteAssembly => {
            let jobs = context.pending_jobs.iter();
            let jobs: Vec<Value> = jobs.map(GenerationJob::view).collect();
            json!({"pending_job_count": jobs.len(), "pending_jobs": jobs})
        }
        ErrorCode::OutputExtractionFailed => json!({"reason": "harvest_threw"}),
        ErrorCode::McpUnavailable => json!({"retryable": true, "charged": false}),
        ErrorCode::ProviderUnavailable => json!({"retryable": true}),
        _ => return None,
    })
}

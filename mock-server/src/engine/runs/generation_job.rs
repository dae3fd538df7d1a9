//! Generation jobs of runs. A run waits for its own, except for the one that is unfinished when the
//! run ends with `incomplete_assembly`.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use svc_sdk::contract::{ErrorCode, JobStatus, RunStatus};

use super::{PlannedOutcome, Run};
use crate::engine::jobs::JobType;
use crate::engine::{State, Time};

/// A generation job that a run has started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GenerationJob {
    pub(crate) id: String,
    pub(crate) status: JobStatus,
    pub(crate) error: Option<ErrorCode>,
    pub(crate) started_at: Time,
    pub(crate) updated_at: Time,
}

/// The end of a generation job, which the control API asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct GenerationJobEnd {
    status: JobStatus,
    error: Option<ErrorCode>,
    at: Time,
}

impl State {
    /// Returns the generation job with an id that a run does not wait for, and the run.
    pub(crate) fn unfinished_job(&self, id: &str) -> Option<(&Run, GenerationJob)> {
        let run = self.runs.by_id(&id.replacen("job", "run", 1))?;
        Some((run, run.unfinished_job(self.now)?))
    }

    pub(crate) fn end_unfinished_job(
        &mut self,
        id: &str,
        status: JobStatus,
        error: Option<ErrorCode>,
    ) {
        let number = self.runs.number(&id.replacen("job", "run", 1));
        if let Some(run) = number.and_then(|number| self.runs.get_mut(number)) {
            run.generation_job_end = Some(GenerationJobEnd { status, error, at: self.now });
        }
    }
}

impl GenerationJob {
    pub(crate) const JOB_TYPE: JobType = JobType::ImageGeneration;

    /// Returns the job as `pending_jobs` lists it.
    pub(crate) fn view(&self) -> Value {
        Self::view_of(&self.id, &self.status)
    }

    pub(crate) fn view_of(id: &str, status: &JobStatus) -> Value {
        json!({"id": id, "type": Self::JOB_TYPE.as_str(), "status": status})
    }
}

impl Run {
    /// Returns the generation job that the run does not wait for, once it has started.
    pub(crate) fn unfinished_job(&self, now: Time) -> Option<GenerationJob> {
        let incomplete = PlannedOutcome::Fails(ErrorCode::IncompleteAssembly);
        let started_at = self.timeline.generation_starts_at();
        let has_ended = self.status.is_terminal();
        let until = if has_ended { self.updated_at } else { now };
        if self.config.planned_outcome != incomplete || !self.started || started_at > until {
            return None;
        }
        // A run that ended for another reason canceled its job.
        let is_pending = |error: &super::RunError| error.code == ErrorCode::IncompleteAssembly;
        let is_canceled = match self.status {
            RunStatus::Failed => !self.error.as_ref().is_some_and(is_pending),
            _ => has_ended,
        };
        let id = self.id.replacen("run", "job", 1);
        if let Some(end) = &self.generation_job_end {
            let (status, error) = (end.status.clone(), end.error.clone());
            return Some(GenerationJob { id, status, error, started_at, updated_at: end.at });
        }
        Some(GenerationJob {
            id,
            error: None,
            status: if is_canceled { JobStatus::Canceled } else { JobStatus::Processing },
            started_at,
            updated_at: if is_canceled { until } else { started_at },
        })
    }
}

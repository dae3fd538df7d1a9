//! Runs of Actions, Formats and Agent Completions: what is known of each. Where they are found is in
//! `index`, how one goes in `lifecycle`, what it spends in `spend`, what it delivers in `delivery`.

mod checks;
mod index;
mod lifecycle;
mod output;
mod spend;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_sdk::contract::{ErrorCode, RunStatus};
use svc_sdk::types::Usd;

pub(crate) use index::{RunFilter, Runs};
pub(crate) use lifecycle::run_timers;
pub(crate) use output::RunOutput;
pub(crate) use spend::Spend;

use super::jobs::Artifact;
use super::{Time, Timeline};

/// What a run is a run of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunKind {
    Action,
    Format,
    Agent,
}

impl RunKind {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::Format => "format",
            Self::Agent => "agent",
        }
    }
}

/// How a run ends, unless somebody or its cap intervenes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlannedOutcome {
    Completes,
    /// Completes with media and without output.
    Degraded,
    Skipped,
    Fails(ErrorCode),
}

/// What a run is asked for, once that is judged. A queue keeps the orders of those that wait.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunConfig {
    /// The request that asked for it.
    pub(crate) request_id: String,
    pub(crate) workspace: String,
    pub(crate) kind: RunKind,
    /// The Format or the Action, by id.
    pub(crate) subject: Option<String>,
    pub(crate) previous_run_id: Option<String>,
    #[serde(rename = "fate")]
    pub(crate) planned_outcome: PlannedOutcome,
    /// Microseconds from its beginning to its end.
    #[serde(rename = "takes")]
    pub(crate) duration_micros: u64,
    /// Never ends.
    pub(crate) stuck: bool,
    /// What it would spend if there were no cap.
    pub(crate) cost: Usd,
    pub(crate) cap: Usd,
    /// What it spends cannot be read.
    pub(crate) usage_unreadable: bool,
    /// Its output is there at the second reading only.
    pub(crate) harvest_unavailable: bool,
    /// So many reads of it meet an outage.
    pub(crate) outages: u32,
    /// What its output has to fit.
    pub(crate) schema: Option<Value>,
    /// Whether it makes an image.
    pub(crate) makes_image: bool,
    pub(crate) webhook_url: Option<String>,
}

/// The place of a run in a bulk queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueuePosition {
    pub(crate) queue_id: String,
    pub(crate) index: usize,
}

/// Why a run failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

/// A run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    pub(crate) id: String,
    #[serde(rename = "order")]
    pub(crate) config: RunConfig,
    #[serde(rename = "place")]
    pub(crate) queue_position: Option<QueuePosition>,
    pub(crate) status: RunStatus,
    /// Whether the agent ever began.
    pub(crate) started: bool,
    pub(crate) updated_at: Time,
    #[serde(rename = "course")]
    pub(crate) timeline: Timeline,
    pub(crate) spend: Spend,
    #[serde(rename = "failing")]
    pub(crate) error: Option<RunError>,
    /// Known from the start, shown once they are made.
    pub(crate) artifacts: Vec<Artifact>,
    /// Whether they are.
    #[serde(rename = "made")]
    pub(crate) artifacts_ready: bool,
    /// Whether its output cannot be read yet.
    #[serde(rename = "unharvested")]
    pub(crate) output_pending: bool,
    /// How many reads will still meet an outage.
    #[serde(rename = "outages")]
    pub(crate) remaining_outages: u32,
}

impl Run {
    /// What it has made so far.
    pub(crate) fn ready_artifacts(&self) -> &[Artifact] {
        if self.artifacts_ready {
            &self.artifacts
        } else {
            &[]
        }
    }

    /// Whether there is a conversation that another run can take up.
    pub(crate) fn has_thread(&self) -> bool {
        let tools_missing = |run_error: &RunError| run_error.code == ErrorCode::McpUnavailable;
        self.started && !self.error.as_ref().is_some_and(tools_missing)
    }
}

//! Runs of Actions, Formats and Agent Completions.
//!
//! `index` stores them, `lifecycle` changes their status, `spend` splits their cost into pieces and
//! `output` builds their results. `thread` tells which conversation they belong to.

mod checks;
mod generation_job;
mod index;
mod lifecycle;
mod output;
mod spend;
mod thread;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use svc_sdk::contract::{ErrorCode, RunStatus};
use svc_sdk::types::Usd;

pub(crate) use generation_job::{GenerationJob, GenerationJobEnd};
pub(crate) use index::{RunFilter, Runs};
pub(crate) use lifecycle::run_timers;
pub(crate) use output::RunOutput;
pub(crate) use spend::Spend;
pub(crate) use thread::Thread;

use super::formats::DEFAULT_CAP;
use super::jobs::Artifact;
use super::keys::Source;
use super::{Time, Timeline};
use crate::named_enum::named_enum;

/// The duration of a run in service time, unless a directive sets another one.
pub(crate) const DEFAULT_DURATION: Duration = Duration::from_secs(10);
/// The amount that a run spends, unless a directive sets another one.
pub(crate) const DEFAULT_COST: Usd = Usd::from_micros(50_000);

named_enum! {
    #[derive(PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub(crate) enum RunKind {
        Action = "action",
        Format = "format",
        Agent = "agent",
    }
}

/// How a run ends unless it is canceled or exceeds its cap.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PlannedOutcome {
    Completes,
    /// The run completes with media but without output.
    Degraded,
    Skipped,
    Fails(ErrorCode),
}

/// The validated configuration of a run. Queues store the configurations of waiting runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunConfig {
    pub(crate) request_id: String,
    pub(crate) workspace: String,
    /// Whether the wallet of the workspace's organization pays for the run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) paid_by_organization: bool,
    /// What started the run; `None` for the schedule of an Action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) source: Option<Source>,
    pub(crate) kind: RunKind,
    /// The id of the Format or Action.
    pub(crate) subject: Option<String>,
    /// Whether the schedule of the Action started the run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(crate) scheduled: bool,
    pub(crate) previous_run_id: Option<String>,
    /// The thread of the previous run, which this run continues.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) continued_thread: Option<Thread>,
    #[serde(rename = "fate")]
    pub(crate) planned_outcome: PlannedOutcome,
    /// The microseconds from the start to the end.
    #[serde(rename = "takes")]
    pub(crate) duration_micros: u64,
    /// Whether the run never ends.
    pub(crate) stuck: bool,
    /// The amount that the run tries to spend, regardless of the cap.
    pub(crate) cost: Usd,
    pub(crate) cap: Usd,
    pub(crate) usage_unreadable: bool,
    /// Whether the output is available only from the second read on.
    pub(crate) harvest_unavailable: bool,
    /// The number of reads that fail with an outage.
    pub(crate) outages: u32,
    pub(crate) schema: Option<Value>,
    pub(crate) makes_image: bool,
    pub(crate) webhook_url: Option<String>,
}

impl RunConfig {
    /// Returns the configuration of an Agent Completion without request, schema and webhook.
    pub(crate) fn new(workspace: &str) -> Self {
        Self {
            request_id: String::new(),
            workspace: workspace.to_owned(),
            paid_by_organization: false,
            source: None,
            kind: RunKind::Agent,
            subject: None,
            scheduled: false,
            previous_run_id: None,
            continued_thread: None,
            planned_outcome: PlannedOutcome::Completes,
            duration_micros: u64::try_from(DEFAULT_DURATION.as_micros()).unwrap_or(u64::MAX),
            stuck: false,
            cost: DEFAULT_COST,
            cap: DEFAULT_CAP,
            usage_unreadable: false,
            harvest_unavailable: false,
            outages: 0,
            schema: None,
            makes_image: false,
            webhook_url: None,
        }
    }

    pub(crate) fn skipped(self) -> Self {
        Self { planned_outcome: PlannedOutcome::Skipped, ..self }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QueuePosition {
    pub(crate) queue_id: String,
    pub(crate) index: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RunError {
    pub(crate) code: ErrorCode,
    pub(crate) message: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    pub(crate) id: String,
    #[serde(rename = "order")]
    pub(crate) config: RunConfig,
    #[serde(rename = "place")]
    pub(crate) queue_position: Option<QueuePosition>,
    pub(crate) status: RunStatus,
    /// Whether the agent has started.
    pub(crate) started: bool,
    pub(crate) updated_at: Time,
    #[serde(rename = "course")]
    pub(crate) timeline: Timeline,
    pub(crate) spend: Spend,
    #[serde(rename = "failing")]
    pub(crate) error: Option<RunError>,
    /// The artifacts, which are determined at the start and shown when they are ready.
    pub(crate) artifacts: Vec<Artifact>,
    #[serde(rename = "made")]
    pub(crate) artifacts_ready: bool,
    #[serde(rename = "unharvested")]
    pub(crate) output_pending: bool,
    /// The number of further reads that fail with an outage.
    #[serde(rename = "outages")]
    pub(crate) remaining_outages: u32,
    /// The end of the generation job that the run does not wait for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) generation_job_end: Option<GenerationJobEnd>,
}

impl Run {
    pub(crate) fn ready_artifacts(&self) -> &[Artifact] {
        if self.artifacts_ready { &self.artifacts } else { &[] }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes fields by reference")]
fn is_false(value: &bool) -> bool {
    !value
}

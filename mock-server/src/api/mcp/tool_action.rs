//! What a tool does.

use svc_sdk::contract::Operation;

/// What a tool comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolAction {
    /// Submits a job: `POST` of that operation.
    Submit(Operation),
    /// Runs a Format.
    RunFormat,
    /// Runs an Agent Completion.
    Complete,
    /// Reads a job.
    ReadJob(Operation),
    /// The trimmed payload of a run, for polls.
    RunStatus,
    /// The receipt of a run that has ended.
    RunResult,
    /// Reads a list or a record that needs no id; the name that a list gets in the result.
    Read(Operation, Option<&'static str>),
}

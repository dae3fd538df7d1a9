//! Actions of tools.

use svc_sdk::contract::Operation;

/// The action of a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ToolAction {
    /// Submits a job with this operation.
    Submit(Operation),
    /// Runs a Format.
    RunFormat,
    /// Runs an Agent Completion.
    Complete,
    /// Reads a job.
    ReadJob(Operation),
    /// Reads the status of a run.
    RunStatus,
    /// Reads the receipt of a run that has ended.
    RunResult,
    /// Reads a list, which has this name in the result, or a record without an ID.
    Read(Operation, Option<&'static str>),
}

//! The three kinds of run, as types: a handle of one has no method that its kind lacks.

use std::fmt;

use crate::contract::Operation;
use crate::sealed::Sealed;
use crate::types::RunKind;

/// A kind of run: [`ActionRun`], [`FormatRun`] or [`AgentRun`].
pub trait Kind: Sealed + Copy + fmt::Debug + Send + Sync + Unpin + 'static {
    /// The kind, as receipts say it.
    const KIND: RunKind;
    /// Reads the receipt.
    const GET: Operation;
    /// Polls.
    const STATUS: Operation;
    /// Reads the terminal receipt.
    const RESULT: Operation;
    /// Cancels.
    const CANCEL: Operation;
    /// What starts one.
    const STARTS: &'static [Operation];
}

/// A run of an Action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActionRun;

/// A run of a Format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FormatRun;

/// A run of an Agent Completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgentRun;

impl Sealed for ActionRun {}
impl Sealed for FormatRun {}
impl Sealed for AgentRun {}

impl Kind for ActionRun {
    const KIND: RunKind = RunKind::Action;
    const GET: Operation = Operation::ActionRunsGet;
    const STATUS: Operation = Operation::ActionRunsStatus;
    const RESULT: Operation = Operation::ActionRunsResult;
    const CANCEL: Operation = Operation::ActionRunsCancel;
    const STARTS: &'static [Operation] = &[Operation::ActionsRunsCreate];
}

impl Kind for FormatRun {
    const KIND: RunKind = RunKind::Format;
    const GET: Operation = Operation::FormatRunsGet;
    const STATUS: Operation = Operation::FormatRunsStatus;
    const RESULT: Operation = Operation::FormatRunsResult;
    const CANCEL: Operation = Operation::FormatRunsCancel;
    const STARTS: &'static [Operation] = &[
        Operation::FormatsRunsCreate,
        Operation::FormatsBySlugRunsCreate,
    ];
}

impl Kind for AgentRun {
    const KIND: RunKind = RunKind::Agent;
    const GET: Operation = Operation::AgentRunsGet;
    const STATUS: Operation = Operation::AgentRunsStatus;
    const RESULT: Operation = Operation::AgentRunsResult;
    const CANCEL: Operation = Operation::AgentRunsCancel;
    const STARTS: &'static [Operation] = &[Operation::AgentCompletionsCreate];
}

/// Whether an operation starts a run, of whatever kind.
pub(crate) fn is_start(operation: Operation) -> bool {
    [ActionRun::STARTS, FormatRun::STARTS, AgentRun::STARTS]
        .iter()
        .any(|starts| starts.contains(&operation))
}

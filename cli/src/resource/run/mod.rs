//! Runs of Actions, Formats and Agent Completions.

mod finished;
mod handle;
mod kind;
pub(crate) mod summary;
pub(crate) mod tables;

pub(crate) use finished::{FinishedRun, outcome_of, spend};
pub(crate) use handle::terminal_receipt;
pub(crate) use kind::{RunKind, kind_of_operation};

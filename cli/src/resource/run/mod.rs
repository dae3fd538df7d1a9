//! Runs of Actions, Formats and Agent Completions.

mod finished;
mod handle;
mod kind;
pub(crate) mod summary;
pub(crate) mod tables;

pub(crate) use finished::{outcome_of, spend};
pub(crate) use handle::terminal_receipt;
pub(crate) use kind::{RunKind, kind_of_operation};

/// A finished run.
pub(crate) type FinishedRun = crate::resource::Finished<svc_sdk::types::RunReceipt>;

//! Failures of commands, and the exit codes that they end with.

mod exit;
mod failure;
mod sdk_error;

pub(crate) use exit::Exit;
pub(crate) use failure::Failure;

//! Failures of commands, and the exit codes that they end with.

mod exit;
mod failure;
mod sdk_error;
mod suggestion;

pub(crate) use crate::error::exit::{ClientCode, Exit};
pub(crate) use crate::error::failure::{Failure, SetupProblem, causes, is_disk_full};
#[cfg(feature = "mcp")]
pub(crate) use crate::error::sdk_error::add_funds;
pub(crate) use crate::error::sdk_error::{ConnectionRefused, message};
pub(crate) use crate::error::suggestion::{KeptFlags, SuggestedCommand, Suggestion};

/// What a command returns, and what it calls.
pub(crate) type Result<T = (), E = Failure> = std::result::Result<T, E>;

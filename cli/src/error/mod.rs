//! Failures of commands, and the exit codes that they end with.

mod code;
mod exit;
mod failure;
mod sdk_error;
mod usage;

pub(crate) use code::ClientCode;
pub(crate) use exit::Exit;
pub(crate) use failure::Failure;
pub(crate) use sdk_error::with_causes;
pub(crate) use usage::{requested_color, requests_json, usage_failure};

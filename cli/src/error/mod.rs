//! Failures of commands, and the exit codes that they end with.

mod code;
mod exit;
mod failure;
mod sdk_error;
mod usage;

pub(crate) use code::ClientCode;
pub(crate) use exit::Exit;
pub(crate) use failure::{Failure, SetupProblem};
pub(crate) use sdk_error::message;
pub(crate) use usage::{plain_words, requested_color, requests_json, usage_failure};

//! Failures of commands, and the exit codes that they end with.

mod exit;
mod failure;
pub(crate) mod mistyped;
mod sdk_error;
mod suggestion;
mod usage;

pub(crate) use crate::error::exit::{ClientCode, Exit};
pub(crate) use crate::error::failure::{Failure, SetupProblem};
pub(crate) use crate::error::sdk_error::message;
pub(crate) use crate::error::suggestion::Suggestion;
pub(crate) use crate::error::usage::{
    plain_number_error, requested_color, requests_json, usage_failure,
};

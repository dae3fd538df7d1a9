//! Runs of Actions, Formats and Agent Completions: request fields, handlers and receipts.

mod attachments;
mod handlers;
mod receipt;
mod request;
mod unknown_fields;

pub(crate) use handlers::run_events;
pub(super) use handlers::{cancel, events, find, get, list, redeliver, result, start, status};
pub(crate) use receipt::with_delivery as run_view;
pub(super) use receipt::{operations, receipt};
pub(super) use request::{
    COMMUNICATION_FIELDS, RunDefaults, RunRequest, check_funds, check_requested_error, spend_cap,
    webhook_url,
};
pub(super) use unknown_fields::deny_unknown;

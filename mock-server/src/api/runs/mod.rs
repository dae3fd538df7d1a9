//! Runs of Actions, Formats and Agent Completions: request fields, handlers and receipts.

mod attachments;
mod communication;
mod handlers;
mod receipt;
mod request;
mod unknown_fields;

pub(super) use communication::{FIELDS as COMMUNICATION_FIELDS, webhook_url};
pub(crate) use handlers::run_events;
pub(super) use handlers::{cancel, events, find, get, list, redeliver, result, start, status};
pub(crate) use receipt::with_delivery as run_view;
pub(super) use receipt::{operations, receipt};
pub(super) use request::{RunDefaults, RunRequest, check_funds, check_requested_error, spend_cap};
pub(super) use unknown_fields::deny_unknown;

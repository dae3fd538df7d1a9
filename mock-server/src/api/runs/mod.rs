//! Runs of Actions, Formats and Agent Completions: what they are asked for, and how they are read.

mod attachments;
mod communication;
mod events;
mod handlers;
mod receipt;
mod request;
mod unknown_fields;

pub(super) use communication::{FIELDS as COMMUNICATION, webhook_url};
pub(super) use events::list as events;
pub(super) use handlers::{begin, cancel, find, get, list, redeliver, result, status};
pub(super) use receipt::receipt;
pub(super) use request::{Asked, Terms, check_funds, check_magic, spend_cap};
pub(super) use unknown_fields::only;

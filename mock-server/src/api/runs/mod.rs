//! Runs of Actions, Formats and Agent Completions: what they are asked for, and how they are read.

mod asked;
mod attachments;
mod communication;
mod events;
mod handlers;
mod parameters;
mod receipt;

pub(super) use asked::{Asked, Terms, check_funds, check_magic, spend_cap};
pub(super) use communication::{FIELDS as COMMUNICATION, webhook_url};
pub(super) use events::list as events;
pub(super) use handlers::{begin, cancel, find, get, list, redeliver, result, status};
pub(super) use parameters::only;
pub(super) use receipt::receipt;

//! Webhooks: events, attempts, signatures and redelivery.

mod attempts;
mod job_events;
mod redelivery;
mod run_events;
mod secrets;

use super::*;

//! Webhooks: the queue of announcements, their delivery with retries, and a log of all attempts.

mod delivery;
pub(crate) mod log;
pub(crate) mod queue;
mod retry;
mod sending;
pub(crate) mod signature;

pub use delivery::{Delivery, DeliveryId, DeliveryOutcome};
#[cfg(feature = "webhook-sender")]
pub(crate) use log::MAX_RESPONSE_BYTES;
pub(crate) use queue::DeliveryStatus;

//! The service's state and the rules by which it changes.
//!
//! There is no clock, no socket and no thread here, and nothing of HTTP bodies: what a request may
//! contain and what is answered is in `api`, and [`Simulator`](crate::Simulator) ties both together.

pub(crate) mod actions;
pub(crate) mod assets;
mod call;
pub(crate) mod canonical;
pub(crate) mod chance;
mod course;
pub(crate) mod credential;
pub(crate) mod deliveries;
mod delivery;
pub(crate) mod destination;
mod error;
mod faults;
pub(crate) mod formats;
pub(crate) mod idempotency;
pub(crate) mod jobs;
pub(crate) mod journal;
pub(crate) mod keys;
pub(crate) mod ledger;
pub(crate) mod magic;
pub(crate) mod models;
pub(crate) mod outbox;
pub(crate) mod output_schema;
mod pairs;
pub(crate) mod queues;
pub(crate) mod rate_limit;
pub(crate) mod resources;
mod retries;
pub(crate) mod runs;
mod sending;
mod settings;
pub(crate) mod signature;
pub(crate) mod snapshot;
pub(crate) mod speech;
mod state;
mod time;
pub(crate) mod timers;
pub(crate) mod top_ups;
pub(crate) mod url_placeholders;
pub(crate) mod workspaces;

pub use call::{Call, Hold, Host, Reply, Wire};
pub(crate) use course::Course;
pub use delivery::{Delivery, DeliveryId, DeliveryOutcome};
pub use error::{ControlError, RestoreError};
pub use faults::{Fault, FaultKind};
pub use keys::{AddedKey, KeyKind, NewKey};
pub use settings::{Hosts, Settings};
pub(crate) use state::{Ended, State};
pub use time::Time;

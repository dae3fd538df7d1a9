//! The state of the simulated service and the rules by which it changes.
//!
//! The engine uses no clock, sockets or threads, and does not know HTTP bodies. Requests and
//! responses are handled in `api`; `Simulator` connects the two.

pub(crate) mod actions;
pub(crate) mod assets;
mod call;
pub(crate) mod credential;
pub(crate) mod destination;
pub(crate) mod directives;
mod error;
pub(crate) mod fault_rules;
pub(crate) mod formats;
pub(crate) mod grants;
pub(crate) mod host_addresses;
pub(crate) mod idempotency;
pub(crate) mod jobs;
pub(crate) mod json_text;
pub(crate) mod keys;
pub(crate) mod ledger;
pub(crate) mod models;
pub(crate) mod output_schema;
pub(crate) mod page;
mod plans;
pub(crate) mod profiles;
pub(crate) mod queues;
pub(crate) mod rate_limit;
pub(crate) mod request_log;
pub(crate) mod resources;
mod retention;
pub(crate) mod runs;
mod serde_list;
mod serde_pairs;
mod settings;
pub(crate) mod shared_list;
pub(crate) mod snapshot;
pub(crate) mod speech;
mod state;
pub(crate) mod time;
mod timeline;
pub(crate) mod timers;
pub(crate) mod top_ups;
pub(crate) mod url_placeholders;
pub(crate) mod versioned_models;
pub(crate) mod webhooks;
pub(crate) mod workspaces;

pub use assets::NewAsset;
pub(crate) use call::PublicSurface;
pub use call::{Host, HostRequest, PendingReply, Reply, Transmission};
pub use error::{ControlError, RestoreError};
pub use fault_rules::{Fault, FaultKind, FaultTarget};
pub use grants::Grant;
pub use host_addresses::HostAddress;
pub use keys::{AddedKey, KeyKind, NewKey};
pub use plans::PlanLimits;
pub use settings::{Hosts, Settings, UndocumentedKeys};
pub(crate) use state::{Ended, State};
pub use time::Time;
pub(crate) use timeline::Timeline;
#[cfg(feature = "webhook-sender")]
pub(crate) use webhooks::MAX_RESPONSE_BYTES;
pub use webhooks::{Delivery, DeliveryId, DeliveryOutcome};
pub use workspaces::{CreatedWorkspace, NewWorkspace, OrganizationWallet, WorkspaceUpdate};

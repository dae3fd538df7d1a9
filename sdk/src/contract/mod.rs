//! What the service defines: operations, error codes, scopes, statuses, plans and limits.
//!
//! Nothing in this module does I/O. The bodies of requests and responses are in
//! [`types`](crate::types).

mod account;
mod error_code;
pub mod limits;
mod operation;
mod operation_attributes;
mod operation_table;
mod status;

pub use account::{Plan, Scope};
pub use error_code::{ErrorCategory, ErrorCode, ErrorDefaults, NextAction};
pub use operation::PathError;
pub use operation_attributes::{Auth, Idempotency, Method, RateLimitBucket, RetryClass, Surface};
#[cfg(feature = "client")]
pub(crate) use operation_attributes::{idempotency_section, idempotency_text};
pub use operation_table::Operation;
#[doc(hidden)]
pub use operation_table::exhaustive;
pub use status::{DeliveryStatus, JobStatus, QueueStatus, RunStatus, TopUpStatus};

//! What the service defines: operations, error codes, scopes, statuses, plans and limits.
//!
//! Nothing in this module does I/O. The bodies of requests and responses are in
//! [`types`](crate::types).

mod error_code;
pub mod limits;
mod operation;
mod operation_attributes;
mod operation_table;
mod plan;
mod scope;
mod status;

pub use error_code::{ErrorCategory, ErrorCode, ErrorDefaults, NextAction};
pub use operation::PathError;
#[cfg(feature = "client")]
pub(crate) use operation_attributes::idempotency_text;
pub use operation_attributes::{Auth, Idempotency, Method, RateLimitBucket, RetryClass, Surface};
pub use operation_table::Operation;
#[doc(hidden)]
pub use operation_table::exhaustive;
pub use plan::Plan;
pub use scope::Scope;
pub use status::{DeliveryStatus, JobStatus, QueueStatus, RunStatus, TopUpStatus};

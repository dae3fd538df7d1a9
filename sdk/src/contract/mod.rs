//! The service as data: operations, error codes, scopes, statuses, plans and limits.
//!
//! Nothing in this module does I/O. The bodies of requests and responses are in
//! [`types`](crate::types).

mod attributes;
mod error_code;
pub mod limits;
mod operation;
mod plan;
mod scope;
mod status;
mod table;

pub use attributes::{Auth, Method, RateLimitBucket, RetryClass, Surface};
pub use error_code::{ErrorCategory, ErrorCode, ErrorDefaults, NextAction};
pub use operation::PathError;
pub use plan::Plan;
pub use scope::Scope;
pub use status::{DeliveryStatus, JobStatus, QueueStatus, RunStatus, TopUpStatus};
pub use table::Operation;

//! The service as data: its operations, codes, scopes, statuses, limits and model profiles.
//!
//! Nothing here does I/O. What the service says in a body is in [`types`](crate::types).

mod attributes;
mod codes;
mod error_code;
pub mod limits;
mod operation;
mod plan;
pub mod profile;
mod scope;
mod status;
mod table;

pub use attributes::{Auth, Budget, Method, RetryClass, Surface};
pub use error_code::{CatalogueEntry, ErrorCategory, ErrorCode, NextAction};
pub use operation::PathError;
pub use plan::{Plan, READ_MULTIPLE, UNAUTHENTICATED_READ_MULTIPLE};
pub use scope::Scope;
pub use status::{DeliveryStatus, JobStatus, QueueStatus, RunStatus, TopUpStatus};
pub use table::Operation;

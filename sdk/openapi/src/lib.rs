//! The svc service as an OpenAPI 3.1 document.
//!
//! [`document`] generates the document from the SDK: paths, credentials and scopes come from
//! [`Operation`](svc_sdk::contract::Operation), schemas from the types of request and response
//! bodies, bounds from [`limits`](svc_sdk::contract::limits). Only the error codes of each operation
//! ([`error_codes`]) and the examples are written here. [`compare`] reports how another document, such
//! as the one that the live service publishes, differs from it.
//!
//! ```
//! use svc_openapi::{ChangeKind, Servers};
//!
//! let ours = svc_openapi::document(&Servers::default());
//! assert_eq!(ours["paths"]["/v1/jobs/{id}"]["get"]["operationId"], "jobs_get");
//!
//! let mut theirs = ours.clone();
//! theirs["paths"].as_object_mut().unwrap().remove("/v1/balance");
//! let differences = svc_openapi::compare(&ours, &theirs);
//! assert_eq!(differences.len(), 1);
//! assert_eq!(differences[0].kind, ChangeKind::Gone);
//! assert_eq!(differences[0].location, "balance");
//! assert!(differences[0].breaking);
//! ```
//!
//! # Extensions
//!
//! | keyword | meaning |
//! |---|---|
//! | `x-assumed` | The specification does not define this; the mock server implements it this way. |
//! | `x-open-set`, `x-assumed-values` | The service may add values; these values are assumed. |
//! | `x-scope` | The scope that the API key needs. |
//! | `x-budget` | The rate-limit bucket: `read` or `write`. |
//! | `x-svc-rules` | Rules that the service checks beyond the schemas: their names in an operation, their texts in the document. |
//! | `x-retry` | The [`RetryClass`](svc_sdk::contract::RetryClass). |
//!
//! Routes that are hidden from the public schema are left out.

mod assumed_fields;
mod bodies;
mod bounds;
mod compare;
mod doc_comments;
mod document;
mod error_codes;
mod error_responses;
mod examples;
mod headers;
mod open_sets;
mod operation;
mod parameters;
mod rules;
mod schemas;
mod servers;
mod service_rules;
#[cfg(test)]
mod tests;
mod webhooks;

pub use self::compare::{ChangeKind, Difference, Part, compare};
pub use self::document::document;
pub use self::error_codes::error_codes;
pub use self::servers::Servers;

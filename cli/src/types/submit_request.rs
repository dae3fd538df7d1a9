//! Requests that submit something.

use serde_json::{Map, Value};
use svc_sdk::contract::Operation;

/// What is to be made.
#[derive(Debug)]
pub(crate) struct SubmitRequest {
    /// What it is called: `video`.
    pub(crate) noun: &'static str,
    /// Which operation makes it.
    pub(crate) operation: Operation,
    /// The values of its path's placeholders.
    pub(crate) segments: Vec<String>,
    /// The request's body.
    pub(crate) body: Map<String, Value>,
}

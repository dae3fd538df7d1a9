//! Requests before they are sent: their bodies, from flags and from rows of files, and their prices.

pub(crate) mod body;
pub(crate) mod pricing;
pub(crate) mod rows;

use serde_json::{Map, Value};
use svc_sdk::contract::Operation;

#[derive(Debug)]
pub(crate) struct SubmitRequest {
    pub(crate) noun: &'static str,
    pub(crate) operation: Operation,
    pub(crate) segments: Vec<String>,
    pub(crate) body: Map<String, Value>,
}

impl SubmitRequest {
    /// Creates a request of an operation whose path has no placeholders.
    pub(crate) fn new(noun: &'static str, operation: Operation, body: Map<String, Value>) -> Self {
        Self { noun, operation, segments: Vec::new(), body }
    }
}

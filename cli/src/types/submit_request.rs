//! Submit requests.

use serde_json::{Map, Value};
use svc_sdk::contract::Operation;

/// A request that submits a job, a run or a queue.
#[derive(Debug)]
pub(crate) struct SubmitRequest {
    /// The noun in messages, such as `video`.
    pub(crate) noun: &'static str,
    /// The operation that submits it.
    pub(crate) operation: Operation,
    /// The values of the path's placeholders.
    pub(crate) segments: Vec<String>,
    /// The request body.
    pub(crate) body: Map<String, Value>,
}

//! Requests that a tool sends to read data.

use serde_json::Value;
use svc_sdk::contract::Operation;
use svc_sdk::{Client, ClientSurface};

use super::tool_error::ToolError;

/// A request that is free of charge: an operation, its path segments and its body.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApiRequest<'a> {
    operation: Operation,
    segments: &'a [&'a str],
    body: Option<&'a Value>,
}

impl<'a> ApiRequest<'a> {
    /// Creates a request without a body.
    pub(super) fn new(operation: Operation, segments: &'a [&'a str]) -> Self {
        Self { operation, segments, body: None }
    }

    /// Adds a body.
    pub(super) fn body(self, body: &'a Value) -> Self {
        Self { body: Some(body), ..self }
    }

    /// Sends the request, and returns the response's `data`.
    pub(super) async fn send<S: ClientSurface>(
        self,
        client: &Client<S>,
    ) -> Result<Value, ToolError> {
        let path = self.operation.expand(self.segments);
        let path = path.map_err(|error| ToolError::new("invalid_request", error.to_string()))?;
        let mut raw = client.raw_request(self.operation.method(), &path);
        if let Some(body) = self.body {
            raw = raw.body(body);
        }
        let response = raw.await.map_err(|error| ToolError::from(&error))?;
        let mut body: Value = serde_json::from_slice(&response.body).map_err(|_| {
            let status = response.status;
            ToolError::new("no_answer", format!("cannot decode the response with status {status}"))
        })?;
        Ok(body.get_mut("data").map_or(Value::Null, Value::take))
    }
}

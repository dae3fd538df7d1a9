//! Messages to the MCP endpoint, as the network sees them.

use bytes::Bytes;
use serde_json::Value;
use svc_sdk::contract::RetryClass;

use super::orders::ResourceKind;
use super::tools::{KEY, PAID_TOOLS, resource_id};

/// A JSON-RPC message of a client.
#[derive(Clone, Debug)]
pub(super) struct McpMessage {
    pub(super) method: String,
    /// What it makes, if it calls a tool that costs money.
    made: Option<ResourceKind>,
    has_key: bool,
}

impl McpMessage {
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let message: Value = serde_json::from_slice(body).ok()?;
        let tool = message["params"]["name"].as_str();
        let paid = PAID_TOOLS.iter().find(|paid| tool == Some(paid.name));
        Some(Self {
            method: message["method"].as_str().unwrap_or_default().to_owned(),
            made: paid.map(|paid| paid.kind),
            has_key: message["params"]["arguments"][KEY].is_string(),
        })
    }

    /// Whether it calls a tool that costs money.
    pub(super) fn is_paid(&self) -> bool {
        self.made.is_some()
    }

    /// Returns when a client may send the message again. The service documents keys for runs only.
    pub(super) fn retry_class(&self) -> RetryClass {
        match (self.made, self.has_key) {
            (None, _) => RetryClass::Idempotent,
            (Some(_), false) => RetryClass::Never,
            (Some(ResourceKind::DeveloperJob), true) => RetryClass::Unsent,
            (Some(_), true) => RetryClass::Key,
        }
    }
}

/// Returns the message without its idempotency key.
pub(super) fn without_key(body: &Bytes) -> Bytes {
    change(body, |message| {
        let arguments = message.pointer_mut("/params/arguments");
        if let Some(Value::Object(arguments)) = arguments {
            arguments.remove(KEY);
        }
    })
}

/// Returns the reply without the argument for idempotency keys in its list of tools.
pub(super) fn without_documented_keys(body: &Bytes) -> Bytes {
    change(body, |reply| {
        let tools = reply.pointer_mut("/result/tools");
        for tool in tools.and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(Value::Object(arguments)) = tool.pointer_mut("/inputSchema/properties") {
                arguments.remove(KEY);
            }
        }
    })
}

fn change(body: &Bytes, change: impl FnOnce(&mut Value)) -> Bytes {
    let Ok(mut json) = serde_json::from_slice::<Value>(body) else { return body.clone() };
    change(&mut json);
    Bytes::from(json.to_string())
}

/// Returns the id of the job or run that the reply to a paid call names, or `None` if the call was
/// rejected.
pub(super) fn created_id(reply: &Value) -> Option<String> {
    resource_id(&reply["result"]["structuredContent"])
}

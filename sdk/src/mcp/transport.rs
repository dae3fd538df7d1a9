//! The HTTP client behind `rmcp`, which sends messages through [`Core`] so that the API key, the
//! rate limit and the retry rules apply.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use http::header::ACCEPT;
use http::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::Sse;

use super::response::{SESSION_ID, decode, into_reply};
use super::tool::ToolCache;
use crate::call::{CallOptions, Core, Request};
use crate::contract::{Operation, RetryClass};
use crate::types::IdempotencyKey;

/// Sends the messages of `rmcp` to the configured endpoint.
#[derive(Clone)]
pub(super) struct McpTransport {
    pub(super) core: Arc<Core>,
    pub(super) tools: Arc<ToolCache>,
}

type Result<T> = std::result::Result<T, StreamableHttpError<crate::Error>>;
type EventStream = Pin<Box<dyn Stream<Item = std::result::Result<Sse, sse_stream::Error>> + Send>>;

impl StreamableHttpClient for McpTransport {
    type Error = crate::Error;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse> {
        let message = serde_json::to_value(&message).map_err(StreamableHttpError::Deserialize)?;
        self.send(&message, session_id.as_deref(), headers)
            .await
            .map_err(StreamableHttpError::Client)
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        _: Arc<str>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<()> {
        // The endpoint expires unused sessions, so none has to be deleted.
        Ok(())
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Result<EventStream> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

impl McpTransport {
    async fn send(
        &self,
        message: &Value,
        session_id: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> crate::Result<StreamableHttpPostResponse> {
        // The base URL is already the endpoint's complete URL.
        let operation = Operation::Mcp;
        let request = Request::raw(Some(operation), operation.method(), String::new());
        let mut request = request.with_body(message)?;
        let retry_class = self.retry_class(message);
        let has_effects = matches!(retry_class, RetryClass::Key | RetryClass::Never);
        request.retry_class = Some(retry_class);
        request.headers = headers.into_iter().collect();
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        request.headers.insert(ACCEPT, accept);
        if let Some(session_id) = session_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            request.headers.insert(SESSION_ID, session_id);
        }
        let options = CallOptions::default();
        self.core
            .execute(&request, &options, |response| {
                decode(message, has_effects, response)
            })
            .await
            .or_else(|error| into_reply(message, error))
            .map_err(|error| error.with_key(idempotency_key(message).as_ref()))
    }

    /// Returns whether a message may be sent again after a failure.
    ///
    /// A tool call may be retried if the tool is read-only or if the call has an idempotency key.
    /// All other messages of the protocol are idempotent.
    fn retry_class(&self, message: &Value) -> RetryClass {
        let method = message.get("method").and_then(Value::as_str);
        let tool = message.pointer("/params/name").and_then(Value::as_str);
        match (method, tool) {
            (Some("tools/call"), Some(tool)) if self.tools.is_read_only(tool) => RetryClass::Safe,
            (Some("tools/call"), _) if idempotency_key(message).is_some() => RetryClass::Key,
            (Some("tools/call"), _) => RetryClass::Never,
            _ => RetryClass::Idempotent,
        }
    }
}

/// Returns the idempotency key among the arguments of a tool call.
fn idempotency_key(message: &Value) -> Option<IdempotencyKey> {
    let key = message.pointer("/params/arguments/idempotency_key")?;
    key.as_str()?.parse().ok()
}

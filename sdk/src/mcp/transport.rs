//! The HTTP client behind `rmcp`, which sends messages through [`Core`] so that the API key, the
//! rate limit and the retry rules apply.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use http::header::ACCEPT;
use http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::Sse;

use super::receipt::receipt;
use super::response::{SESSION_ID, decode, into_reply};
use super::tool::ToolCache;
use crate::call::deadline::Deadline;
use crate::call::{CallOptions, Core, Request};
use crate::contract::{Operation, RetryClass};
use crate::error::Kind;
use crate::journal::ActiveIntent;
use crate::journal::settlement::Settlement;
use crate::types::IdempotencyKey;

/// Sends the messages of `rmcp` to the configured endpoint.
#[derive(Clone)]
pub(super) struct McpTransport {
    pub(super) core: Arc<Core>,
    pub(super) tools: Arc<ToolCache>,
}

type McpResult<T> = Result<T, StreamableHttpError<crate::Error>>;
type EventStream = Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>;

impl StreamableHttpClient for McpTransport {
    type Error = crate::Error;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> McpResult<StreamableHttpPostResponse> {
        let intent = intent_of(&message);
        let message = serde_json::to_value(&message).map_err(StreamableHttpError::Deserialize)?;
        self.send(&message, session_id.as_deref(), headers, intent.as_deref())
            .await
            .map_err(StreamableHttpError::Client)
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        _: Arc<str>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> McpResult<()> {
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
    ) -> McpResult<EventStream> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

impl McpTransport {
    async fn send(
        &self,
        message: &Value,
        session_id: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
        intent: Option<&ActiveIntent>,
    ) -> crate::Result<StreamableHttpPostResponse> {
        // The base URL is already the endpoint's complete URL.
        let operation = Operation::Mcp;
        let request = Request::raw(Some(operation), operation.method(), String::new());
        let mut request = request.with_body(message)?;
        let retry_class = match self.retry_class(message) {
            RetryClass::Safe if intent.is_some() => RetryClass::Never,
            retry_class => retry_class,
        };
        let has_effects = matches!(retry_class, RetryClass::Key | RetryClass::Never);
        request.retry_class = Some(retry_class);
        request.headers = headers.into_iter().collect();
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        request.headers.insert(ACCEPT, accept);
        if let Some(session_id) = session_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            request.headers.insert(SESSION_ID, session_id);
        }
        let options = CallOptions::default();
        let deadline = Deadline::after(self.core.timeout);
        let sent = self
            .core
            .execute(&request, &options, &deadline, intent, |response| {
                decode(message, has_effects, response)
            })
            .await;
        let sent = match intent {
            Some(intent) => record(&self.core, message, sent, intent).await,
            None => sent,
        };
        sent.or_else(|error| into_reply(message, error))
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

/// Returns the intent of a call that is in a journal.
fn intent_of(message: &ClientJsonRpcMessage) -> Option<Arc<ActiveIntent>> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    match &request.request {
        ClientRequest::CallToolRequest(call) => call.extensions.get().cloned(),
        _ => None,
    }
}

/// Writes to the intent of a call what became of it.
async fn record(
    core: &Core,
    message: &Value,
    sent: crate::Result<StreamableHttpPostResponse>,
    intent: &ActiveIntent,
) -> crate::Result<StreamableHttpPostResponse> {
    match &sent {
        Ok(StreamableHttpPostResponse::Json(reply, _)) => {
            let reply = serde_json::to_value(reply).unwrap_or_default();
            let tool = message.pointer("/params/name").and_then(Value::as_str);
            let structured = reply.pointer("/result/structuredContent");
            let receipt = structured.and_then(|it| receipt(tool.unwrap_or_default(), it));
            // Without an id, the call can be sent again if the tool accepts a key.
            if let Some(receipt) = receipt
                && let Err(error) = intent.accepted(receipt).await
            {
                core.report_journal_failure(intent, &error);
            }
            sent
        }
        Ok(_) => sent,
        Err(error) => {
            let is_unknown = match error.variant() {
                // A reply that cannot be read does not say that the tool ran.
                Kind::Decode { .. } => false,
                _ => intent.failed(error).await == Settlement::Unknown,
            };
            match sent {
                Err(error) if is_unknown && !error.is_ambiguous() => {
                    Err(error.with_unsettled_attempt())
                }
                sent => sent,
            }
        }
    }
}

/// Returns the idempotency key among the arguments of a tool call.
fn idempotency_key(message: &Value) -> Option<IdempotencyKey> {
    let key = message.pointer("/params/arguments/idempotency_key")?;
    key.as_str()?.parse().ok()
}

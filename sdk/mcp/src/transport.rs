//! The HTTP client behind `rmcp`, which sends messages as the SDK sends every request, so that the API
//! key, the rate limit and the retry rules apply.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;

use futures_core::Stream;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::Value;
use sse_stream::Sse;
use svc_sdk::contract::RetryClass;
use svc_sdk::message::{self, Message, MessageChannel, MessageIntent};
use svc_sdk::types::IdempotencyKey;

use crate::response::{SESSION_ID, decode, into_reply};
use crate::tool::{ToolCache, class_with_key, receipt_in};

/// Sends the messages of `rmcp` to the configured endpoint.
#[derive(Clone)]
pub(crate) struct McpTransport {
    pub(crate) channel: MessageChannel,
    pub(crate) tools: Arc<ToolCache>,
}

type McpResult<T> = Result<T, StreamableHttpError<svc_sdk::Error>>;
type EventStream = Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send>>;

impl StreamableHttpClient for McpTransport {
    type Error = svc_sdk::Error;

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
        self.send(&message, session_id.as_deref(), headers, intent.as_ref())
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
        intent: Option<&MessageIntent>,
    ) -> svc_sdk::Result<StreamableHttpPostResponse> {
        let retry_class = match self.retry_class(message) {
            RetryClass::Safe if intent.is_some() => RetryClass::Never,
            retry_class => retry_class,
        };
        let has_effects = !matches!(retry_class, RetryClass::Safe | RetryClass::Idempotent);
        let mut headers: HeaderMap = headers.into_iter().collect();
        let accept = HeaderValue::from_static("application/json, text/event-stream");
        headers.insert(ACCEPT, accept);
        if let Some(session_id) = session_id.and_then(|id| HeaderValue::from_str(id).ok()) {
            headers.insert(SESSION_ID, session_id);
        }
        let sent = self
            .channel
            .send(Message { body: message, headers, retry_class, intent }, |response| {
                decode(message, has_effects, response)
            })
            .await;
        let sent = match intent {
            Some(intent) => self.record(message, sent, intent).await,
            None => sent,
        };
        sent.or_else(|error| into_reply(message, error))
            .map_err(|error| message::with_key(error, idempotency_key(message).as_ref()))
    }

    /// Writes to the intent of a call what became of it.
    async fn record(
        &self,
        message: &Value,
        sent: svc_sdk::Result<StreamableHttpPostResponse>,
        intent: &MessageIntent,
    ) -> svc_sdk::Result<StreamableHttpPostResponse> {
        if let Ok(StreamableHttpPostResponse::Json(received, _)) = &sent {
            let reply = serde_json::to_value(received).unwrap_or_default();
            let tool = message.pointer("/params/name").and_then(Value::as_str);
            let structured = reply.pointer("/result/structuredContent");
            // Without an id, the call can be sent again if the tool recognizes keys.
            if let Some(receipt) =
                structured.and_then(|it| receipt_in(tool.unwrap_or_default(), it))
            {
                self.channel.accepted(intent, receipt).await;
            }
        }
        match sent {
            Err(error) => Err(intent.failed(error).await),
            accepted => accepted,
        }
    }

    /// Returns whether a message may be sent again after a failure.
    ///
    /// A tool call may be retried if the tool is read-only, or if the call has an idempotency key and the
    /// tool's operation recognizes keys. All other messages of the protocol are idempotent.
    fn retry_class(&self, message: &Value) -> RetryClass {
        let method = message.get("method").and_then(Value::as_str);
        let tool = message.pointer("/params/name").and_then(Value::as_str);
        match (method, tool) {
            (Some("tools/call"), Some(tool)) if self.tools.is_read_only(tool) => RetryClass::Safe,
            (Some("tools/call"), Some(tool)) if idempotency_key(message).is_some() => {
                class_with_key(tool)
            }
            (Some("tools/call"), _) => RetryClass::Never,
            _ => RetryClass::Idempotent,
        }
    }
}

/// Returns the intent of a call that is in a journal.
fn intent_of(message: &ClientJsonRpcMessage) -> Option<MessageIntent> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    match &request.request {
        ClientRequest::CallToolRequest(call) => call.extensions.get().cloned(),
        _ => None,
    }
}

/// Returns the idempotency key among the arguments of a tool call.
fn idempotency_key(message: &Value) -> Option<IdempotencyKey> {
    let key = message.pointer("/params/arguments/idempotency_key")?;
    key.as_str()?.parse().ok()
}

//! Carries the messages of `rmcp` over this crate's own transport: with the key, within the rate
//! limit, and repeated where that is safe.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, PoisonError, RwLock};

use futures_core::Stream;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use serde_json::{Value, json};
use sse_stream::Sse;

use super::tool::Tool;
use crate::call::decode::Answer;
use crate::call::{Core, Options, Request};
use crate::contract::{Operation, RetryClass};
use crate::error::{Error, Kind};
use crate::types::IdempotencyKey;

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// What carries the messages.
#[derive(Clone)]
pub(crate) struct Carrier {
    pub(crate) core: Arc<Core>,
    pub(crate) catalogue: Arc<Catalogue>,
}

/// The tools, once they were listed.
#[derive(Default)]
pub(crate) struct Catalogue(RwLock<Option<Arc<[Tool]>>>);

impl Catalogue {
    pub(crate) fn get(&self) -> Option<Arc<[Tool]>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(crate) fn set(&self, tools: Arc<[Tool]>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(tools);
    }

    fn is_read_only(&self, name: &str) -> bool {
        let tools = self.get();
        let mut tools = tools.iter().flat_map(|tools| tools.iter());
        tools.any(|tool| tool.name == name && tool.read_only)
    }
}

/// Why a message was not answered.
#[derive(Debug)]
pub(crate) struct Refused(pub(crate) Error);

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Refused {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}

type Outcome<T> = Result<T, StreamableHttpError<Refused>>;

impl StreamableHttpClient for Carrier {
    type Error = Refused;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<StreamableHttpPostResponse> {
        let message = serde_json::to_value(&message).map_err(StreamableHttpError::Deserialize)?;
        self.send(&message, session_id.as_deref(), headers)
            .await
            .map_err(|error| StreamableHttpError::Client(Refused(error)))
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        _: Arc<str>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<()> {
        // A session that is left alone ends by itself.
        Ok(())
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        _: Option<Arc<str>>,
        _: Option<String>,
        _: Option<String>,
        _: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<Pin<Box<dyn Stream<Item = Result<Sse, sse_stream::Error>> + Send + 'static>>> {
        Err(StreamableHttpError::ServerDoesNotSupportSse)
    }
}

impl Carrier {
    async fn send(
        &self,
        message: &Value,
        session: Option<&str>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> crate::Result<StreamableHttpPostResponse> {
        let mut request = Request {
            operation: Some(Operation::Mcp),
            method: Operation::Mcp.method(),
            // The configured URL is the endpoint's, whole.
            path: String::new(),
            query: Vec::new(),
            body: None,
            idempotency_key: None,
            headers: headers.into_iter().collect(),
            class: Some(self.class(message)),
        }
        .with_body(message)?;
        let both = HeaderValue::from_static("application/json, text/event-stream");
        request.headers.insert(ACCEPT, both);
        if let Some(session) = session.and_then(|id| HeaderValue::from_str(id).ok()) {
            request.headers.insert(SESSION, session);
        }
        let options = Options::default();
        let outcome = self
            .core
            .execute(&request, &options, |answer| read(message, answer))
            .await;
        outcome.map_err(|error| error.with_key(key_of(message).as_ref()))
    }

    /// Whether a message may be sent again: one that changes nothing, and a call that names the
    /// key that makes it one call.
    fn class(&self, message: &Value) -> RetryClass {
        let method = message.get("method").and_then(Value::as_str);
        let tool = message.pointer("/params/name").and_then(Value::as_str);
        match (method, tool) {
            (Some("tools/call"), Some(tool)) if self.catalogue.is_read_only(tool) => {
                RetryClass::Safe
            }
            (Some("tools/call"), _) if key_of(message).is_some() => RetryClass::Key,
            (Some("tools/call"), _) => RetryClass::Never,
            _ => RetryClass::Idempotent,
        }
    }
}

/// The idempotency key among a call's arguments.
fn key_of(message: &Value) -> Option<IdempotencyKey> {
    let key = message.pointer("/params/arguments/idempotency_key")?;
    key.as_str()?.parse().ok()
}

/// Reads what was answered to a message.
fn read(message: &Value, answer: Answer) -> crate::Result<StreamableHttpPostResponse> {
    let is_request = message.get("id").is_some() && message.get("method").is_some();
    if (200..300).contains(&answer.status) && !is_request {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    let session = text(&answer.headers, &SESSION);
    let is_probe = message.get("method") == Some(&json!("server/discover"));
    let mut said = messages(&answer.headers, &answer.body);
    if let (true, 400 | 404 | 405) = (is_probe, answer.status) {
        said = vec![turned_away(message, said.pop())];
    }
    let said = said
        .into_iter()
        .find_map(|said| serde_json::from_value::<ServerJsonRpcMessage>(said).ok());
    // An error of the protocol may come with any status.
    if let Some(said) = said {
        return Ok(StreamableHttpPostResponse::Json(said, session));
    }
    let (status, snippet) = (
        answer.status,
        String::from_utf8_lossy(answer.body.get(..512).unwrap_or(&answer.body)).into_owned(),
    );
    let request_id = answer.request_id();
    answer.success()?;
    Err(Error::new(Kind::Unreadable { status, snippet }).with_request_id(request_id))
}

/// The error that answers the probe where its endpoint is perhaps one of an older revision: its
/// own, under the probe's id, or that the question is not known.
fn turned_away(probe: &Value, said: Option<Value>) -> Value {
    let own = said.and_then(|mut said| Some(said.get_mut("error")?.take()));
    let own = own.filter(|error| error.get("code").is_some_and(Value::is_i64));
    let unknown = || json!({"code": -32601, "message": "server/discover is not known"});
    json!({"jsonrpc": "2.0", "id": probe.get("id"), "error": own.unwrap_or_else(unknown)})
}

/// The answers in a body: one of JSON, or those among the events of a stream that has ended.
fn messages(headers: &HeaderMap, body: &[u8]) -> Vec<Value> {
    let is_stream = text(headers, &CONTENT_TYPE)
        .is_some_and(|kind| kind.trim_start().starts_with("text/event-stream"));
    if !is_stream {
        return serde_json::from_slice(body).into_iter().collect();
    }
    let text = String::from_utf8_lossy(body).replace("\r\n", "\n");
    let data_of = |event: &str| {
        let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
        let lines = lines.map(|line| line.strip_prefix(' ').unwrap_or(line));
        lines.collect::<Vec<_>>().join("\n")
    };
    // Notifications come before the answer, and are left out.
    text.split("\n\n")
        .filter_map(|event| serde_json::from_str::<Value>(&data_of(event)).ok())
        .filter(|message| message.get("method").is_none())
        .collect()
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn answer(status: u16, kind: &'static str, body: &'static str) -> Answer {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        Answer {
            status,
            headers,
            body: Bytes::from_static(body.as_bytes()),
        }
    }

    fn ask(method: &str) -> Value {
        json!({"jsonrpc": "2.0", "id": 1, "method": method})
    }

    fn is_json(outcome: &crate::Result<StreamableHttpPostResponse>) -> bool {
        matches!(outcome, Ok(StreamableHttpPostResponse::Json(..)))
    }

    #[test]
    fn an_answer_is_json_or_the_end_of_a_stream() {
        let pong = r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#;
        assert!(is_json(&read(
            &ask("ping"),
            answer(200, "application/json", pong)
        )));
        let stream = "event: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\r\n\r\n: ping\r\n\r\ndata: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\n\n";
        assert!(is_json(&read(
            &ask("ping"),
            answer(200, "text/event-stream", stream)
        )));
        let told = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let accepted = read(&told, answer(202, "text/plain", ""));
        assert!(matches!(accepted, Ok(StreamableHttpPostResponse::Accepted)));
    }

    #[test]
    fn a_refusal_is_that_of_the_service() {
        let envelope =
            r#"{"error": {"code": "unauthorized", "message": "No key.", "request_id": "req_1"}}"#;
        let error = read(
            &ask("tools/list"),
            answer(401, "application/json", envelope),
        );
        assert!(error.err().unwrap().is_unauthorized());
        let page = read(&ask("tools/list"), answer(200, "text/html", "<html>"));
        assert!(page.err().unwrap().is_ambiguous());
        let rpc = r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32022, "message": "x"}}"#;
        assert!(is_json(&read(
            &ask("tools/list"),
            answer(400, "application/json", rpc)
        )));
    }

    #[test]
    fn an_endpoint_that_knows_no_probe_is_an_older_one() {
        for status in [400, 404, 405] {
            assert!(is_json(&read(
                &ask("server/discover"),
                answer(status, "text/plain", "?")
            )));
            assert!(read(&ask("tools/list"), answer(status, "text/plain", "?")).is_err());
        }
        assert!(read(&ask("server/discover"), answer(503, "text/plain", "?")).is_err());
    }
}

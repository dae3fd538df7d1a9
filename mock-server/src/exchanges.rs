//! The bodies of the newest requests and their responses, for those who inspect the mock.
//!
//! They are not part of the exported state, and bounded in size and number.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use serde_json::{Value, json};

use crate::engine::request_log::LoggedHeaders;
use crate::engine::{HostRequest, Reply, Transmission};
use crate::simulator::CallerView;

/// The maximum number of stored exchanges, as in the request log.
const MAX_EXCHANGES: usize = 10_000;
/// The maximum number of bytes stored of all bodies and response headers.
const MAX_TOTAL_BYTES: usize = 32 * 1024 * 1024;
/// The maximum number of bytes stored of one body.
const MAX_BODY_BYTES: usize = 256 * 1024;

/// The newest exchanges, oldest first. Nothing is stored until it is enabled.
#[derive(Debug, Default)]
pub(crate) struct Exchanges {
    enabled: bool,
    /// The generation of the state that the sequence numbers belong to.
    generation: u64,
    stored: VecDeque<Exchange>,
    bytes: usize,
}

/// Identifies an exchange whose response is not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExchangeId {
    generation: u64,
    seq: u64,
    started: Duration,
}

#[derive(Debug)]
struct Exchange {
    seq: u64,
    /// The body of the request, whose headers are in the request log.
    request: BodyExcerpt,
    /// `None` until the response is sent, and if none is sent.
    response: Option<StoredResponse>,
    duration: Option<Duration>,
    /// The balance and limits of the caller after the request.
    account: Option<CallerView>,
}

#[derive(Debug)]
struct StoredResponse {
    headers: LoggedHeaders,
    body: BodyExcerpt,
}

#[derive(Debug)]
struct BodyExcerpt {
    size: usize,
    /// The beginning of the body, if it is text.
    text: Option<Arc<str>>,
}

/// What a list of exchanges shows, to be read while the state is in use.
#[cfg(feature = "dashboard")]
#[derive(Clone, Debug, Default)]
pub(crate) struct ExchangeTexts {
    pub(crate) request: Option<Arc<str>>,
    pub(crate) response: Option<Arc<str>>,
    pub(crate) duration_ms: Option<f64>,
}

impl Exchanges {
    pub(crate) fn enable(&mut self) {
        self.enabled = true;
    }

    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// Stores a request that was started at a real time and has the sequence number in the request log.
    pub(crate) fn start(
        &mut self,
        generation: u64,
        seq: u64,
        call: &HostRequest,
        account: Option<CallerView>,
        started: Duration,
    ) -> ExchangeId {
        if self.generation != generation {
            // The sequence numbers start again after a reset or restore.
            (self.generation, self.bytes) = (generation, 0);
            self.stored.clear();
        }
        let exchange = Exchange {
            seq,
            request: BodyExcerpt::new(call.request.body()),
            response: None,
            duration: None,
            account,
        };
        self.bytes += exchange.bytes();
        self.stored.push_back(exchange);
        self.drop_oldest();
        ExchangeId { generation, seq, started }
    }

    /// Stores the response of an exchange, unless the exchange was dropped meanwhile.
    pub(crate) fn finish(&mut self, id: ExchangeId, reply: &Reply, now: Duration) {
        if id.generation != self.generation {
            return;
        }
        let Some(exchange) = self.position(id.seq).and_then(|at| self.stored.get_mut(at)) else {
            return;
        };
        self.bytes -= exchange.bytes();
        exchange.duration = Some(now.saturating_sub(id.started));
        exchange.response = (reply.transmission != Transmission::Close)
            .then(|| StoredResponse::new(&reply.response));
        self.bytes += exchange.bytes();
        self.drop_oldest();
    }

    /// Returns what is stored of the exchange with the sequence number. `headers` are those of the
    /// request in the request log.
    pub(crate) fn view(&self, seq: u64, headers: &Value) -> Option<Value> {
        let exchange = self.stored.get(self.position(seq)?)?;
        Some(json!({
            "duration_ms": exchange.duration_ms(),
            "request": exchange.request.view(headers),
            "response": exchange.response.as_ref().map(StoredResponse::view),
            "account": exchange.account,
        }))
    }

    #[cfg(feature = "dashboard")]
    pub(crate) fn texts(&self, seq: u64) -> Option<ExchangeTexts> {
        let exchange = self.stored.get(self.position(seq)?)?;
        Some(ExchangeTexts {
            request: exchange.request.text.clone(),
            response: exchange.response.as_ref().and_then(|response| response.body.text.clone()),
            duration_ms: exchange.duration_ms(),
        })
    }

    #[cfg(any(feature = "dashboard", feature = "program"))]
    pub(crate) fn duration_ms(&self, seq: u64) -> Option<f64> {
        self.stored.get(self.position(seq)?)?.duration_ms()
    }

    /// Returns the body of a request, if it is stored, is text and was not truncated.
    pub(crate) fn request_body(&self, seq: u64) -> Option<&str> {
        let body = &self.stored.get(self.position(seq)?)?.request;
        body.text.as_deref().filter(|text| text.len() == body.size)
    }

    fn position(&self, seq: u64) -> Option<usize> {
        // Most responses are sent at once, when their requests are the newest.
        if self.stored.back()?.seq == seq {
            return Some(self.stored.len() - 1);
        }
        self.stored.binary_search_by_key(&seq, |exchange| exchange.seq).ok()
    }

    fn drop_oldest(&mut self) {
        while self.stored.len() > MAX_EXCHANGES || self.bytes > MAX_TOTAL_BYTES {
            let Some(dropped) = self.stored.pop_front() else { return };
            self.bytes -= dropped.bytes();
        }
    }
}

impl Exchange {
    fn bytes(&self) -> usize {
        self.request.bytes() + self.response.as_ref().map_or(0, StoredResponse::bytes)
    }

    /// Returns the duration in milliseconds, to a thousandth.
    fn duration_ms(&self) -> Option<f64> {
        self.duration.map(|duration| (duration.as_secs_f64() * 1_000_000.0).round() / 1_000.0)
    }
}

impl StoredResponse {
    fn new(response: &Response<Bytes>) -> Self {
        Self {
            headers: LoggedHeaders::new(response.headers()),
            body: BodyExcerpt::new(response.body()),
        }
    }

    fn bytes(&self) -> usize {
        self.headers.len() + self.body.bytes()
    }

    fn view(&self) -> Value {
        self.body.view(&self.headers.view())
    }
}

impl BodyExcerpt {
    fn new(body: &Bytes) -> Self {
        Self { size: body.len(), text: text(body) }
    }

    fn bytes(&self) -> usize {
        self.text.as_ref().map_or(0, |text| text.len())
    }

    /// Returns the view of a message with this body.
    fn view(&self, headers: &Value) -> Value {
        json!({
            "headers": headers,
            "content_type": headers.get("content-type"),
            "size": self.size,
            "body": self.text,
            "truncated": self.text.is_some() && self.bytes() < self.size,
        })
    }
}

fn text(body: &Bytes) -> Option<Arc<str>> {
    if body.is_empty() {
        // The default needs no memory.
        return Some(Arc::default());
    }
    let stored = body.get(..MAX_BODY_BYTES).unwrap_or(body);
    let valid = match std::str::from_utf8(stored) {
        Ok(text) => text,
        // A character that is cut off at the limit does not make the body binary.
        Err(error) if stored.len() < body.len() && error.error_len().is_none() => {
            std::str::from_utf8(stored.get(..error.valid_up_to())?).ok()?
        }
        Err(_) => return None,
    };
    Some(valid.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Host;

    fn call(body: &str) -> HostRequest {
        let request = http::Request::post("/v1/jobs")
            .header("authorization", "Bearer svc_open_demo")
            .header("content-type", "application/json")
            .body(Bytes::copy_from_slice(body.as_bytes()))
            .unwrap();
        HostRequest { host: Host::Open, peer: [127, 0, 0, 1].into(), request }
    }

    fn reply(body: &[u8]) -> Reply {
        Reply::immediate(Response::new(Bytes::copy_from_slice(body)))
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn both_bodies_are_stored() {
        let mut exchanges = Exchanges::default();
        let id = exchanges.start(0, 7, &call("{\"a\": 1}"), None, seconds(1));
        let headers = json!({"content-type": "application/json"});
        let view = |exchanges: &Exchanges| exchanges.view(7, &headers).unwrap();
        assert_eq!(view(&exchanges)["response"], Value::Null);
        exchanges.finish(id, &reply(b"pong"), Duration::from_millis(1_012));
        let view = view(&exchanges);
        assert_eq!(view["request"]["body"], "{\"a\": 1}");
        assert_eq!(view["request"]["content_type"], "application/json");
        assert_eq!(view["response"]["body"], "pong");
        assert_eq!(view["duration_ms"], 12.0);
        assert_eq!(view["account"], Value::Null);
        assert_eq!(exchanges.view(8, &headers), None);
    }

    #[test]
    fn binary_bodies_are_described_by_their_size() {
        let mut exchanges = Exchanges::default();
        let id = exchanges.start(0, 1, &call(""), None, seconds(0));
        exchanges.finish(id, &reply(&[0xff; 10]), seconds(0));
        let response = &exchanges.view(1, &Value::Null).unwrap()["response"];
        assert_eq!((&response["size"], &response["body"]), (&json!(10), &Value::Null));
    }

    #[test]
    fn long_bodies_are_truncated_at_a_character() {
        let body = format!("a{}", "é".repeat(MAX_BODY_BYTES));
        let mut exchanges = Exchanges::default();
        exchanges.start(0, 1, &call(&body), None, seconds(0));
        let request = &exchanges.view(1, &Value::Null).unwrap()["request"];
        assert_eq!(request["truncated"], true);
        assert_eq!(request["body"].as_str().unwrap().len(), MAX_BODY_BYTES - 1);
    }

    #[test]
    fn the_stored_bytes_are_bounded() {
        let mut exchanges = Exchanges::default();
        let body = "x".repeat(MAX_BODY_BYTES);
        for seq in 1..=200 {
            let id = exchanges.start(0, seq, &call(&body), None, seconds(0));
            exchanges.finish(id, &reply(body.as_bytes()), seconds(0));
        }
        let stored: usize = exchanges.stored.iter().map(Exchange::bytes).sum();
        assert_eq!(exchanges.bytes, stored);
        assert!(stored <= MAX_TOTAL_BYTES, "{stored}");
        assert!(
            exchanges.view(1, &Value::Null).is_none()
                && exchanges.view(200, &Value::Null).is_some()
        );
    }

    #[test]
    fn a_reset_drops_the_exchanges_of_earlier_requests() {
        let mut exchanges = Exchanges::default();
        let id = exchanges.start(0, 1, &call(""), None, seconds(0));
        exchanges.start(1, 1, &call("new"), None, seconds(0));
        exchanges.finish(id, &reply(b"late"), seconds(0));
        assert_eq!(exchanges.view(1, &Value::Null).unwrap()["response"], Value::Null);
    }
}

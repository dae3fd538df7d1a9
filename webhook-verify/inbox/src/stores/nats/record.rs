//! The messages of the stream.
//!
//! The subject of an event is derived from its deduplication key, so that the server itself rejects
//! a second message with the same key. Its payload has the HTTP headers as a line of JSON, and then
//! the raw body. What becomes of an event is a message with its sequence number in the subject.
//! What is needed to find events is in the headers of both, which are read without the payload.

use async_nats::HeaderMap as NatsHeaders;
use bytes::{BufMut, Bytes, BytesMut};
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use svc_webhook_verify::DedupeKey;

use crate::event::NewEvent;
use crate::headers;
use crate::stores::event_table::Entry;

/// The header that contains [`EventRecord`] or [`Progress`](crate::stores::event_table::Progress).
const RECORD_HEADER: &str = "Svc-Record";

/// What is known of an event from the start. Times are in milliseconds since the Unix epoch.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct EventRecord {
    pub(super) event_type: String,
    /// The second part of the deduplication key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) resource_id: Option<String>,
    pub(super) received_at: i64,
    /// The sequence number of the forgotten event that this one has replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaces: Option<u64>,
}

/// The sequence number of the last message about the progress of an event, or 0.
pub(super) type ProgressSequence = u64;

impl EventRecord {
    pub(super) fn into_entry(self) -> Entry<ProgressSequence> {
        let resource_id = self.resource_id.as_ref();
        let key = resource_id.map(|resource_id| DedupeKey::new(&self.event_type, resource_id));
        Entry::new(key, self.event_type, self.received_at, 0)
    }
}

pub(super) fn record_headers(record: &impl Serialize) -> NatsHeaders {
    let mut headers = NatsHeaders::new();
    let json = serde_json::to_string(record).unwrap_or_default();
    headers.insert(RECORD_HEADER, json);
    headers
}

pub(super) fn record<T: for<'de> Deserialize<'de>>(headers: &NatsHeaders) -> Option<T> {
    serde_json::from_str(headers.get(RECORD_HEADER)?.as_str()).ok()
}

pub(super) fn payload(event: &NewEvent) -> Bytes {
    let headers = headers::to_json(&event.headers);
    let mut payload = BytesMut::with_capacity(headers.len() + 1 + event.body.len());
    payload.put(headers.as_bytes());
    payload.put_u8(b'\n');
    payload.put(&event.body[..]);
    payload.freeze()
}

/// Returns the HTTP headers and the body in the payload of an event's message.
pub(super) fn headers_and_body(payload: &Bytes) -> (HeaderMap, Bytes) {
    let end = payload.iter().position(|byte| *byte == b'\n');
    let end = end.unwrap_or(payload.len());
    let headers = String::from_utf8_lossy(payload.get(..end).unwrap_or_default());
    let body = payload.slice((end + 1).min(payload.len())..);
    (headers::from_json(&headers), body)
}

/// Returns the last part of the subject of events with a key.
pub(super) fn key_token(key: &DedupeKey) -> String {
    let mut hash = Sha256::new();
    hash.update(key.event());
    hash.update(b"\n");
    hash.update(key.resource_id());
    let digest = hash.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use crate::stores::event_table::{Progress, State};

    #[test]
    fn a_record_of_an_earlier_version_is_read() {
        let record =
            r#"{"state":"leased","at":5,"attempts":1,"claims":2,"is_forgotten":true,"error":"e"}"#;
        let it: Progress = serde_json::from_str(record).unwrap();
        assert_eq!((it.state, it.at, it.attempts, it.claims), (State::Leased, 5, 1, 2));
        assert_eq!((it.is_forgotten, it.error.as_deref(), it.worker), (true, Some("e"), None));
    }
}

//! The delivery log: a ring buffer of the newest webhook delivery attempts, for inspection by tests.

use std::collections::VecDeque;
use std::sync::Arc;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::queue::DeliveryStatus;
use super::{Delivery, DeliveryOutcome};
use crate::engine::Time;

const MAX_ENTRIES: usize = 10_000;
/// The maximum number of bytes stored of the body of a response.
pub(crate) const MAX_RESPONSE_BYTES: usize = 1024;
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeliveryRecord {
    #[serde(default)]
    pub(crate) seq: u64,
    /// The id of the job or run; `None` for a test delivery.
    pub(crate) subject_id: Option<String>,
    #[serde(default)]
    pub(crate) workspace: String,
    pub(crate) event: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    /// The JSON body as it was sent.
    pub(crate) body: String,
    pub(crate) status: Option<u16>,
    /// The status of the delivery after the attempt.
    #[serde(default)]
    pub(crate) delivery_status: Option<DeliveryStatus>,
    /// The beginning of the response's body; `None` without a response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) response_body: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) at: Time,
}

impl DeliveryRecord {
    pub(crate) fn new(
        subject_id: Option<String>,
        delivery: Delivery,
        outcome: &DeliveryOutcome,
        delivery_status: DeliveryStatus,
    ) -> Self {
        Self {
            seq: 0,
            subject_id,
            workspace: delivery.workspace,
            delivery_status: Some(delivery_status),
            event: delivery.event,
            url: delivery.url,
            headers: delivery.headers,
            body: String::from_utf8_lossy(&delivery.body).into_owned(),
            status: outcome.status(),
            response_body: outcome.response_body().map(beginning),
            error: outcome.error(),
            at: delivery.at,
        }
    }

    fn body_bytes(&self) -> usize {
        self.body.len() + self.response_body.as_ref().map_or(0, String::len)
    }

    pub(crate) fn view(&self) -> Value {
        let headers: Map<String, Value> =
            self.headers.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({
            "seq": self.seq,
            "subject_id": self.subject_id,
            "workspace": self.workspace,
            "delivery_status": self.delivery_status,
            "event": self.event,
            "url": self.url,
            "headers": headers,
            "body": BASE64_STANDARD.encode(&self.body),
            "status": self.status,
            "response_body": self.response_body,
            "error": self.error,
            "at": self.at.to_string(),
        })
    }
}

/// Returns as many characters of a body as are stored.
fn beginning(body: &str) -> String {
    let starts = body.char_indices();
    let end = starts
        .map(|(start, letter)| start + letter.len_utf8())
        .take_while(|end| *end <= MAX_RESPONSE_BYTES);
    body.get(..end.last().unwrap_or(0)).unwrap_or_default().to_owned()
}

/// The newest attempts, oldest first. Clones share them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(from = "VecDeque<Arc<DeliveryRecord>>")]
pub(crate) struct DeliveryLog {
    attempts: VecDeque<Arc<DeliveryRecord>>,
    /// The total size of their bodies.
    body_bytes: usize,
    last_seq: u64,
}

impl From<VecDeque<Arc<DeliveryRecord>>> for DeliveryLog {
    fn from(attempts: VecDeque<Arc<DeliveryRecord>>) -> Self {
        let sizes = attempts.iter().map(|attempt| attempt.body_bytes());
        let last_seq = attempts.back().map_or(0, |attempt| attempt.seq);
        Self { body_bytes: sizes.sum(), attempts, last_seq }
    }
}

impl Serialize for DeliveryLog {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.attempts.serialize(serializer)
    }
}

impl DeliveryLog {
    /// Stores an attempt under the next sequence number, from 1.
    pub(crate) fn record(&mut self, mut attempt: DeliveryRecord) {
        self.last_seq = self.last_seq.saturating_add(1);
        attempt.seq = self.last_seq;
        self.body_bytes += attempt.body_bytes();
        self.attempts.push_back(Arc::new(attempt));
        while self.attempts.len() > MAX_ENTRIES || self.body_bytes > MAX_BODY_BYTES {
            self.remove_oldest();
        }
    }

    fn remove_oldest(&mut self) {
        let removed = self.attempts.pop_front();
        let size = removed.map_or(self.body_bytes, |attempt| attempt.body_bytes());
        self.body_bytes -= size;
    }

    pub(crate) fn last_seq(&self) -> u64 {
        self.last_seq
    }

    pub(crate) fn remove_until(&mut self, until: Time) {
        while self.attempts.front().is_some_and(|attempt| attempt.at <= until) {
            self.remove_oldest();
        }
    }

    /// Returns the stored attempts, newest first.
    #[cfg(feature = "dashboard")]
    pub(crate) fn newest_first(&self) -> impl Iterator<Item = &Arc<DeliveryRecord>> {
        self.attempts.iter().rev()
    }

    /// Returns the stored attempts, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &DeliveryRecord> {
        self.attempts.iter().map(|attempt| &**attempt)
    }

    /// Returns the stored attempts as JSON, oldest first.
    pub(crate) fn all(&self) -> Vec<Value> {
        self.iter().map(DeliveryRecord::view).collect()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::engine::DeliveryId;

    fn attempt(body: usize) -> DeliveryRecord {
        let delivery = Delivery {
            id: DeliveryId { generation: 0, number: 1 },
            workspace: "ws_demo".to_owned(),
            event: "webhook.test".to_owned(),
            url: "https://hooks.example/".to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: Bytes::from(vec![b'1'; body]),
            at: Time::default(),
            wall_time: None,
        };
        let outcome = DeliveryOutcome::answered(204);
        DeliveryRecord::new(None, delivery, &outcome, DeliveryStatus::Delivered)
    }

    #[test]
    fn the_beginning_of_a_response_is_stored() {
        assert_eq!(beginning("no disk space"), "no disk space");
        let long = format!("a{}", "é".repeat(2_000));
        assert_eq!(beginning(&long), format!("a{}", "é".repeat(511)));
    }

    #[test]
    fn stored_attempts_are_limited_by_number_and_size() {
        let mut log = DeliveryLog::default();
        for _ in 0..10_005 {
            log.record(attempt(1));
        }
        assert_eq!(log.all().len(), 10_000);
        for _ in 0..70 {
            log.record(attempt(1024 * 1024));
        }
        assert_eq!(log.attempts.len(), 64);
    }
}

//! The journal of attempts to deliver webhooks: a ring that keeps the newest, for tests to look at.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{Delivery, DeliveryOutcome};
use crate::engine::Time;
use crate::engine::base64::base64;

/// How many attempts are kept.
const MAX_ENTRIES: usize = 10_000;
/// How many bytes of bodies are kept.
const MAX_BODY_BYTES: usize = 64 * 1024 * 1024;

/// An attempt that was made, or that could not be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DeliveryRecord {
    /// The job or run; none of a test delivery.
    subject_id: Option<String>,
    event: String,
    url: String,
    headers: Vec<(String, String)>,
    /// As it was sent: JSON.
    body: String,
    status: Option<u16>,
    error: Option<String>,
    /// When it was made.
    at: Time,
}

impl DeliveryRecord {
    pub(crate) fn new(
        subject_id: Option<String>,
        delivery: Delivery,
        outcome: &DeliveryOutcome,
    ) -> Self {
        Self {
            subject_id,
            event: delivery.event,
            url: delivery.url,
            headers: delivery.headers,
            body: String::from_utf8_lossy(&delivery.body).into_owned(),
            status: outcome.status(),
            error: outcome.error(),
            at: delivery.at,
        }
    }

    fn view(&self) -> Value {
        let headers: Map<String, Value> = self
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect();
        json!({
            "subject_id": self.subject_id,
            "event": self.event,
            "url": self.url,
            "headers": headers,
            "body": base64(self.body.as_bytes()),
            "status": self.status,
            "error": self.error,
            "at": self.at.to_string(),
        })
    }
}

/// The newest attempts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct DeliveryLog(VecDeque<DeliveryRecord>);

impl DeliveryLog {
    pub(crate) fn record(&mut self, attempt: DeliveryRecord) {
        let Self(attempts) = self;
        attempts.push_back(attempt);
        let mut bytes: usize = attempts.iter().map(|attempt| attempt.body.len()).sum();
        while attempts.len() > MAX_ENTRIES || bytes > MAX_BODY_BYTES {
            let dropped = attempts.pop_front();
            bytes -= dropped.map_or(bytes, |attempt| attempt.body.len());
        }
    }

    /// Oldest first.
    pub(crate) fn all(&self) -> Vec<Value> {
        self.0.iter().map(DeliveryRecord::view).collect()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::engine::DeliveryId;

    fn attempt(body: usize) -> DeliveryRecord {
        let delivery = Delivery {
            id: DeliveryId {
                generation: 0,
                number: 1,
            },
            event: "webhook.test".to_owned(),
            url: "https://hooks.example/".to_owned(),
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: Bytes::from(vec![b'1'; body]),
            at: Time::default(),
        };
        DeliveryRecord::new(None, delivery, &DeliveryOutcome::answered(204))
    }

    #[test]
    fn an_attempt_reads_as_it_was_made() {
        let mut deliveries = DeliveryLog::default();
        deliveries.record(attempt(2));
        let expected = json!([{
            "subject_id": null, "event": "webhook.test", "url": "https://hooks.example/",
            "headers": {"content-type": "application/json"}, "body": "MTE=",
            "status": 204, "error": null, "at": "1970-01-01T00:00:00Z"
        }]);
        assert_eq!(json!(deliveries.all()), expected);
    }

    #[test]
    fn only_the_newest_are_kept_and_of_large_ones_fewer() {
        let mut deliveries = DeliveryLog::default();
        for _ in 0..10_005 {
            deliveries.record(attempt(1));
        }
        assert_eq!(deliveries.all().len(), 10_000);
        for _ in 0..70 {
            deliveries.record(attempt(1024 * 1024));
        }
        assert_eq!(deliveries.0.len(), 64);
    }
}

//! The lines of the store's file, each a JSON object.

use bytes::Bytes;
use http::HeaderMap;
use serde::{Deserialize, Serialize};
use svc_webhook_verify::DedupeKey;

use crate::headers::{from_pairs, to_pairs};

/// The version of the format, in the first line.
pub(super) const FORMAT: u64 = 1;

/// One line of the file. Times are in milliseconds since the Unix epoch if their name does not say
/// otherwise.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Line {
    /// The first line, with the version of the format.
    SvcWebhookStore(u64),
    /// An event was received.
    Received { id: u64, delivery: Delivery },
    /// Events were claimed.
    Claimed { ids: Vec<u64> },
    /// An event is to be claimed again.
    Retried { id: u64, due_at: i64, error: String },
    /// An event was handled.
    Forwarded { id: u64, at: i64 },
    /// An event was given up.
    GivenUp { id: u64, at: i64, reason: String },
    /// Finished events are pending again.
    Replayed { ids: Vec<u64>, at: i64 },
    /// The next delivery of an event counts as new.
    Forgotten { id: u64 },
    /// The same, for an event of which only the key was left.
    ForgottenKey {
        #[serde(with = "key")]
        key: Option<DedupeKey>,
    },
    /// Events were removed.
    Purged { ids: Vec<u64> },
    /// The attempts of an event, written when the file is compacted.
    Attempts {
        id: u64,
        attempts: u32,
        claims: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        due_at: Option<i64>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A handled event of which only the key is kept, with the Unix time in seconds.
    Known {
        at: u64,
        #[serde(with = "key")]
        key: Option<DedupeKey>,
    },
}

/// A delivery that was received.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Delivery {
    /// The Unix time of its arrival, in seconds.
    at: u64,
    /// The milliseconds within that second.
    #[serde(default, skip_serializing_if = "is_zero")]
    ms: u16,
    /// The key that identifies duplicates. Test deliveries have none.
    #[serde(default, with = "key", skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<DedupeKey>,
    /// The type of the event.
    pub(super) event: String,
    /// See [`to_pairs`].
    headers: Vec<(String, String)>,
    body: Body,
}

/// A body: text, or hexadecimal digits if it is not valid UTF-8.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Body {
    Text(String),
    Hex { hex: String },
}

impl Delivery {
    /// Creates a delivery that arrived at a time in milliseconds since the Unix epoch.
    pub(super) fn new(
        at: i64,
        key: Option<DedupeKey>,
        event: &str,
        headers: &HeaderMap,
        body: &Bytes,
    ) -> Self {
        let body = match std::str::from_utf8(body) {
            Ok(text) => Body::Text(text.to_owned()),
            Err(_) => Body::Hex { hex: body.iter().map(|byte| format!("{byte:02x}")).collect() },
        };
        Self {
            at: at.unsigned_abs() / 1000,
            ms: u16::try_from(at.unsigned_abs() % 1000).unwrap_or_default(),
            key,
            event: event.to_owned(),
            headers: to_pairs(headers),
            body,
        }
    }

    /// Returns the time of arrival in milliseconds since the Unix epoch.
    pub(super) fn received_at(&self) -> i64 {
        let millis = self.at.saturating_mul(1000);
        i64::try_from(millis.saturating_add(u64::from(self.ms))).unwrap_or(i64::MAX)
    }

    pub(super) fn headers(&self) -> HeaderMap {
        from_pairs(&self.headers)
    }

    /// Returns the raw body, or `None` if the stored hexadecimal digits are invalid.
    pub(super) fn body(&self) -> Option<Bytes> {
        match &self.body {
            Body::Text(text) => Some(Bytes::copy_from_slice(text.as_bytes())),
            Body::Hex { hex } => {
                let digits = hex.as_bytes().chunks(2);
                let bytes: Option<Vec<u8>> = digits
                    .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
                    .collect();
                bytes.map(Bytes::from)
            }
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde expects")]
fn is_zero(number: &u16) -> bool {
    *number == 0
}

/// Serialization of a deduplication key as a pair of strings.
mod key {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use svc_webhook_verify::DedupeKey;

    pub(super) fn serialize<S: Serializer>(
        key: &Option<DedupeKey>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let pair = key.as_ref().map(|key| (key.event(), key.resource_id()));
        pair.serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<DedupeKey>, D::Error> {
        let pair = Option::<(String, String)>::deserialize(deserializer)?;
        Ok(pair.map(|(event, id)| DedupeKey::new(event, id)))
    }
}

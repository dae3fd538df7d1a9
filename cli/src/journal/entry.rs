//! Entries of the journal, as `svc history` shows them, and the hashes that identify equal submits.

use std::fmt;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use svc_sdk::ApiKey;
use svc_sdk::contract::Operation;
use svc_sdk::types::{IdempotencyKey, Usd};

use crate::error::Failure;
use crate::resource::{Outcome, ResourceId};
use crate::text::sanitize;

pub(super) const SURFACE: &str = "surface";
pub(super) const BASE_URL: &str = "base_url";
pub(super) const SUMMARY: &str = "summary";
pub(crate) const LABEL: &str = "label";
pub(super) const PRICE: &str = "price_usd";
pub(super) const MAX_PRICE: &str = "max_price_usd";
/// What a bulk queue was made from.
pub(crate) const SOURCE: &str = "source";
pub(super) const OUTCOME: &str = "outcome";
pub(super) const ENDED_AT: &str = "ended_at";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) request_hash: RequestHash,
    pub(crate) surface: String,
    pub(crate) base_url: String,
    pub(crate) key_fingerprint: String,
    pub(crate) operation: String,
    /// The idempotency key, which is the same for each attempt.
    pub(crate) idempotency_key: IdempotencyKey,
    pub(crate) summary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) label: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) price_usd: Option<Usd>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) max_price_usd: Option<Usd>,
    pub(crate) created_at: Timestamp,
    /// The submitted resource, once it is known.
    #[serde(flatten)]
    pub(crate) resource: Option<ResourceId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) request_id: Option<String>,
    /// The outcome, or `None` while it is unknown.
    #[serde(default)]
    pub(crate) outcome: Option<Outcome>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) ended_at: Option<Timestamp>,
    #[serde(skip)]
    pub(crate) source: Option<Value>,
}

/// Returns what is noted of a request before it is sent.
pub(crate) fn notes(
    surface: &str,
    base_url: &str,
    summary: &str,
    price: Option<Usd>,
    max_price: Option<Usd>,
) -> Map<String, Value> {
    let mut notes = Map::new();
    notes.insert(SURFACE.to_owned(), surface.into());
    notes.insert(BASE_URL.to_owned(), base_url.into());
    notes.insert(SUMMARY.to_owned(), summary.into());
    let prices = [(PRICE, price), (MAX_PRICE, max_price)];
    let prices = prices.into_iter().filter(|(_, price)| price.is_some());
    notes.extend(prices.map(|(name, price)| (name.to_owned(), json!(price))));
    notes
}

const MAX_LABEL_CHARS: usize = 40;

/// Returns what the journal keeps of a prompt, an instruction or a name: how it begins, on one line.
pub(crate) fn label(text: &str) -> Option<String> {
    let label: String = sanitize(text).trim_start().chars().take(MAX_LABEL_CHARS).collect();
    let label = label.trim_end();
    (!label.is_empty()).then(|| label.to_owned())
}

pub(crate) fn prompt_of(body: &Map<String, Value>) -> Option<&str> {
    let text = |name: &str| body.get(name)?.as_str();
    let input = || body.get("input")?.get("prompt")?.as_str();
    let first = || body.get("items")?.get(0)?.as_object();
    text("prompt").or_else(input).or_else(|| text("instruction")).or_else(|| prompt_of(first()?))
}

/// Nothing is sent without a journal: an interrupted command could be paid for twice.
pub(super) fn journal_failure(
    verb: &str,
    folder: &Path,
    error: &(dyn std::error::Error + 'static),
) -> Failure {
    let what = format!("cannot {verb} the journal in {}", folder.display());
    Failure::journal(&what, error, "choose another directory with SVC_STATE_DIR")
        .context("nothing was sent")
        .hint("or pass --no-journal: an interrupted command may then be paid for twice")
}

/// A hash of a submit's base URL, API key, operation and body. Equal submits have equal hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RequestHash(String);

impl RequestHash {
    /// A key that the caller chose is part of the hash; a generated one is not.
    pub(crate) fn new(
        base_url: &str,
        key_fingerprint: &str,
        operation: Operation,
        segments: &[String],
        body: &Value,
        chosen_key: Option<&IdempotencyKey>,
    ) -> Self {
        let mut digest = Sha256::new();
        let chosen_key = chosen_key.map_or("", IdempotencyKey::as_str);
        for part in [base_url.trim_end_matches('/'), key_fingerprint, operation.name(), chosen_key]
        {
            digest.update(part.as_bytes());
            digest.update([0]);
        }
        for segment in segments {
            digest.update(segment.as_bytes());
            digest.update([0]);
        }
        digest.update(canonical(body).as_bytes());
        Self(hex(&digest.finalize()))
    }

    pub(super) fn from_text(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Display for RequestHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) fn key_fingerprint(key: &ApiKey) -> String {
    let mut text = hex(&Sha256::digest(key.expose().as_bytes()));
    text.truncate(12);
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<_> = fields.iter().collect();
            names.sort_unstable_by_key(|(name, _)| *name);
            let fields = names.into_iter().map(|(name, value)| {
                format!("{}:{}", Value::from(name.as_str()), canonical(value))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(","))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_hash_depends_on_everything_but_the_order_of_fields() {
        let key: IdempotencyKey = "k".parse().unwrap();
        let hash =
            |url: &str, key: &str, operation, body: &Value, chosen: Option<&IdempotencyKey>| {
                RequestHash::new(url, key, operation, &[], body, chosen)
            };
        let body = json!({"model": "auto", "metadata": {"a": 1, "b": [2, "x"]}});
        let first = hash("https://a", "k1", Operation::VideoGenerate, &body, None);
        let reordered: Value =
            serde_json::from_str(r#"{"metadata": {"b": [2, "x"], "a": 1}, "model": "auto"}"#)
                .unwrap();
        assert_eq!(first, hash("https://a/", "k1", Operation::VideoGenerate, &reordered, None));
        for other in [
            hash("https://b", "k1", Operation::VideoGenerate, &body, None),
            hash("https://a", "k2", Operation::VideoGenerate, &body, None),
            hash("https://a", "k1", Operation::ImageGenerate, &body, None),
            hash("https://a", "k1", Operation::VideoGenerate, &json!({"model": "auto"}), None),
            hash("https://a", "k1", Operation::VideoGenerate, &body, Some(&key)),
        ] {
            assert_ne!(first, other);
        }
        let text = first.to_string();
        assert!(text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
}

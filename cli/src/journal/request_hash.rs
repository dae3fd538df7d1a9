//! Hashes that identify equal submits.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use svc_sdk::ApiKey;
use svc_sdk::contract::Operation;
use svc_sdk::types::IdempotencyKey;

/// A hash of a submit's base URL, API key, operation and body. Equal submits have equal hashes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RequestHash(String);

impl RequestHash {
    /// Computes the hash. An idempotency key that the caller chose is part of it; a generated one
    /// is not.
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

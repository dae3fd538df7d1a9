//! What makes two submits the same: host, key, operation and body, as a hash.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use svc_sdk::Secret;
use svc_sdk::contract::Operation;
use svc_sdk::types::IdempotencyKey;

/// The hash of a submit: two that are the same have the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct RequestHash(String);

impl RequestHash {
    /// The hash of that submit. A key that the caller chose is part of it, one that was made is not.
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
        for part in [
            base_url.trim_end_matches('/'),
            key_fingerprint,
            operation.name(),
            chosen_key,
        ] {
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

    /// Enough of it to name a file.
    pub(crate) fn short(&self) -> &str {
        self.0.get(..24).unwrap_or(&self.0)
    }
}

impl fmt::Display for RequestHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Tells keys apart without showing anything of them.
pub(crate) fn key_fingerprint(key: &Secret) -> String {
    let mut text = hex(&Sha256::digest(key.expose().as_bytes()));
    text.truncate(12);
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// JSON without a choice: no blanks, names in order.
fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<_> = fields.iter().collect();
            names.sort_unstable_by_key(|(name, _)| *name);
            let fields = names.into_iter().map(|(name, value)| {
                format!("{}:{}", Value::from(name.as_str()), canonical(value))
            });
            format!("{{{}}}", fields.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!(
            "[{}]",
            items.iter().map(canonical).collect::<Vec<_>>().join(",")
        ),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_fields_makes_no_difference_and_all_else_does() {
        let key: IdempotencyKey = "k".parse().unwrap();
        let hash =
            |url: &str, key: &str, operation, body: &Value, chosen: Option<&IdempotencyKey>| {
                RequestHash::new(url, key, operation, &[], body, chosen)
            };
        let body = json!({"model": "auto", "metadata": {"a": 1, "b": [2, "x"]}});
        let first = hash("https://a", "k1", Operation::VideoGenerate, &body, None);
        let turned: Value =
            serde_json::from_str(r#"{"metadata": {"b": [2, "x"], "a": 1}, "model": "auto"}"#)
                .unwrap();
        assert_eq!(
            first,
            hash("https://a/", "k1", Operation::VideoGenerate, &turned, None)
        );
        for other in [
            hash("https://b", "k1", Operation::VideoGenerate, &body, None),
            hash("https://a", "k2", Operation::VideoGenerate, &body, None),
            hash("https://a", "k1", Operation::ImageGenerate, &body, None),
            hash(
                "https://a",
                "k1",
                Operation::VideoGenerate,
                &json!({"model": "auto"}),
                None,
            ),
            hash(
                "https://a",
                "k1",
                Operation::VideoGenerate,
                &body,
                Some(&key),
            ),
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_fingerprint_shows_nothing_of_the_key() {
        let fingerprint = key_fingerprint(&Secret::new("svc_open_demo").unwrap());
        assert_eq!(fingerprint.len(), 12);
        assert!(!fingerprint.contains("demo"));
    }
}

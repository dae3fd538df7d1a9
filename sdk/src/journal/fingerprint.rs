//! Fingerprints of requests, by which the same request is recognized without storing its body.

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::types::IdempotencyKey;

/// A request as it is compared with the one that an intent was begun for.
#[derive(Clone, Debug)]
pub(crate) struct Fingerprint {
    /// The operation, the path and the body as canonical JSON.
    meaning: Vec<u8>,
    body: Vec<u8>,
}

impl Fingerprint {
    /// Creates the fingerprint of a request. A body that is not JSON is compared by its bytes.
    pub(crate) fn new(operation: &str, path: &str, body: &[u8]) -> Self {
        let mut meaning = format!("{operation}\n{path}\n").into_bytes();
        match serde_json::from_slice::<Value>(body) {
            Ok(value) => write_canonical(&value, &mut meaning),
            Err(_) => meaning.extend_from_slice(body),
        }
        let body = body.to_vec();
        Self { meaning, body }
    }

    /// The hash of the meaning. The key of the intent is part of it, so that equal requests cannot be
    /// recognized in a journal without knowing them.
    pub(super) fn request_hash(&self, key: &IdempotencyKey) -> String {
        keyed_hash(key, &self.meaning)
    }

    /// Returns the hash of the meaning alone.
    pub(crate) fn digest(&self) -> [u8; 32] {
        Sha256::digest(&self.meaning).into()
    }

    pub(super) fn body_hash(&self, key: &IdempotencyKey) -> String {
        keyed_hash(key, &self.body)
    }
}

fn keyed_hash(key: &IdempotencyKey, bytes: &[u8]) -> String {
    let digest =
        Sha256::new().chain_update(key.as_str()).chain_update([0]).chain_update(bytes).finalize();
    format!("1:{}", hex(digest.get(..16).unwrap_or_default()))
}

/// Returns what identifies an API key without revealing it.
pub(crate) fn key_fingerprint(header: &[u8]) -> String {
    let digest = Sha256::digest(header);
    hex(digest.get(..8).unwrap_or_default())
}

/// Returns bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;

    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Writes JSON without spaces and with sorted keys.
fn write_canonical(value: &Value, output: &mut Vec<u8>) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            output.push(b'{');
            for (name, value) in fields {
                output.extend_from_slice(Value::from(name.as_str()).to_string().as_bytes());
                output.push(b':');
                write_canonical(value, output);
                output.push(b',');
            }
            output.push(b'}');
        }
        Value::Array(items) => {
            output.push(b'[');
            for item in items {
                write_canonical(item, output);
                output.push(b',');
            }
            output.push(b']');
        }
        scalar => output.extend_from_slice(scalar.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> IdempotencyKey {
        text.parse().unwrap()
    }

    #[test]
    fn the_order_of_fields_is_no_difference_between_requests() {
        let hash = |path: &str, body: &str| {
            let request = Fingerprint::new("video_generate", path, body.as_bytes());
            (request.request_hash(&key("k")), request.body_hash(&key("k")))
        };
        let (first, bytes) = hash("/v1", r#"{"a": {"c": [1, 2], "b": null}, "d": "x"}"#);
        let (same, other_bytes) = hash("/v1", r#"{"d":"x","a":{"b":null,"c":[1,2]}}"#);
        assert_eq!(first, same);
        assert_ne!(bytes, other_bytes);
        for (path, body) in [
            ("/v2", r#"{"d":"x","a":{"b":null,"c":[1,2]}}"#),
            ("/v1", r#"{"d":"x","a":{"b":null,"c":[2,1]}}"#),
            ("/v1", r#"{"d":"x","a":{"b":null,"c":[12]}}"#),
            ("/v1", r#"{"d":"x"}"#),
        ] {
            assert_ne!(first, hash(path, body).0, "{path} {body}");
        }
    }

    #[test]
    fn equal_requests_under_different_keys_have_different_hashes() {
        let request = Fingerprint::new("video_generate", "/v1", b"{}");
        assert_ne!(request.request_hash(&key("a")), request.request_hash(&key("b")));
    }
}

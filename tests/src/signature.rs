//! Webhook signatures, implemented from the specification.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Returns `HMAC-SHA256(secret, "<timestamp>.<raw body>")` in hexadecimal.
pub fn signature(secret: &str, timestamp: &str, body: &[u8]) -> String {
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("HMAC accepts keys of any length");
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    hex(&mac.finalize().into_bytes())
}

/// Returns the first 16 hexadecimal digits of the secret's SHA-256.
pub fn fingerprint(secret: &str) -> String {
    hex(&Sha256::digest(secret.as_bytes()))[..16].to_owned()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_openssl_and_sha256sum() {
        // printf '1.{}' | openssl dgst -sha256 -hmac key
        let expected = "1ba6b8171186efc613e8bcc0cbdab2748f24984d7c5a84faa2637afa0e40d224";
        assert_eq!(signature("key", "1", b"{}"), expected);
        // printf abc | sha256sum
        assert_eq!(fingerprint("abc"), "ba7816bf8f01cfea");
    }
}

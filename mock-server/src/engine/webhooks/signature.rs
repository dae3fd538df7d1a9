//! The signature of a webhook delivery, scheme `svc-v1`.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

const FINGERPRINT_DIGITS: usize = 16;

/// Returns the fingerprint of a secret: the first hex digits of its SHA-256 digest.
pub(crate) fn fingerprint(secret: &str) -> String {
    let mut digits = hex(&Sha256::digest(secret));
    digits.truncate(FINGERPRINT_DIGITS);
    digits
}

/// Returns the value of `x-svc-webhook-signature`, with one entry for each secret.
pub(crate) fn signature(secrets: &[&str], timestamp: &str, body: &[u8]) -> String {
    let entries: Vec<_> = secrets
        .iter()
        .filter_map(|secret| {
            // HMAC accepts keys of any length, so this never fails.
            let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).ok()?;
            for part in [timestamp.as_bytes(), b".", body] {
                mac.update(part);
            }
            Some(format!("svc-v1={}", hex(&mac.finalize().into_bytes())))
        })
        .collect();
    entries.join(",")
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

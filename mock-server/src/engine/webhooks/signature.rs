//! The signature of a webhook delivery, scheme `svc-v1`.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// The number of hex digits in a fingerprint.
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

/// Encodes bytes as lowercase hex digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // The expected values were computed with Python's hmac and hashlib.
    #[test]
    fn signatures_match_the_reference_implementation() {
        let body = br#"{"event":"webhook.test","status":"OK"}"#;
        let newest = "svc-v1=917aee13dd51b6707cb1290cc78046eb810b9612f369ed8058626331be151c59";
        let previous = "svc-v1=e2a856004fa705d47bf25bf64fcbed99f043918b192c15c13f40202f4c080b59";
        let one = signature(&["whsec_new"], "1767225600", body);
        assert_eq!(one, newest);
        let two = signature(&["whsec_new", "whsec_old"], "1767225600", body);
        assert_eq!(two, format!("{newest},{previous}"));
        assert_eq!(
            signature(&["whsec_new"], "0", b""),
            "svc-v1=7048ca1b5187391cd75aec5d1f59176197ff84e481fb360effc897b1e7f82e4b"
        );
    }

    #[test]
    fn a_fingerprint_is_the_start_of_the_digest() {
        assert_eq!(fingerprint("whsec_new"), "06626a5e2964da7c");
    }
}

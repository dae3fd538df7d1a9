//! A reference implementation of the scheme, without optimizations and not in constant time.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Returns the hex digits of the tag over `<timestamp>.<body>`.
pub fn tag(secret: &[u8], timestamp: &[u8], body: &[u8]) -> String {
    let mac = Hmac::<Sha256>::new_from_slice(secret).expect("a key of any length");
    let message = [timestamp, b".", body].concat();
    let tag = mac.chain_update(message).finalize().into_bytes();
    tag.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Parses a timestamp header.
///
/// # Errors
///
/// Returns the error code if the header is missing or malformed.
pub fn timestamp(header: &[u8]) -> Result<u64, &'static str> {
    if header.is_empty() {
        return Err("timestamp_missing");
    }
    let text = std::str::from_utf8(header).map_err(|_| "timestamp_malformed")?;
    if text.len() > 20 || text.chars().any(|digit| !digit.is_ascii_digit()) {
        return Err("timestamp_malformed");
    }
    text.parse().map_err(|_| "timestamp_malformed")
}

/// Parses a signature header and returns its well-formed tags in lower case.
///
/// # Errors
///
/// Returns the error code if there are no well-formed tags or the header is too large.
pub fn tags(header: &[u8]) -> Result<Vec<String>, &'static str> {
    let entries: Vec<&[u8]> = header.split(|byte| *byte == b',').collect();
    if header.len() > 4096 {
        return Err("signature_too_long");
    }
    if entries.len() > 32 {
        return Err("signature_too_many");
    }
    // Maps each byte to the character with its value, so that any input becomes text.
    let to_text = |entry: &&[u8]| entry.iter().map(|byte| *byte as char).collect::<String>();
    let entries: Vec<String> = entries.iter().map(to_text).collect();
    let entries: Vec<&str> = entries.iter().map(|entry| entry.trim_matches([' ', '\t'])).collect();
    let valid: Vec<String> = entries
        .iter()
        .filter_map(|entry| entry.strip_prefix("svc-v1="))
        .filter(|hex| hex.len() == 64 && hex.chars().all(|digit| digit.is_ascii_hexdigit()))
        .map(str::to_lowercase)
        .collect();
    if !valid.is_empty() {
        return Ok(valid);
    }
    let is_other_scheme = |entry: &&str| entry.contains('=') && !entry.starts_with("svc-v1=");
    if entries.iter().any(|entry| !entry.is_empty() && !is_other_scheme(entry)) {
        Err("signature_malformed")
    } else if entries.iter().any(is_other_scheme) {
        Err("signature_unsupported")
    } else {
        Err("signature_missing")
    }
}

/// Verifies a delivery and returns the index of the first secret that matches.
///
/// # Errors
///
/// Returns the error code if the delivery is rejected.
pub fn verify(
    secrets: &[Vec<u8>],
    timestamp_header: &[u8],
    signature: &[u8],
    body: &[u8],
    now: u64,
    tolerance: u64,
) -> Result<usize, &'static str> {
    let signed_at = timestamp(timestamp_header)?;
    let tags = tags(signature)?;
    if tolerance != 0 && i128::from(now) - i128::from(signed_at) > i128::from(tolerance) {
        return Err("timestamp_too_old");
    }
    if tolerance != 0 && i128::from(signed_at) - i128::from(now) > i128::from(tolerance) {
        return Err("timestamp_in_future");
    }
    let matches = |secret: &Vec<u8>| tags.contains(&tag(secret, timestamp_header, body));
    secrets.iter().position(matches).ok_or("signature_mismatch")
}

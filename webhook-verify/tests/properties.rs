//! Property tests of verifying and signing, against a reference implementation.

use hmac::{Hmac, KeyInit, Mac};
use proptest::collection::vec;
use proptest::prelude::*;
use sha2::Sha256;
use svc_webhook_verify::{DeliveryHeaders, Key, KeySet, Signer, Verifier, VerifyError};

/// A reference implementation that shares no code with the crate.
fn reference_signature(secret: &[u8], timestamp: &str, body: &[u8]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    let tag = mac.finalize().into_bytes();
    let hex: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("svc-v1={hex}"))
}

/// Generates secrets without zero bytes: HMAC pads keys with zeros, so two secrets that
/// differ only in trailing zeros are the same key.
fn secret() -> impl Strategy<Value = Vec<u8>> {
    vec(1..=u8::MAX, 1..200).prop_filter("blank secret", |secret| !secret.trim_ascii().is_empty())
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..2000)
}

/// Generates arbitrary and nearly valid header values.
fn header() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..5000),
        "[0-9]{0,22}".prop_map(String::into_bytes),
        "( ?(svc-v[0-9]=)?[0-9a-fA-F]{0,66},?){0,40}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn signatures_match_the_reference_implementation(secret in secret(), time: u64, body in body()) {
        let headers = Signer::new(KeySet::new([&secret])?).sign(time, &body);
        let timestamp = time.to_string();
        prop_assert_eq!(headers.timestamp(), &timestamp);
        let expected = reference_signature(&secret, &timestamp, &body);
        prop_assert_eq!(Some(headers.signature()), expected.as_deref());
    }

    #[test]
    fn signatures_of_the_reference_implementation_are_accepted(
        secrets in vec(secret(), 1..=8),
        index: prop::sample::Index,
        time: u64,
        body in body(),
    ) {
        let secret = index.get(&secrets);
        let timestamp = time.to_string();
        let signature = reference_signature(secret, &timestamp, &body).unwrap_or_default();
        let headers = DeliveryHeaders { timestamp, signature };
        let verified = Verifier::new(KeySet::new(&secrets)?).verify(headers, &body, time)?;
        prop_assert_eq!(verified.timestamp(), time);
        prop_assert_eq!(secrets.get(verified.key_index()), Some(secret));
    }

    #[test]
    fn a_flipped_bit_is_rejected(
        time: u64,
        body in vec(any::<u8>(), 1..2000),
        part in 0..3_usize,
        index: prop::sample::Index,
        bit in 0..8,
    ) {
        let keys = KeySet::new(["whsec_newest"])?;
        let headers = Signer::new(keys.clone()).sign(time, &body);
        let mut parts = [headers.timestamp().into(), headers.signature().into(), body];
        let index = index.index(parts[part].len());
        let before = parts[part][index];
        parts[part][index] ^= 1_u8 << bit;
        // Flipping the case bit of a hex letter does not change the tag.
        let is_same_tag = part == 1 && index >= 7 && parts[1][index].eq_ignore_ascii_case(&before);
        let [timestamp, signature, body] = parts;
        let verifier = Verifier::new(keys).ignoring_timestamp();
        let result = verifier.verify(DeliveryHeaders { timestamp, signature }, &body, time);
        prop_assert_eq!(result.is_ok(), is_same_tag);
        if part == 2 {
            prop_assert_eq!(result, Err(VerifyError::SignatureMismatch));
        }
    }

    #[test]
    fn chunks_of_any_size_give_the_same_result(body in body(), chunk_sizes in vec(1..300_usize, 0..20)) {
        let keys = KeySet::new(["whsec_newest", "whsec_previous"])?;
        let headers = Signer::new(keys.clone()).sign(1_700_000_000, &body);
        let mut stream = Verifier::new(keys).begin(DeliveryHeaders::from(&headers))?;
        let mut rest = body.as_slice();
        for size in chunk_sizes {
            let (chunk, after) = rest.split_at(size.min(rest.len()));
            stream.update(chunk);
            rest = after;
        }
        stream.update(rest);
        prop_assert!(stream.finish(1_700_000_000).is_ok());
    }

    #[test]
    fn arbitrary_input_is_rejected_without_a_panic(
        secret in secret(),
        timestamp in header(),
        signature in header(),
        body in body(),
        now: u64,
        tolerance: std::time::Duration,
    ) {
        let verifier = Verifier::new(Key::new(secret)?).tolerance(tolerance);
        let headers = DeliveryHeaders { timestamp, signature };
        prop_assert!(verifier.verify(headers, body, now).is_err());
    }

    #[test]
    fn invalid_entries_do_not_invalidate_a_valid_one(
        before in "[a-z0-9=;\" ]{0,40}",
        after in "[a-z0-9=;\" ]{0,40}",
    ) {
        let keys = KeySet::new(["whsec_newest"])?;
        let headers = Signer::new(keys.clone()).sign(1_700_000_000, "{}");
        let signature = format!("{before},{},{after}", headers.signature());
        let headers = DeliveryHeaders { timestamp: headers.timestamp(), signature: &signature };
        let result = Verifier::new(keys).verify(headers, "{}", 1_700_000_000);
        prop_assert!(result.is_ok());
    }
}

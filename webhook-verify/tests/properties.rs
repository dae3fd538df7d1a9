//! What holds for every delivery, checked against the plain `hmac` and `sha2` crates.

use hmac::{Hmac, KeyInit, Mac};
use proptest::collection::vec;
use proptest::prelude::*;
use sha2::Sha256;
use svc_webhook_verify::{KeySet, Signer, Verifier, VerifyError, verify};

/// The scheme in the fewest words: an oracle that shares no code with the crate.
fn oracle(secret: &[u8], timestamp: &str, body: &[u8]) -> Option<String> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).ok()?;
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    let tag = mac.finalize().into_bytes();
    let hex: String = tag.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("svc-v1={hex}"))
}

/// Without zero bytes: HMAC pads with them, so two such secrets can be one key.
fn secret() -> impl Strategy<Value = Vec<u8>> {
    vec(1..=u8::MAX, 1..200).prop_filter("a secret", |secret| !secret.trim_ascii().is_empty())
}

fn body() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..2000)
}

/// Header values: anything at all, and things that are nearly right.
fn header() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        vec(any::<u8>(), 0..5000),
        "[0-9]{0,22}".prop_map(String::into_bytes),
        "( ?(svc-v[0-9]=)?[0-9a-fA-F]{0,66},?){0,40}".prop_map(String::into_bytes),
    ]
}

proptest! {
    #[test]
    fn signatures_are_those_of_the_oracle(secret in secret(), time: u64, body in body()) {
        let headers = Signer::new(KeySet::new([&secret])?).sign(time, &body);
        let timestamp = time.to_string();
        prop_assert_eq!(headers.timestamp(), &timestamp);
        let expected = oracle(&secret, &timestamp, &body);
        prop_assert_eq!(Some(headers.signature()), expected.as_deref());
    }

    #[test]
    fn what_the_oracle_signs_is_verified(
        secrets in vec(secret(), 1..=8),
        which: prop::sample::Index,
        time: u64,
        body in body(),
    ) {
        let secret = which.get(&secrets);
        let timestamp = time.to_string();
        let signature = oracle(secret, &timestamp, &body).unwrap_or_default();
        let verified = Verifier::new(KeySet::new(&secrets)?).check(&timestamp, &signature, &body, time)?;
        prop_assert_eq!(verified.timestamp(), time);
        prop_assert_eq!(secrets.get(verified.key_index()), Some(secret));
    }

    #[test]
    fn a_flipped_bit_in_the_body_is_refused(
        mut body in vec(any::<u8>(), 1..2000),
        place: prop::sample::Index,
        bit in 0..8,
    ) {
        let keys = KeySet::new(["whsec_newest"])?;
        let headers = Signer::new(keys.clone()).sign(1_700_000_000, &body);
        let place = place.index(body.len());
        body[place] ^= 1_u8 << bit;
        let refused = Verifier::new(keys)
            .check(headers.timestamp(), headers.signature(), &body, 1_700_000_000);
        prop_assert_eq!(refused, Err(VerifyError::SignatureMismatch));
    }

    #[test]
    fn a_flipped_bit_in_the_timestamp_is_refused(time: u64, place: prop::sample::Index, bit in 0..8) {
        let keys = KeySet::new(["whsec_newest"])?;
        let headers = Signer::new(keys.clone()).sign(time, "{}");
        let mut timestamp = headers.timestamp().as_bytes().to_vec();
        let place = place.index(timestamp.len());
        timestamp[place] ^= 1_u8 << bit;
        let lenient = Verifier::new(keys).tolerance(std::time::Duration::ZERO);
        let genuine = lenient.verify(&timestamp, headers.signature(), "{}", time);
        prop_assert!(!genuine);
    }

    #[test]
    fn a_flipped_bit_in_the_signature_is_refused(place: prop::sample::Index, bit in 0..8) {
        let keys = KeySet::new(["whsec_newest"])?;
        let headers = Signer::new(keys.clone()).sign(1_700_000_000, "{}");
        let mut signature = headers.signature().as_bytes().to_vec();
        let place = place.index(signature.len());
        let before = signature[place];
        signature[place] ^= 1_u8 << bit;
        // The one bit that may flip is the one between `a` and `A` in a hex digit.
        let same_tag = place >= 7 && signature[place].eq_ignore_ascii_case(&before);
        let verifier = Verifier::new(keys);
        let answer = verifier.verify(headers.timestamp(), &signature, "{}", 1_700_000_000);
        prop_assert_eq!(answer, same_tag);
    }

    #[test]
    fn pieces_of_any_size_give_the_same_answer(body in body(), cuts in vec(1..300_usize, 0..20)) {
        let keys = KeySet::new(["whsec_newest", "whsec_previous"])?;
        let headers = Signer::new(keys.clone()).sign(1_700_000_000, &body);
        let mut verification = Verifier::new(keys).begin(headers.timestamp(), headers.signature())?;
        let mut rest = body.as_slice();
        for cut in cuts {
            let (piece, after) = rest.split_at(cut.min(rest.len()));
            verification.update(piece);
            rest = after;
        }
        verification.update(rest);
        prop_assert!(verification.finish(1_700_000_000).is_ok());
    }

    #[test]
    fn no_input_panics_and_none_is_accepted_by_chance(
        secret in vec(any::<u8>(), 0..200),
        timestamp in header(),
        signature in header(),
        body in body(),
        now: u64,
        tolerance: std::time::Duration,
    ) {
        prop_assert!(!verify(secret, timestamp, signature, body, now, tolerance));
    }

    #[test]
    fn rubbish_beside_a_good_entry_does_not_spoil_it(
        before in "[a-z0-9=;\" ]{0,40}",
        after in "[a-z0-9=;\" ]{0,40}",
    ) {
        let keys = KeySet::new(["whsec_newest"])?;
        let headers = Signer::new(keys.clone()).sign(1_700_000_000, "{}");
        let signature = format!("{before},{},{after}", headers.signature());
        let verifier = Verifier::new(keys);
        let genuine = verifier.verify(headers.timestamp(), signature, "{}", 1_700_000_000);
        prop_assert!(genuine);
    }
}

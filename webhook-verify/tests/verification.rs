//! Deliveries, genuine and hostile, against literal signatures.
//!
//! The expected values come from Python's standard library:
//!
//! ```text
//! import hmac
//! body = b'{"event":"job.completed","job_id":"job_123"}'
//! hmac.new(b"whsec_newest", b"1700000000." + body, "sha256").hexdigest()
//! ```

use std::time::Duration;

use svc_webhook_verify::{KeySet, Signer, VerifiedSignature, Verifier, VerifyError, verify};

const NOW: u64 = 1_700_000_000;
const TIMESTAMP: &str = "1700000000";
const BODY: &[u8] = br#"{"event":"job.completed","job_id":"job_123"}"#;

/// Over `1700000000.` and the body, with `whsec_newest`.
const NEWEST: &str = "8498d1923149870b5d2d2b7b2f9e95ec0c126ae2be06c4a9bb745a34c4d8b142";
/// The same with `whsec_previous`.
const PREVIOUS: &str = "27455c5c3a544650ceb66fb2daf0819ca143610f00db70586f8d38ac015dde13";
/// Over `0001700000000.` and the body, with `whsec_newest`.
const NEWEST_OF_PADDED: &str = "956d3e06aa801c1d314aebf2f64c47609dffd5446e11245636e58fcf4cdcc503";
/// Over `1700000000.` and no body, with `whsec_newest`.
const NEWEST_OF_EMPTY: &str = "c3292d380c05def2a33da51c6e59ffe93aac01c25e4fc231e37dbf74cb03bc2c";
/// Over `1700000000.` and the bytes 00 ff fe 80, with `whsec_newest`.
const NEWEST_OF_BINARY: &str = "bfde5f017e153fd344ec2aeb27613ad1b488835497ac17947984857a77d5756d";

/// Name, timestamp, signature, body, and the index of the matching key or the reason.
type Row<'a> = (&'a str, &'a str, &'a str, &'a [u8], Result<usize, &'a str>);

/// Puts each row to the whole-body check, to the streaming one and to the boolean.
fn assert_rows(verifier: &Verifier, rows: &[Row<'_>]) {
    for &(name, timestamp, signature, body, expected) in rows {
        let whole = verifier.verify(timestamp, signature, body, NOW);
        let outcome = whole.as_ref().map(VerifiedSignature::key_index);
        assert_eq!(outcome.map_err(VerifyError::code), expected, "{name}");

        let streamed = verifier
            .begin(timestamp, signature)
            .and_then(|mut verification| {
                for piece in body.chunks(7) {
                    verification.update(piece);
                }
                verification.finish(NOW)
            });
        assert_eq!(streamed, whole, "streamed: {name}");

        let answer = verifier.verify(timestamp, signature, body, NOW);
        assert_eq!(answer, expected.is_ok(), "boolean: {name}");
    }
}

#[test]
fn what_the_signature_header_may_be() {
    let newest = format!("svc-v1={NEWEST}");
    let previous = format!("svc-v1={PREVIOUS}");
    let wrong = format!("svc-v1={}", "0".repeat(64));
    let rows: &[(&str, String, Result<usize, &str>)] = &[
        ("the newest key matches", newest.clone(), Ok(0)),
        ("the previous key matches", previous.clone(), Ok(1)),
        (
            "both match, newest first",
            format!("{newest},{previous}"),
            Ok(0),
        ),
        (
            "both match, newest last",
            format!("{previous},{newest}"),
            Ok(0),
        ),
        (
            "a blank after the comma",
            format!("{wrong}, {newest}"),
            Ok(0),
        ),
        ("blanks and tabs around", format!(" \t{newest}\t , "), Ok(0)),
        (
            "hex in upper case",
            format!("svc-v1={}", NEWEST.to_uppercase()),
            Ok(0),
        ),
        ("a wrong entry before", format!("{wrong},{newest}"), Ok(0)),
        ("a wrong entry after", format!("{newest},{wrong}"), Ok(0)),
        (
            "a malformed entry before",
            format!("svc-v1=zz,{newest}"),
            Ok(0),
        ),
        (
            "a malformed entry after",
            format!("{newest},garbage"),
            Ok(0),
        ),
        ("an empty entry before", format!(",{newest}"), Ok(0)),
        (
            "a scheme of the future beside",
            format!("svc-v2=abc,{newest}"),
            Ok(0),
        ),
        (
            "the last of 32 entries",
            format!("{}{newest}", "a=b,".repeat(31)),
            Ok(0),
        ),
        (
            "a wrong signature",
            wrong.clone(),
            Err("signature_mismatch"),
        ),
        (
            "two wrong signatures",
            format!("{wrong},{wrong}"),
            Err("signature_mismatch"),
        ),
        ("no header", String::new(), Err("signature_missing")),
        ("a blank header", " \t".into(), Err("signature_missing")),
        (
            "nothing but commas",
            " , ,".into(),
            Err("signature_missing"),
        ),
        ("no scheme", NEWEST.into(), Err("signature_malformed")),
        ("no tag", "svc-v1=".into(), Err("signature_malformed")),
        (
            "a tag cut to 63 digits",
            newest[..70].into(),
            Err("signature_malformed"),
        ),
        (
            "a tag cut to half",
            newest[..39].into(),
            Err("signature_malformed"),
        ),
        (
            "a tag of 65 digits",
            format!("{newest}0"),
            Err("signature_malformed"),
        ),
        (
            "a tag that is not hex",
            newest.replace('8', "g"),
            Err("signature_malformed"),
        ),
        (
            "a blank before the tag",
            format!("svc-v1= {NEWEST}"),
            Err("signature_malformed"),
        ),
        (
            "a blank after the scheme",
            format!("svc-v1 ={NEWEST}"),
            Err("signature_unsupported"),
        ),
        (
            "the scheme in upper case",
            format!("SVC-V1={NEWEST}"),
            Err("signature_unsupported"),
        ),
        (
            "a scheme of the future",
            format!("svc-v2={NEWEST}"),
            Err("signature_unsupported"),
        ),
        (
            "a scheme of the past",
            format!("svc-v0={NEWEST}"),
            Err("signature_unsupported"),
        ),
        (
            "quoted",
            format!("\"{newest}\""),
            Err("signature_unsupported"),
        ),
        (
            "a semicolon for the comma",
            format!("{wrong};{newest}"),
            Err("signature_malformed"),
        ),
        (
            "a newline after",
            format!("{newest}\n"),
            Err("signature_malformed"),
        ),
        (
            "the 33rd entry",
            format!("{}{newest}", "a=b,".repeat(32)),
            Err("signature_too_many"),
        ),
        (
            "past 4096 bytes",
            format!("{newest},a={}", "b".repeat(4096)),
            Err("signature_too_long"),
        ),
    ];
    let rows: Vec<Row<'_>> = rows
        .iter()
        .map(|(name, signature, expected)| (*name, TIMESTAMP, signature.as_str(), BODY, *expected))
        .collect();
    let keys = KeySet::new(["whsec_newest", "whsec_previous"]).unwrap();
    assert_rows(&Verifier::new(keys), &rows);
}

#[test]
fn the_body_is_bytes_and_the_timestamp_is_exact() {
    let signed = |tag: &str| format!("svc-v1={tag}");
    let (plain, padded) = (signed(NEWEST), signed(NEWEST_OF_PADDED));
    let (empty, binary) = (signed(NEWEST_OF_EMPTY), signed(NEWEST_OF_BINARY));
    let parsed_and_written_again = br#"{"event": "job.completed", "job_id": "job_123"}"#;
    let rows: &[Row<'_>] = &[
        ("an empty body", TIMESTAMP, &empty, b"", Ok(0)),
        (
            "a body that is not UTF-8",
            TIMESTAMP,
            &binary,
            b"\x00\xff\xfe\x80",
            Ok(0),
        ),
        (
            "zeros that were signed",
            "0001700000000",
            &padded,
            BODY,
            Ok(0),
        ),
        (
            "zeros put in front",
            "0001700000000",
            &plain,
            BODY,
            Err("signature_mismatch"),
        ),
        (
            "zeros taken away",
            TIMESTAMP,
            &padded,
            BODY,
            Err("signature_mismatch"),
        ),
        (
            "a moved timestamp",
            "1700000001",
            &plain,
            BODY,
            Err("signature_mismatch"),
        ),
        (
            "a cut body",
            TIMESTAMP,
            &plain,
            &BODY[1..],
            Err("signature_mismatch"),
        ),
        (
            "a newline after the body",
            TIMESTAMP,
            &empty,
            b"\n",
            Err("signature_mismatch"),
        ),
        (
            "a rewritten body",
            TIMESTAMP,
            &plain,
            parsed_and_written_again,
            Err("signature_mismatch"),
        ),
        (
            "a dot moved from body to timestamp",
            "1700000000.",
            &empty,
            b"",
            Err("timestamp_malformed"),
        ),
        ("no timestamp", "", &plain, BODY, Err("timestamp_missing")),
        (
            "a signed timestamp",
            "+1700000000",
            &plain,
            BODY,
            Err("timestamp_malformed"),
        ),
        (
            "a timestamp before time",
            "-9223372036854775808",
            &plain,
            BODY,
            Err("timestamp_malformed"),
        ),
        (
            "two timestamps",
            "1700000000, 1700000000",
            &plain,
            BODY,
            Err("timestamp_malformed"),
        ),
        (
            "five minutes and a second ago",
            "1699999699",
            &plain,
            BODY,
            Err("timestamp_too_old"),
        ),
        (
            "five minutes and a second ahead",
            "1700000301",
            &plain,
            BODY,
            Err("timestamp_in_future"),
        ),
        (
            "milliseconds",
            "1700000000000",
            &plain,
            BODY,
            Err("timestamp_in_future"),
        ),
        (
            "the end of time",
            "18446744073709551615",
            &plain,
            BODY,
            Err("timestamp_in_future"),
        ),
    ];
    assert_rows(&Verifier::new(KeySet::new(["whsec_newest"]).unwrap()), rows);
}

#[test]
fn a_delivery_is_good_for_five_minutes_either_way() {
    let verifier = Verifier::new(KeySet::new(["whsec_newest"]).unwrap());
    let signature = format!("svc-v1={NEWEST}");
    let at = |now| verifier.verify(TIMESTAMP, &signature, BODY, now);
    assert!(at(NOW - 300) && at(NOW + 300));
    assert!(!at(NOW - 301) && !at(NOW + 301));
    assert!(!at(0) && !at(u64::MAX));
}

#[test]
fn a_tolerance_of_zero_leaves_age_unchecked_and_nothing_else() {
    let keys = KeySet::new(["whsec_newest"]).unwrap();
    let verifier = Verifier::new(keys).tolerance(Duration::ZERO);
    let signature = format!("svc-v1={NEWEST}");
    assert!(verifier.verify(TIMESTAMP, &signature, BODY, 0));
    assert!(verifier.verify(TIMESTAMP, &signature, BODY, u64::MAX));
    assert!(!verifier.verify("", &signature, BODY, NOW));
    assert!(!verifier.verify("1700000001", &signature, BODY, NOW));
}

#[test]
fn the_reference_helper_answers_false_and_never_fails() {
    let signature = format!("svc-v1={NEWEST}");
    let tolerance = Verifier::DEFAULT_TOLERANCE;
    let answer = |secret: &str, timestamp: &[u8], signature: &[u8]| {
        verify(secret, timestamp, signature, BODY, NOW, tolerance)
    };
    assert!(answer("whsec_newest", b"1700000000", signature.as_bytes()));
    assert!(!answer(
        "whsec_previous",
        b"1700000000",
        signature.as_bytes()
    ));
    assert!(!answer("", b"1700000000", signature.as_bytes()));
    assert!(!answer("whsec_newest", b"\xff\xfe", signature.as_bytes()));
    assert!(!answer("whsec_newest", b"1700000000", b"svc-v1=\xff"));
}

#[test]
fn a_rotation_is_survived_by_receivers_of_either_secret() {
    let rotating = Signer::new(KeySet::new(["whsec_newest", "whsec_previous"]).unwrap());
    let headers = rotating.sign(NOW, BODY);
    assert_eq!(
        headers.signature(),
        format!("svc-v1={NEWEST},svc-v1={PREVIOUS}")
    );
    assert_eq!(headers.fingerprint(), "7ab95101ed6218b1");
    for secret in ["whsec_newest", "whsec_previous"] {
        let verifier = Verifier::new(KeySet::new([secret]).unwrap());
        assert!(verifier.verify(headers.timestamp(), headers.signature(), BODY, NOW));
    }
    let stranger = Verifier::new(KeySet::new(["whsec_retired"]).unwrap());
    let refused = stranger.check(headers.timestamp(), headers.signature(), BODY, NOW);
    assert_eq!(refused, Err(VerifyError::SignatureMismatch));
}

#[test]
fn a_verifier_and_its_parts_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    shared::<Verifier>();
    shared::<Signer>();
    shared::<svc_webhook_verify::StreamVerifier>();
}

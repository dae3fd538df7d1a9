//! What went wrong in other verifiers, one test each.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::post;
use svc_webhook_verify::{
    Claim, DedupeKey, DedupeStore, KeyError, KeySet, MemoryStore, Signer, Verifier, VerifyError,
    Webhook, header,
};

use crate::fixtures::{JOB, NOW, delivery, receiver, request, signed_at, status, with_header};

fn verifier() -> Verifier {
    Verifier::new(KeySet::new(["whsec_newest"]).unwrap())
}

/// A delivery whose timestamp header is written oddly, and signed as written.
fn signed_as_written(timestamp: &str) -> (String, String) {
    // By hand, as the crate's own signer writes plain numbers only.
    let mac = {
        use hmac::{Hmac, KeyInit, Mac};
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(b"whsec_newest").unwrap();
        mac.update(format!("{timestamp}.{JOB}").as_bytes());
        mac.finalize().into_bytes()
    };
    let hex: String = mac.iter().map(|byte| format!("{byte:02x}")).collect();
    (timestamp.to_owned(), format!("svc-v1={hex}"))
}

#[test]
fn the_lowest_timestamp_does_not_panic_and_odd_spellings_are_judged_as_written() {
    let rows = [
        ("-9223372036854775808", Err(VerifyError::TimestampMalformed)),
        ("+1700000000", Err(VerifyError::TimestampMalformed)),
        ("1700000000", Ok(())),
        ("0001700000000", Ok(())),
    ];
    for (timestamp, expected) in rows {
        let (timestamp, signature) = signed_as_written(timestamp);
        let outcome = verifier().verify(&timestamp, &signature, JOB, NOW);
        assert_eq!(outcome.map(drop), expected, "{timestamp}");
    }
    // Signed as one spelling, sent as another: the number is equal, the bytes are not.
    let (_, signature) = signed_as_written("1700000000");
    let outcome = verifier().verify("0001700000000", &signature, JOB, NOW);
    assert_eq!(outcome, Err(VerifyError::SignatureMismatch));
}

#[tokio::test]
async fn a_body_over_two_mib_and_a_header_that_is_no_text_do_not_panic_the_handler() {
    let router = Router::new()
        .route(
            "/webhooks",
            post(async |webhook: Webhook| webhook.into_body()),
        )
        .with_state(receiver());
    let large = " ".repeat(2 * 1024 * 1024 + 1);
    assert_eq!(status(&router, delivery(&large)).await, 413);
    for name in [header::TIMESTAMP, header::SIGNATURE, header::FINGERPRINT] {
        let expected = if name == header::FINGERPRINT {
            200
        } else {
            400
        };
        let odd = with_header(name, Some(b"\xff\xfe\x80"));
        assert_eq!(status(&router, odd).await, expected, "{name}");
    }
    assert_eq!(
        status(&router, request(signed_at(NOW, "{}"), JOB)).await,
        401
    );
}

#[test]
fn a_body_is_bytes() {
    let body = b"\x00\xff\xfe\xed\xa0\x80";
    let headers = Signer::new(verifier().keys().clone()).sign(NOW, body);
    assert!(verifier().verify(headers.timestamp(), headers.signature(), body, NOW));
}

#[test]
fn the_far_future_is_refused_as_the_far_past_is() {
    for time in [0, NOW - 301, NOW + 301, u64::MAX] {
        let headers = Signer::new(verifier().keys().clone()).sign(time, JOB);
        assert!(!verifier().verify(headers.timestamp(), headers.signature(), JOB, NOW));
    }
}

#[test]
fn a_header_full_of_signatures_is_capped() {
    let wrong = format!("svc-v1={}", "0".repeat(64));
    let outcome = |count| {
        verifier().verify(
            "1700000000",
            [wrong.as_str()].repeat(count).join(","),
            JOB,
            NOW,
        )
    };
    assert_eq!(outcome(32), Err(VerifyError::SignatureMismatch));
    assert_eq!(outcome(33), Err(VerifyError::TooManySignatures));
    assert_eq!(outcome(100_000), Err(VerifyError::SignatureTooLong));
    assert_eq!(KeySet::new(["s"; 9]).unwrap_err(), KeyError::TooManySecrets);
}

#[test]
fn an_empty_secret_is_refused_at_construction() {
    for secret in ["", " ", "\n", "\0"] {
        assert_eq!(KeySet::new([secret]).unwrap_err(), KeyError::EmptySecret);
    }
}

#[test]
fn freshness_cannot_be_skipped_and_a_window_of_zero_still_wants_the_timestamp() {
    let headers = Signer::new(verifier().keys().clone()).sign(NOW, JOB);
    let without_window = verifier().tolerance(Duration::ZERO);
    for verifier in [verifier(), without_window] {
        let outcome = |timestamp: &str| verifier.verify(timestamp, headers.signature(), JOB, NOW);
        assert_eq!(outcome(""), Err(VerifyError::TimestampMissing));
        assert_eq!(outcome("1700000001"), Err(VerifyError::SignatureMismatch));
        assert!(outcome("1700000000").is_ok());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_deliveries_at_once_do_not_both_get_through() {
    let store = Arc::new(MemoryStore::new(10));
    for round in 0..200 {
        let claims = [0, 1].map(|_| {
            let (store, key) = (
                store.clone(),
                DedupeKey::new("job.completed", format!("job:{round}")),
            );
            tokio::spawn(async move { store.claim(&key, NOW).await })
        });
        let mut new = 0;
        for claim in claims {
            match claim.await.unwrap() {
                Ok(Claim::Acquired(lease)) => {
                    new += 1;
                    store.commit(lease, NOW).await.unwrap();
                }
                other => assert!(other.is_ok(), "{other:?}"),
            }
        }
        assert_eq!(new, 1);
    }
}

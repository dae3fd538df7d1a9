//! Whole deliveries, many of them nearly genuine: whole, in pieces and by header map, the
//! answer is the oracle's.
#![no_main]

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use svc_webhook_verify::{KeySet, VerifyError, VerifiedSignature, Verifier, header};
use svc_webhook_verify_fuzz::oracle;
use svc_webhook_verify_fuzz::delivery::Delivery;

fuzz_target!(|delivery: Delivery| {
    let Ok(keys) = KeySet::new(&delivery.secrets) else {
        let blank = |secret: &Vec<u8>| secret.iter().all(|byte| b" \t\n\x0c\r\0".contains(byte));
        assert!(matches!(delivery.secrets.len(), 0 | 9..) || delivery.secrets.iter().any(blank));
        return;
    };
    let Delivery {
        secrets,
        body,
        now,
        tolerance,
        ..
    } = &delivery;
    let (timestamp, signature) = (delivery.timestamp(), delivery.signature());
    let verifier = Verifier::new(keys).tolerance(Duration::from_secs(*tolerance));
    let expected = oracle::verify(secrets, &timestamp, &signature, body, *now, *tolerance);
    let outcome = |checked: Result<VerifiedSignature, VerifyError>| {
        checked
            .map(|verified| verified.key_index())
            .map_err(|reject| reject.code())
    };

    let checked = verifier.verify(&timestamp, &signature, body, *now);
    assert_eq!(outcome(checked), expected);

    let streamed = verifier
        .begin(&timestamp, &signature)
        .and_then(|mut verification| {
            let piece = 1 + usize::from(timestamp.first().copied().unwrap_or(0));
            body.chunks(piece)
                .for_each(|piece| verification.update(piece));
            verification.finish(*now)
        });
    assert_eq!(outcome(streamed), expected);

    let values = (
        HeaderValue::from_bytes(&timestamp),
        HeaderValue::from_bytes(&signature),
    );
    if let (Ok(timestamp), Ok(signature)) = values {
        let mut headers = HeaderMap::new();
        headers.insert(header::TIMESTAMP, timestamp);
        headers.insert(header::SIGNATURE, signature);
        assert_eq!(
            outcome(verifier.verify_with_headers(&headers, body, *now)),
            expected
        );
    }
});

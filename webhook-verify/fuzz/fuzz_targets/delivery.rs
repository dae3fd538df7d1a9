//! Verifies generated deliveries as a whole, in chunks and with a header map, and compares the
//! results with the reference implementation.
#![no_main]

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use libfuzzer_sys::fuzz_target;
use svc_webhook_verify::{
    DeliveryHeaders, KeySet, VerifiedSignature, Verifier, VerifyError, header,
};
use svc_webhook_verify_fuzz::delivery::Delivery;
use svc_webhook_verify_fuzz::oracle;

fuzz_target!(|delivery: Delivery| {
    let Ok(keys) = KeySet::new(&delivery.secrets) else {
        let is_blank = |secret: &Vec<u8>| secret.iter().all(|byte| b" \t\n\x0c\r\0".contains(byte));
        assert!(matches!(delivery.secrets.len(), 0 | 9..) || delivery.secrets.iter().any(is_blank));
        return;
    };
    let Delivery { secrets, body, now, tolerance, .. } = &delivery;
    let (timestamp, signature) = (delivery.timestamp(), delivery.signature());
    let verifier = match tolerance {
        0 => Verifier::new(keys).ignoring_timestamp(),
        _ => Verifier::new(keys).tolerance(Duration::from_secs(*tolerance)),
    };
    let headers =
        DeliveryHeaders { timestamp: timestamp.as_slice(), signature: signature.as_slice() };
    let expected = oracle::verify(secrets, &timestamp, &signature, body, *now, *tolerance);
    let simplify = |result: Result<VerifiedSignature, VerifyError>| {
        result.map(|verified| verified.key_index()).map_err(|error| error.code())
    };

    let result = verifier.verify(headers, body, *now);
    assert_eq!(simplify(result), expected);

    let result = verifier.begin(headers).and_then(|mut stream| {
        let chunk_size = 1 + usize::from(timestamp.first().copied().unwrap_or(0));
        body.chunks(chunk_size).for_each(|chunk| stream.update(chunk));
        stream.finish(*now)
    });
    assert_eq!(simplify(result), expected);

    let values = (HeaderValue::from_bytes(&timestamp), HeaderValue::from_bytes(&signature));
    if let (Ok(timestamp), Ok(signature)) = values {
        let mut headers = HeaderMap::new();
        headers.insert(header::TIMESTAMP, timestamp);
        headers.insert(header::SIGNATURE, signature);
        assert_eq!(simplify(verifier.verify_with_headers(&headers, body, *now)), expected);
    }
});

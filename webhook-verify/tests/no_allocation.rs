//! Nothing is allocated to verify or to sign, whatever the outcome. The counting allocator
//! is the reason for a test binary of its own.

use allocation_counter::measure;
use axum::http::HeaderMap;
use svc_webhook_verify::{KeySet, Signer, Verifier, VerifyError, verify};

const NOW: u64 = 1_700_000_000;

#[test]
fn the_counter_counts() {
    let counted = measure(|| drop(vec![0_u8; 100]));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn verifying_and_signing_allocate_nothing() -> Result<(), Box<dyn std::error::Error>> {
    let body = vec![b'x'; 64 * 1024];
    let keys = KeySet::new(["whsec_newest", "whsec_previous"])?;
    let headers = Signer::new(keys.clone()).sign(NOW, &body);
    let (timestamp, signature) = (headers.timestamp(), headers.signature());
    let map = HeaderMap::from(headers.clone());
    let full = vec![signature; 16].join(",");
    let verifier = Verifier::new(keys.clone());
    let counted = measure(|| {
        let tolerance = Verifier::DEFAULT_TOLERANCE;
        assert!(verify(
            "whsec_newest",
            timestamp,
            signature,
            &body,
            NOW,
            tolerance
        ));
        let fresh = Verifier::new(keys.clone()).tolerance(tolerance);
        assert!(fresh.verify(timestamp, signature, &body, NOW));
        assert!(verifier.verify(timestamp, &full, &body, NOW).is_ok());
        assert!(verifier.verify_with_headers(&map, &body, NOW).is_ok());

        let streamed = verifier.begin(timestamp, signature);
        let streamed = streamed.and_then(|mut verification| {
            body.chunks(1000)
                .for_each(|piece| verification.update(piece));
            verification.finish(NOW)
        });
        assert!(streamed.is_ok());

        let refusals = [
            verifier.verify("", signature, &body, NOW),
            verifier.verify(timestamp, "svc-v1=zz", &body, NOW),
            verifier.verify(timestamp, signature, "{}", NOW),
            verifier.verify(timestamp, signature, &body, NOW + 301),
        ];
        assert_eq!(
            refusals.map(|refused| refused.err().map(|reject| reject.status())),
            [Some(400), Some(400), Some(401), Some(401)]
        );
        assert_eq!(Signer::new(keys.clone()).sign(NOW, &body), headers);
        assert_eq!(VerifyError::SignatureMissing.code(), "signature_missing");
    });
    assert_eq!(counted.count_total, 0);
    Ok(())
}

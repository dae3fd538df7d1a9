//! Verifying and signing do not allocate. This is a separate test binary because it installs
//! a counting global allocator.

use allocation_counter::measure;
use axum::http::HeaderMap;
use svc_webhook_verify::{KeySet, Signer, Verifier, VerifyError, verify};

const NOW: u64 = 1_700_000_000;

#[test]
fn the_allocator_counts_allocations() {
    let counted = measure(|| drop(vec![0_u8; 100]));
    assert_eq!(counted.count_total, 1);
}

#[test]
fn verifying_and_signing_do_not_allocate() -> Result<(), Box<dyn std::error::Error>> {
    let body = vec![b'x'; 64 * 1024];
    let keys = KeySet::new(["whsec_newest", "whsec_previous"])?;
    let headers = Signer::new(keys.clone()).sign(NOW, &body);
    let (timestamp, signature) = (headers.timestamp(), headers.signature());
    let map = HeaderMap::from(headers.clone());
    let many_entries = vec![signature; 16].join(",");
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
        let new_verifier = Verifier::new(keys.clone()).tolerance(tolerance);
        let result = new_verifier.verify(timestamp, signature, &body, NOW);
        assert!(result.is_ok());
        assert!(
            verifier
                .verify(timestamp, &many_entries, &body, NOW)
                .is_ok()
        );
        assert!(verifier.verify_with_headers(&map, &body, NOW).is_ok());

        let stream = verifier.begin(timestamp, signature);
        let result = stream.and_then(|mut stream| {
            body.chunks(1000).for_each(|chunk| stream.update(chunk));
            stream.finish(NOW)
        });
        assert!(result.is_ok());

        let rejected = [
            verifier.verify("", signature, &body, NOW),
            verifier.verify(timestamp, "svc-v1=zz", &body, NOW),
            verifier.verify(timestamp, signature, "{}", NOW),
            verifier.verify(timestamp, signature, &body, NOW + 301),
        ];
        assert_eq!(
            rejected.map(|result| result.err().map(|error| error.status())),
            [Some(400), Some(400), Some(401), Some(401)]
        );
        assert_eq!(Signer::new(keys.clone()).sign(NOW, &body), headers);
        assert_eq!(VerifyError::SignatureMissing.code(), "signature_missing");
    });
    assert_eq!(counted.count_total, 0);
    Ok(())
}

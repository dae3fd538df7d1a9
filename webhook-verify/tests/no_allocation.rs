//! Verifying and signing do not allocate. This is a separate test binary because it installs
//! a counting global allocator.

use allocation_counter::measure;
use axum::http::HeaderMap;
use svc_webhook_verify::{DeliveryHeaders, KeySet, Signer, Verifier, VerifyError};

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
    let signed = DeliveryHeaders::from(&headers);
    let map = HeaderMap::from(headers.clone());
    let many_entries = vec![signed.signature; 16].join(",");
    let with_timestamp = |timestamp| DeliveryHeaders { timestamp, ..signed };
    let with_signature = |signature| DeliveryHeaders { signature, ..signed };
    let verifier = Verifier::new(keys.clone());
    let counted = measure(|| {
        let new_verifier = Verifier::new(keys.clone()).ignoring_timestamp();
        assert!(new_verifier.verify(signed, &body, NOW + 301).is_ok());
        assert!(verifier.verify(with_signature(&many_entries), &body, NOW).is_ok());
        assert!(verifier.verify_with_headers(&map, &body, NOW).is_ok());

        let stream = verifier.begin(signed);
        let result = stream.and_then(|mut stream| {
            body.chunks(1000).for_each(|chunk| stream.update(chunk));
            stream.finish(NOW)
        });
        assert!(result.is_ok());

        let rejected = [
            verifier.verify(with_timestamp(""), &body, NOW),
            verifier.verify(with_signature("svc-v1=zz"), &body, NOW),
            verifier.verify(signed, "{}", NOW),
            verifier.verify(signed, &body, NOW + 301),
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

//! Parses arbitrary header values and compares the results with the reference implementation.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use svc_webhook_verify::{DeliveryHeaders, Key, Verifier, VerifyError};
use svc_webhook_verify_fuzz::oracle;

static VERIFIER: LazyLock<Verifier> =
    LazyLock::new(|| Verifier::new(Key::new("whsec_newest").expect("a secret")));

fuzz_target!(|headers: (&[u8], &[u8])| {
    let (timestamp, signature) = headers;
    let result = VERIFIER.begin(DeliveryHeaders { timestamp, signature });
    let expected = oracle::timestamp(timestamp).and_then(|time| {
        oracle::tags(signature)?;
        Ok(time)
    });
    assert_eq!(result.as_ref().map(drop).map_err(VerifyError::code), expected.map(drop));
    if let (Ok(stream), Ok(time)) = (result, expected) {
        // The fuzzer does not know the secret, so no tag can match.
        assert_eq!(stream.finish(time), Err(VerifyError::SignatureMismatch));
    }
});

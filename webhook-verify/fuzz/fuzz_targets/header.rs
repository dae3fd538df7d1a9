//! Any two header values: what is read out of them is what the oracle reads.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use svc_webhook_verify::{Key, VerifyError, Verifier};
use svc_webhook_verify_fuzz::oracle;

static VERIFIER: LazyLock<Verifier> =
    LazyLock::new(|| Verifier::new(Key::new("whsec_newest").expect("a secret")));

fuzz_target!(|headers: (&[u8], &[u8])| {
    let (timestamp, signature) = headers;
    let begun = VERIFIER.begin(timestamp, signature);
    let expected = oracle::timestamp(timestamp).and_then(|time| {
        oracle::tags(signature)?;
        Ok(time)
    });
    assert_eq!(
        begun.as_ref().map(drop).map_err(VerifyError::code),
        expected.map(drop)
    );
    if let (Ok(verification), Ok(time)) = (begun, expected) {
        // Without the secret nobody hits on a tag, not even at the right time.
        assert_eq!(verification.finish(time), Err(VerifyError::SignatureMismatch));
    }
});

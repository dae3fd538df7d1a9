//! Verifies a webhook's signature, without any web framework.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use svc_webhook_verify::{DeliveryHeaders, Key, KeyError, Signer, Verifier};

fn main() -> Result<(), KeyError> {
    let (body, now) = (br#"{"event": "job.completed", "job_id": "job_1"}"#, 1_700_000_000);
    let signed = Signer::new(Key::new("the workspace's signing secret")?).sign(now, body);
    // In a receiver, the values come from the request.
    let headers = DeliveryHeaders { timestamp: signed.timestamp(), signature: signed.signature() };

    let verifier = Verifier::new(Key::new("the workspace's signing secret")?);
    match verifier.verify(headers, body, now + 5) {
        Ok(verified) => println!("genuine, signed at {}", verified.timestamp()),
        Err(reject) => println!("refused: {reject}"),
    }
    match verifier.verify(headers, b"another body", now + 5) {
        Ok(verified) => println!("genuine, signed at {}", verified.timestamp()),
        Err(reject) => println!("refused: {reject}"),
    }
    Ok(())
}

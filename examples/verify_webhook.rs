//! Check a webhook's signature, without any web framework.

#![allow(clippy::print_stdout, reason = "a program that prints")]

use svc_webhook_verify::{Key, KeyError, Signer, Verifier};

fn main() -> Result<(), KeyError> {
    let (body, now) = (
        br#"{"event": "job.completed", "job_id": "job_1"}"#,
        1_700_000_000,
    );
    let headers = Signer::new(Key::new("the workspace's signing secret")?).sign(now, body);

    let verifier = Verifier::new(Key::new("the workspace's signing secret")?);
    match verifier.verify(headers.timestamp(), headers.signature(), body, now + 5) {
        Ok(verified) => println!("genuine, signed at {}", verified.timestamp()),
        Err(reject) => println!("refused: {reject}"),
    }
    match verifier.verify(
        headers.timestamp(),
        headers.signature(),
        b"another body",
        now + 5,
    ) {
        Ok(verified) => println!("genuine, signed at {}", verified.timestamp()),
        Err(reject) => println!("refused: {reject}"),
    }
    Ok(())
}

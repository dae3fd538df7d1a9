//! Random identifiers.

use svc_sdk::types::IdempotencyKey;

use crate::error::Failure;

/// Returns the given number of random bytes in hexadecimal.
pub(crate) fn hex(bytes: usize) -> Result<String, Failure> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random)
        .map_err(|error| Failure::other(format!("cannot get random bytes: {error}")))?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Returns a new idempotency key.
pub(crate) fn idempotency_key() -> Result<IdempotencyKey, Failure> {
    hex(16)?
        .parse()
        .map_err(|error: svc_sdk::types::InvalidField| Failure::other(error.to_string()))
}

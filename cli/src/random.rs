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

/// Returns a random fraction in [0, 1), or 0.5 if the system has no random bytes.
pub(crate) fn fraction() -> f64 {
    let mut random = [0; 4];
    match getrandom::fill(&mut random) {
        Ok(()) => f64::from(u32::from_le_bytes(random)) / (f64::from(u32::MAX) + 1.0),
        Err(_) => 0.5,
    }
}

/// Returns a new idempotency key.
pub(crate) fn idempotency_key() -> Result<IdempotencyKey, Failure> {
    hex(16)?
        .parse()
        .map_err(|error: svc_sdk::types::InvalidField| Failure::other(error.to_string()))
}

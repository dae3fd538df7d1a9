//! The only source of randomness: jitter and idempotency keys. A seed makes both repeatable.

use std::sync::{Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::types::IdempotencyKey;

#[derive(Debug)]
pub(crate) struct Entropy(Mutex<fastrand::Rng>);

impl Entropy {
    pub(crate) fn from_seed(seed: u64) -> Self {
        Self(Mutex::new(fastrand::Rng::with_seed(seed)))
    }

    pub(crate) fn from_system() -> Result<Self> {
        let seed = getrandom::u64().map_err(|error| {
            Error::configuration(format!("the system gives no randomness: {error}"))
        })?;
        Ok(Self::from_seed(seed))
    }

    /// From 0 up to, not including, 1.
    pub(crate) fn fraction(&self) -> f64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).f64()
    }

    /// A key that nobody else has.
    pub(crate) fn idempotency_key(&self) -> Result<IdempotencyKey> {
        let mut bytes = [0; 16];
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .fill(&mut bytes);
        let uuid = uuid::Builder::from_random_bytes(bytes).into_uuid();
        Ok(uuid.to_string().parse()?)
    }
}

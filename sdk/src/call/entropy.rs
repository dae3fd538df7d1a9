//! The only source of randomness: jitter and idempotency keys. A seed makes both repeatable.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::types::IdempotencyKey;

#[derive(Debug)]
pub(crate) struct Entropy {
    generator: Mutex<fastrand::Rng>,
    seeded: bool,
}

impl Entropy {
    pub(crate) fn from_seed(seed: u64) -> Self {
        let generator = Mutex::new(fastrand::Rng::with_seed(seed));
        Self {
            generator,
            seeded: true,
        }
    }

    pub(crate) fn from_system() -> Result<Self> {
        let seed = getrandom::u64().map_err(no_randomness)?;
        Ok(Self {
            seeded: false,
            ..Self::from_seed(seed)
        })
    }

    /// From 0 up to, not including, 1.
    pub(crate) fn fraction(&self) -> f64 {
        self.generator().f64()
    }

    /// A key that nobody else has: from the system, unless it is to be repeatable. A generator's
    /// state is copied where a process forks, and two submits with one key are one submit.
    pub(crate) fn idempotency_key(&self) -> Result<IdempotencyKey> {
        let mut bytes = [0; 16];
        if self.seeded {
            self.generator().fill(&mut bytes);
        } else {
            getrandom::fill(&mut bytes).map_err(no_randomness)?;
        }
        let uuid = uuid::Builder::from_random_bytes(bytes).into_uuid();
        Ok(uuid.to_string().parse()?)
    }

    fn generator(&self) -> MutexGuard<'_, fastrand::Rng> {
        self.generator
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn no_randomness(error: getrandom::Error) -> Error {
    Error::configuration(format!("the system gives no randomness: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_makes_keys_repeatable_and_nothing_else_does() {
        let key = |entropy: &Entropy| entropy.idempotency_key().unwrap();
        assert_eq!(key(&Entropy::from_seed(7)), key(&Entropy::from_seed(7)));
        let system = Entropy::from_system().unwrap();
        assert_ne!(key(&system), key(&system));
    }
}

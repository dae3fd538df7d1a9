//! The only source of randomness, for jitter and idempotency keys. A seed makes both repeatable.

use std::sync::Mutex;

use crate::error::{Error, Result};
use crate::lock::lock;
use crate::types::IdempotencyKey;

#[derive(Debug)]
pub(crate) struct Random {
    generator: Mutex<fastrand::Rng>,
    seeded: bool,
}

impl Random {
    pub(crate) fn from_seed(seed: u64) -> Self {
        let generator = Mutex::new(fastrand::Rng::with_seed(seed));
        Self { generator, seeded: true }
    }

    pub(crate) fn from_system() -> Result<Self> {
        let seed = getrandom::u64().map_err(no_random_numbers)?;
        Ok(Self { seeded: false, ..Self::from_seed(seed) })
    }

    /// Returns a random fraction in [0, 1).
    pub(crate) fn fraction(&self) -> f64 {
        lock(&self.generator).f64()
    }

    /// Returns a unique idempotency key.
    ///
    /// It comes from the operating system unless the client is seeded: the state of a generator is
    /// copied when a process forks, and two submits with one key would be one submit.
    pub(crate) fn idempotency_key(&self) -> Result<IdempotencyKey> {
        let mut bytes = [0; 16];
        if self.seeded {
            lock(&self.generator).fill(&mut bytes);
        } else {
            getrandom::fill(&mut bytes).map_err(no_random_numbers)?;
        }
        let uuid = uuid::Builder::from_random_bytes(bytes).into_uuid();
        Ok(uuid.to_string().try_into()?)
    }
}

fn no_random_numbers(error: getrandom::Error) -> Error {
    Error::configuration(format!("the operating system provides no random numbers: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_seed_makes_keys_repeatable() {
        let key = |random: &Random| random.idempotency_key().unwrap();
        assert_eq!(key(&Random::from_seed(7)), key(&Random::from_seed(7)));
        let system = Random::from_system().unwrap();
        assert_ne!(key(&system), key(&system));
    }
}

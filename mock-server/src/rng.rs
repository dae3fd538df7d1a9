//! A seeded random number generator, which is part of the state and draws the pictures and tunes.

use serde::{Deserialize, Serialize};

/// A SplitMix64 generator.
///
/// Its output function is a bijection, so no number repeats within 2^64 draws.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rng {
    state: u64,
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: mix(seed) }
    }

    /// Creates a generator with the same numbers as the reference implementation.
    pub(crate) fn unmixed(seed: u64) -> Self {
        Self { state: seed }
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Returns a number less than `bound`, or 0 if `bound` is 0.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }

    /// Returns a random fraction in [0, 1).
    #[expect(clippy::cast_precision_loss, reason = "an f64 represents integers of 53 bits exactly")]
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a new opaque identifier with the prefix.
    pub(crate) fn id(&mut self, prefix: &str) -> String {
        const LENGTH: usize = 20;
        let mut id = String::with_capacity(prefix.len() + 1 + LENGTH);
        id.extend([prefix, "_"]);
        self.push_token(&mut id, LENGTH);
        id
    }

    pub(crate) fn token(&mut self, length: usize) -> String {
        let mut token = String::with_capacity(length);
        self.push_token(&mut token, length);
        token
    }

    fn push_token(&mut self, text: &mut String, length: usize) {
        const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
        let mut left = length;
        while left > 0 {
            // Each number provides 13 characters of 5 bits, which use all of its 64 bits.
            let number = self.next();
            let letters: [u8; 13] = std::array::from_fn(|at| {
                let index = (number >> (5 * at)) & 31;
                LETTERS.get(index as usize).copied().unwrap_or(b'0')
            });
            let used = letters.get(..left).unwrap_or(&letters);
            text.push_str(str::from_utf8(used).unwrap_or_default());
            left -= used.len();
        }
    }
}

fn mix(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn identifiers_are_opaque_and_unique() {
        let mut rng = Rng::new(1);
        let ids: BTreeSet<String> = (0..10_000).map(|_| rng.id("job")).collect();
        assert_eq!(ids.len(), 10_000);
        for id in &ids {
            let token = id.strip_prefix("job_").unwrap();
            assert_eq!(token.len(), 20);
            assert!(token.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()));
        }
    }

    #[test]
    fn numbers_match_the_reference_implementation() {
        let mut rng = Rng::unmixed(1_234_567);
        assert_eq!(rng.next(), 6_457_827_717_110_365_317);
        assert_eq!(rng.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn the_seed_determines_the_sequence() {
        let drawn = |seed| {
            let mut rng = Rng::new(seed);
            [rng.token(30), rng.id("art"), rng.fraction().to_string()]
        };
        assert_eq!(drawn(5), drawn(5));
        assert_ne!(drawn(5), drawn(6));
    }
}

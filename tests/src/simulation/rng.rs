//! Seeded random numbers, the only source of chance in a simulation.

/// A generator whose sequence is determined by its seed (SplitMix64).
#[derive(Clone, Debug)]
pub(super) struct Rng {
    state: u64,
}

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: mix(seed) }
    }

    /// Returns a generator for one of several independent purposes.
    pub(super) fn derive(seed: u64, purpose: u64) -> Self {
        Self::new(mix(seed) ^ purpose.wrapping_mul(0xa076_1d64_78bd_642f))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    /// Returns a number less than `bound`, which must not be 0.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// Returns a number in `low..=high`.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// Returns `true` with a probability in thousandths.
    pub(super) fn per_mille(&mut self, probability: u64) -> bool {
        self.below(1_000) < probability
    }

    /// Returns one of the items, of which there must be at least one.
    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// Returns the index of a weight, each as likely as it is large.
    pub(super) fn weighted(&mut self, weights: &[u64]) -> usize {
        let mut rest = self.below(weights.iter().sum::<u64>().max(1));
        for (index, weight) in weights.iter().enumerate() {
            if rest < *weight {
                return index;
            }
            rest -= weight;
        }
        0
    }
}

fn mix(number: u64) -> u64 {
    let mut z = number;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

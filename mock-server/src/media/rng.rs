//! A random number generator that is the same on every machine and in every release.

/// A SplitMix64 generator, whose numbers are unrelated even for adjacent seeds.
#[derive(Debug)]
pub(super) struct Rng(u64);

impl Rng {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, or 0 if `bound` is 0. The bias is negligible for small bounds.
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        let reduced = self.next() % u64::from(bound.max(1));
        u32::try_from(reduced).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_match_the_reference_implementation() {
        let mut seeded = Rng::new(1_234_567);
        assert_eq!(seeded.next(), 6_457_827_717_110_365_317);
        assert_eq!(seeded.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_are_below_the_bound_and_a_bound_of_zero_gives_zero() {
        let mut seeded = Rng::new(7);
        assert!((0..1000).all(|_| seeded.below(5) < 5));
        assert_eq!(seeded.below(0), 0);
    }
}

//! Random numbers: a generator whose seed decides everything, and seeds that differ from run to run.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A seed that differs from run to run.
pub fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// A generator: SplitMix64. Written here because the crates for it may give other numbers with every version, and a seed
/// in a bug report has to mean the same run for years.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The same numbers for the same seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The tiny bias of a remainder does not matter here.
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// An index into something of this length; 0 if it is empty.
    pub fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// A number from 0 to below 1.
    pub fn fraction(&mut self) -> f64 {
        const STEPS: u64 = 1 << 53;
        self.below(STEPS) as f64 / STEPS as f64
    }

    /// Whether an event of this probability happens: never at 0, always at 1.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.fraction() < probability
    }
}

#[cfg(test)]
mod tests {
    use super::Random;

    #[test]
    fn the_seed_decides_everything() {
        let draw = |seed| {
            let mut random = Random::new(seed);
            [(); 8].map(|()| random.below(1000))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn probabilities_are_kept() {
        let mut random = Random::new(1);
        let mut count = |probability| (0..10_000).filter(|_| random.happens(probability)).count();
        assert_eq!((count(0.0), count(1.0)), (0, 10_000));
        assert!((900..1100).contains(&count(0.1)));
        assert_eq!(random.below(0), 0);
    }
}

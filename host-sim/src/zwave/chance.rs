//! Chance that can be repeated.

/// A stream of random numbers that its seed decides: SplitMix64.
#[derive(Debug)]
pub(super) struct Chance(u64);

impl Chance {
    /// The same numbers for the same seed.
    pub(super) const fn new(seed: u64) -> Self {
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
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        // The tiny bias of a remainder does not matter here.
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// An index into something of this length; 0 if it is empty.
    pub(super) fn index(&mut self, length: usize) -> usize {
        self.below(length as u64) as usize
    }

    /// Whether something happens that happens with the probability `rate`.
    pub(super) fn happens(&mut self, rate: f64) -> bool {
        const STEPS: u64 = 1 << 53;
        // Never at 0, always at 1.
        (self.below(STEPS) as f64) < rate * STEPS as f64
    }
}

#[cfg(test)]
mod tests {
    use super::Chance;

    #[test]
    fn the_seed_decides_everything() {
        let draw = |seed| {
            let mut chance = Chance::new(seed);
            [(); 8].map(|()| chance.below(1000))
        };
        assert_eq!(draw(7), draw(7));
        assert_ne!(draw(7), draw(8));
    }

    #[test]
    fn rates_are_kept() {
        let mut chance = Chance::new(1);
        let mut count = |rate| (0..10_000).filter(|_| chance.happens(rate)).count();
        assert_eq!((count(0.0), count(1.0)), (0, 10_000));
        assert!((900..1100).contains(&count(0.1)));
        assert_eq!(chance.below(0), 0);
    }
}

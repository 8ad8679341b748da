//! Chance from a seed: the same on every machine, in every version.

/// A source of numbers (SplitMix64).
#[derive(Debug, Clone)]
pub struct Chance(u64);

impl Chance {
    /// The source that this seed names.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Any number.
    pub const fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`; 0 if there is none.
    pub const fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.number() % bound }
    }

    /// A number of `low..=high`.
    pub const fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low + 1)
    }

    /// The same for what is counted in 32 bits.
    pub fn count(&mut self, low: u32, high: u32) -> u32 {
        u32::try_from(self.between(low.into(), high.into())).unwrap_or(high)
    }

    /// The same for sizes.
    pub fn size(&mut self, low: usize, high: usize) -> usize {
        let wide = |size: usize| u64::try_from(size).unwrap_or(u64::MAX);
        usize::try_from(self.between(wide(low), wide(high))).unwrap_or(high)
    }

    /// Whether one in `of` happens.
    pub const fn one_in(&mut self, of: u64) -> bool {
        self.below(of) == 0
    }

    /// One of these, each as likely as its weight says.
    pub fn weighted<T: Clone>(&mut self, choices: &[(u64, T)], otherwise: T) -> T {
        let mut drawn = self.below(choices.iter().map(|(weight, _)| weight).sum());
        for (weight, choice) in choices {
            if drawn < *weight {
                return choice.clone();
            }
            drawn -= weight;
        }
        otherwise
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_gives_the_same() {
        let numbers = |seed| {
            let mut chance = Chance::new(seed);
            [chance.number(), chance.number()]
        };
        assert_eq!(numbers(0), [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        let mut chance = Chance::new(1);
        assert!((0..1_000).all(|_| (3..=5).contains(&chance.between(3, 5))));
        assert_eq!(chance.weighted(&[(0, 'a'), (9, 'b')], 'c'), 'b');
    }
}

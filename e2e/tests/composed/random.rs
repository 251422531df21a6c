//! A seeded source of random numbers. The same seed always gives the same history on every machine.

/// The SplitMix64 generator.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next 64 bits.
    pub(crate) const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`.
    pub(crate) const fn below(&mut self, bound: u8) -> u8 {
        (self.next() % bound as u64) as u8
    }

    /// Returns true with a probability of one in `of`.
    pub(crate) const fn one_in(&mut self, of: u8) -> bool {
        self.below(of) == 0
    }
}

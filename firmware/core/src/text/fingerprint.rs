//! Fingerprints: short hashes that tell texts apart.

/// Hashes parts, one after the other. For what nobody has an interest to forge.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Of nothing.
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Adds a part. `ab` and `c` are not `a` and `bc`.
    pub fn add(&mut self, part: &[u8]) {
        // FNV-1a. The length separates the parts.
        let mut mix = |byte: u8| self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        part.len().to_le_bytes().into_iter().for_each(&mut mix);
        part.iter().copied().for_each(&mut mix);
    }

    /// The hash of all parts.
    pub const fn finish(self) -> u64 {
        self.0
    }
}

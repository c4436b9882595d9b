//! FNV-1a: short hashes for data that nobody has an interest to forge.
//!
//! | type | use it to |
//! | --- | --- |
//! | [`Fnv32`] | hash one text, also piece by piece |
//! | [`Fingerprint`] | hash several parts that must stay apart |
//!
//! Some hashes are visible outside the hub or outlive a restart, so their values must never change.

use core::fmt;

#[cfg(test)]
mod tests;

/// FNV-1a with 32 bits, over bytes or over characters.
#[derive(Clone, Copy, Debug)]
pub struct Fnv32(u32);

impl Fnv32 {
    /// Of nothing.
    pub const fn new() -> Self {
        Self(0x811c_9dc5)
    }

    /// The hash of these bytes or characters.
    pub fn of(units: impl IntoIterator<Item: Into<u32>>) -> u32 {
        let mut hash = Self::new();
        hash.add(units);
        hash.finish()
    }

    /// Adds bytes or characters. Pieces are not kept apart: `ab` and `c` are `a` and `bc`.
    pub fn add(&mut self, units: impl IntoIterator<Item: Into<u32>>) {
        let mix = |hash: u32, unit: u32| (hash ^ unit).wrapping_mul(0x0100_0193);
        self.0 = units.into_iter().map(Into::into).fold(self.0, mix);
    }

    /// The hash of everything added.
    pub const fn finish(self) -> u32 {
        self.0
    }
}

/// Adds the bytes of a text. Never fails.
impl fmt::Write for Fnv32 {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.bytes());
        Ok(())
    }
}

/// FNV-1a with 64 bits over parts, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Of nothing.
    pub const fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// The fingerprint of these parts.
    pub fn of(parts: &[&[u8]]) -> u64 {
        let mut fingerprint = Self::new();
        parts.iter().for_each(|part| fingerprint.add(part));
        fingerprint.finish()
    }

    /// Adds a part. `ab` and `c` are not `a` and `bc`.
    pub fn add(&mut self, part: &[u8]) {
        // The length separates the parts.
        let mut mix = |byte: u8| self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        part.len().to_le_bytes().into_iter().for_each(&mut mix);
        part.iter().copied().for_each(&mut mix);
    }

    /// The fingerprint of all parts.
    pub const fn finish(self) -> u64 {
        self.0
    }
}

//! A ring of bytes that takes frames whole or not at all.
//!
//! Pure, so that `rustc --test src/ring.rs` runs its tests on a desktop.

/// Frames that wait to be read. All zeros when new. `N` is a power of two.
pub struct Ring<const N: usize> {
    bytes: [u8; N],
    // Positions count up and wrap around; a byte lies at its position modulo `N`.
    read: usize,
    committed: usize,
    written: usize,
    /// The open frame did not fit.
    is_cut: bool,
    dropped: u32,
}

impl<const N: usize> Ring<N> {
    pub const fn new() -> Self {
        assert!(N.is_power_of_two(), "positions wrap around");
        Self { bytes: [0; N], read: 0, committed: 0, written: 0, is_cut: false, dropped: 0 }
    }

    /// Adds bytes to the open frame. The reader sees none of them before [`commit`](Self::commit).
    pub fn push(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if self.written.wrapping_sub(self.read) == N {
                self.is_cut = true;
                return;
            }
            self.bytes[self.written % N] = *byte;
            self.written = self.written.wrapping_add(1);
        }
    }

    /// Ends the open frame. One that did not fit is dropped and counted.
    pub fn commit(&mut self) {
        if self.is_cut {
            self.dropped = self.dropped.saturating_add(1);
            self.abandon();
        }
        self.committed = self.written;
    }

    /// Forgets the open frame.
    pub fn abandon(&mut self) {
        self.written = self.committed;
        self.is_cut = false;
    }

    /// The number of bytes to read. They are whole frames, unless the reader is in the middle of one.
    pub const fn len(&self) -> usize {
        self.committed.wrapping_sub(self.read)
    }

    /// Takes as many bytes as there are and fit into `to`.
    pub fn take(&mut self, to: &mut [u8]) -> usize {
        let count = self.len().min(to.len());
        for byte in &mut to[..count] {
            *byte = self.bytes[self.read % N];
            self.read = self.read.wrapping_add(1);
        }
        count
    }

    /// The number of frames dropped since the last call.
    pub fn take_dropped(&mut self) -> u32 {
        core::mem::take(&mut self.dropped)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    /// Against a queue of frames: what is read is what was written, frame by frame, without those that did not fit.
    #[test]
    fn frames_are_whole_or_counted() {
        let mut ring = Ring::<32>::new();
        let mut expected = VecDeque::new();
        let mut dropped = 0;
        let mut random = 1_u32;
        let mut next = |below: u32| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 16) % below
        };
        for step in 0..100_000_u32 {
            let frame: Vec<u8> = (0..next(40)).map(|at| (step + at) as u8).collect();
            let fits = ring.len() + frame.len() <= 32;
            let (first, second) = frame.split_at(frame.len() / 2);
            ring.push(first);
            ring.push(second);
            match next(8) {
                0 => ring.abandon(),
                _ => {
                    ring.commit();
                    if fits { expected.extend(frame) } else { dropped += 1 }
                }
            }
            let mut read = vec![0; next(20) as usize];
            let count = ring.take(&mut read);
            assert_eq!(count, read.len().min(expected.len()));
            for byte in &read[..count] {
                assert_eq!(Some(*byte), expected.pop_front());
            }
            assert_eq!(ring.len(), expected.len());
            if next(16) == 0 {
                assert_eq!(ring.take_dropped(), std::mem::take(&mut dropped));
            }
        }
    }
}

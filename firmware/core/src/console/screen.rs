//! What waits to be written to the port.

use core::fmt;

use heapless::Vec;

use crate::limits;

/// Bytes for the port. What does not fit is dropped, whole lines at the end: whoever writes more than a screen writes it in
/// parts.
pub struct Screen {
    bytes: Vec<u8, { limits::CONSOLE_SCREEN }, u16>,
    is_full: bool,
}

impl Screen {
    /// Empty.
    pub const fn new() -> Self {
        Self { bytes: Vec::new(), is_full: false }
    }

    /// What waits.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// It has been written.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.is_full = false;
    }

    /// Adds bytes as they are, or nothing if they do not fit.
    pub fn push(&mut self, bytes: &[u8]) {
        self.is_full |= self.bytes.extend_from_slice(bytes).is_err();
    }

    /// Adds a line, or nothing if it does not fit.
    pub fn line(&mut self, text: fmt::Arguments<'_>) {
        let before = self.bytes.len();
        // An error means that it was full, which is noted.
        let _ = fmt::write(self, text);
        self.push(b"\r\n");
        if self.is_full {
            self.bytes.truncate(before);
        }
    }
}

/// Ends lines as terminals want it.
impl fmt::Write for Screen {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for piece in text.split_inclusive('\n') {
            match piece.strip_suffix('\n') {
                Some(line) => {
                    self.push(line.as_bytes());
                    self.push(b"\r\n");
                }
                None => self.push(piece.as_bytes()),
            }
        }
        if self.is_full { Err(fmt::Error) } else { Ok(()) }
    }
}

//! The grammar of RFC 8259, checked in one pass without recursion.

use super::{Error, Reason};
use crate::limits::JSON_DEPTH;

// One bit a level says whether it is an object.
const _: () = assert!(JSON_DEPTH <= u64::BITS as usize);

/// The offset of the first byte that is not white space, from `at` on.
pub(super) fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}

/// Checks that one value starts at `at`, and returns where it ends.
pub(super) fn value(bytes: &[u8], at: usize) -> Result<usize, Error> {
    let mut scan = Scan { bytes, at };
    let mut depth = 0usize;
    let mut objects = 0u64;
    loop {
        match scan.peek()? {
            open @ (b'{' | b'[') => {
                if depth == JSON_DEPTH {
                    return Err(Error { at: scan.at, reason: Reason::TooDeep });
                }
                depth += 1;
                objects = objects << 1 | u64::from(open == b'{');
                scan.at = skip_space(bytes, scan.at + 1);
                let close = if open == b'{' { b'}' } else { b']' };
                if scan.peek()? != close {
                    if open == b'{' {
                        scan.key()?;
                    }
                    continue;
                }
                scan.at += 1;
                depth -= 1;
                objects >>= 1;
            }
            b'"' => scan.string()?,
            b'-' | b'0'..=b'9' => scan.number()?,
            b't' => scan.literal(b"true")?,
            b'f' => scan.literal(b"false")?,
            b'n' => scan.literal(b"null")?,
            _ => return scan.expected("a value"),
        }
        // After a value: close what ends here, or go on with the next member.
        loop {
            if depth == 0 {
                return Ok(scan.at);
            }
            scan.at = skip_space(bytes, scan.at);
            let object = objects & 1 == 1;
            match (object, scan.peek()?) {
                (_, b',') => {
                    scan.at = skip_space(bytes, scan.at + 1);
                    if object {
                        scan.key()?;
                    }
                    break;
                }
                (true, b'}') | (false, b']') => {
                    scan.at += 1;
                    depth -= 1;
                    objects >>= 1;
                }
                (true, _) => return scan.expected("',' or '}'"),
                (false, _) => return scan.expected("',' or ']'"),
            }
        }
    }
}

struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Result<u8, Error> {
        self.bytes.get(self.at).copied().ok_or(Error { at: self.at, reason: Reason::Incomplete })
    }

    fn expected<T>(&self, what: &'static str) -> Result<T, Error> {
        Err(Error { at: self.at, reason: Reason::Expected(what) })
    }

    /// A key with its colon, up to the start of its value.
    fn key(&mut self) -> Result<(), Error> {
        if self.peek()? != b'"' {
            return self.expected("a name in double quotes");
        }
        self.string()?;
        self.at = skip_space(self.bytes, self.at);
        if self.peek()? != b':' {
            return self.expected("':'");
        }
        self.at = skip_space(self.bytes, self.at + 1);
        Ok(())
    }

    fn literal(&mut self, word: &'static [u8]) -> Result<(), Error> {
        for letter in word {
            if self.peek()? != *letter {
                return self.expected("true, false or null");
            }
            self.at += 1;
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Error> {
        if self.peek()? == b'-' {
            self.at += 1;
        }
        // A leading zero stands alone.
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.bytes.get(self.at) {
            self.at += 1;
            if let b'+' | b'-' = self.peek()? {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Error> {
        if !self.peek()?.is_ascii_digit() {
            return self.expected("a digit");
        }
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<(), Error> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => self.escape()?,
                0..0x20 => return self.expected("no control character in a string"),
                _ => self.at += 1,
            }
        }
    }

    fn escape(&mut self) -> Result<(), Error> {
        self.at += 1;
        match self.peek()? {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
            // Half of a surrogate pair has no UTF-8, but programs that cut texts write it: it is read as U+FFFD.
            b'u' => self.hex()?,
            _ => return self.expected("a known escape"),
        }
        Ok(())
    }

    /// The four digits after `u`, which stands at the current offset.
    fn hex(&mut self) -> Result<(), Error> {
        for _ in 0..4 {
            self.at += 1;
            if !self.peek()?.is_ascii_hexdigit() {
                return self.expected("four hexadecimal digits");
            }
        }
        self.at += 1;
        Ok(())
    }
}

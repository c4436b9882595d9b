//! Numbers compared exactly as they are written. By hand: crates for decimals have a fixed number of digits.

use core::cmp::Ordering;

use super::{Exhausted, Work};
use hub_json::Value;

/// A JSON number, exactly. Its digits stay in the text, so that there can be any number of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exact<'a> {
    negative: bool,
    /// The digits before and after the point.
    whole: &'a [u8],
    fraction: &'a [u8],
    /// How many of them are zeros in front of the first other digit.
    skip: usize,
    /// How many there are from there to the last digit that is not zero. None in zero.
    len: usize,
    /// The power of ten that the first of these stands for.
    first: i64,
    /// The power of ten that the last of these stands for.
    last: i64,
}

impl<'a> Exact<'a> {
    /// Larger exponents count as this one, which leaves room to add the length of any text.
    const EXPONENT: i64 = 1 << 60;

    /// A divisor may have this many digits, not counting zeros at either end, so that ten times a remainder
    /// still fits in 64 bits.
    const DIVISOR_DIGITS: usize = 18;

    /// The value of a JSON number.
    pub(super) fn read(value: Value<'a>, work: &mut Work) -> Result<Self, Exhausted> {
        work.spend(value.text().len())?;
        Ok(Self::parse(value.text().as_bytes()))
    }

    /// `text` is a JSON number.
    pub(super) fn parse(text: &'a [u8]) -> Self {
        let (negative, text) = match text.split_first() {
            Some((b'-', rest)) => (true, rest),
            _ => (false, text),
        };
        let (digits, exponent) = split(text, |byte| matches!(byte, b'e' | b'E'));
        let (whole, fraction) = split(digits, |byte| *byte == b'.');
        let zeros =
            |digits: &mut dyn Iterator<Item = &u8>| digits.take_while(|digit| **digit == b'0').count();
        let count = whole.len() + fraction.len();
        let skip = zeros(&mut whole.iter().chain(fraction));
        if skip == count {
            return Self { negative: false, whole, fraction, skip, len: 0, first: 0, last: 0 };
        }
        let tail = zeros(&mut whole.iter().chain(fraction).rev());
        let exponent = read_exponent(exponent);
        Self {
            negative,
            whole,
            fraction,
            skip,
            len: count.saturating_sub(skip).saturating_sub(tail),
            first: exponent + whole.len() as i64 - 1 - skip as i64,
            last: exponent - fraction.len() as i64 + tail as i64,
        }
    }

    /// The digits that count, most significant first.
    fn digits(&self) -> impl Iterator<Item = u8> {
        self.whole
            .iter()
            .chain(self.fraction)
            .skip(self.skip)
            .take(self.len)
            .map(|digit| digit.wrapping_sub(b'0'))
    }

    pub(super) const fn is_zero(&self) -> bool {
        self.len == 0
    }

    /// Whether there is nothing behind the point: 1.0 and 1e2 are integers.
    pub(super) const fn is_integer(&self) -> bool {
        self.last >= 0
    }

    /// Which of the two is more.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.is_zero(), number.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_size = || self.first.cmp(&other.first).then_with(|| self.digits().cmp(other.digits()));
        match sign(self).cmp(&sign(other)) {
            Ordering::Equal if self.negative => by_size().reverse(),
            Ordering::Equal => by_size(),
            by_sign => by_sign,
        }
    }

    /// Whether [`is_multiple_of`](Self::is_multiple_of) takes it.
    pub(super) const fn is_divisor(&self) -> bool {
        self.len > 0 && self.len <= Self::DIVISOR_DIGITS && !self.negative
    }

    /// Whether it is a whole number of times `divisor`.
    pub(super) fn is_multiple_of(&self, divisor: &Self, work: &mut Work) -> Result<bool, Exhausted> {
        // Both are an integer that does not end in zero, times a power of ten. If the divisor's power is the larger
        // one, ten would have to divide such an integer.
        let Ok(zeros) = u64::try_from(self.last - divisor.last) else { return Ok(self.is_zero()) };
        let divisor = divisor.digits().fold(0u64, |all, digit| all * 10 + u64::from(digit));
        // Ten to the 60th has every factor two and five that a divisor of 60 bits can have; further zeros change
        // nothing.
        let zeros = usize::try_from(zeros.min(60)).unwrap_or_default();
        // A division in software for each digit.
        work.spend((self.len + zeros).saturating_mul(8))?;
        let digits = self.digits().chain(core::iter::repeat_n(0, zeros));
        let remainder = digits.fold(0u64, |rest, digit| {
            (rest * 10 + u64::from(digit)).checked_rem(divisor).unwrap_or_default()
        });
        Ok(remainder == 0)
    }
}

/// What stands before and after the first byte that is `mark`.
fn split(text: &[u8], mark: impl Fn(&u8) -> bool) -> (&[u8], &[u8]) {
    let mut parts = text.splitn(2, mark);
    (parts.next().unwrap_or_default(), parts.next().unwrap_or_default())
}

fn read_exponent(text: &[u8]) -> i64 {
    let (negative, digits) = match text.split_first() {
        Some((b'-', rest)) => (true, rest),
        Some((b'+', rest)) => (false, rest),
        _ => (false, text),
    };
    let mut exponent = 0i64;
    for digit in digits {
        exponent = exponent.saturating_mul(10).saturating_add(i64::from(digit.wrapping_sub(b'0')));
    }
    let exponent = exponent.min(Exact::EXPONENT);
    if negative { -exponent } else { exponent }
}

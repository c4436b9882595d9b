//! A floating-point number as the shortest decimal.

/// The shortest decimal that reads back as a given number, without its sign: `digits` × 10^`exponent`.
///
/// Through `zmij`, which takes a third of the flash that `core::fmt` takes for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortest {
    /// At most seventeen digits, the last one not a zero.
    pub digits: u64,
    /// The power of ten that the digits count.
    pub exponent: i32,
}

impl Shortest {
    /// Nothing for infinities and NaN.
    pub fn of(number: f64) -> Option<Self> {
        if !number.is_finite() {
            return None;
        }
        let mut buffer = zmij::Buffer::new();
        let text = buffer.format_finite(number);
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let mut decimal = Self { digits: 0, exponent: exponent.parse().unwrap_or_default() };
        let mut fraction = false;
        // Zeros wait until another digit comes after them.
        let mut zeros = 0u32;
        for byte in mantissa.bytes() {
            match byte {
                b'.' => fraction = true,
                b'0'..=b'9' => {
                    decimal.exponent -= i32::from(fraction);
                    zeros += 1;
                    if byte != b'0' {
                        decimal.digits = decimal.digits.saturating_mul(10u64.saturating_pow(zeros));
                        decimal.digits = decimal.digits.saturating_add(u64::from(byte - b'0'));
                        zeros = 0;
                    }
                }
                _ => {}
            }
        }
        decimal.exponent = if decimal.digits == 0 { 0 } else { decimal.exponent + zeros as i32 };
        Some(decimal)
    }
}

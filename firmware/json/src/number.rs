//! The value of a number's text.

/// The nearest floating-point number to a decimal like `-12.5e3`, as the standard library reads it; infinite if it is too
/// large. Digits alone, `5.` and `.5` are fine too.
///
/// By hand, for the sake of flash: the standard library's takes 17 KB, most of it a table that makes it fast.
pub fn read(text: &str) -> Option<f64> {
    let (text, sign) = text.strip_prefix('-').map_or((text, 1.0), |text| (text, -1.0));
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.len() + fraction.len() == 0 || exponent.is_empty() {
        return None;
    }
    // If the exponent does not fit, only its sign matters.
    let least = if exponent.starts_with('-') { i32::MIN / 2 } else { i32::MAX / 2 };
    let written = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if !written.bytes().all(|byte| byte.is_ascii_digit()) || written.is_empty() {
        return None;
    }
    let mut exponent = exponent.parse::<i32>().unwrap_or(least).clamp(i32::MIN / 2, i32::MAX / 2);

    let mut number = Natural::ZERO;
    let mut digits = 0i32;
    let mut is_cut = false;
    for (byte, after_point) in
        whole.bytes().map(|byte| (byte, 0)).chain(fraction.bytes().map(|byte| (byte, 1)))
    {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        if digits < DIGITS {
            number.multiply_add(10, digit.into());
            exponent = exponent.saturating_sub(after_point);
            digits += i32::from(number.length > 0);
        } else {
            is_cut |= digit > 0;
            exponent = exponent.saturating_add(1 - after_point);
        }
    }
    let size = exponent.saturating_add(digits);
    let magnitude = match number.length {
        0 => 0.0,
        _ if size < SMALLEST => 0.0,
        _ if size > LARGEST => f64::INFINITY,
        _ => number.scaled(exponent, is_cut),
    };
    Some(sign * magnitude)
}

/// Digits that can decide how a number is rounded; of those after them it only matters whether one is not zero.
const DIGITS: i32 = 770;

/// A number is below 10 to this power, and then 0, or infinite.
const SMALLEST: i32 = -330;
const LARGEST: i32 = 310;

/// The length of the longest dividend below, in words of 32 bits.
const WORDS: usize = 120;

/// A natural number, its lowest word first.
struct Natural {
    words: [u32; WORDS],
    /// Words up to the highest that is not zero.
    length: usize,
}

impl Natural {
    const ZERO: Self = Self { words: [0; WORDS], length: 0 };

    fn multiply_add(&mut self, factor: u32, summand: u32) {
        let mut carry = u64::from(summand);
        for word in self.words.iter_mut().take(self.length) {
            carry += u64::from(*word) * u64::from(factor);
            *word = carry as u32;
            carry >>= 32;
        }
        if carry > 0
            && let Some(word) = self.words.get_mut(self.length)
        {
            *word = carry as u32;
            self.length += 1;
        }
    }

    /// Divides it, and returns the remainder.
    fn divide(&mut self, divisor: u32) -> u32 {
        let mut rest = 0u64;
        for word in self.words.iter_mut().take(self.length).rev() {
            rest = rest << 32 | u64::from(*word);
            *word = rest.checked_div(u64::from(divisor)).unwrap_or_default() as u32;
            rest -= u64::from(*word) * u64::from(divisor);
        }
        while self.length > 0 && self.word(self.length - 1) == 0 {
            self.length -= 1;
        }
        rest as u32
    }

    fn word(&self, index: usize) -> u32 {
        self.words.get(index).copied().unwrap_or_default()
    }

    /// Itself times a power of ten. It is not zero; if it `is_cut`, digits were dropped.
    fn scaled(mut self, power: i32, mut is_cut: bool) -> f64 {
        // Zero words below the dividend, so that enough digits are left.
        let mut added = 0;
        for _ in 0..power {
            self.multiply_add(10, 0);
        }
        if power < 0 {
            let bits = 66 + power.unsigned_abs() as usize * 107 / 32;
            added = (bits / 32 + 1).saturating_sub(self.length - 1).min(WORDS - self.length);
            self.words.copy_within(..self.length, added);
            self.words.iter_mut().take(added).for_each(|word| *word = 0);
            self.length += added;
        }
        let mut left = power.min(0);
        while left < 0 {
            let step = left.max(-9);
            is_cut |= self.divide(10u32.pow(step.unsigned_abs())) > 0;
            left -= step;
        }
        // The highest 64 bits of it, and whether there are more.
        let top = self.length;
        let [high, middle, low] = [1, 2, 3].map(|back| if back > top { 0 } else { self.word(top - back) });
        let shift = high.leading_zeros();
        let low = u64::from(low) << shift;
        let bits = (u64::from(high) << 32 | u64::from(middle)) << shift | low >> 32;
        is_cut |= low as u32 > 0 || self.words.iter().take(top.saturating_sub(3)).any(|word| *word > 0);
        let exponent = (top as i32 - added as i32) * 32 - 1 - shift as i32;
        float(bits, exponent, is_cut)
    }
}

/// `1.xxx` × 2^`exponent`, where `bits` are the 64 digits with the point after the first; and a little more, if it `is_cut`.
fn float(bits: u64, exponent: i32, is_cut: bool) -> f64 {
    // A number that is very small has fewer digits.
    let Ok(digits) = u32::try_from(53 + (exponent + 1022).min(0)) else { return 0.0 };
    if exponent > 1023 {
        return f64::INFINITY;
    }
    let kept = bits.checked_shr(64 - digits).unwrap_or_default();
    let rest = bits << digits;
    const HALF: u64 = 1 << 63;
    let is_up = rest > HALF || rest == HALF && (is_cut || kept & 1 == 1);
    // The first digit is not written, but the exponent counts it; and what is carried goes into the exponent.
    let power = (exponent + 1022).max(0) as u64;
    f64::from_bits((power << 52) + kept + u64::from(is_up))
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::String;

    use proptest::prelude::*;

    use super::read;

    fn agrees(text: &str) {
        let expected: Option<f64> = text.parse().ok();
        assert_eq!(
            read(text).map(f64::to_bits),
            expected.map(f64::to_bits),
            "{text}: {:?}, not {expected:?}",
            read(text)
        );
    }

    #[test]
    fn edges_are_as_in_the_standard_library() {
        for text in [
            "0",
            "-0",
            "0.0",
            "00",
            "1",
            "0.1",
            "5.",
            ".5",
            "1e5",
            "1E+5",
            "1e-5",
            "2.2250738585072011e-308",
            "4.9e-324",
            "2.4703282292062327e-324",
            "2.4703282292062328e-324",
            "2.5e-324",
            "1.7976931348623157e308",
            "1.7976931348623158e308",
            "1.7976931348623159e308",
            "1e309",
            "1e-400",
            "1e999999999999",
            "1e-999999999999",
            "0e999999999999",
            "9007199254740993",
            "9007199254740992.999",
            "9007199254740993.0001",
            "1.00000000000000011102230246251565404236316680908203125",
            "1.00000000000000011102230246251565404236316680908203124",
            "1.00000000000000011102230246251565404236316680908203126",
            "1.00000000000000033306690738754696212708950042724609375",
            "",
            ".",
            "e5",
            "1e",
            "1e+",
            "1e-",
            "x",
            "1x",
            "1.x",
            "--1",
            "1e1.5",
            "1.2.3",
        ] {
            agrees(text);
        }
        for power in -345..=310 {
            agrees(&format!("1e{power}"));
            agrees(&format!("9.999999999999999999999e{power}"));
        }
        // Many zeros before, after and between.
        let zeros: String = "0".repeat(900);
        for text in [
            format!("{zeros}1"),
            format!("0.{zeros}1e900"),
            format!("1{zeros}e-900"),
            format!("1{zeros}1e-901"),
        ] {
            agrees(&text);
        }
    }

    proptest! {
        #[test]
        fn any_decimal_is_read_as_by_the_standard_library(text in "-?[0-9]{1,25}(\\.[0-9]{0,30})?(e-?[0-9]{1,3})?") {
            agrees(&text);
        }

        #[test]
        fn any_number_survives_being_written(bits: u64) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            agrees(&format!("{number:e}"));
            agrees(&format!("{number:.40e}"));
            agrees(&format!("{number:.760e}"));
        }

        /// The middle between two neighbours, and what is a hair to either side of it.
        #[test]
        fn halves_go_to_the_even_side(mantissa in 0u64..1 << 52, power in 1016u64..1075) {
            let bits = power << 52 | mantissa;
            let (below, above) = (f64::from_bits(bits), f64::from_bits(bits + 1));
            let exponent = power as i32 - 1076;
            let mantissa = 2 * (mantissa | 1 << 52) + 1;
            // mantissa × 2^exponent = mantissa × 5^-exponent × 10^exponent, of which the digits are those of an integer.
            let mut digits = std::vec![0u8; 200];
            let mut value = mantissa;
            for digit in digits.iter_mut().rev() {
                *digit = (value % 10) as u8;
                value /= 10;
            }
            for _ in 0..-exponent {
                let mut carry = 0;
                for digit in digits.iter_mut().rev() {
                    let five = *digit * 5 + carry;
                    *digit = five % 10;
                    carry = five / 10;
                }
            }
            let text: String = digits.iter().map(|digit| char::from(b'0' + digit)).collect();
            let even = if bits & 1 == 0 { below } else { above };
            let half = format!("{text}e{exponent}");
            assert_eq!(read(&half), Some(even), "{half}");
            assert_eq!(read(&format!("{text}.00001e{exponent}")), Some(above));
            agrees(&half);
        }
    }
}

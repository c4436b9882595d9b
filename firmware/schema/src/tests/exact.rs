//! Numbers beyond what floating point can tell apart.

use core::cmp::Ordering;
use std::format;
use std::string::{String, ToString};

use proptest::prelude::*;

use super::expect;
use crate::Work;
use crate::exact::Exact;
use hub_json::Value;

#[test]
fn numbers_are_exact_where_floating_point_is_not() {
    expect(r#"{"maximum": 9007199254740992}"#, &[("9007199254740993", "must be at most 9007199254740992")]);
    expect(r#"{"const": 9007199254740993}"#, &[("9007199254740992", "must be 9007199254740993")]);
    expect(
        r#"{"enum": [1e400, 0.1]}"#,
        &[("10e399", "valid"), ("1e401", "must be one of: 1e400, 0.1"), ("0.10", "valid")],
    );
    expect(r#"{"exclusiveMaximum": 1e400}"#, &[("1e399", "valid"), ("1e400", "must be less than 1e400")]);
    expect(
        r#"{"multipleOf": 0.01}"#,
        &[("0.1", "valid"), ("19.99", "valid"), ("1e300", "valid"), ("0.015", "must be a multiple of 0.01")],
    );
    // Three divides nothing but threes, however many zeros there are.
    expect(
        r#"{"multipleOf": 3}"#,
        &[
            ("3e999999999", "valid"),
            ("1e999999999", "must be a multiple of 3"),
            ("123456789012345678901234567890", "valid"),
            ("123456789012345678901234567891", "must be a multiple of 3"),
        ],
    );
    expect(
        r#"{"multipleOf": 0.000244140625}"#,
        &[("1", "valid"), ("1e-12", "must be a multiple of 0.000244140625")],
    );
    expect(
        r#"{"multipleOf": 576460752303423488}"#,
        &[("1e59", "valid"), ("1e58", "must be a multiple of 576460752303423488")],
    );
    expect(r#"{"minimum": -0.0}"#, &[("0", "valid"), ("-0", "valid"), ("-1e-400", "must be at least -0.0")]);
    // Exponents of any length.
    expect(
        r#"{"maximum": 5}"#,
        &[
            ("-1e99999999999", "valid"),
            ("1e99999999999999999999999", "must be at most 5"),
            ("1e-9999999999", "valid"),
        ],
    );
    expect(
        r#"{"type": "integer"}"#,
        &[("1e99999999999", "valid"), ("1e-99999999999999999999999", "must be an integer")],
    );
    // A divisor with too many digits is not checked.
    expect(r#"{"multipleOf": 1234567890123456789}"#, &[("1", "valid")]);
    expect(r#"{"type": "number"}"#, &[("1e99999999999", "valid")]);
}

/// A decimal as text and in units of 10^-8.
fn decimal() -> impl Strategy<Value = (String, i128)> {
    let mantissa =
        prop_oneof![any::<i32>().prop_map(i128::from), (-30i128..30), Just(0), Just(576460752303423488)];
    (mantissa, -8i32..8, 0usize..4, 0usize..4, any::<bool>()).prop_map(
        |(mantissa, exponent, zeros, shift, upper)| {
            let units = mantissa * 10i128.pow(8u32.checked_add_signed(exponent).unwrap());
            // The same number with its point elsewhere and zeros at the end.
            let (sign, digits) = (if mantissa < 0 { "-" } else { "" }, mantissa.unsigned_abs().to_string());
            let digits = "0".repeat(shift) + &digits;
            let (whole, fraction) = digits.split_at(digits.len() - shift);
            let whole = whole.trim_start_matches('0');
            let whole = if whole.is_empty() { "0" } else { whole };
            let fraction = fraction.to_string() + &"0".repeat(zeros);
            let point = if fraction.is_empty() { "" } else { "." };
            let e = if upper { 'E' } else { 'e' };
            let plus = if upper && exponent + shift as i32 >= 0 { "+" } else { "" };
            (format!("{sign}{whole}{point}{fraction}{e}{plus}{}", exponent + shift as i32), units)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn decimals_compare_and_divide_as_integers_do(one in decimal(), other in decimal(), factor in -50i128..50) {
        let multiple = other.1 * factor;
        let multiple_text = format!("{multiple}e-8");
        for (text, units) in [one, (multiple_text, multiple)] {
            prop_assert!(Value::parse(text.as_bytes()).is_ok(), "{} is JSON", text);
            let (ours, divisor) = (Exact::parse(text.as_bytes()), Exact::parse(other.0.as_bytes()));
            prop_assert_eq!(ours.compare(&divisor), units.cmp(&other.1), "{} and {}", text, other.0);
            prop_assert_eq!(ours.compare(&ours), Ordering::Equal);
            prop_assert_eq!(ours.is_integer(), units % 10i128.pow(8) == 0, "{}", text);
            prop_assert_eq!(ours.is_zero(), units == 0);
            if other.1 != 0 {
                let multiple = ours.is_multiple_of(&divisor, &mut Work::new()).unwrap();
                prop_assert_eq!(multiple, units % other.1 == 0, "{} of {}", text, other.0);
            }
        }
    }
}

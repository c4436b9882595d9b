//! Rounding of the decimal that people see, with tolerance for errors in the last digits.
//!
//! `round(1.005, 2)` is 1.01 although the nearest binary number is a little below 1.005, and
//! `floor((0.1 + 0.7) * 10)` is 8 although the product is 7.999999999999999.

use core::fmt::Write as _;

use crate::json::Shortest;

/// Decimals that are compared when numbers are nearly equal.
const TOLERANT: u32 = 12;

/// The most decimals to round to: an `f64` has not many more.
const MOST: f64 = 15.0;

pub(super) fn round(x: f64, decimals: Option<f64>) -> f64 {
    let Some(decimals) = count(decimals) else { return f64::NAN };
    if decimals >= TOLERANT {
        return to_decimals(x, decimals);
    }
    let near = to_decimals(x, TOLERANT);
    to_decimals(if nearly_equal(x, near) { near } else { x }, decimals)
}

pub(super) fn floor(x: f64, decimals: Option<f64>) -> f64 {
    shifted(x, decimals, |x| tolerant(x, libm::floor(x)))
}

pub(super) fn ceil(x: f64, decimals: Option<f64>) -> f64 {
    shifted(x, decimals, |x| tolerant(x, libm::ceil(x)))
}

/// Towards zero.
pub(super) fn fix(x: f64, decimals: Option<f64>) -> f64 {
    if x > 0.0 { floor(x, decimals) } else { ceil(x, decimals) }
}

fn count(decimals: Option<f64>) -> Option<u32> {
    let decimals = decimals.unwrap_or(0.0);
    ((0.0..=MOST).contains(&decimals) && libm::trunc(decimals) == decimals).then_some(decimals as u32)
}

fn shifted(x: f64, decimals: Option<f64>, to_whole: impl Fn(f64) -> f64) -> f64 {
    match count(decimals) {
        None => f64::NAN,
        Some(0) => to_whole(x),
        Some(decimals) => {
            let shift = libm::pow(10.0, f64::from(decimals));
            to_whole(x * shift) / shift
        }
    }
}

/// `whole`, unless `x` is nearly equal to the integer on its other side.
fn tolerant(x: f64, whole: f64) -> f64 {
    let near = round(x, None);
    if nearly_equal(x, near) && !nearly_equal(x, whole) { near } else { whole }
}

fn nearly_equal(x: f64, y: f64) -> bool {
    libm::fabs(x - y) <= libm::fmax(1e-12 * libm::fmax(libm::fabs(x), libm::fabs(y)), 1e-15)
}

/// Rounds the shortest decimal of `x`, half away from zero.
fn to_decimals(x: f64, decimals: u32) -> f64 {
    let Some(decimal) = Shortest::of(x) else { return x };
    let surplus = decimal.exponent.saturating_add_unsigned(decimals);
    if surplus >= 0 {
        return x;
    }
    // The sum below fits into 64 bits. A unit that does not fit rounds to zero.
    let Some(unit) = 10u64.checked_pow(surplus.unsigned_abs()) else { return 0.0 };
    let digits = (decimal.digits + unit / 2) / unit;
    let mut text = heapless::String::<24>::new();
    // Twenty digits, `e-` and two more fit.
    let _ = write!(text, "{digits}e-{decimals}");
    libm::copysign(text.parse().unwrap_or(f64::NAN), x)
}

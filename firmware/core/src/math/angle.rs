//! Sine, cosine, tangent and its inverse. By hand: libm's, which know angles of any size to the last bit, take 5 KB of flash.

use core::f64::consts::{FRAC_2_PI, FRAC_PI_2, PI};

/// A quarter turn in four parts. The first three have 22 bits each, so that their products with [`MOST`] are exact.
const QUARTER: [f64; 4] =
    [1.570_796_012_878_418, 3.139_164_164_167_596e-7, 6.223_371_969_669_989e-14, 2.022_266_248_795_950_6e-21];

/// Quarter turns in the largest angle, some 3.3 thousand million radians.
const MOST: f64 = 2_147_483_648.0;

/// Factors of the series, enough for an eighth of a turn.
const TERMS: u32 = 8;

/// Those of the inverse, enough for a slope of 0.2.
const INVERSE_TERMS: u32 = 12;

pub(super) fn sin(x: f64) -> f64 {
    shifted_sin(x, 0)
}

pub(super) fn cos(x: f64) -> f64 {
    shifted_sin(x, 1)
}

pub(super) fn tan(x: f64) -> f64 {
    sin(x) / cos(x)
}

/// The sine of an angle that is so many quarter turns further. NaN if the angle is too large.
fn shifted_sin(x: f64, further: i64) -> f64 {
    let quarters = libm::floor(x * FRAC_2_PI + 0.5);
    if libm::fabs(quarters) > MOST {
        return f64::NAN;
    }
    // At most an eighth of a turn is left.
    let rest = QUARTER.iter().fold(x, |rest, part| rest - quarters * part);
    let quadrant = quarters as i64 + further;
    let value = if quadrant & 1 == 0 { rest * series(rest, 1) } else { series(rest, 0) };
    if quadrant & 2 == 0 { value } else { -value }
}

/// The series of the cosine, 1 - x²/(1·2) (1 - x²/(3·4) (...)), or with `odd` 1 that of the sine divided by the angle,
/// 1 - x²/(2·3) (1 - x²/(4·5) (...)).
fn series(x: f64, odd: u32) -> f64 {
    (1..=TERMS).rev().fold(1.0, |rest, term| {
        let a = 2 * term + odd;
        1.0 - x * x / f64::from(a * (a - 1)) * rest
    })
}

pub(super) fn atan(x: f64) -> f64 {
    let size = libm::fabs(x);
    let slope = if size > 1.0 { 1.0 / size } else { size };
    // A quarter of the angle, so that the series is short.
    let quarter = halved(halved(slope));
    let angle = 4.0 * quarter * inverse_series(quarter);
    libm::copysign(if size > 1.0 { FRAC_PI_2 - angle } else { angle }, x)
}

/// The angle of the point at `x` and `y`.
pub(super) fn atan2(y: f64, x: f64) -> f64 {
    match (x == 0.0, x.is_sign_negative()) {
        (true, false) if y == 0.0 => y,
        (true, true) if y == 0.0 => libm::copysign(PI, y),
        (true, _) => libm::copysign(FRAC_PI_2, y),
        (false, false) => atan(y / x),
        (false, true) => libm::copysign(PI, y) + atan(y / x),
    }
}

/// The slope at half of the angle.
fn halved(slope: f64) -> f64 {
    slope / (1.0 + libm::sqrt(1.0 + slope * slope))
}

/// The series of the inverse tangent, divided by the slope: 1 - x² (1/3 - x² (1/5 - ...)).
fn inverse_series(x: f64) -> f64 {
    (0..INVERSE_TERMS).rev().fold(0.0, |rest, term| 1.0 / f64::from(2 * term + 1) - x * x * rest)
}

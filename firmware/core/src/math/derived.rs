//! Functions made of a few others. libm has all of them, to the last bit, in 9 KB of flash; these are right to some bits
//! less and take 1.5. `tests.rs` holds them against libm's.

use core::f64::consts::{LN_2, LOG2_E, LOG10_E};

use super::angle::atan2;

/// Up to here `e` to the power is a number.
const EXP_MOST: f64 = 709.0;

/// From here on the square of a number plus one is the square.
const LARGE: f64 = 1e8;

/// `exp(x) - 1`, exact near zero: what rounding did to the exponential, its logarithm undoes (W. Kahan).
fn exp_minus_1(x: f64) -> f64 {
    let power = libm::exp(x);
    if power == 1.0 {
        return x;
    }
    let less = power - 1.0;
    if less == -1.0 || power == f64::INFINITY { less } else { less * (x / libm::log(power)) }
}

/// `ln(1 + x)`, exact near zero, by the same idea.
fn log_plus_1(x: f64) -> f64 {
    let more = 1.0 + x;
    if more == 1.0 || more == f64::INFINITY { x } else { libm::log(more) * x / (more - 1.0) }
}

/// Half of `exp(x)`, which is a number for a little longer.
fn half_exp(x: f64) -> f64 {
    let root = libm::exp(x / 2.0);
    0.5 * root * root
}

pub(super) fn sinh(x: f64) -> f64 {
    let size = libm::fabs(x);
    let value = if size > EXP_MOST {
        half_exp(size)
    } else {
        let less = exp_minus_1(size);
        (less + less / (less + 1.0)) / 2.0
    };
    libm::copysign(value, x)
}

pub(super) fn cosh(x: f64) -> f64 {
    let size = libm::fabs(x);
    if size > EXP_MOST {
        return half_exp(size);
    }
    let power = libm::exp(size);
    (power + 1.0 / power) / 2.0
}

pub(super) fn tanh(x: f64) -> f64 {
    let size = libm::fabs(x);
    // Beyond, the result is 1.
    let less = exp_minus_1(if size > 22.0 { 44.0 } else { 2.0 * size });
    libm::copysign(less / (less + 2.0), x)
}

pub(super) fn asinh(x: f64) -> f64 {
    let size = libm::fabs(x);
    let value = if size > LARGE {
        libm::log(size) + LN_2
    } else {
        let square = size * size;
        log_plus_1(size + square / (1.0 + libm::sqrt(square + 1.0)))
    };
    libm::copysign(value, x)
}

pub(super) fn acosh(x: f64) -> f64 {
    if x > LARGE {
        return libm::log(x) + LN_2;
    }
    let more = x - 1.0;
    if more < 0.0 { f64::NAN } else { log_plus_1(more + libm::sqrt(more * more + 2.0 * more)) }
}

pub(super) fn atanh(x: f64) -> f64 {
    let size = libm::fabs(x);
    libm::copysign(log_plus_1(2.0 * size / (1.0 - size)) / 2.0, x)
}

pub(super) fn asin(x: f64) -> f64 {
    atan2(x, libm::sqrt((1.0 - x) * (1.0 + x)))
}

pub(super) fn acos(x: f64) -> f64 {
    2.0 * atan2(libm::sqrt(1.0 - x), libm::sqrt(1.0 + x))
}

/// The length of the diagonal.
pub(super) fn hypot(x: f64, y: f64) -> f64 {
    let (x, y) = (libm::fabs(x), libm::fabs(y));
    let most = if x > y { x } else { y };
    // So that no square is too large or too small.
    if (1e-140..1e140).contains(&most) || most == 0.0 || most == f64::INFINITY {
        libm::sqrt(x * x + y * y)
    } else {
        let (x, y) = (x / most, y / most);
        most * libm::sqrt(x * x + y * y)
    }
}

pub(super) fn log2(x: f64) -> f64 {
    whole_if_exact(x, 2.0, libm::log(x) * LOG2_E)
}

pub(super) fn log10(x: f64) -> f64 {
    whole_if_exact(x, 10.0, libm::log(x) * LOG10_E)
}

/// The logarithm of `x`, which is about `log`; that of a power of the base is whole, even if the power is rounded.
fn whole_if_exact(x: f64, base: f64, log: f64) -> f64 {
    let whole = libm::floor(log + 0.5);
    let difference = libm::fabs(libm::pow(base, whole) - x);
    if whole != 0.0 && difference <= 2.0 * f64::EPSILON * x { whole } else { log }
}

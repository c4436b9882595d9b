//! The functions and constants by name.
//!
//! A function gives NaN where it has no real value; the evaluator turns that into an error.

use core::f64::consts::{E, LN_2, LN_10, LOG2_E, LOG10_E, PI, SQRT_2, TAU};

use super::MathFault;
use super::evaluator::check;
use super::round::{ceil, fix, floor, round};

/// A function and how it is called.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    body: Body,
}

#[derive(Clone, Copy, Debug)]
enum Body {
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
    OneOrTwo(fn(f64, Option<f64>) -> f64),
    /// One argument or more.
    Many(fn(&[f64]) -> f64),
}

use Body::{Many, One, OneOrTwo, Two};

const fn function(name: &'static str, body: Body) -> Function {
    Function { name, body }
}

pub(super) static FUNCTIONS: [Function; 46] = [
    function("abs", One(libm::fabs)),
    function("sign", One(sign)),
    function("round", OneOrTwo(round)),
    function("floor", OneOrTwo(floor)),
    function("ceil", OneOrTwo(ceil)),
    function("fix", OneOrTwo(fix)),
    function("trunc", OneOrTwo(fix)),
    function("sqrt", One(libm::sqrt)),
    function("cbrt", One(libm::cbrt)),
    function("nthRoot", OneOrTwo(nth_root)),
    function("square", One(|x| x * x)),
    function("cube", One(|x| x * x * x)),
    function("pow", Two(libm::pow)),
    function("exp", One(libm::exp)),
    function("log", OneOrTwo(log)),
    function("ln", One(libm::log)),
    function("log2", One(libm::log2)),
    function("log10", One(libm::log10)),
    function("sin", One(libm::sin)),
    function("cos", One(libm::cos)),
    function("tan", One(libm::tan)),
    function("asin", One(libm::asin)),
    function("acos", One(libm::acos)),
    function("atan", One(libm::atan)),
    function("atan2", Two(libm::atan2)),
    function("sinh", One(libm::sinh)),
    function("cosh", One(libm::cosh)),
    function("tanh", One(libm::tanh)),
    function("asinh", One(libm::asinh)),
    function("acosh", One(acosh)),
    function("atanh", One(libm::atanh)),
    function("hypot", Many(|values| values.iter().copied().fold(0.0, libm::hypot))),
    function("min", Many(|values| values.iter().copied().fold(f64::INFINITY, libm::fmin))),
    function("max", Many(|values| values.iter().copied().fold(f64::NEG_INFINITY, libm::fmax))),
    function("sum", Many(sum)),
    function("prod", Many(|values| values.iter().product())),
    function("mean", Many(mean)),
    function("median", Many(median)),
    function("variance", Many(variance)),
    function("std", Many(|values| libm::sqrt(variance(values)))),
    function("mod", Two(modulo)),
    function("gcd", Many(|values| values.iter().copied().fold(0.0, gcd))),
    function("lcm", Many(|values| values.iter().copied().fold(1.0, lcm))),
    function("factorial", One(factorial)),
    function("permutations", OneOrTwo(permutations)),
    function("combinations", Two(combinations)),
];

/// The names are those of mathjs, down to the capitals.
pub(super) static CONSTANTS: [(&str, f64); 12] = [
    ("pi", PI),
    ("e", E),
    ("tau", TAU),
    ("phi", 1.618_033_988_749_895),
    ("PI", PI),
    ("E", E),
    ("SQRT2", SQRT_2),
    ("SQRT1_2", core::f64::consts::FRAC_1_SQRT_2),
    ("LN2", LN_2),
    ("LN10", LN_10),
    ("LOG2E", LOG2_E),
    ("LOG10E", LOG10_E),
];

pub(super) fn constant(name: &str) -> Option<f64> {
    CONSTANTS.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
}

impl Function {
    pub(super) fn find(name: &str) -> Option<&'static Self> {
        FUNCTIONS.iter().find(|function| function.name == name)
    }

    /// Its value, which must be finite.
    pub(super) fn call(&self, arguments: &[f64]) -> Result<f64, MathFault<'static>> {
        let value = match (self.body, arguments) {
            (One(body), &[x]) => body(x),
            (Two(body), &[x, y]) => body(x, y),
            (OneOrTwo(body), &[x]) => body(x, None),
            (OneOrTwo(body), &[x, y]) => body(x, Some(y)),
            (Many(body), [_, ..]) => body(arguments),
            _ => return Err(self.miscalled()),
        };
        check(value, self.name)
    }

    /// Whether the function takes any number of arguments. These may also be written as one list.
    pub(super) const fn takes_list(&self) -> bool {
        matches!(self.body, Many(_))
    }

    /// The error for a wrong number of arguments.
    pub(super) const fn miscalled(&self) -> MathFault<'static> {
        let takes = match self.body {
            One(_) => "one argument",
            Two(_) => "two arguments",
            OneOrTwo(_) => "one or two arguments",
            Many(_) => "one argument or more",
        };
        MathFault::Arguments { function: self.name, takes }
    }
}

/// The remainder with the sign of the divisor; `x` itself if that is zero.
pub(super) fn modulo(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return x;
    }
    if !(whole(x) && whole(y)) {
        return x - y * floor(x / y, None);
    }
    let rest = libm::fmod(x, y);
    if rest != 0.0 && (rest < 0.0) != (y < 0.0) { rest + y } else { rest }
}

/// libm's has a value for some numbers below 1.
fn acosh(x: f64) -> f64 {
    if x < 1.0 { f64::NAN } else { libm::acosh(x) }
}

pub(super) fn factorial(x: f64) -> f64 {
    permutations(x, None)
}

fn whole(x: f64) -> bool {
    x.is_finite() && libm::trunc(x) == x
}

fn sign(x: f64) -> f64 {
    if x == 0.0 { 0.0 } else { libm::copysign(1.0, x) }
}

fn log(x: f64, base: Option<f64>) -> f64 {
    // These are exact for integer powers.
    match base {
        None => libm::log(x),
        Some(2.0) => libm::log2(x),
        Some(10.0) => libm::log10(x),
        Some(base) => libm::log(x) / libm::log(base),
    }
}

fn nth_root(x: f64, root: Option<f64>) -> f64 {
    let root = root.unwrap_or(2.0);
    // A negative number has odd roots only.
    if root == 0.0 || x < 0.0 && libm::fabs(libm::fmod(root, 2.0)) != 1.0 {
        return f64::NAN;
    }
    libm::copysign(libm::pow(libm::fabs(x), 1.0 / root), x)
}

fn sum(values: &[f64]) -> f64 {
    values.iter().sum()
}

fn mean(values: &[f64]) -> f64 {
    sum(values) / values.len() as f64
}

fn median(values: &[f64]) -> f64 {
    // The value with `rank` others below it, had they been sorted.
    let ranked = |rank: usize| {
        let is_there = |value: &&f64| {
            let below = values.iter().filter(|other| other < value).count();
            let equal = values.iter().filter(|other| other == value).count();
            (below..below + equal).contains(&rank)
        };
        values.iter().find(is_there).copied().unwrap_or(f64::NAN)
    };
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { ranked(middle) } else { (ranked(middle - 1) + ranked(middle)) / 2.0 }
}

/// The sample variance; zero for one value.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    if values.len() == 1 { 0.0 } else { squares / (values.len() as f64 - 1.0) }
}

fn gcd(x: f64, y: f64) -> f64 {
    if !(whole(x) && whole(y)) {
        return f64::NAN;
    }
    let (mut x, mut y) = (libm::fabs(x), libm::fabs(y));
    while y > 0.0 {
        (x, y) = (y, libm::fmod(x, y));
    }
    x
}

fn lcm(x: f64, y: f64) -> f64 {
    // The fold over the first numbers may have overflowed.
    if x.is_infinite() {
        return x;
    }
    let divisor = gcd(x, y);
    if divisor == 0.0 { 0.0 } else { libm::fabs(x / divisor * y) }
}

/// The number of ordered selections of `k` of `n`, or of all.
fn permutations(n: f64, k: Option<f64>) -> f64 {
    let k = k.unwrap_or(n);
    if !(whole(n) && whole(k) && 0.0 <= k && k <= n) {
        return f64::NAN;
    }
    // Overflows within 171 steps, or ends before that.
    let mut ways = 1.0;
    let mut taken = 0.0;
    while taken < k && ways < f64::INFINITY {
        ways *= n - taken;
        taken += 1.0;
    }
    ways
}

/// The number of ways to choose `k` of `n`.
fn combinations(n: f64, k: f64) -> f64 {
    if !(whole(n) && whole(k) && 0.0 <= k && k <= n) {
        return f64::NAN;
    }
    let k = libm::fmin(k, n - k);
    // Each step is a whole number and at least doubles the last: it overflows within 1024 steps.
    let mut ways = 1.0;
    let mut chosen = 0.0;
    while chosen < k && ways < f64::INFINITY {
        chosen += 1.0;
        ways = ways * (n - k + chosen) / chosen;
    }
    ways
}

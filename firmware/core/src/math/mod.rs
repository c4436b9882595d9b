//! Evaluates arithmetic expressions, without variables, assignments or units.
//!
//! The language is the commonly used part of mathjs, with the same meaning:
//!
//! ```text
//!   + -        200 + 5% is 210: a percentage counts from what it is added to
//!   * / % mod  % and mod are the remainder with the sign of the divisor; x % 0 is x
//!   2 pi       side by side is a product and binds tighter than / ...
//!   1/2 pi     ... unless plain numbers are divided: (1/2) pi
//!   8%         0.08, where no operand follows
//!   -x +x
//!   x^y        from the right, and before a sign on its left: -2^2 is -4, 2^-1 is 0.5
//!   x!         of whole numbers
//!   (x) f(x, y) pi 1.5e3 .5
//!   f([x, y])  the arguments as a list, where any number of them is possible
//! ```
//!
//! Extensions are `×`, `÷`, `−`, `ln` and `trunc`. Unlike in mathjs, values are finite and real: `1/0`, `sqrt(-1)` and a
//! step that overflows are errors.
//!
//! [`evaluate`] is one pass over the text with two stacks of fixed size: it does not recurse, and its work grows
//! with the length of the text. Written by hand because the crates for expressions need a heap, and none has this language.

mod evaluator;
mod function;
mod round;

#[cfg(test)]
mod tests;

use core::fmt;

use crate::limits::{MATH_ARGUMENTS, MATH_EXPRESSION, QUOTE};
use function::{CONSTANTS, FUNCTIONS};

/// The value of an expression. It is finite, and zero has no sign.
///
/// ```
/// assert_eq!(hub_core::math::evaluate("-2^2 + max(1, 7 % 4)"), Ok(-1.0));
/// let error = hub_core::math::evaluate("2 + * 3").unwrap_err();
/// assert_eq!(error.to_string(), "expected a number or '(' at position 5");
/// ```
pub fn evaluate(expression: &str) -> Result<f64, MathError<'_>> {
    let fail = |(at, reason)| MathError { at, reason, expression };
    if expression.len() > MATH_EXPRESSION {
        return Err(fail((MATH_EXPRESSION, MathFault::TooLong)));
    }
    // Adding zero takes the sign from a negative one.
    evaluator::run(expression).map(|value| value + 0.0).map_err(fail)
}

/// Why an expression has no value, and where. Positions in its text count characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MathError<'e> {
    /// Byte offset in the expression.
    pub at: usize,
    /// The reason.
    pub reason: MathFault<'e>,
    expression: &'e str,
}

/// Why an expression has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MathFault<'e> {
    /// The expression is empty.
    Empty,
    /// Longer than [`limits::MATH_EXPRESSION`](MATH_EXPRESSION).
    TooLong,
    /// More open operators, brackets and calls than [`limits::MATH_DEPTH`](crate::limits::MATH_DEPTH).
    TooDeep,
    /// More arguments in one call than [`limits::MATH_ARGUMENTS`](MATH_ARGUMENTS).
    TooManyArguments,
    /// Something else was expected here.
    Expected(&'static str),
    /// This character is not part of the language, or not allowed here.
    Unexpected(char),
    /// A comma outside a call, as in `1,000` or `3,5`.
    Comma,
    /// No function has this name.
    UnknownFunction(&'e str),
    /// No constant has this name.
    UnknownName(&'e str),
    /// A constant with a bracket after it.
    NotAFunction(&'e str),
    /// A function without a bracket after it.
    NotCalled(&'e str),
    /// A function was called with a number of arguments that it does not take.
    Arguments {
        /// Its name.
        function: &'static str,
        /// How many it takes, in words.
        takes: &'static str,
    },
    /// The function or operator has no real value there: `sqrt(-1)`, `gcd(1.5, 2)`, `(-1)!`.
    Undefined(&'static str),
    /// A division by zero.
    DivisionByZero,
    /// A number or an intermediate result is too large or infinite: `10^400`, `log(0)`.
    NotFinite,
}

impl fmt::Display for MathError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.reason {
            MathFault::Empty => return f.write_str("the expression is empty"),
            MathFault::TooLong => {
                return write!(f, "the expression is too long: at most {MATH_EXPRESSION} characters");
            }
            MathFault::TooDeep => f.write_str("nested too deeply"),
            MathFault::TooManyArguments => write!(f, "more than {MATH_ARGUMENTS} arguments"),
            MathFault::Expected(what) => write!(f, "expected {what}"),
            MathFault::Unexpected(character) => write!(f, "unexpected '{character}'"),
            MathFault::Comma => f.write_str("',' separates the arguments of a function and nothing else,"),
            MathFault::UnknownFunction(name) => write!(f, "unknown function '{name:.QUOTE$}'"),
            MathFault::UnknownName(name) => write!(f, "unknown name '{name:.QUOTE$}'"),
            MathFault::NotAFunction(name) => write!(f, "'{name}' is not a function, multiply with '*',"),
            MathFault::NotCalled(name) => write!(f, "expected '(' after '{name}'"),
            MathFault::Arguments { function, takes } => write!(f, "'{function}' takes {takes},"),
            MathFault::Undefined(what) => write!(f, "'{what}' is not defined for these values,"),
            MathFault::DivisionByZero => f.write_str("division by zero"),
            MathFault::NotFinite => f.write_str("the result is not a finite number,"),
        }?;
        let before = self.expression.get(..self.at).unwrap_or(self.expression);
        write!(f, " at position {}", before.chars().count() + 1)?;
        match self.reason {
            MathFault::UnknownFunction(_) => known(f, FUNCTIONS.iter().map(|function| function.name)),
            MathFault::UnknownName(_) => known(f, CONSTANTS.iter().map(|(name, _)| *name)),
            _ => Ok(()),
        }
    }
}

fn known(f: &mut fmt::Formatter<'_>, names: impl Iterator<Item = &'static str>) -> fmt::Result {
    f.write_str("; known are")?;
    for (at, name) in names.enumerate() {
        f.write_str(if at == 0 { ": " } else { ", " })?;
        f.write_str(name)?;
    }
    Ok(())
}

/// An offset and the reason: an [`MathError`] without the expression.
type Fault<'e> = (usize, MathFault<'e>);

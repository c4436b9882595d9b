//! The evaluator: an operator-precedence parser with two stacks, of operators and of values.

use heapless::Vec;

use super::function::{self, Function};
use super::{Fault, MathFault};
use crate::limits::{MATH_ARGUMENTS, MATH_DEPTH, MATH_EXPRESSION};

// Offsets are stored in two bytes, counts in one.
const _: () = assert!(MATH_EXPRESSION <= u16::MAX as usize && MATH_ARGUMENTS < u8::MAX as usize);

/// The value of `expression`, which is at most [`MATH_EXPRESSION`] long.
pub(super) fn run(expression: &str) -> Result<f64, Fault<'_>> {
    let mut evaluator = Evaluator {
        tokens: Tokens::new(expression),
        operators: Vec::new(),
        values: Vec::new(),
        lead: Lead::None,
        tail: Tail::Closed,
    };
    if evaluator.tokens.peek() == Token::End {
        // Empty, or a malformed token.
        evaluator.tokens.next()?;
        return Err((0, MathFault::Empty));
    }
    loop {
        evaluator.operand()?;
        if !evaluator.operator()? {
            return Ok(evaluator.values.pop().unwrap_or_default());
        }
    }
}

struct Evaluator<'e> {
    tokens: Tokens<'e>,
    /// Operators without their right operand, and open brackets and calls.
    operators: Vec<Open, MATH_DEPTH>,
    values: Vec<f64, { MATH_DEPTH + MATH_ARGUMENTS }>,
    /// What precedes the current operand.
    lead: Lead,
    /// How the current operand ends.
    tail: Tail,
}

/// The signs directly before an operand.
#[derive(Clone, Copy, PartialEq)]
enum Lead {
    None,
    /// One sign.
    Sign,
    /// Two signs or more, or the operand is an exponent.
    More,
}

/// How an operand ends, which decides what may follow it.
#[derive(Clone, Copy, PartialEq)]
enum Tail {
    /// With the digits of a number.
    Digits,
    /// With a name, a closing bracket or `!`.
    Closed,
    /// With the sign of a percentage.
    Percent,
}

/// An entry of the operator stack.
struct Open {
    at: u16,
    kind: OpenKind,
}

#[derive(Clone, Copy)]
enum OpenKind {
    Bracket {
        lead: Lead,
    },
    Call {
        function: &'static Function,
        arguments: u8,
        /// Whether the arguments are one list in square brackets.
        is_list: bool,
        lead: Lead,
    },
    Operator(Operator),
}

impl OpenKind {
    /// The token that ends the call.
    const fn end(self) -> &'static str {
        if let Self::Call { is_list: true, .. } = self { "']'" } else { "')'" }
    }
}

/// From the loosest to the tightest.
#[derive(Clone, Copy, PartialEq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    /// A product of two operands side by side.
    ImplicitMultiply,
    /// A plain number divided by a plain number, with an operand beside it: the `1/2` of `1/2 pi`.
    Ratio,
    Negate,
    Power,
}

impl Operator {
    const fn precedence(self) -> u8 {
        match self {
            Self::Add | Self::Subtract => 1,
            Self::Multiply | Self::Divide | Self::Modulo => 2,
            Self::ImplicitMultiply => 3,
            Self::Ratio => 4,
            Self::Negate => 5,
            Self::Power => 6,
        }
    }
}

impl<'e> Evaluator<'e> {
    /// Reads one operand with what precedes it: signs, brackets, calls.
    fn operand(&mut self) -> Result<(), Fault<'e>> {
        loop {
            let (at, token) = self.tokens.next()?;
            match token {
                Token::Number(number) => {
                    self.tail = Tail::Digits;
                    return self.push(at, number);
                }
                Token::Name(name) => {
                    let called = self.tokens.peek() == Token::Sign('(');
                    match (Function::find(name), function::constant(name)) {
                        (Some(function), _) if called => {
                            self.tokens.next()?;
                            let is_list = function.takes_list() && self.tokens.peek() == Token::Sign('[');
                            if is_list {
                                self.tokens.next()?;
                            }
                            let lead = self.lead;
                            self.open(at, OpenKind::Call { function, arguments: 1, is_list, lead })?;
                            let end = if is_list { ']' } else { ')' };
                            if self.tokens.peek() == Token::Sign(end) {
                                return Err((at, function.miscalled()));
                            }
                            self.lead = Lead::None;
                        }
                        (Some(_), _) => return Err((at, MathFault::NotCalled(name))),
                        (None, Some(_)) if called => return Err((at, MathFault::NotAFunction(name))),
                        (None, Some(value)) => {
                            self.tail = Tail::Closed;
                            return self.push(at, value);
                        }
                        (None, None) if called => return Err((at, MathFault::UnknownFunction(name))),
                        (None, None) => return Err((at, MathFault::UnknownName(name))),
                    }
                }
                Token::Sign('(') => {
                    self.open(at, OpenKind::Bracket { lead: self.lead })?;
                    self.lead = Lead::None;
                }
                Token::Sign(sign @ ('+' | '-')) => {
                    if sign == '-' {
                        self.open(at, OpenKind::Operator(Operator::Negate))?;
                    }
                    self.lead = if self.lead == Lead::None { Lead::Sign } else { Lead::More };
                }
                Token::Sign(_) | Token::End => return Err((at, MathFault::Expected("a number or '('"))),
            }
        }
    }

    /// Reads what follows an operand, up to where the next one starts. Returns whether there is a next one.
    fn operator(&mut self) -> Result<bool, Fault<'e>> {
        loop {
            let before = self.tokens;
            let (at, token) = self.tokens.next()?;
            let percent = self.tail == Tail::Percent;
            let operator = match token {
                Token::End => {
                    self.reduce(0)?;
                    return match self.operators.last() {
                        None => Ok(false),
                        Some(open) => Err((at, MathFault::Expected(open.kind.end()))),
                    };
                }
                Token::Sign(')') => {
                    self.close(at)?;
                    continue;
                }
                Token::Sign(']') => {
                    self.close_list(at)?;
                    continue;
                }
                Token::Sign(',') => {
                    self.comma(at)?;
                    self.lead = Lead::None;
                    return Ok(true);
                }
                Token::Sign('!') if !percent => {
                    let value = self.values.pop().unwrap_or_default();
                    let value = check(function::factorial(value), "!").map_err(|reason| (at, reason))?;
                    self.push(at, value)?;
                    self.tail = Tail::Closed;
                    continue;
                }
                Token::Sign('%') if !percent && !self.tokens.peek().starts_operand() => {
                    self.reduce(Operator::Negate.precedence())?;
                    let value = self.values.pop().unwrap_or_default();
                    self.push(at, value / 100.0)?;
                    self.tail = Tail::Percent;
                    continue;
                }
                Token::Sign('^') if !percent => {
                    // Nothing is reduced: the power is the operand of the operators before it.
                    self.open(at, OpenKind::Operator(Operator::Power))?;
                    self.lead = Lead::More;
                    return Ok(true);
                }
                Token::Sign('+') => Operator::Add,
                Token::Sign('-') => Operator::Subtract,
                Token::Sign('*') => Operator::Multiply,
                Token::Sign('/') if self.ratio() => Operator::Ratio,
                Token::Sign('/') => Operator::Divide,
                Token::Sign('%') | Token::Name("mod") => Operator::Modulo,
                Token::Name(_) | Token::Sign('(') => Operator::ImplicitMultiply,
                // Two numbers side by side are more likely a typing error than a product.
                Token::Number(_) if self.tail == Tail::Closed && self.lead == Lead::None => {
                    Operator::ImplicitMultiply
                }
                Token::Number(_) => return Err((at, MathFault::Expected("an operator"))),
                Token::Sign(sign) => return Err((at, MathFault::Unexpected(sign))),
            };
            if operator == Operator::ImplicitMultiply {
                self.tokens = before;
            }
            self.reduce(operator.precedence())?;
            self.open(at, OpenKind::Operator(operator))?;
            self.lead = Lead::None;
            return Ok(true);
        }
    }

    /// Whether the `/` just read is between plain numbers, and the second has another operand beside it.
    fn ratio(&self) -> bool {
        let mut ahead = self.tokens;
        self.tail == Tail::Digits
            && self.lead != Lead::More
            && matches!(ahead.next(), Ok((_, Token::Number(_))))
            && match ahead.peek() {
                Token::Name(name) => name != "mod",
                next => next == Token::Sign('('),
            }
    }

    /// The end of a bracket or a call.
    fn close(&mut self, at: usize) -> Result<(), Fault<'e>> {
        self.reduce(0)?;
        match self.operators.pop() {
            Some(Open { kind: OpenKind::Bracket { lead }, .. }) => self.lead = lead,
            Some(Open { at, kind: OpenKind::Call { function, arguments, is_list: false, lead } }) => {
                let at = usize::from(at);
                let start = self.values.len().saturating_sub(usize::from(arguments));
                let value = function.call(self.values.get(start..).unwrap_or_default());
                self.values.truncate(start);
                self.push(at, value.map_err(|reason| (at, reason))?)?;
                self.lead = lead;
            }
            _ => return Err((at, MathFault::Unexpected(')'))),
        }
        self.tail = Tail::Closed;
        Ok(())
    }

    /// Closes a list of arguments. The call has to end right after it.
    fn close_list(&mut self, at: usize) -> Result<(), Fault<'e>> {
        self.reduce(0)?;
        match self.operators.last_mut() {
            Some(Open { kind: OpenKind::Call { is_list: is_list @ true, .. }, .. }) => *is_list = false,
            _ => return Err((at, MathFault::Unexpected(']'))),
        }
        match self.tokens.next()? {
            (end, Token::Sign(')')) => self.close(end),
            (after, _) => Err((after, MathFault::Expected("')'"))),
        }
    }

    /// The end of one argument, and another one comes.
    fn comma(&mut self, at: usize) -> Result<(), Fault<'e>> {
        self.reduce(0)?;
        match self.operators.last_mut() {
            Some(Open { kind: OpenKind::Call { arguments, .. }, .. }) => {
                if usize::from(*arguments) == MATH_ARGUMENTS {
                    return Err((at, MathFault::TooManyArguments));
                }
                *arguments += 1;
                Ok(())
            }
            _ => Err((at, MathFault::Comma)),
        }
    }

    /// Applies the operators on the stack that bind at least as tightly as `precedence`, up to an open bracket.
    fn reduce(&mut self, precedence: u8) -> Result<(), Fault<'e>> {
        let mut percent = self.tail == Tail::Percent;
        while let Some(&Open { at, kind: OpenKind::Operator(operator) }) = self.operators.last()
            && operator.precedence() >= precedence
        {
            self.operators.pop();
            let at = usize::from(at);
            let right = self.values.pop().unwrap_or_default();
            let value = if operator == Operator::Negate {
                Ok(-right)
            } else {
                let left = self.values.pop().unwrap_or_default();
                apply(operator, left, right, percent)
            };
            self.push(at, value.map_err(|reason| (at, reason))?)?;
            percent = false;
        }
        Ok(())
    }

    fn push(&mut self, at: usize, value: f64) -> Result<(), Fault<'e>> {
        self.values.push(value).map_err(|_| (at, MathFault::TooDeep))
    }

    fn open(&mut self, at: usize, kind: OpenKind) -> Result<(), Fault<'e>> {
        self.operators.push(Open { at: at as u16, kind }).map_err(|_| (at, MathFault::TooDeep))
    }
}

/// Applies an operator. In a sum, a percentage on the right is one of the left operand.
fn apply(operator: Operator, left: f64, right: f64, percent: bool) -> Result<f64, MathFault<'static>> {
    let part = if percent { left * right } else { right };
    let (value, name) = match operator {
        Operator::Add => (left + part, "+"),
        Operator::Subtract | Operator::Negate => (left - part, "-"),
        Operator::Multiply | Operator::ImplicitMultiply => (left * right, "*"),
        Operator::Divide | Operator::Ratio if right == 0.0 => return Err(MathFault::DivisionByZero),
        Operator::Divide | Operator::Ratio => (left / right, "/"),
        Operator::Modulo => (function::modulo(left, right), "%"),
        Operator::Power => (libm::pow(left, right), "^"),
    };
    check(value, name)
}

/// Rejects infinities and NaN.
pub(super) fn check(value: f64, name: &'static str) -> Result<f64, MathFault<'static>> {
    if value.is_nan() {
        Err(MathFault::Undefined(name))
    } else if value.is_infinite() {
        Err(MathFault::NotFinite)
    } else {
        Ok(value)
    }
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'e> {
    Number(f64),
    /// A constant, a function, or `mod` between two operands.
    Name(&'e str),
    /// One of `+ - * / % ^ ! ( ) [ ] ,`.
    Sign(char),
    End,
}

impl Token<'_> {
    /// Whether an operand can start with it.
    pub(super) const fn starts_operand(self) -> bool {
        matches!(self, Self::Number(_) | Self::Name(_) | Self::Sign('(' | '+' | '-'))
    }
}

/// Reads an expression token by token. A copy looks ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens<'e> {
    expression: &'e str,
    at: usize,
}

impl<'e> Tokens<'e> {
    pub(super) const fn new(expression: &'e str) -> Self {
        Self { expression, at: 0 }
    }

    /// The next token, and the offset it starts at.
    pub(super) fn next(&mut self) -> Result<(usize, Token<'e>), Fault<'e>> {
        let rest = self.rest().trim_ascii_start();
        self.at = self.expression.len() - rest.len();
        let start = self.at;
        let token = match rest.chars().next() {
            None => Token::End,
            Some('0'..='9' | '.') => Token::Number(self.number()?),
            Some('a'..='z' | 'A'..='Z' | '_') => {
                self.skip(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                Token::Name(self.since(start))
            }
            Some(sign) => {
                self.at += sign.len_utf8();
                Token::Sign(match sign {
                    '+' | '-' | '*' | '/' | '%' | '^' | '!' | '(' | ')' | '[' | ']' | ',' => sign,
                    '×' => '*',
                    '÷' => '/',
                    '−' => '-',
                    _ => return Err((start, MathFault::Unexpected(sign))),
                })
            }
        };
        Ok((start, token))
    }

    /// The next token, without consuming it. A malformed one is reported when it is read.
    pub(super) fn peek(mut self) -> Token<'e> {
        self.next().map_or(Token::End, |(_, token)| token)
    }

    fn number(&mut self) -> Result<f64, Fault<'e>> {
        let start = self.at;
        let digits = self.skip(|byte| byte.is_ascii_digit());
        if self.rest().starts_with('.') {
            self.at += 1;
            if digits + self.skip(|byte| byte.is_ascii_digit()) == 0 {
                return Err((self.at, MathFault::Expected("a digit")));
            }
        }
        // An `e` without a digit or sign after it is the constant, as in `2e`.
        if let [b'e' | b'E', b'0'..=b'9' | b'+' | b'-', ..] = self.rest().as_bytes() {
            self.at += 2;
            let signed = !self.since(start).ends_with(|last: char| last.is_ascii_digit());
            if self.skip(|byte| byte.is_ascii_digit()) == 0 && signed {
                return Err((self.at, MathFault::Expected("a digit")));
            }
        }
        match self.since(start).parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) => Err((start, MathFault::NotFinite)),
            Err(_) => Err((start, MathFault::Expected("a number"))),
        }
    }

    /// Skips the bytes for which `part` is true, and counts them.
    fn skip(&mut self, part: impl Fn(u8) -> bool) -> usize {
        let rest = self.rest().as_bytes();
        let count = rest.iter().position(|byte| !part(*byte)).unwrap_or(rest.len());
        self.at += count;
        count
    }

    fn since(&self, start: usize) -> &'e str {
        self.expression.get(start..self.at).unwrap_or_default()
    }

    fn rest(&self) -> &'e str {
        self.expression.get(self.at..).unwrap_or_default()
    }
}

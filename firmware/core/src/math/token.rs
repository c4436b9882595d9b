//! The tokens of an expression.

use super::{Fault, Reason};

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
                    _ => return Err((start, Reason::Unexpected(sign))),
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
                return Err((self.at, Reason::Expected("a digit")));
            }
        }
        // An `e` without a digit or sign after it is the constant, as in `2e`.
        if let [b'e' | b'E', b'0'..=b'9' | b'+' | b'-', ..] = self.rest().as_bytes() {
            self.at += 2;
            let signed = !self.since(start).ends_with(|last: char| last.is_ascii_digit());
            if self.skip(|byte| byte.is_ascii_digit()) == 0 && signed {
                return Err((self.at, Reason::Expected("a digit")));
            }
        }
        match self.since(start).parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            Ok(_) => Err((start, Reason::NotFinite)),
            Err(_) => Err((start, Reason::Expected("a number"))),
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

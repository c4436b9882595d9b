//! Agreement with mathjs itself, and with a tree that is evaluated directly.

use std::boxed::Box;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use proptest::prelude::*;

use super::{MathFault, evaluate};
use crate::limits::{MATH_ARGUMENTS, MATH_DEPTH, MATH_EXPRESSION};

/// Made by mathjs: see `mathjs/generate.mjs`.
const MATHJS: &str = include_str!("mathjs/cases.tsv");

#[test]
fn mathjs_says_the_same() {
    let differs = |case: &&str| {
        let (expression, theirs) = case.split_once('\t').unwrap();
        match (evaluate(expression), theirs.parse::<f64>()) {
            // Both compute the functions to the last bit or two, and a sum can cancel the others.
            (Ok(ours), Ok(theirs)) => (ours - theirs).abs() > 1e-12 * theirs.abs().max(1e-3),
            (ours, theirs) => ours.is_ok() || theirs.is_ok(),
        }
    };
    let (differing, same): (Vec<_>, Vec<_>) = MATHJS.lines().partition(differs);
    assert!(same.len() > 1500);
    assert_eq!(differing, [""; 0]);
}

/// An expression as a tree.
#[derive(Clone, Debug)]
enum Tree {
    Number(f64),
    Constant(&'static str, f64),
    Negative(Box<Tree>),
    Binary(Box<Tree>, char, Box<Tree>),
    Factorial(Box<Tree>),
    Call(&'static str, Vec<Tree>),
}

impl Tree {
    /// The value, if every step of it is a finite number.
    fn value(&self) -> Option<f64> {
        let value = match self {
            Self::Number(number) | Self::Constant(_, number) => *number,
            Self::Negative(inner) => -inner.value()?,
            Self::Binary(left, operator, right) => {
                let (left, right) = (left.value()?, right.value()?);
                match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    '/' => left / right,
                    '%' => left.rem_euclid(right.abs()),
                    _ => libm::pow(left, right),
                }
            }
            Self::Factorial(inner) => {
                let inner = inner.value()?;
                if inner < 0.0 || inner.fract() != 0.0 || inner > 170.0 {
                    return None;
                }
                (1..=inner as u32).map(f64::from).rev().product()
            }
            Self::Call(name, arguments) => {
                let values = arguments.iter().map(Self::value).collect::<Option<Vec<_>>>()?;
                match *name {
                    "sqrt" => values[0].sqrt(),
                    "abs" => values[0].abs(),
                    "sin" => libm::sin(values[0]),
                    "max" => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                    _ => values.iter().sum(),
                }
            }
        };
        value.is_finite().then_some(value + 0.0)
    }

    /// The precedence of its text: a sum has the lowest.
    fn level(&self) -> u8 {
        match self {
            Self::Binary(_, '+' | '-', _) => 1,
            Self::Binary(_, '^', _) => 4,
            Self::Binary(..) => 2,
            Self::Negative(_) => 3,
            Self::Factorial(_) | Self::Number(_) | Self::Constant(..) | Self::Call(..) => 5,
        }
    }

    /// The text with the necessary brackets and, by `dice`, some others.
    fn write(&self, text: &mut String, least: u8, dice: &mut impl FnMut(u32) -> u32) {
        let brackets = self.level() < least || dice(8) == 0;
        let space = |text: &mut String, dice: &mut dyn FnMut(u32) -> u32| {
            text.push_str(["", "", " ", "\t "][dice(4) as usize]);
        };
        if brackets {
            text.push('(');
        }
        space(text, dice);
        match self {
            Self::Number(number) => text.push_str(&number.to_string()),
            Self::Constant(name, _) => text.push_str(name),
            Self::Negative(inner) => {
                text.push('-');
                inner.write(text, 3, dice);
            }
            Self::Binary(left, operator, right) => {
                let (before, after) = match operator {
                    '+' | '-' => (1, 2),
                    '^' => (5, 3),
                    _ => (2, 3),
                };
                left.write(text, before, dice);
                space(text, dice);
                text.push(*operator);
                right.write(text, after, dice);
            }
            Self::Factorial(inner) => {
                inner.write(text, 5, dice);
                text.push('!');
            }
            Self::Call(name, arguments) => {
                text.push_str(name);
                let (start, end) = match *name {
                    "max" | "sum" if dice(3) == 0 => ("([", "])"),
                    _ => ("(", ")"),
                };
                for (at, argument) in arguments.iter().enumerate() {
                    text.push_str(if at == 0 { start } else { "," });
                    argument.write(text, 0, dice);
                }
                text.push_str(end);
            }
        }
        space(text, dice);
        if brackets {
            text.push(')');
        }
    }
}

fn any_tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (0u32..20).prop_map(|number| Tree::Number(f64::from(number))),
        (0.0..1e6f64).prop_map(Tree::Number),
        (0u64..f64::MAX.to_bits()).prop_map(|bits| Tree::Number(f64::from_bits(bits))),
        Just(Tree::Constant("pi", std::f64::consts::PI)),
        Just(Tree::Constant("e", std::f64::consts::E)),
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        let operator = prop::sample::select(&['+', '-', '*', '/', '^'][..]);
        // Remainders of small whole numbers: those have one answer, however it is calculated.
        let whole = (0u32..100).prop_map(|number| Box::new(Tree::Number(f64::from(number))));
        let divisor = (1u32..100).prop_map(|number| Box::new(Tree::Number(f64::from(number))));
        prop_oneof![
            4 => (boxed.clone(), operator, boxed.clone())
                .prop_map(|(left, operator, right)| Tree::Binary(left, operator, right)),
            1 => (whole.clone(), divisor).prop_map(|(left, right)| {
                Tree::Binary(Box::new(Tree::Negative(left)), '%', right)
            }),
            1 => boxed.clone().prop_map(Tree::Negative),
            1 => prop_oneof![whole, boxed].prop_map(Tree::Factorial),
            1 => (prop::sample::select(&["sqrt", "abs", "sin"][..]), inner.clone())
                .prop_map(|(name, argument)| Tree::Call(name, [argument].into())),
            1 => (prop::sample::select(&["max", "sum"][..]), proptest::collection::vec(inner, 1..4))
                .prop_map(|(name, arguments)| Tree::Call(name, arguments)),
        ]
    })
}

/// Text that is nearly an expression: its tokens in any order.
fn tokens() -> impl Strategy<Value = String> {
    let token = prop::sample::select(
        &[
            "+", "-", "*", "/", "%", "^", "!", "(", ")", "[", "]", "([", "])", ",", " ", "mod", "pi", "e",
            "x", "sqrt", "max(", "round(", "gcd(", "1", "2.5", ".", "1e3", "1e", "9e307", "1e-320", "×", "é",
            "=", "\0", "\n",
        ][..],
    );
    proptest::collection::vec(token, 0..40).prop_map(|tokens| tokens.concat())
}

/// Any text has a finite value, or an error with a position in it.
fn judge(expression: &str) {
    match evaluate(expression) {
        Ok(value) => assert!(value.is_finite() && (value != 0.0 || value.is_sign_positive())),
        Err(error) => {
            assert!(expression.is_char_boundary(error.at) || error.reason == MathFault::TooLong);
            assert!(!error.to_string().is_empty());
        }
    }
}

fn value_of(expression: &str) -> Result<f64, String> {
    evaluate(expression).map_err(|error| error.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_written_tree_has_its_value(tree in any_tree(), dice: u32) {
        let mut seed = u64::from(dice);
        let mut dice = |below: u32| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) as u32 % below
        };
        let mut text = String::new();
        tree.write(&mut text, 0, &mut dice);
        match evaluate(&text) {
            Ok(value) => prop_assert_eq!(Some(value), tree.value(), "{}", text),
            Err(error) if matches!(error.reason, MathFault::TooLong | MathFault::TooDeep) => {}
            Err(error) => prop_assert_eq!(tree.value(), None, "{}: {}", text, error),
        }
    }

    #[test]
    fn a_changed_expression_is_judged(tree in any_tree(), at: prop::sample::Index, byte in 0u8..128, cut: bool) {
        let mut text = String::new();
        tree.write(&mut text, 0, &mut |_| 1);
        let mut bytes = text.into_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if cut {
            bytes.truncate(at);
        }
        judge(&String::from_utf8(bytes).unwrap());
    }

    #[test]
    fn any_order_of_tokens_is_judged(text in tokens()) {
        judge(&text);
    }

    #[test]
    fn any_text_is_judged(text: String) {
        judge(&text);
    }

    #[test]
    fn functions_of_any_numbers_are_judged(
        name in prop::sample::select(super::FUNCTIONS.iter().map(|function| function.name).collect::<Vec<_>>()),
        arguments in proptest::collection::vec((any::<f64>(), any::<bool>()), 1..4),
    ) {
        let arguments: Vec<_> = arguments
            .iter()
            .map(|(number, whole)| format!("{:e}", if *whole { number.trunc() } else { *number }))
            .collect();
        judge(&format!("{name}({})", arguments.join(",")));
    }

    #[test]
    fn a_number_is_read_as_rust_reads_it(number in 0.0..f64::MAX, bits in 0u64..f64::MAX.to_bits()) {
        for number in [number, f64::from_bits(bits)] {
            prop_assert_eq!(value_of(&format!("{number:e}")), Ok(number));
            prop_assert_eq!(value_of(&format!("-{number:e}")), Ok(0.0 - number));
        }
    }

    #[test]
    fn remainders_of_whole_numbers_are_exact(left in -(1i64 << 53)..1 << 53, right in -(1i64 << 53)..1 << 53) {
        prop_assume!(right != 0);
        // Rust's follows the dividend, ours the divisor.
        let rest = i128::from(left) % i128::from(right);
        let floored = if rest != 0 && (rest < 0) != (right < 0) { rest + i128::from(right) } else { rest };
        prop_assert_eq!(value_of(&format!("({left}) % ({right})")), Ok(floored as f64));
    }

    #[test]
    fn rounding_follows_the_decimals_that_are_seen(digits in 0u32..1_000_000_000, decimals in 0u32..9) {
        // Nine digits, four of them after the point.
        let shown = format!("{}.{:04}", digits / 10_000, digits % 10_000);
        let unit = 10u64.pow(4u32.saturating_sub(decimals));
        let rounded = (u64::from(digits) + unit / 2) / unit * unit;
        let expected: f64 = format!("{}.{:04}", rounded / 10_000, rounded % 10_000).parse().unwrap();
        prop_assert_eq!(value_of(&format!("round({shown}, {decimals})")), Ok(expected));
        prop_assert_eq!(value_of(&format!("round(-{shown}, {decimals})")), Ok(0.0 - expected));
    }
}

#[test]
fn people_get_what_they_meant() {
    for (expression, value) in [
        ("2+2", 4.0),
        ("  19.90 * 3 + 4.95\n", 64.65),
        ("64.65 + 15%", 74.3475),
        ("3 × 4 ÷ 2 − 1", 5.0),
        ("ln(e)", 1.0),
        ("trunc(-2.5)", -2.0),
        ("-0", 0.0),
        ("1e300 % 7", 1e300 % 7.0),
    ] {
        let ours = evaluate(expression).unwrap();
        assert!((ours - value).abs() < 1e-9, "{expression} is {ours}");
    }
    assert!(evaluate("0 * -1").unwrap().is_sign_positive());
    assert_eq!(evaluate("log(1000, 10)"), Ok(3.0));
}

/// The expected values are those of mathjs.
#[test]
fn a_function_of_many_numbers_takes_them_as_a_list() {
    for (expression, value) in [
        ("mean([1,2,3])", 2.0),
        ("mean ( [ 1, 2 , 6 ] )", 3.0),
        ("max([3, 7, 5])", 7.0),
        ("min([3, 7, 5]) + 1", 4.0),
        ("sum([1, 2, 3.5])", 6.5),
        ("median([4, 1, 3, 2])", 2.5),
        ("std([2, 4, 6])", 2.0),
        ("hypot([3, 4])", 5.0),
        ("-sum([2])^2", -4.0),
        ("2 mean([1, max([2, 3]), (1 + 1)])!", 4.0),
        ("round(mean([20.5, 21, 22]), 1)", 21.2),
    ] {
        assert_eq!(evaluate(expression), Ok(value), "{expression}");
    }
    let error = |expression: &str| evaluate(expression).unwrap_err().to_string();
    assert_eq!(error("mean([])"), "'mean' takes one argument or more, at position 1");
    assert_eq!(error("mean([1,2"), "expected ']' at position 10");
    assert_eq!(error("mean([1,2)"), "unexpected ')' at position 10");
    assert_eq!(error("mean([1,2]"), "expected ')' at position 11");
    assert_eq!(error("mean(1,2])"), "unexpected ']' at position 9");
    assert_eq!(
        error("mean([(1,2])"),
        "',' separates the arguments of a function and nothing else, at position 9"
    );
    assert_eq!(error("mean([(1])"), "unexpected ']' at position 9");
    assert_eq!(error("mean([1,2],[3])"), "expected ')' at position 11");
    assert_eq!(error("mean([[1,2]])"), "expected a number or '(' at position 7");
    assert_eq!(error("sqrt([4])"), "expected a number or '(' at position 6");
    assert_eq!(error("[1,2]"), "expected a number or '(' at position 1");
    assert_eq!(error("2[1]"), "unexpected '[' at position 2");
}

#[test]
fn errors_say_where_and_what() {
    let error = |expression: &str| evaluate(expression).unwrap_err().to_string();
    assert_eq!(error(" \n"), "the expression is empty");
    assert_eq!(error("2+ "), "expected a number or '(' at position 4");
    assert_eq!(error("2 + * 3"), "expected a number or '(' at position 5");
    assert_eq!(error("(2 + 3"), "expected ')' at position 7");
    assert_eq!(error("2 + 3)"), "unexpected ')' at position 6");
    assert_eq!(error("2 3"), "expected an operator at position 3");
    assert_eq!(error("5%!"), "unexpected '!' at position 3");
    assert_eq!(error("."), "expected a digit at position 2");
    assert_eq!(error("2e+x"), "expected a digit at position 4");
    assert_eq!(error("×2"), "expected a number or '(' at position 1");
    assert_eq!(error("2 × § 3"), "unexpected '§' at position 5");
    assert_eq!(error("a = 2"), UNKNOWN_NAME.replace('?', "a"));
    assert_eq!(error("2 = 2"), "unexpected '=' at position 3");
    assert_eq!(error("\"2\""), "unexpected '\"' at position 1");
    assert_eq!(
        error("1,000 * 3"),
        "',' separates the arguments of a function and nothing else, at position 2"
    );
    assert!(
        error("foo(1)").starts_with("unknown function 'foo' at position 1; known are: abs, sign, round, ")
    );
    assert_eq!(error("pi(2)"), "'pi' is not a function, multiply with '*', at position 1");
    assert_eq!(error("2 * sqrt 4"), "expected '(' after 'sqrt' at position 5");
    assert_eq!(error("max()"), "'max' takes one argument or more, at position 1");
    assert_eq!(error("1 + log(1,2,3)"), "'log' takes one or two arguments, at position 5");
    assert_eq!(error("3 + sqrt(-1)"), "'sqrt' is not defined for these values, at position 5");
    assert_eq!(error("(-8)^(1/3)"), "'^' is not defined for these values, at position 5");
    assert_eq!(error("2.5!"), "'!' is not defined for these values, at position 4");
    assert_eq!(error("round(1, 0.5)"), "'round' is not defined for these values, at position 1");
    assert_eq!(error("1 / (2 - 2)"), "division by zero at position 3");
    assert_eq!(error("10^400"), "the result is not a finite number, at position 3");
    assert_eq!(error("2 * 1e400"), "the result is not a finite number, at position 5");
    assert_eq!(error("lcm(2^1000, 3^30, 5)"), "the result is not a finite number, at position 1");
    let long = error(&"x".repeat(1000));
    assert!(long.len() < 200 && long.contains("x' at position 1"), "{long}");
}

const UNKNOWN_NAME: &str = "unknown name '?' at position 1; \
    known are: pi, e, tau, phi, PI, E, SQRT2, SQRT1_2, LN2, LN10, LOG2E, LOG10E";

#[test]
fn every_bound_holds_exactly() {
    fn reason(expression: &str) -> Result<f64, (usize, MathFault<'_>)> {
        evaluate(expression).map_err(|error| (error.at, error.reason))
    }
    let nested = |depth| "(".repeat(depth) + "1" + &")".repeat(depth);
    assert_eq!(reason(&nested(MATH_DEPTH)), Ok(1.0));
    assert_eq!(reason(&nested(MATH_DEPTH + 1)), Err((MATH_DEPTH, MathFault::TooDeep)));
    assert_eq!(reason(&"-".repeat(MATH_EXPRESSION)), Err((MATH_DEPTH, MathFault::TooDeep)));
    assert!(matches!(reason(&"1^".repeat(MATH_EXPRESSION / 2)), Err((_, MathFault::TooDeep))));

    let called = |arguments| format!("sum({}1)", "1,".repeat(arguments - 1));
    assert_eq!(reason(&called(MATH_ARGUMENTS)), Ok(MATH_ARGUMENTS as f64));
    assert!(matches!(reason(&called(MATH_ARGUMENTS + 1)), Err((_, MathFault::TooManyArguments))));
    let listed = |arguments| format!("sum([{}1])", "1,".repeat(arguments - 1));
    assert_eq!(reason(&listed(MATH_ARGUMENTS)), Ok(MATH_ARGUMENTS as f64));
    assert!(matches!(reason(&listed(MATH_ARGUMENTS + 1)), Err((_, MathFault::TooManyArguments))));
    let lists = |depth| "sum([".repeat(depth) + "1" + &"])".repeat(depth);
    assert_eq!(reason(&lists(MATH_DEPTH)), Ok(1.0));
    assert!(matches!(reason(&lists(MATH_DEPTH + 1)), Err((_, MathFault::TooDeep))));
    let waiting = "sum(1,1,1,1,1,1,1,1,1,1,".repeat(MATH_DEPTH / 2);
    assert!(matches!(reason(&waiting), Err((_, MathFault::TooDeep))));

    let long = "1+".repeat(MATH_EXPRESSION / 2 - 1) + " 1";
    assert_eq!(reason(&long), Ok((MATH_EXPRESSION / 2) as f64));
    assert_eq!(reason(&(long + " ")), Err((MATH_EXPRESSION, MathFault::TooLong)));
}

proptest! {
    #[test]
    fn logarithms_of_powers_are_whole(power in -300..300i32) {
        for expression in [format!("log10(1e{power})"), format!("log2(2^{power})")] {
            prop_assert_eq!(evaluate(&expression).ok(), Some(f64::from(power)), "{}", expression);
        }
    }
}

#[test]
fn angles_of_any_size_have_a_sine() {
    assert_eq!(evaluate("sin(1e22)"), Ok(-0.852_200_849_767_188_8));
    assert!(evaluate("acosh(-33315)").is_err());
}

//! Any text is an expression with a finite value, or an error that says where.
#![no_main]

use hub_core::math::{MathFault, evaluate};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: support::stack::guard(), |input: &str| {
    match evaluate(input) {
        Ok(value) => {
            assert!(value.is_finite() && (value != 0.0 || value.is_sign_positive()));
            same(value, &format!(" {input}\t"));
            same(value, &format!("({input})"));
            same(value, &format!("{value}"));
        }
        Err(error) => {
            assert!(error.at <= input.len() && input.is_char_boundary(error.at) || error.reason == MathFault::TooLong);
            let words = error.to_string();
            assert!(!words.is_empty() && words.chars().count() < 512, "{words}");
        }
    }
});

/// Another way to write the same, unless it is too long or too deep.
fn same(value: f64, expression: &str) {
    match evaluate(expression) {
        Ok(again) => assert_eq!(again, value, "{expression}"),
        Err(error) => {
            assert!(matches!(error.reason, MathFault::TooLong | MathFault::TooDeep), "{expression}: {error}")
        }
    }
}

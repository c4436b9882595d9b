//! The providers' own SDKs, whose types check requests and replies.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::exchange::Said;

/// Checks requests against the types of the SDKs' parameters, and replies against those of their results.
pub fn check(said: &Said) {
    let python = std::env::var_os("HEARTHWAVE_PYTHON").expect("HEARTHWAVE_PYTHON is a Python with the SDKs");
    let mut check = Command::new(python)
        .arg(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../providers/check.py"))
        .stdin(Stdio::piped())
        .spawn()
        .expect("Python");
    let mut input = check.stdin.take().expect("a pipe");
    for line in &said.0 {
        writeln!(input, "{line}").expect("it reads");
    }
    drop(input);
    assert!(check.wait().expect("its end").success(), "not everything fits");
}

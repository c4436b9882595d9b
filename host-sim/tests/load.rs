//! The program that loads hubs, briefly.

use std::process::Command;

#[test]
#[ignore = "needs mosquitto; ./tests/run runs it"]
fn some_hubs_at_mosquitto_answer_all_calls_and_stay() {
    let mut load = Command::new(env!("CARGO_BIN_EXE_load"));
    let output = load.args(["--hubs", "30", "--rate", "60", "--seconds", "2"]).output().expect("it runs");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{text}");
    for words in
        ["30 online", "first    30 calls answered; 0 lost", "120 calls answered", "30 of 30 online, 0 losses"]
    {
        assert!(text.contains(words), "{words:?} is not in:\n{text}");
    }
}

#[test]
fn no_hubs_are_an_error() {
    let mut load = Command::new(env!("CARGO_BIN_EXE_load"));
    let output = load.args(["--hubs", "0"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 at least"));
}

//! Arbitrary bytes at the serial port of people: lines are what a naive editor makes of them, frames are found, and the
//! meaning of a line is some command's or none's.
#![no_main]

use hub_core::console::command::{Command, Meaning, assignment, parse};
use hub_core::console::line_reader::{ConsoleEvent, LineReader};
use hub_core::console::{Screen, improv};
use hub_core::limits;
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: support::stack::guard(), |bytes: &[u8]| {
    let mut input = Box::new(LineReader::new());
    let mut screen = Screen::new();
    for byte in bytes {
        screen.clear();
        let event = input.push(*byte, &mut screen);
        // The echo of a byte is short, and never more than the beginning of a frame that was none.
        assert!(screen.bytes().len() <= improv::START.len() + 4);
        match event {
            Some(ConsoleEvent::Line) => understand(input.line()),
            Some(ConsoleEvent::Frame) => answer(input.frame(), &mut screen),
            Some(ConsoleEvent::NotText | ConsoleEvent::TooLong | ConsoleEvent::Cancelled) | None => {}
        }
    }
    // Whatever it was, the next line is understood.
    input.give_up();
    let mut last = None;
    for byte in b"\x03x\x03status\r" {
        screen.clear();
        last = input.push(*byte, &mut screen);
    }
    assert_eq!((last, input.line()), (Some(ConsoleEvent::Line), "status"));
    assert_eq!(parse(input.line()), Meaning::Command(Command::Status, ""));
});

fn understand(line: &str) {
    assert!(line.len() <= limits::CONSOLE_LINE);
    if let Meaning::Command(_, rest) = parse(line) {
        assert!(line.contains(rest));
        let (key, value) = assignment(rest);
        assert!(rest.contains(key) && value.is_none_or(|value| rest.contains(value)));
    }
}

/// What is read of a frame is in the frame, and what is answered is a frame, too.
fn answer(frame: &[u8], screen: &mut Screen) {
    screen.clear();
    match improv::read(frame) {
        Some(Ok(improv::ImprovCommand::Join { name, password })) => {
            assert!(name.len() + password.len() < frame.len());
            improv::write_result(1, &[name, password], screen);
        }
        Some(Ok(request)) => improv::write_result(request.command(), &["x"], screen),
        Some(Err(error)) => improv::write_error(error, screen),
        None => return,
    }
    let (_, written) = screen.bytes().split_at(1 + improv::START.len());
    assert_eq!(usize::from(written[1]) + 4, written.len());
    // Our own frames are not commands: two hubs on one line do not talk for ever.
    assert!(improv::read(&written[..written.len() - 1]).is_none());
}

//! `cargo sim` at a terminal, as a person with a keyboard uses it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use support::{Folder, wait_for};

const COLUMNS: u16 = 60;

/// A simulator at a terminal of its own.
struct Terminal {
    child: Child,
    keyboard: File,
    /// The simulator's side of it, kept open so that it can be looked at after the end.
    device: OwnedFd,
    screen: Arc<Mutex<String>>,
}

impl Terminal {
    /// Starts the simulator, and waits for its prompt.
    fn start(arguments: &[&str]) -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo terminal");
        grantpt(&keyboard).expect("granted");
        unlockpt(&keyboard).expect("unlocked");
        tcsetwinsize(&keyboard, Winsize { ws_row: 50, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 })
            .expect("a size");
        let name = ptsname(&keyboard, Vec::new()).expect("a name");
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let device = rustix::fs::open(&name, flags, Mode::empty()).expect("its other side");
        let side = || Stdio::from(device.try_clone().expect("a copy"));
        let child = Command::new(env!("CARGO_BIN_EXE_sim"))
            .args(arguments)
            .args(["--listen", "127.0.0.1:0"])
            .env_remove("RUST_LOG")
            .env("TERM", "xterm")
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn()
            .expect("it runs");
        let screen = Arc::new(Mutex::new(String::new()));
        let (shown, keyboard) = (Arc::clone(&screen), File::from(keyboard));
        let mut output = keyboard.try_clone().expect("a copy");
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut bytes) {
                shown.lock().expect("whole").push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        let terminal = Self { child, keyboard, device, screen };
        terminal.prompts(1);
        terminal
    }

    fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("typed");
    }

    fn screen(&self) -> String {
        self.screen.lock().expect("whole").clone()
    }

    /// Waits until these words were shown so many times.
    fn shows(&self, words: &str, times: usize) {
        wait_for(words, || self.screen().matches(words).count() >= times);
    }

    /// Waits until the prompt was there so many times: each time the editor asks the terminal to mark what is pasted. What
    /// is typed before goes through the terminal's own, simple editor, which keeps Ctrl-C and Ctrl-D for itself.
    fn prompts(&self, times: usize) {
        self.shows("\x1b[?2004h", times);
    }

    /// Waits for the end. Returns the exit status, and asserts that the terminal is as it was before.
    fn ends(&mut self) -> Option<i32> {
        let mut status = None;
        wait_for("its end", || {
            status = self.child.try_wait().expect("its end");
            status.is_some()
        });
        let modes = tcgetattr(&self.device).expect("a terminal").local_modes;
        assert!(modes.contains(LocalModes::ICANON | LocalModes::ECHO), "the terminal was left raw");
        status.expect("ended").code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It may have ended before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_arrow_brings_the_last_line_back_also_in_the_next_run() {
    let folder = Folder::new("hearthwave-terminal");
    let state = folder.0.join("hub.flash");
    let arguments = ["--llm", "none", "--state", state.to_str().expect("text")];
    let mut terminal = Terminal::start(&arguments);
    terminal.types("echo {\"text\":\"ab\"}\r");
    terminal.shows(r#"{"echo":{"text":"ab"}}"#, 1);
    terminal.prompts(2);
    terminal.types("\x1b[A\r");
    terminal.shows(r#"{"echo":{"text":"ab"}}"#, 2);
    terminal.prompts(3);
    // Back over the brace, the quote and the b.
    terminal.types("\x1b[A\x1b[D\x1b[D\x7fc\r");
    terminal.shows(r#"{"echo":{"text":"ac"}}"#, 1);
    terminal.prompts(4);
    terminal.types("quit\r");
    assert_eq!(terminal.ends(), Some(0));

    let mut terminal = Terminal::start(&arguments);
    terminal.types("\x1b[A\x1b[A\r");
    terminal.shows(r#"{"echo":{"text":"ac"}}"#, 1);
    terminal.prompts(2);
    // Ctrl-D.
    terminal.types("\x04");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn lines_that_are_typed_ahead_are_all_read() {
    let mut terminal = Terminal::start(&["--llm", "none"]);
    terminal.types("echo {\"n\":1}\recho {\"n\":2}\recho {\"n\":3}\r");
    for number in 1..=3 {
        terminal.shows(&format!("{{\"echo\":{{\"n\":{number}}}}}"), 1);
    }
    terminal.types("quit\r");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn a_line_of_the_log_leaves_what_is_being_typed_alone() {
    let mut terminal = Terminal::start(&["--llm", "none", "--link", "exec:sleep 1"]);
    terminal.types("echo {\"text\":");
    terminal.shows("ended (exit status: 0)", 1);
    terminal.types("\"whole\"}\r");
    terminal.shows(r#"{"echo":{"text":"whole"}}"#, 1);
    terminal.prompts(2);
    // Ctrl-C.
    terminal.types("\x03");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn a_signal_ends_it_and_leaves_the_terminal_as_it_was() {
    for signal in ["-INT", "-TERM"] {
        let mut terminal = Terminal::start(&[]);
        terminal.types("half a li");
        terminal.shows("half a li", 1);
        let killed = Command::new("kill").args([signal, &terminal.child.id().to_string()]).status();
        assert!(killed.expect("kill").success());
        assert_eq!(terminal.ends(), Some(0), "{signal}");
    }
}

#[test]
fn a_long_answer_is_broken_between_words() {
    let mut terminal = Terminal::start(&[]);
    terminal.types("dance a waltz\r");
    terminal.shows("environment", 1);
    let screen = terminal.screen();
    let answer = &screen[screen.find("I am").expect("the answer")..];
    for line in answer.lines() {
        assert!(line.trim_end().chars().count() < COLUMNS.into(), "{line:?}");
    }
}

#[test]
fn the_tab_key_completes_names() {
    let mut terminal = Terminal::start(&["--llm", "none"]);
    terminal.types("datet\t\r");
    terminal.shows("It is ", 1);
    terminal.prompts(2);
    terminal.types("hub_ec\t {}\r");
    terminal.shows(r#"{"echo":{}}"#, 1);
}

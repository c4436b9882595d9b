//! `cargo sim` at a terminal, as a person with a keyboard uses it.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

// Linked for the time driver of the MQTT client.
use host_sim as _;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use serde_json::{Value, json};
use support::client::Client;
use support::{Folder, wait_for};
use tokio::net::TcpStream;
use tokio::runtime::Builder;

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
    terminal.types("quit\r");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn ctrl_c_discards_the_line_and_a_second_one_quits() {
    let mut terminal = Terminal::start(&["--llm", "none"]);
    terminal.types("unplug");
    terminal.shows("unplug", 1);
    terminal.types("\x03");
    terminal.shows("press Ctrl-C again or type quit", 1);
    terminal.types("echo {\"n\":1}\r");
    terminal.shows(r#"{"echo":{"n":1}}"#, 1);
    terminal.prompts(3);
    // Not the second in a row.
    terminal.types("\x03");
    terminal.shows("press Ctrl-C again or type quit", 2);
    terminal.types("\x03");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn ctrl_c_cancels_what_the_hub_is_working_on() {
    // This model never answers.
    let server = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", server.local_addr().expect("an address"));
    let mut terminal = Terminal::start(&["--llm", "ollama:silent", "--llm-url", &url]);
    terminal.types("hello\r");
    terminal.shows("waiting for the model", 1);
    let id = terminal.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    terminal.shows("the turn was cancelled", 1);
    terminal.prompts(2);
    terminal.types("quit\r");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn devices_are_listed_and_a_wall_switch_is_pressed() {
    let mut terminal = Terminal::start(&[]);
    terminal.types("status\r");
    terminal.prompts(2);
    terminal.types("devices\r");
    terminal.shows("Hall Light (Hall): ", 1);
    terminal.types("press hall light\r");
    terminal.shows("Hall Light is now ", 1);
    terminal.types("press nothing\r");
    terminal.shows("Press what?", 1);
    terminal.types("quit\r");
    assert_eq!(terminal.ends(), Some(0));
}

#[test]
fn a_signal_ends_it_and_leaves_the_terminal_as_it_was() {
    for (signal, times) in [("-INT", 2), ("-TERM", 1)] {
        let mut terminal = Terminal::start(&[]);
        terminal.types("half a li");
        terminal.shows("half a li", 1);
        for time in 1..=times {
            let killed = Command::new("kill").args([signal, &terminal.child.id().to_string()]).status();
            assert!(killed.expect("kill").success());
            if time < times {
                terminal.shows("press Ctrl-C again", 1);
            }
        }
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

/// Changes settings of the hub at its broker.
fn set(terminal: &Terminal, settings: &[(&str, Value)]) {
    let screen = terminal.screen();
    let place = screen.split("broker").nth(1).and_then(|rest| rest.split_whitespace().next());
    let place = place.expect("an address").to_owned();
    let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let stream = TcpStream::connect(place).await.expect("the broker");
        let mut client = Client::connect(stream, "sim", "owner", &["hearthwave/sim/#"]).await;
        client.waits_for_the_hub().await;
        for (key, value) in settings {
            assert_eq!(client.sets(key, value.clone()).await["success"], true, "{key}");
        }
    });
}

const QUESTION: &str = "Allow the model to unlock Front Door? [y/N, ";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("a file").permissions().mode() & 0o777
}

#[test]
fn an_approval_is_asked_for_until_it_is_answered_and_no_answer_is_recorded() {
    let folder = Folder::new("hearthwave-approval");
    let state = folder.0.join("hub.flash");
    let mut terminal = Terminal::start(&["--state", state.to_str().expect("text")]);
    set(&terminal, &[("gate.pin", json!("4711"))]);
    terminal.types("unlock the front door\r");
    terminal.shows(QUESTION, 1);
    terminal.prompts(2);
    terminal.types("maybe tomorrow\r");
    terminal.shows("Please answer y or n, or type the PIN.", 1);
    terminal.shows(QUESTION, 2);
    terminal.prompts(3);
    terminal.types("4712\r");
    terminal.shows("That is not the PIN. Please try again.", 1);
    terminal.prompts(4);
    terminal.types("4711\r");
    terminal.shows("Thank you.", 1);
    terminal.shows("Front Door is now unlocked", 1);
    terminal.prompts(5);
    for (secret, prompts) in [("set gate.pin 2468", 6), ("my wifi password is hunter2", 7), ("1 3 5 7", 8)] {
        terminal.types(secret);
        terminal.types("\r");
        terminal.prompts(prompts);
    }
    terminal.types("quit\r");
    assert_eq!(terminal.ends(), Some(0));
    let file = folder.0.join("hub.flash.history");
    let history = fs::read_to_string(&file).expect("a history");
    assert!(history.contains("unlock the front door"), "{history}");
    for secret in ["4711", "4712", "maybe", "2468", "hunter2", "1 3 5 7"] {
        assert!(!history.contains(secret), "{secret}: {history}");
    }
    assert_eq!((mode(&file), mode(&state)), (0o600, 0o600));
}

#[test]
fn what_was_typed_before_the_question_approves_nothing() {
    let mut terminal = Terminal::start(&[]);
    terminal.types("unlock the front door\ry\r");
    terminal.shows(QUESTION, 1);
    // Time to read the question.
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert!(!terminal.screen().contains("is now unlocked"), "{}", terminal.screen());
    terminal.types("y\r");
    terminal.shows("Front Door is now unlocked", 1);
}

#[test]
fn an_approval_that_expires_says_so_and_leaves_the_next_line_alone() {
    let mut terminal = Terminal::start(&[]);
    set(&terminal, &[("gate.seconds", json!(5))]);
    terminal.types("unlock the front door\r");
    terminal.shows(QUESTION, 1);
    terminal.prompts(2);
    // Begun before, and ended after.
    terminal.types("echo {\"text\":");
    terminal.shows("Not approved in time: unlock Front Door.", 1);
    terminal.shows("was not approved in time", 1);
    terminal.types("\"whole\"}\r");
    terminal.shows(r#"{"echo":{"text":"whole"}}"#, 1);
    terminal.prompts(3);
    terminal.types("unlock the front door\r");
    terminal.shows(QUESTION, 2);
    terminal.shows("Not approved in time: unlock Front Door.", 2);
    terminal.shows("was not approved in time", 2);
    terminal.types("y\r");
    terminal.shows("That came too late: nothing is waiting for approval.", 1);
    terminal.prompts(5);
    terminal.types("is the front door locked?\r");
    terminal.shows("Yes, Front Door is locked", 1);
}

#[test]
fn secrets_in_the_history_of_an_earlier_version_are_removed() {
    let folder = Folder::new("hearthwave-history");
    let state = folder.0.join("hub.flash");
    let file = folder.0.join("hub.flash.history");
    for (lines, rest) in [("#V2\ndatetime\n4711\necho {}\n", "#V2\ndatetime\necho {}\n"), ("#V2\n4711\n", "")]
    {
        fs::write(&file, lines).expect("written");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).expect("changed");
        let mut terminal = Terminal::start(&["--llm", "none", "--state", state.to_str().expect("text")]);
        terminal.types("\x04");
        assert_eq!(terminal.ends(), Some(0));
        assert_eq!(fs::read_to_string(&file).unwrap_or_default(), rest);
        assert!(rest.is_empty() || mode(&file) == 0o600);
    }
}

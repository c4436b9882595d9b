//! `cargo sim --console`: the hub's serial port of people, and the prompt beside it.

use std::io::Write;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

use host_desktop::tty::{SerialPort, Tty};
use host_sim::wifi::CAFE;
use support::process::Output;
use support::typist::Typist;
use support::{Folder, PATIENCE};
use tokio::net::TcpStream;

/// A running simulator, without a model. It ends with its owner.
struct Sim {
    child: Child,
    keyboard: ChildStdin,
    screen: Output,
    log: Output,
}

impl Sim {
    fn start(arguments: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_sim"))
            .args(["--llm", "none", "--listen", "127.0.0.1:0"])
            .args(arguments)
            .env_remove("RUST_LOG")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it runs");
        let keyboard = child.stdin.take().expect("a pipe");
        let screen = Output::of(child.stdout.take().expect("a pipe"));
        let log = Output::of(child.stderr.take().expect("a pipe"));
        Self { child, keyboard, screen, log }
    }

    /// Where its console is.
    fn console(&self) -> String {
        const WORDS: &str = "The hub's console is at ";
        self.log.has(WORDS);
        let log = self.log.text();
        let place = log.split_once(WORDS).and_then(|(_, rest)| rest.lines().next()).expect("a place");
        place.trim_end_matches('.').into()
    }

    /// Calls `echo` at its prompt, and waits for the answer.
    fn echoes(&mut self, word: &str) {
        writeln!(self.keyboard, "echo {{\"word\":\"{word}\"}}").expect("it reads");
        self.screen.has(&format!(r#"{{"echo":{{"word":"{word}"}}}}"#));
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the simulator said:\n{}{}", self.screen.text(), self.log.text());
        }
    }
}

/// Gives the hub another network than the one that it has joined. It waits for a restart.
async fn moves(ann: &mut Typist) {
    ann.sees("status", "Wi-Fi       join").await;
    ann.sees(&format!("set wifi.ssid {CAFE}"), "wifi.ssid = Simulated Café").await;
    ann.sees("set wifi.password \"\"", "wifi.password =").await;
}

#[tokio::test]
async fn a_terminal_sets_the_hub_up_and_the_prompt_follows_its_id() {
    let folder = Folder::new("hearthwave-sim");
    let state = folder.0.join("state").to_str().expect("text").to_owned();
    {
        let mut sim = Sim::start(&["--console", "pty", "--state", &state]);
        let port: SerialPort = sim.console().parse().expect("a path");
        let mut ann = Typist::at(Tty::open(&port).expect("a terminal"));
        moves(&mut ann).await;
        ann.sees("set volume 20", "volume = 20").await;
        ann.gets("restart", "the hub restarts now").await;
        sim.echoes("at the café");
        ann.sees("status", "Wi-Fi       joined\n  network   Simulated Café").await;
        ann.sees("show volume", "volume = 20").await;
        ann.sees("set hub.id attic", "hub.id = attic (takes effect after `restart`)").await;
        // The terminal program ends, and another one is opened.
        drop(ann);
        let mut ben = Typist::at(Tty::open(&port).expect("a terminal"));
        ben.sees("show hub.id", "hub.id = attic (takes effect after `restart`)").await;
    }
    let mut sim = Sim::start(&["--state", &state]);
    sim.echoes("from the attic");
    let screen = sim.screen.text() + &sim.log.text();
    assert!(screen.contains("hearthwave/attic/request/tool/call"), "{screen}");
}

#[tokio::test]
async fn one_person_after_the_other_comes_by_tcp() {
    let mut sim = Sim::start(&["--console", "127.0.0.1:0"]);
    let place = sim.console();
    let mut ann = Typist::at(TcpStream::connect(&place).await.expect("it listens"));
    moves(&mut ann).await;
    // What nobody reads is lost, and does not stop the hub.
    ann.sends(b"restart\r").await;
    drop(ann);
    sim.echoes("at the café");
    let mut ben = Typist::at(TcpStream::connect(&place).await.expect("it listens"));
    ben.sees("status", "Wi-Fi       joined\n  network   Simulated Café").await;
    // The settings of a board are tried for real: nobody listens there.
    ben.sees("set broker.url mqtt://127.0.0.1:1", "broker.url = mqtt://127.0.0.1:1 (takes effect").await;
    ben.sees("status", "broker      connected\n  address   mqtt://127.0.0.1:1 after `restart`").await;
    ben.gets("restart", "the hub restarts now").await;
    let tries_it = async {
        while !ben.types("status").await.contains("broker      nothing listens there") {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::time::timeout(PATIENCE, tries_it).await.expect("it is dialled");
}

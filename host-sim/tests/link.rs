//! The hub's line to real commands, connections and serial ports: loss, reconnect, and no corrupted bytes.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use embedded_io_async::{Read, Write};
use host_desktop::tty::Tty;
use host_sim::link::{Rx, Spec, Tx, open, to_home};
use host_zwave::{Fault, Home};
use serde_json::json;
use support::log::{log_of, log_to_memory};
use support::process::program;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// Longer than anything here takes, on a machine that has a lot to do.
const PATIENCE: Duration = Duration::from_secs(20);

/// Both halves, and the received bytes that are not read yet.
struct Line {
    rx: Rx,
    tx: Tx,
    heard: Vec<u8>,
}

impl Line {
    fn new((rx, tx): (Rx, Tx)) -> Self {
        Self { rx, tx, heard: Vec::new() }
    }

    fn to(spec: &str) -> Self {
        log_to_memory();
        Self::new(open(&spec.parse::<Spec>().expect("a link")))
    }

    async fn says(&mut self, text: &str) -> io::Result<()> {
        timeout(PATIENCE, async {
            self.tx.write_all(text.as_bytes()).await?;
            self.tx.flush().await
        })
        .await
        .expect("it is taken or refused")
    }

    /// The next line, without its end; `None` at the end of the stream, where an unfinished line is dropped.
    async fn hears(&mut self) -> io::Result<Option<String>> {
        loop {
            if let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.heard.drain(..=end).collect();
                return Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            let mut buffer = [0; 64];
            let count = timeout(PATIENCE, self.rx.read(&mut buffer)).await.expect("something comes")?;
            if count == 0 {
                self.heard.clear();
                return Ok(None);
            }
            self.heard.extend_from_slice(&buffer[..count]);
        }
    }

    async fn hears_line(&mut self) -> String {
        self.hears().await.expect("readable").expect("a line")
    }

    async fn hears_the_end(&mut self) {
        assert_eq!(self.hears().await.expect("readable"), None);
    }
}

fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[tokio::test]
async fn a_command_is_heard_and_started_again_when_it_has_ended() {
    let mut line = Line::to("exec:read word; echo \"got $word from $$\"");
    let mut pids = Vec::new();
    for word in ["one", "two", "three"] {
        line.says(&format!("{word}\n")).await.expect("taken");
        let answer = line.hears_line().await;
        let pid = answer.strip_prefix(&format!("got {word} from ")).unwrap_or_else(|| panic!("{answer}"));
        pids.push(pid.to_owned());
        line.hears_the_end().await;
        assert!(!is_alive(pid), "{pid} is left over");
    }
    pids.dedup();
    assert_eq!(pids.len(), 3, "{pids:?}");
    assert_eq!(warnings(), ["link: 'read word; echo \"got $word from $$\"' ended (exit status: 0)"]);
}

#[tokio::test]
async fn what_a_command_says_on_stderr_stands_between_the_lines() {
    // It waits for input before each step, so that nothing depends on time.
    let script = "printf 'half '; read x; echo early >&2; read x; echo line; read x; printf 'unfinished\\r' >&2; read x; \
                  echo >&2; printf '\\377{}\\n' >&2; read x; echo next; printf 'broken off'; read x; echo last words >&2";
    let mut line = Line::to(&format!("exec:{script}"));
    // No stderr output may end up in the middle of a line.
    let mut bytes = [0; 64];
    let count = timeout(PATIENCE, line.rx.read(&mut bytes)).await.expect("something").expect("readable");
    assert_eq!(&bytes[..count], b"half ");
    line.says("go\n").await.expect("taken");
    let more = timeout(Duration::from_millis(100), line.rx.read(&mut bytes)).await;
    assert!(more.is_err(), "{:?}", String::from_utf8_lossy(&bytes));
    line.says("go\n").await.expect("taken");
    assert_eq!(line.hears_line().await, "line");
    assert_eq!(line.hears_line().await, "stderr: early");
    line.says("go\ngo\n").await.expect("taken");
    assert_eq!(line.hears_line().await, "stderr: unfinished");
    assert_eq!(line.hears_line().await, "stderr: \u{fffd}{}");
    line.says("go\n").await.expect("taken");
    assert_eq!(line.hears_line().await, "next");
    while line.heard != b"broken off" {
        let count = timeout(PATIENCE, line.rx.read(&mut bytes)).await.expect("something").expect("readable");
        line.heard.extend_from_slice(&bytes[..count]);
    }
    line.says("go\n").await.expect("taken");
    assert_eq!(line.hears_line().await, "broken off");
    assert_eq!(line.hears_line().await, "stderr: last words");
    line.hears_the_end().await;
    assert!(link_log().contains("DEBUG link: stderr: early"), "{}", link_log());
}

#[tokio::test]
async fn a_flood_on_stderr_holds_nothing_up() {
    // Far more than a pipe holds, in the middle of a line; and no end of it.
    let flood = "i=0; while [ $i -lt 20000 ]; do echo flood of words $i >&2; i=$((i+1)); done";
    let mut line = Line::to(&format!(
        "exec:printf 'be'; read x; {flood}; echo gin; yes noise >&2 & read x; echo end; kill $!"
    ));
    let mut bytes = [0; 64];
    let count = timeout(PATIENCE, line.rx.read(&mut bytes)).await.expect("something").expect("readable");
    assert_eq!(&bytes[..count], b"be");
    line.says("go\n").await.expect("taken");
    assert_eq!(line.hears_line().await, "gin");
    line.says("go\n").await.expect("taken");
    let mut noise = 0;
    loop {
        match line.hears_line().await.as_str() {
            "end" => break,
            words => {
                assert!(words.starts_with("stderr: flood of words ") || words == "stderr: noise", "{words}");
                noise += 1;
            }
        }
    }
    assert!(noise > 100, "{noise}");
}

#[tokio::test]
async fn a_command_that_cannot_be_started_is_an_error_each_time_and_a_warning_once() {
    let mut line = Line::to("exec:no-such-command --option");
    for _ in 0..3 {
        // The write may come before or after its end; the reason is reported in any case.
        let _ = line.says("hello\n").await;
        let words = line.hears_line().await;
        assert!(words.starts_with("stderr: ") && words.contains("no-such-command: not found"), "{words}");
        line.hears_the_end().await;
    }
    assert_eq!(warnings(), ["link: 'no-such-command --option' ended (exit status: 127)"]);
}

#[tokio::test]
async fn with_the_line_a_command_goes_and_all_that_it_started() {
    for script in [
        "sleep 1000 & echo $$ $!; wait",
        // One that ignores the signal, and one that is not waited for.
        "trap '' TERM; (sleep 1000; sleep 1000) & echo $$ $!; while :; do sleep 1000; done",
    ] {
        let mut line = Line::to(&format!("exec:{script}"));
        let pids = line.hears_line().await;
        assert!(pids.split(' ').all(is_alive), "{pids}");
        drop(line);
        // The grandchildren are reaped by somebody else.
        let gone = async {
            while pids.split(' ').any(is_alive) {
                sleep(Duration::from_millis(2)).await;
            }
        };
        timeout(PATIENCE, gone).await.unwrap_or_else(|_| panic!("of {pids} some are left over"));
        let own = pids.split(' ').next().expect("a number");
        assert!(!PathBuf::from(format!("/proc/{own}")).exists(), "{own} is a zombie");
    }
}

#[tokio::test]
async fn a_command_that_no_longer_listens_is_replaced() {
    // It closes its stdin and stays, in the middle of a line.
    let mut line = Line::to("exec:printf \"$$ \"; if read x; then exec <&-; sleep 1000; fi");
    line.says("go\n").await.expect("taken");
    let refused = async { while line.tx.write(b"more\n").await.is_ok() {} };
    timeout(PATIENCE, refused).await.expect("it notices");
    let mut bytes = [0; 64];
    let count = timeout(PATIENCE, line.rx.read(&mut bytes)).await.expect("something").expect("readable");
    let first = String::from_utf8_lossy(&bytes[..count]).trim().to_owned();
    line.says("go\n").await.expect("taken by the next one");
    assert!(!is_alive(&first), "{first} is left over");
    // The second does not continue the unfinished line of the first.
    let count = timeout(PATIENCE, line.rx.read(&mut bytes)).await.expect("something").expect("readable");
    assert_eq!(&bytes[..count], b"\n");
    let count = timeout(PATIENCE, line.rx.read(&mut bytes)).await.expect("something").expect("readable");
    assert_ne!(String::from_utf8_lossy(&bytes[..count]).trim(), first);
}

#[tokio::test]
async fn reads_and_writes_that_are_dropped_lose_nothing() {
    let mut line = Line::to("exec:cat");
    let all: String = (0..40_000).map(|number| format!("{number}\n")).collect();
    let (mut written, mut heard) = (0, Vec::new());
    let mut dropped = 0;
    let mut buffer = [0; 1000];
    while heard.len() < all.len() {
        // The first to finish cancels the other, and while both wait both are dropped.
        let rest = &all.as_bytes()[written..];
        tokio::select! {
            biased;
            count = line.tx.write(&rest[..rest.len().min(3000)]), if !rest.is_empty() => {
                written += count.expect("taken");
            }
            count = line.rx.read(&mut buffer) => {
                let count = count.expect("readable");
                assert_ne!(count, 0, "the end");
                heard.extend_from_slice(&buffer[..count]);
            }
            () = std::future::ready(()) => {
                dropped += 1;
                tokio::task::yield_now().await;
            }
        }
    }
    assert!(heard == all.as_bytes(), "something is wrong among {} bytes", heard.len());
    assert!(dropped > 10, "{dropped}");
}

#[tokio::test]
async fn a_connection_is_dialled_again() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("its address");
    let mut line = Line::to(&format!("tcp:{address}"));
    for _ in 0..2 {
        line.says("hello\n").await.expect("taken");
        let (mut peer, _) = listener.accept().await.expect("dialled");
        let mut heard = [0; 6];
        peer.read_exact(&mut heard).await.expect("readable");
        assert_eq!(&heard, b"hello\n");
        peer.write_all(b"welcome\nhalf a li").await.expect("taken");
        assert_eq!(line.hears_line().await, "welcome");
        drop(peer);
        line.hears_the_end().await;
    }
    // Also when it was only read so far.
    let (heard, peer) = tokio::join!(line.hears(), async { drop(listener.accept().await.expect("dialled")) });
    assert_eq!((heard.expect("readable"), peer), (None, ()));
    line.says("hello\n").await.expect("taken");
    let (mut peer, _) = timeout(PATIENCE, listener.accept()).await.expect("dialled").expect("dialled");
    peer.read_exact(&mut [0; 6]).await.expect("readable");
    drop(peer);
    line.hears_the_end().await;
    drop(listener);
    // A program that another test is just starting has it open, too, until it runs.
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    for _ in 0..3 {
        let error = line.says("hello\n").await.expect_err("nobody is there");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        line.hears().await.expect_err("nobody is there");
    }
    let warnings = warnings();
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert_eq!(warnings[0], format!("link: 127.0.0.1 port {} closed the connection", address.port()));
    assert!(warnings[1].contains("cannot connect to") && warnings[1].contains("is the controller running"));
}

#[tokio::test]
async fn a_serial_port_that_is_pulled_out_is_opened_again() {
    let folder = std::env::temp_dir().join(format!("hearthwave-link-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let device = folder.join("ttyTest");
    let plug = || {
        let (far, path) = Tty::pseudo().expect("a pseudo terminal");
        let _ = std::fs::remove_file(&device);
        std::os::unix::fs::symlink(path, &device).expect("a link");
        far
    };
    let mut far = plug();
    let mut line = Line::to(&format!("serial:{}@9600", device.display()));
    for _ in 0..2 {
        line.says("hello\n").await.expect("taken");
        let mut heard = [0; 6];
        timeout(PATIENCE, far.read_exact(&mut heard)).await.expect("something").expect("readable");
        assert_eq!(&heard, b"hello\n");
        far.write_all(b"\x03welcome\r\n").await.expect("taken");
        assert_eq!(line.hears_line().await, "\u{3}welcome\r");
        drop(far);
        std::fs::remove_file(&device).expect("pulled out");
        assert!(!matches!(line.hears().await, Ok(Some(_))));
        let error = line.says("hello\n").await.expect_err("it is not there");
        assert!(error.to_string().contains("No such file or directory"), "{error}");
        line.hears().await.expect_err("it is not there");
        far = plug();
    }
    std::fs::remove_dir_all(&folder).expect("cleaned up");
    // Lost and missing, twice, and logged each time.
    assert_eq!(warnings().len(), 4, "{:?}", warnings());
}

#[tokio::test(start_paused = true)]
async fn the_simulated_controller_can_be_unplugged_and_plugged_in() {
    log_to_memory();
    let home = Home::default();
    let mut line = Line::new(to_home(&home));
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let hello = format!("{hello}\n");
    line.says(&hello).await.expect("taken");
    assert!(line.hears_line().await.contains("simulated-zwave"));

    home.faults().unplug();
    line.says(&hello).await.expect("taken, and lost");
    assert!(timeout(PATIENCE / 2, line.rx.read(&mut [0; 64])).await.is_err());
    home.faults().plug();
    line.says(&hello).await.expect("taken");
    assert!(line.hears_line().await.contains("simulated-zwave"));

    // And as a loss that the system reports.
    home.faults().on(Fault::Closed);
    line.hears_the_end().await;
    line.says(&hello).await.expect_err("not connected");
    line.hears().await.expect_err("not connected");
    home.faults().off(Fault::Closed);
    line.says(&hello).await.expect("taken");
    assert!(line.hears_line().await.contains("simulated-zwave"));
    let gone = ["link: the simulated controller is gone", "link: the simulated controller is not connected"];
    assert_eq!(warnings(), gone);
}

#[tokio::test]
async fn the_controller_itself_runs_at_the_far_end() {
    let mut line =
        Line::to(&format!("exec:RUST_LOG=debug {} --fast", program("host-zwave", "zwave").display()));
    let client = json!({ "name": "test", "version": "1" });
    let params = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client });
    line.says(&format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params })
    ))
    .await
    .expect("taken");
    assert!(line.hears_line().await.contains("simulated-zwave"));
    let params = json!({ "name": "list_scenes", "arguments": {} });
    line.says(&format!(
        "{}\n",
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params })
    ))
    .await
    .expect("taken");
    let (mut answered, mut noted) = (false, false);
    while !(answered && noted) {
        let words = line.hears_line().await;
        answered |= words.contains("Good Night");
        noted |= words.starts_with("stderr: DEBUG zwave: call 2: list_scenes");
    }
}

fn link_log() -> String {
    log_of("host_sim::link")
}

fn warnings() -> Vec<String> {
    link_log().lines().filter_map(|line| Some(line.strip_prefix("WARN ")?.to_owned())).collect()
}

//! The firmware in QEMU, and the far end of its serial line.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::certificate::Issued;
use crate::line::LineTap;
use crate::process::Running;
use crate::{Folder, PATIENCE};

/// A running machine. It ends with its owner.
pub struct Machine {
    firmware: Running,
    listener: UnixListener,
    /// What it has written on its serial line.
    pub written: Arc<Mutex<Vec<u8>>>,
    _folder: Folder,
}

/// However much it logged, nothing but JSON-RPC went over the line.
impl Drop for Machine {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let written = self.written.lock().expect("its bytes");
            LineTap::default().wrote(&written);
        }
    }
}

impl Machine {
    /// Starts the firmware with the broker at `port`, without waiting.
    pub fn start(port: u16, options: &[&str]) -> Self {
        Self::start_in(Folder::new("hearthwave-qemu"), port, options)
    }

    /// The same with a port for TLS, whose broker is checked with a certificate that the firmware trusts.
    pub fn start_tls(port: u16, trusted: &Issued, options: &[&str]) -> Self {
        let folder = Folder::new("hearthwave-qemu");
        let file = folder.0.join("ca.pem");
        std::fs::write(&file, trusted.pem()).expect("a file");
        let ca = format!("ca={}", file.display());
        Self::start_in(folder, port, &[&["tls=1", &ca], options].concat())
    }

    fn start_in(folder: Folder, port: u16, options: &[&str]) -> Self {
        let socket = folder.0.join("uart");
        let listener = UnixListener::bind(&socket).expect("a socket");
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../firmware/qemu");
        let firmware = std::env::var_os("HEARTHWAVE_QEMU_FIRMWARE")
            .map(PathBuf::from)
            .unwrap_or_else(|| root.join("target/riscv32imc-unknown-none-elf/release/hearthwave-qemu"));
        assert!(firmware.exists(), "no firmware; build it with `cargo build --release` in firmware/qemu");
        let mut command = Command::new(root.join("run"));
        command.arg(firmware).arg(format!("broker={port}")).args(options).stdin(Stdio::null());
        command.arg(format!("uart=unix:{},server=off", socket.display()));
        Self { firmware: Running::start(&mut command), listener, written: Arc::default(), _folder: folder }
    }

    pub fn log(&self) -> String {
        self.firmware.output.text()
    }

    pub fn logs(&self, words: &str) {
        self.firmware.output.has(words);
    }

    /// The controller's end of the serial line.
    pub fn line(&self) -> UnixStream {
        self.line_by(|from, to| drop(std::io::copy(from, to)))
    }

    /// The same, with a controller that sends at 115200 baud.
    pub fn slow_line(&self) -> UnixStream {
        self.line_by(|from, to| {
            let mut bytes = [0; 16];
            while let Ok(count @ 1..) = from.read(&mut bytes)
                && to.write_all(&bytes[..count]).is_ok()
            {
                // Ten bits a byte.
                std::thread::sleep(Duration::from_nanos(count as u64 * 86_806));
            }
        })
    }

    /// A line on which `copy` carries what the controller sends.
    fn line_by(&self, copy: impl FnOnce(&mut UnixStream, &mut UnixStream) + Send + 'static) -> UnixStream {
        let (mut rx, _) = self.listener.accept().expect("QEMU connects");
        let (line, mut tap_tx) = UnixStream::pair().expect("a socket");
        let (mut tx, mut tap_rx) = (rx.try_clone().expect("a socket"), tap_tx.try_clone().expect("a socket"));
        let written = self.written.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = rx.read(&mut bytes) {
                written.lock().expect("a test that goes on").extend_from_slice(&bytes[..count]);
                if tap_tx.write_all(&bytes[..count]).is_err() {
                    break;
                }
            }
            // Each end sees when the other one hangs up.
            let _ = tap_tx.shutdown(Shutdown::Both);
        });
        std::thread::spawn(move || {
            copy(&mut tap_rx, &mut tx);
            let _ = tx.shutdown(Shutdown::Both);
        });
        line.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        line
    }

    /// The deepest that the stack has been, which the firmware reports with `report=1`.
    pub fn stack_used(&self) -> usize {
        self.reports("usage: stack ") as usize
    }

    /// The number behind these words in the last report.
    pub fn reports(&self, words: &str) -> u64 {
        let log = self.log();
        let report =
            log.lines().rfind(|line| line.contains("usage: ")).and_then(|line| line.split_once(words));
        let digits = report.map(|(_, rest)| rest.split(|other: char| !other.is_ascii_digit()).next());
        digits.flatten().and_then(|digits| digits.parse().ok()).expect("a report")
    }
}

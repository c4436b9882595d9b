//! A program that runs beside the test, and its output.

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::wait_for;

/// All lines of a program so far.
#[derive(Clone)]
pub struct Output(Arc<Mutex<String>>);

impl Output {
    /// Listens in the background until the program ends.
    pub fn of(stream: impl Read + Send + 'static) -> Self {
        let output = Self(Arc::default());
        let copy = output.clone();
        std::thread::spawn(move || {
            for line in BufReader::new(stream).lines().map_while(Result::ok) {
                let mut text = copy.0.lock().expect("whole");
                text.push_str(&line);
                text.push('\n');
            }
        });
        output
    }

    pub fn text(&self) -> String {
        self.0.lock().expect("whole").clone()
    }

    /// Waits until it has written these words.
    pub fn has(&self, words: &str) {
        wait_for(words, || self.text().contains(words));
    }
}

/// A running program. It ends with its owner.
pub struct Running {
    child: Child,
    /// Its stderr.
    pub output: Output,
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let output = Output::of(child.stderr.take().expect("a pipe"));
        Self { child, output }
    }

    /// Starts it, waits until it says a line that begins with these words, and returns the rest of that line.
    pub fn start_until(command: &mut Command, words: &str) -> (Self, String) {
        let running = Self::start(command);
        let mut rest = None;
        wait_for(words, || {
            rest = running.output.text().lines().find_map(|line| Some(line.strip_prefix(words)?.to_owned()));
            rest.is_some()
        });
        (running, rest.expect("found"))
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("its state").is_some()
    }

    /// Asks it to stop, and waits until it has, with success.
    pub fn stop(mut self) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").arg(id).status().expect("kill runs").success());
        assert!(self.child.wait().expect("its end").success(), "{}", self.output.text());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let ended = self.child.try_wait();
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            eprintln!("the program ({ended:?}) said:\n{}", self.output.text());
        }
    }
}

/// The program `name` of `package`: the one that `HEARTHWAVE_NAME` names, or else one that is built now, in the profile of the
/// test. Cargo builds only the programs of a test's own package by itself.
pub fn program(package: &str, name: &str) -> PathBuf {
    if let Some(path) = std::env::var_os(format!("HEARTHWAVE_{}", name.to_uppercase())) {
        return path.into();
    }
    // `target/debug/deps/test-0123456789abcdef`
    let test = std::env::current_exe().expect("this test has a path");
    let folder = test.ancestors().nth(2).expect("two folders above it").to_owned();
    let profile = match folder.file_name().and_then(|name| name.to_str()) {
        Some("debug") | None => "dev",
        Some(profile) => profile,
    };
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--quiet", "--locked", "--package", package, "--bin", name, "--profile", profile])
        .arg("--target-dir")
        .arg(folder.parent().expect("the target folder"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .status()
        .expect("cargo runs");
    assert!(built.success(), "{name} is not built");
    folder.join(name)
}

//! The programs of a real network: a stick with a house behind it, and the server in front of it.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use support::process::Running;
use support::unique;

/// How the server runs: without a log in a file, and with less patience than at home.
const CONFIG: &str = r#"{ "storage": { "cacheDir": "./cache" }, "timeouts": { "report": 1000 },
  "logConfig": { "level": "info", "forceConsole": true, "logToFile": false, "showLogo": false },
  "securityKeys": { "S0_Legacy": "0102030405060708090a0b0c0d0e0f10" } }"#;

/// Where the stick and the server run. Its folder is gone with it.
pub(crate) struct Place {
    packages: PathBuf,
    folder: PathBuf,
    /// Where the server listens, each time.
    port: u16,
}

impl Place {
    pub(crate) fn new() -> Self {
        let packages = std::env::var_os("HEARTHWAVE_ZWAVE_JS")
            .expect("HEARTHWAVE_ZWAVE_JS is where zwave-js is installed");
        let packages = PathBuf::from(packages);
        // Below the packages, where Node finds them.
        let folder = packages.join(unique("run"));
        std::fs::create_dir_all(&folder).expect("a folder");
        for script in ["stick.mjs", "house.mjs"] {
            let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/zwave_js").join(script);
            std::fs::copy(source, folder.join(script)).expect("a copy");
        }
        std::fs::write(folder.join("config.json"), CONFIG).expect("written");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        Self { packages, folder, port }
    }

    /// The address of the server.
    pub(crate) fn url(&self) -> String {
        format!("ws://127.0.0.1:{}", self.port)
    }

    /// A file in the folder.
    pub(crate) fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.join(name);
        std::fs::write(&path, text).expect("written");
        path
    }

    fn node(&self, script: &Path) -> Command {
        let mut command = Command::new("node");
        command.arg(script).current_dir(&self.folder).env_remove("NODE_OPTIONS");
        command
    }

    /// Plugs the stick in, at a port that a former one had.
    pub(crate) fn stick(&self, port: u16) -> Stick {
        let mut command = self.node(&self.folder.join("stick.mjs"));
        command.arg(port.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("node runs");
        let lines = BufReader::new(child.stdout.take().expect("a pipe"));
        let input = child.stdin.take().expect("a pipe");
        let mut stick = Stick { child, input, lines, port };
        let line = stick.line();
        stick.port = line.strip_prefix("stick on ").and_then(|port| port.parse().ok()).expect("a port");
        stick
    }

    /// Starts the server with this stick.
    pub(crate) fn server(&self, stick: &Stick) -> Running {
        let mut command =
            self.node(&self.packages.join("node_modules/@zwave-js/server/dist-esm/bin/server.js"));
        let port = self.port.to_string();
        command.arg(format!("tcp://127.0.0.1:{}", stick.port)).args(["--config", "./config.json"]);
        command.args(["--host", "127.0.0.1", "--port", &port, "--disable-dns-sd"]);
        Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A leftover among the tools does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A plugged-in stick. It is pulled out when it is dropped.
pub(crate) struct Stick {
    child: Child,
    input: ChildStdin,
    lines: BufReader<ChildStdout>,
    pub(crate) port: u16,
}

impl Stick {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("the stick goes on");
        line.trim_end().into()
    }

    /// Something happens in the house.
    pub(crate) fn happens(&mut self, what: &str) {
        writeln!(self.input, "{what}").expect("the stick listens");
        assert_eq!(self.line(), format!("ok {what}"));
    }
}

impl Drop for Stick {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! A real broker, and its command-line clients.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::certificate::Issued;
use crate::result::assert_reply;
use crate::{Folder, PATIENCE, unique};

/// A user name and its password.
pub type Login = (&'static str, &'static str);

/// A mosquitto with a folder and a port of its own. It ends with its owner.
pub struct Mosquitto {
    pub port: u16,
    /// Where it speaks TLS, if it does.
    pub tls_port: u16,
    login: Option<Login>,
    process: Option<Child>,
    folder: Folder,
}

impl Mosquitto {
    /// One for everybody.
    pub fn start() -> Self {
        Self::start_with(None, "")
    }

    /// One for those with the login.
    pub fn start_locked(login: Login) -> Self {
        Self::start_with(Some(login), "")
    }

    /// With further lines of configuration.
    pub fn start_with(login: Option<Login>, further: &str) -> Self {
        Self::start_by(login, |_, _| further.into())
    }

    /// One that also speaks TLS, with this certificate and further lines about that.
    pub fn start_tls(issued: &Issued, further: &str) -> Self {
        Self::start_tls_for(None, issued, further)
    }

    /// The same, for those with the login alone.
    pub fn start_tls_for(login: Option<Login>, issued: &Issued, further: &str) -> Self {
        Self::start_by(login, |folder, port| {
            let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
            fs::write(&certificate, issued.pem()).expect("a file");
            fs::write(&key, issued.key_pem()).expect("a file");
            format!(
                "listener {port} 127.0.0.1\ncertfile {}\nkeyfile {}\n{further}",
                certificate.display(),
                key.display()
            )
        })
    }

    /// The same, but of an older TLS than 1.3.
    pub fn start_tls_1_2(issued: &Issued) -> Self {
        let mut mosquitto = Self::start_tls(issued, "");
        let limit =
            "openssl_conf = a\n[a]\nssl_conf = b\n[b]\nsystem_default = c\n[c]\nMaxProtocol = TLSv1.2\n";
        fs::write(mosquitto.folder.0.join("openssl.cnf"), limit).expect("a file");
        mosquitto.restart();
        mosquitto
    }

    /// With the lines that are made of its folder and its port for TLS.
    fn start_by(login: Option<Login>, further: impl Fn(&Path, u16) -> String) -> Self {
        Self::start_configured(login, |folder, port, tls_port| {
            configuration(folder, port, login, &further(folder, tls_port))
        })
    }

    /// With the configuration that `configure` makes for its folder and its only port, where it speaks TLS.
    pub fn start_made(configure: impl Fn(&Path, u16) -> String) -> Self {
        let mut mosquitto = Self::start_configured(None, |folder, port, _| configure(folder, port));
        mosquitto.tls_port = mosquitto.port;
        mosquitto
    }

    fn start_configured(login: Option<Login>, configure: impl Fn(&Path, u16, u16) -> String) -> Self {
        // Somebody else may take a port between its choice and its use.
        for _ in 0..5 {
            let listeners = [(); 2].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port"));
            let [port, tls_port] =
                listeners.each_ref().map(|listener| listener.local_addr().expect("its number").port());
            drop(listeners);
            let folder = Folder::new("hearthwave-mosquitto");
            // Started by root, mosquitto would become another user, who may not read the passwords.
            let text = format!("user root\n{}\n", configure(&folder.0, port, tls_port));
            fs::write(folder.0.join("mosquitto.conf"), text).expect("a configuration");
            let mut mosquitto = Self { port, tls_port, login, process: None, folder };
            if mosquitto.run() {
                return mosquitto;
            }
        }
        panic!("mosquitto does not start");
    }

    /// Kills it, as a power cut would. It forgets everything.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            // It may have ended by itself.
            let _ = process.kill();
            let _ = process.wait();
        }
    }

    /// Brings it back at the same port.
    pub fn restart(&mut self) {
        self.kill();
        assert!(self.run(), "mosquitto does not come back");
    }

    /// Returns whether it listens.
    fn run(&mut self) -> bool {
        let log =
            fs::OpenOptions::new().create(true).append(true).open(self.folder.0.join("log")).expect("a log");
        let mut process = Command::new(program("mosquitto"))
            .env("OPENSSL_CONF", self.folder.0.join("openssl.cnf"))
            .arg("-c")
            .arg(self.folder.0.join("mosquitto.conf"))
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a log"))
            .stderr(log)
            .spawn()
            .expect("mosquitto is installed");
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            if process.try_wait().expect("its state").is_some() {
                return false;
            }
            assert!(start.elapsed() < PATIENCE, "mosquitto does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
        let lives = process.try_wait().expect("its state").is_none();
        self.process = Some(process);
        lives
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.0.join("log")).expect("a log")
    }

    /// A client program with what it needs to get in.
    pub fn client(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        command.args(["-V", "5", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        if let Some((user, password)) = self.login {
            command.args(["-u", user, "-P", password]);
        }
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        command
    }

    /// The next message on `topic`, a retained one included.
    pub fn next_message(&self, topic: &str) -> String {
        let patience = PATIENCE.as_secs().to_string();
        let output = self.client("mosquitto_sub").args(["-C", "1", "-W", &patience, "-t", topic]).output();
        let output = output.expect("mosquitto_sub is installed");
        assert!(output.status.success(), "nothing on {topic}");
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    }

    /// What is retained for `filter`, within a second.
    pub fn retained(&self, filter: &str) -> Vec<String> {
        let mut listening = self.client("mosquitto_sub");
        listening.args(["--retained-only", "-W", "1", "-t", filter]);
        // It ends with an error: in time, and not after so many messages.
        let output = listening.stderr(Stdio::null()).output().expect("mosquitto_sub is installed");
        String::from_utf8(output.stdout).expect("text").lines().map(str::to_owned).collect()
    }

    /// Sends a request with Response Topic and Correlation Data, and returns the reply.
    pub fn ask(&self, topic: &str, payload: &[u8]) -> String {
        let response = unique("reply");
        let patience = PATIENCE.as_secs().to_string();
        let output = self
            .client("mosquitto_rr")
            .args(["-W", &patience, "-t", topic, "-e", &response])
            .args(["-D", "publish", "correlation-data", "x1"])
            // As an argument: mosquitto_rr 2.0 takes a payload from a pipe or a file, and sends none.
            .arg("-m")
            .arg(OsStr::from_bytes(payload))
            .output()
            .expect("mosquitto_rr is installed");
        assert!(output.status.success() && !output.stdout.is_empty(), "no reply to {topic}");
        String::from_utf8(output.stdout).expect("text").trim_end().to_owned()
    }

    /// Calls a tool of a hub, and returns the reply.
    pub fn call(&self, hub: &str, tool: &str, arguments: Value) -> Value {
        let call = json!({ "name": tool, "arguments": arguments }).to_string();
        let reply = self.ask(&format!("hearthwave/{hub}/request/tool/call"), call.as_bytes());
        let reply = serde_json::from_str(&reply).unwrap_or_else(|error| panic!("{error} in {reply}"));
        assert_reply(&reply);
        reply
    }

    /// Calls `echo` of a hub, which has to answer.
    pub fn echo(&self, hub: &str, word: &str) {
        let reply = self.call(hub, "echo", json!({ "word": word }));
        assert_eq!((&reply["success"], &reply["tool_name"]), (&json!(true), &json!("echo")), "{reply}");
        assert_eq!(reply["result"]["echo"]["word"], word, "{reply}");
    }

    /// Publishes a request and returns what then comes on `response`, as a person with two terminals would see it.
    pub fn ask_in_two_terminals(&self, topic: &str, payload: &[u8], response: &str) -> String {
        std::thread::scope(|scope| {
            let listening = scope.spawn(|| self.next_message(response));
            // There is no sign of when the listener has subscribed.
            while !listening.is_finished() {
                self.publish(topic, payload);
                std::thread::sleep(Duration::from_millis(200));
            }
            listening.join().expect("a reply")
        })
    }

    /// Publishes without expecting anything.
    pub fn publish(&self, topic: &str, payload: &[u8]) {
        let mut process = self
            .client("mosquitto_pub")
            .args(["-q", "1", "-t", topic, "-s"])
            .stdin(Stdio::piped())
            .spawn()
            .expect("mosquitto_pub is installed");
        process.stdin.take().expect("a pipe").write_all(payload).expect("written");
        assert!(process.wait().expect("its end").success());
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = fs::read(self.folder.0.join("log")).unwrap_or_default();
            eprintln!("mosquitto said:\n{}", String::from_utf8_lossy(&log));
        }
    }
}

fn configuration(folder: &Path, port: u16, login: Option<Login>, further: &str) -> String {
    let access = match login {
        Some(login) => format!("allow_anonymous false\npassword_file {}", passwords(folder, login).display()),
        None => "allow_anonymous true".into(),
    };
    format!("listener {port} 127.0.0.1\n{access}\n{further}\n")
}

fn passwords(folder: &Path, (user, password): Login) -> PathBuf {
    let file = folder.join("passwords");
    let written = Command::new(program("mosquitto_passwd"))
        .args(["-b", "-c"])
        .arg(&file)
        .args([user, password])
        .status();
    assert!(written.expect("mosquitto_passwd is installed").success(), "mosquitto_passwd failed");
    file
}

/// Daemons are often installed where only root looks for programs.
fn program(name: &str) -> PathBuf {
    let usual = Path::new("/usr/sbin").join(name);
    if usual.exists() { usual } else { name.into() }
}

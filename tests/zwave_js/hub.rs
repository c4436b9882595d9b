//! A hub with a real Z-Wave network at the end of its serial line: in the simulator over a pipe or a serial port, or the
//! firmware in QEMU.

use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::machine::Machine;
use support::mosquitto::Mosquitto;
use support::process::{Output, Running};

use crate::client::zwave;
use crate::stack::Stick;
use crate::tell;

/// How long anything may take: a stick that is pulled out is missed after ten seconds.
const PATIENCE: Duration = Duration::from_secs(120);

pub(crate) struct Hub<'a> {
    pub(crate) id: &'static str,
    broker: &'a Mosquitto,
    _programs: Vec<Running>,
    _machine: Option<Machine>,
}

impl<'a> Hub<'a> {
    /// In the simulator, which starts the controller's program itself.
    pub(crate) fn over_a_pipe(broker: &'a Mosquitto, url: &str) -> Self {
        let link = format!("exec:'{}' --zwave-js {url}", zwave());
        Self { id: "pipe", broker, _programs: vec![sim("pipe", broker, &link)], _machine: None }
    }

    /// In the simulator, with the controller's program at the other end of a serial line.
    pub(crate) fn over_a_serial_line(broker: &'a Mosquitto, url: &str) -> Self {
        let mut command = Command::new(zwave());
        command.args(["--pty", "--zwave-js", url]).stdin(Stdio::null()).env_remove("RUST_LOG");
        let (running, path) = Running::start_until(&mut command, "zwave: serving on ");
        let hub = sim("serial", broker, &format!("serial:{path}"));
        Self { id: "serial", broker, _programs: vec![hub, running], _machine: None }
    }

    /// In the simulator, with the controller's program at this address.
    pub(crate) fn over_tcp(broker: &'a Mosquitto, address: &str) -> Self {
        Self {
            id: "tcp",
            broker,
            _programs: vec![sim("tcp", broker, &format!("tcp:{address}"))],
            _machine: None,
        }
    }

    /// The firmware, with the controller's program at the other end of its UART.
    pub(crate) fn in_qemu(broker: &'a Mosquitto, url: &str) -> Self {
        let machine = Machine::start(broker.port, &["id=qemu"]);
        let line = machine.line();
        line.set_read_timeout(None).expect("no timeout");
        let input = OwnedFd::from(line.try_clone().expect("a socket"));
        let mut command = Command::new(zwave());
        command.args(["--zwave-js", url]).stdin(input).stdout(OwnedFd::from(line)).env_remove("RUST_LOG");
        let running = Running::start(&mut command);
        Self { id: "qemu", broker, _programs: vec![running], _machine: Some(machine) }
    }

    /// A device as the broker keeps it.
    fn device(&self, id: &str) -> Value {
        let topic = format!("hearthwave/{}/device/{id}", self.id);
        let text = self.broker.next_message(&topic);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{topic}: {error}: '{text}'"))
    }

    /// Waits until a device is so.
    pub(crate) fn sees(&self, id: &str, what: &str, is_so: impl Fn(&Value) -> bool) {
        let start = Instant::now();
        loop {
            let device = self.device(id);
            if is_so(&device) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "{} waited in vain for {what}: {device}", self.id);
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn sees_available(&self, is_available: bool) {
        self.sees("2-0", "the network", |device| device["available"] == is_available);
    }

    /// Does something with a device.
    fn sets(&self, device: &str, action: &str, value: Value) -> Value {
        let request = json!({ "device": device, "action": action, "value": value }).to_string();
        let topic = format!("hearthwave/{}/request/device/set", self.id);
        serde_json::from_str(&self.broker.ask(&topic, request.as_bytes())).expect("JSON")
    }

    fn does(&self, device: &str, action: &str, value: Value) {
        let reply = self.sets(device, action, value);
        assert_eq!(reply["success"], true, "{} {device} {action}: {reply}", self.id);
    }

    fn fails(&self, device: &str, action: &str, value: Value, words: &str) {
        let reply = self.sets(device, action, value);
        let is_said = reply["error"].as_str().is_some_and(|error| error.contains(words));
        assert!(reply["success"] == false && is_said, "{} {device} {action}: {reply}", self.id);
    }

    /// Everything that people do with their home; `degrees` differ from one hub to the next.
    pub(crate) fn lives(&self, stick: &mut Stick, degrees: f64) {
        tell(&format!("the hub {} and its devices", self.id));
        self.sees("17-0", "the last device", |device| device["name"] == "Remote");
        let topic = format!("hearthwave/{}/request/device/list", self.id);
        let list: Value =
            serde_json::from_str(&self.broker.ask(&topic, br#"{"room":"study"}"#)).expect("JSON");
        let names: Vec<_> =
            list["devices"].as_array().expect("devices").iter().map(|one| &one["name"]).collect();
        assert_eq!(names, ["Power Strip 1", "Power Strip 2", "Blind"]);

        self.does("the hall light", "on", Value::Null);
        self.sees("2-0", "the light", |device| device["state"]["on"] == true);
        self.does("kitchen lamp", "level", json!(40));
        self.sees("3-0", "the level", |device| device["state"]["level"] == 40);
        self.does("front door", "lock", Value::Null);
        self.sees("5-0", "the lock", |device| device["state"]["locked"] == true);
        stick.happens("jam 1");
        self.sees("5-0", "the jam", |device| device["state"]["jammed"] == true);
        self.fails("front door", "unlock", Value::Null, "its bolt is stuck");
        stick.happens("jam 0");
        self.sees("5-0", "the bolt to be free", |device| device["state"].get("jammed").is_none());

        self.does("6-0", "mode", json!("heat"));
        self.does("6-0", "setpoint", json!(degrees));
        self.sees("6-0", "the setpoint", |device| device["state"]["setpoint"].as_f64() == Some(degrees));
        self.fails("6-0", "setpoint", json!(50), "30");
        stick.happens("stubborn 1");
        self.fails("6-0", "setpoint", json!(29), "took the command, but did not do it");
        stick.happens("stubborn 0");

        self.sees("9-0", "the valve", |device| device["name"] == "Radiator");
        let reply = self.sets("radiator", "setpoint", json!(degrees));
        assert!(reply.to_string().contains("it will be done when it wakes"), "{reply}");
        stick.happens("wake 9");
        self.sees("9-0", "the valve to wake", |device| device["state"]["setpoint"].as_f64() == Some(degrees));

        stick.happens("dead 2");
        self.fails("hall light", "off", Value::Null, "does not answer");
        self.sees_available(false);
        stick.happens("alive 2");
        self.does("hall light", "off", Value::Null);
        self.sees_available(true);

        let start = Instant::now();
        stick.happens("press 2 on");
        self.sees("2-0", "the switch on the wall", |device| device["state"]["on"] == true);
        tell(&format!("a switch on the wall was on the broker of {} after {:?}", self.id, start.elapsed()));
        stick.happens("button 3 0");
        self.sees("17-0", "the button", |device| device["state"]["button"] == 3);
        stick.happens("button 1 4");
        self.sees("17-0", "the other button", |device| device["state"]["press"] == "triple");
        self.fails("garage", "fly", Value::Null, "close, open");
    }
}

/// Somebody who notes which retained messages about devices are emptied.
pub(crate) struct Witness {
    listening: Child,
    output: Output,
}

impl Witness {
    pub(crate) fn start(broker: &Mosquitto) -> Self {
        let mut command = broker.client("mosquitto_sub");
        command.args(["-F", "%l bytes for %t", "-t", "hearthwave/+/device/#", "-t", "homeassistant/#"]);
        let mut listening = command.stdout(Stdio::piped()).spawn().expect("mosquitto_sub is installed");
        let output = Output::of(listening.stdout.take().expect("a pipe"));
        // All that is retained comes first.
        output.has("bytes for hearthwave");
        output.has("bytes for homeassistant");
        Self { listening, output }
    }

    pub(crate) fn saw_nothing_emptied(&self) {
        let text = self.output.text();
        let emptied: Vec<_> = text.lines().filter(|line| line.starts_with("0 bytes")).collect();
        assert!(emptied.is_empty(), "{emptied:#?}");
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        let _ = self.listening.kill();
        let _ = self.listening.wait();
    }
}

/// The controller's program, which waits for a hub at this address. Returns the address that it really has.
pub(crate) fn controller(address: &str, url: &str) -> (Running, String) {
    let mut command = Command::new(zwave());
    command.args(["--tcp", address, "--zwave-js", url]).stdin(Stdio::null()).env_remove("RUST_LOG");
    Running::start_until(&mut command, "zwave: serving on ")
}

fn sim(id: &str, broker: &Mosquitto, link: &str) -> Running {
    let program = std::env::var("HEARTHWAVE_SIM").expect("HEARTHWAVE_SIM is the program `sim`");
    let mut command = Command::new(program);
    let url = format!("mqtt://127.0.0.1:{}", broker.port);
    command.args(["--llm", "none", "--hub-id", id, "--broker", &url, "--link", link]);
    Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()))
}

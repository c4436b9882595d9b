//! A Home Assistant in a process and a folder of its own.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use support::Folder;
use support::mosquitto::Mosquitto;
use support::process::Running;

use crate::api::{Socket, post, post_json};

/// How long it may take to start: the first time, Python compiles all of it.
const START: Duration = Duration::from_secs(120);

/// How long anything may take to be seen.
const PATIENCE: Duration = Duration::from_secs(30);

/// Complaints about the installation itself.
const KNOWN: [&str; 3] = ["Skipping pip installation", "Error loading libturbojpeg", "FFmpeg"];

/// A running Home Assistant with one user, who is logged in.
pub(crate) struct HomeAssistant {
    port: u16,
    /// Before its folder, which has to be left alone when that is removed.
    running: Option<Running>,
    folder: Folder,
    token: String,
    socket: Option<Socket>,
}

impl HomeAssistant {
    /// A new one: its owner is made, nothing else is.
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        drop(listener);
        let folder = Folder::new("hearthwave-home-assistant");
        std::fs::write(folder.0.join("configuration.yaml"), configuration(port)).expect("written");
        let mut it = Self { port, folder, running: None, token: String::new(), socket: None };
        it.run();
        let client = format!("http://127.0.0.1:{port}/");
        let owner = json!({
            "client_id": client, "name": "Ann", "username": "ann", "password": "a test, no secret", "language": "en",
        });
        let code = post_json(port, "/api/onboarding/users", "", &owner)["auth_code"].take();
        let code = code.as_str().expect("a code");
        let form = format!("grant_type=authorization_code&code={code}&client_id={client}");
        let answer = post(port, "/auth/token", "", "application/x-www-form-urlencoded", &form);
        let (_, tokens) = answer.expect("Home Assistant answers");
        it.token = tokens["access_token"].as_str().unwrap_or_else(|| panic!("no token: {tokens}")).into();
        it.connects();
        it
    }

    fn run(&mut self) {
        let python = std::env::var("HEARTHWAVE_HOME_ASSISTANT")
            .expect("HEARTHWAVE_HOME_ASSISTANT is a Python that has Home Assistant");
        let mut command = Command::new(python);
        // Nothing is to be fetched while it runs.
        command.args(["-m", "homeassistant", "--skip-pip", "--config"]).arg(&self.folder.0);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut running = Running::start(&mut command);
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).is_err() {
            assert!(!running.has_ended(), "Home Assistant ended at its start");
            assert!(start.elapsed() < START, "Home Assistant does not listen after {START:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
        self.running = Some(running);
    }

    fn connects(&mut self) {
        self.socket = Some(Socket::open(self.port, &self.token));
        let start = Instant::now();
        while self.asks("get_config", json!({}))["state"] != "RUNNING" {
            assert!(start.elapsed() < START, "Home Assistant is still starting after {START:?}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Stops it as its owner would, and starts it again.
    pub(crate) fn restart(&mut self) {
        self.is_content();
        self.socket = None;
        self.running.take().expect("it runs").stop();
        self.run();
        self.connects();
    }

    /// A command of its WebSocket, which has to succeed.
    pub(crate) fn asks(&mut self, kind: &str, arguments: Value) -> Value {
        self.socket.as_mut().expect("it is connected").asks(kind, arguments)
    }

    /// Adds an integration, with these answers to the first form.
    pub(crate) fn adds(&mut self, integration: &str, answers: &Value) {
        const FLOW: &str = "/api/config/config_entries/flow";
        let flow = post_json(self.port, FLOW, &self.token, &json!({ "handler": integration }));
        let mut form = filled(&flow["data_schema"]);
        for (key, answer) in answers.as_object().expect("an object") {
            form[key] = answer.clone();
        }
        let path = format!("{FLOW}/{}", flow["flow_id"].as_str().expect("a flow"));
        let made = post_json(self.port, &path, &self.token, &form);
        assert_eq!(made["type"], "create_entry", "{integration} with {form}: {made}");
    }

    /// Adds the broker.
    pub(crate) fn adds_broker(&mut self, broker: &Mosquitto) {
        self.adds("mqtt", &json!({ "broker": "127.0.0.1", "port": broker.port }));
    }

    /// Calls a service on the entity with this unique id.
    pub(crate) fn does(&mut self, service: &str, unique: &str, data: Value) {
        let entity = self.entity(unique).unwrap_or_else(|| panic!("there is no {unique}"));
        let (domain, service) = service.split_once('.').expect("a domain and a service");
        let call = json!({
            "domain": domain, "service": service, "service_data": data, "target": { "entity_id": entity },
        });
        self.asks("call_service", call);
    }

    /// Says something to an agent, which has to do it. Returns its words.
    pub(crate) fn says(&mut self, agent: &str, text: &str) -> String {
        let said = json!({ "text": text, "language": "en", "agent_id": agent });
        let answer = self.asks("conversation/process", said);
        assert_eq!(answer["response"]["response_type"], "action_done", "{text}: {answer}");
        let words = &answer["response"]["speech"]["plain"]["speech"];
        words.as_str().unwrap_or_else(|| panic!("{text}: no words in {answer}")).into()
    }

    /// All entities of MQTT: their unique ids, and what the registry knows of each.
    pub(crate) fn entities(&mut self) -> Vec<Value> {
        let mut all = self.asks("config/entity_registry/list", json!({}));
        let all = all.as_array_mut().expect("a list");
        all.iter_mut().map(Value::take).filter(|entity| entity["platform"] == "mqtt").collect()
    }

    /// The entity with this unique id.
    pub(crate) fn entity(&mut self, unique: &str) -> Option<String> {
        let entities = self.entities();
        let found = entities.iter().find(|entity| entity["unique_id"] == unique);
        found.and_then(|entity| entity["entity_id"].as_str()).map(Into::into)
    }

    /// How all entities stand, by their unique ids.
    pub(crate) fn states(&mut self) -> Vec<(String, Value)> {
        let entities = self.entities();
        let states = self.asks("get_states", json!({}));
        let states = states.as_array().expect("a list");
        let state = |entity: &Value| {
            let found = states.iter().find(|state| state["entity_id"] == entity["entity_id"]);
            let unique = entity["unique_id"].as_str().expect("text").to_owned();
            (unique, found.cloned().unwrap_or_default())
        };
        entities.iter().map(state).collect()
    }

    /// How the entity with this unique id stands; null if there is none.
    pub(crate) fn state(&mut self, unique: &str) -> Value {
        let states = self.states();
        states.into_iter().find(|(known, _)| known == unique).map_or(Value::Null, |(_, state)| state)
    }

    /// Waits until an entity is so.
    pub(crate) fn sees(&mut self, unique: &str, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let start = Instant::now();
        loop {
            let state = self.state(unique);
            if is_so(&state) {
                return state;
            }
            assert!(start.elapsed() < PATIENCE, "waited in vain for {what} of {unique}: {state}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Waits until an entity is in this state.
    pub(crate) fn sees_state(&mut self, unique: &str, state: &str) -> Value {
        self.sees(unique, state, |it| it["state"] == state)
    }

    /// Waits until this is so, and otherwise says what was.
    pub(crate) fn waits<T>(&mut self, what: &str, mut look: impl FnMut(&mut Self) -> Result<T, String>) -> T {
        let start = Instant::now();
        loop {
            match look(self) {
                Ok(found) => return found,
                Err(seen) => {
                    assert!(start.elapsed() < PATIENCE, "waited in vain for {what}; there was {seen}")
                }
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Makes sure that it has logged no warning and no error.
    pub(crate) fn is_content(&self) {
        let log = self.running.as_ref().expect("it runs").output.text();
        let is_one = |line: &&str| line.contains(" WARNING ") || line.contains(" ERROR ");
        let is_known = |line: &str| KNOWN.iter().any(|words| line.contains(words));
        let complaints: Vec<_> = log.lines().filter(is_one).filter(|line| !is_known(line)).collect();
        assert!(complaints.is_empty(), "Home Assistant is not content:\n{}", complaints.join("\n"));
    }
}

/// Only what the tests need, and nothing that looks for others in the network.
fn configuration(port: u16) -> String {
    format!(
        "homeassistant: {{ name: Test, latitude: 0, longitude: 0, elevation: 0, unit_system: metric, time_zone: UTC }}\n\
         http: {{ server_host: 127.0.0.1, server_port: {port} }}\n\
         logger: {{ default: warning }}\n\
         conversation:\n"
    )
}

/// A form with its defaults. Which fields it has differs from one version to the next.
fn filled(schema: &Value) -> Value {
    let mut form = json!({});
    for field in schema.as_array().into_iter().flatten() {
        let name = field["name"].as_str().unwrap_or_default();
        if field["type"] == "expandable" {
            form[name] = filled(&field["schema"]);
        } else if field["required"] == true && !field["default"].is_null() {
            form[name] = field["default"].clone();
        }
    }
    form
}

//! The command line of `cargo sim`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use host_desktop::broker::{BrokerUrl, Ca};
use host_desktop::random::random_seed;
use host_relay::{self as relay, Endpoint, Model, Models, SearchUrl};
use hub_core::{HubId, settings};
use lexopt::prelude::*;

use super::{Llm, Parsed, config, environment, login, read};
use crate::console;
use crate::hub::Settings;
use crate::link::Spec;
use crate::wifi;

const HELP: &str = "\
The Hearthwave hub on a desktop: an MQTT broker, a simulated Z-Wave controller and the hub in one process.

Usage: cargo sim [OPTIONS]

  --once TEXT      ask one question, print the reply as JSON and exit: 0 if it succeeded, 1 if not.
                   TEXT is a sentence, a tool call such as 'echo {\"text\":\"hello\"}', the raw request
                   '{\"name\":\"echo\",\"arguments\":{\"text\":\"hello\"}}', or the name of a tool alone.
                   Anything that looks like a call is run as one.
                   A request that needs approval fails at once, unless --broker and --hub-id let
                   another client approve
  --llm MODEL      language model: demo, a small grammar in this process (default); none, for tool
                   calls only; or anthropic:MODEL, openai:MODEL or ollama:MODEL through a relay in
                   this process, with the key from ANTHROPIC_API_KEY or OPENAI_API_KEY.
                   With --broker and without --llm, a relay at that broker answers
  --llm-url URL    address of the model's server, if not the provider's default
  --search-url URL SearXNG-compatible JSON search URL; {query} is replaced:
                   'http://127.0.0.1:8888/search?format=json&q={query}'
  --broker URL     MQTT broker to use instead of the embedded one: mqtt://[USER:PASSWORD@]HOST[:PORT],
                   or mqtts://… for TLS. HEARTHWAVE_BROKER_USER and HEARTHWAVE_BROKER_PASSWORD can
                   hold the login instead
  --ca FILE        CA certificate to trust with mqtts://, in PEM; or the broker's own certificate
  --listen ADDR    address of the embedded broker, such as 0.0.0.0:1883
                   (default: 127.0.0.1:1883, or a free port if that is taken)
  --link LINK      Z-Wave controller at the hub's serial line: sim, a simulated one in this process
                   (default); exec:COMMAND, a program that speaks MCP on stdin and stdout;
                   tcp:HOST:PORT; or serial:PATH[@BAUD]. --once waits while COMMAND starts
  --console PORT   the hub's user console, as on a board: pty, a pseudo-terminal for programs such as
                   picocom or tio, whose path is printed; or an address such as 127.0.0.1:2323
  --state FILE     file for settings, flags and documents; created if missing, readable by you alone.
                   It holds passwords and the PIN in the clear, previous ones for some time too.
                   The prompt's history is in FILE.history. Without --state, nothing is kept
  --hub-id ID      the hub's name in every topic (default: sim; a random one with --once and --broker)
  --config FILE    options from a JSON file such as {\"hub_id\":\"attic\",\"llm\":\"none\"}, with any of
                   hub_id, broker, ca, listen, link, console, llm, llm_url, search_url and state.
                   The command line takes precedence
  --help           print this text
  --version        print the version

Environment: HEARTHWAVE_RELAY_GROUP is the relays' group at a broker with access rules.
MCP_TOOL_PREFIX sets the prefix of the hub's tool names (default: hub).
MCP_INCLUDE_EXAMPLE_TOOLS=true adds the example tools. RUST_LOG=info or debug logs more; the log
goes to stderr, at a terminal only warnings. At end of input the hub keeps running.";

/// The variable with the prefix of the hub's tools.
const TOOL_PREFIX: &str = "MCP_TOOL_PREFIX";

/// How to run.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// One question instead of a prompt.
    pub once: Option<String>,
    /// The broker to use instead of the embedded one.
    pub broker: Option<BrokerUrl>,
    /// The CA certificate that the broker's certificate is checked against.
    pub ca: Option<Ca>,
    /// Where the embedded broker listens.
    pub listen: Option<SocketAddr>,
    /// Which language model answers.
    pub llm: Llm,
    /// The address of the model's server.
    pub llm_url: Option<String>,
    /// The address of the search service.
    pub search_url: Option<SearchUrl>,
    /// What is at the far end of the serial line.
    pub link: Spec,
    /// Where the hub's serial port of people is.
    pub console: Option<console::Spec>,
    /// The file that is the hub's flash.
    pub state: Option<PathBuf>,
    /// The hub's name.
    pub hub_id: String,
    /// Whether the hub's name is made up for one question, so that nothing of it may stay at the broker.
    pub is_temporary: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            once: None,
            broker: None,
            ca: None,
            listen: None,
            llm: Llm::Demo,
            llm_url: None,
            search_url: None,
            link: Spec::Sim,
            console: None,
            state: None,
            hub_id: "sim".into(),
            is_temporary: false,
        }
    }
}

impl Options {
    /// Reads the arguments of the program, its own name left out.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Parsed<Self>, lexopt::Error> {
        let mut options = Self::default();
        let mut file = None;
        let mut given: Vec<(&str, OsString)> = Vec::new();
        let text = read(arguments, HELP, |name, parser| {
            match name {
                "once" => options.once = Some(parser.value()?.string()?),
                "config" => file = Some(PathBuf::from(parser.value()?)),
                _ => match config::MEMBERS.into_iter().find(|member| long(member) == name) {
                    Some(member) => given.push((member, parser.value()?)),
                    None => return Ok(false),
                },
            }
            Ok(true)
        })?;
        if let Some(text) = text {
            return Ok(Parsed::Print(text));
        }
        if let Some(prefix) = environment(TOOL_PREFIX) {
            // As the setting is, which the hub would otherwise begin with unchecked.
            settings::TOOL_PREFIX.check_text(&prefix).map_err(|error| format!("{TOOL_PREFIX}: {error}"))?;
        }
        let mut names: Vec<&str> = given.iter().map(|(name, _)| *name).collect();
        if let Some(path) = &file {
            let mut members = config::read(path).map_err(|error| format!("--config: {error}"))?;
            members.retain(|(name, _)| !is_overridden(name, options.once.is_some(), &names));
            for (name, value) in members {
                let named = |error| format!("--config: {}: '{name}': {error}", path.display());
                options.set(name, value.into()).map_err(named)?;
                names.push(name);
            }
        }
        for (name, value) in given {
            options.set(name, value).map_err(|error| format!("--{}: {error}", long(name)))?;
        }
        if options.broker.is_some() && !names.contains(&"llm") {
            // A relay here would take the questions of every hub at that broker.
            options.llm = Llm::Elsewhere;
        }
        options.check()?;
        match &mut options.broker {
            Some(broker) => broker.trust(options.ca.take())?,
            None if options.ca.is_some() => return Err("--ca is for --broker mqtts://…".into()),
            None => {}
        }
        if options.once.is_some() && options.broker.is_some() && !names.contains(&"hub_id") {
            // A hub that is already there under the usual name would be thrown out.
            options.hub_id = format!("sim-{:04x}", random_seed() & 0xFFFF);
            options.is_temporary = true;
        }
        Ok(Parsed::Run(options))
    }

    /// Sets an option by its name in a file. The error never shows the value: a password may be in it.
    fn set(&mut self, name: &str, value: OsString) -> Result<(), String> {
        match name {
            "state" => {
                self.state = Some(value.into());
                return Ok(());
            }
            "ca" => {
                self.ca = Some(Ca::read(value.as_ref())?);
                return Ok(());
            }
            _ => {}
        }
        let text = value.into_string().map_err(|_| "it is not a text in UTF-8")?;
        match name {
            "broker" => self.broker = Some(BrokerUrl::parse(&text)?),
            "listen" => {
                let address = text.parse().map_err(|_| format!("'{text}' is not like 127.0.0.1:1883"))?;
                self.listen = Some(address);
            }
            "llm" => self.llm = text.parse()?,
            "llm_url" => self.llm_url = Some(text),
            "search_url" => self.search_url = Some(SearchUrl::new(&text)?),
            "link" => self.link = text.parse()?,
            "console" => self.console = Some(text.parse()?),
            "hub_id" if HubId::new(&text).is_none() => {
                return Err("a hub id has 1 to 32 letters, digits, '-' and '_'".into());
            }
            "hub_id" => self.hub_id = text,
            _ => return Err("there is no such option".into()),
        }
        Ok(())
    }

    /// Rejects options that exclude each other or say nothing.
    fn check(&self) -> Result<(), &'static str> {
        if self.once.as_ref().is_some_and(|text| text.trim().is_empty()) {
            return Err("--once: the question is empty; say something, or call a tool like 'echo {}'");
        }
        if self.llm_url.is_some() && !matches!(self.llm, Llm::Model { .. }) {
            return Err("--llm-url is for --llm anthropic:MODEL, openai:MODEL or ollama:MODEL");
        }
        let has_relay = !matches!(self.llm, Llm::None | Llm::Elsewhere);
        if self.search_url.is_some() && self.broker.is_some() && !has_relay {
            // One that only searches would take the other questions from those who answer them.
            return Err(
                "--search-url: at another broker, the relay there searches: give it to `cargo relay`",
            );
        }
        if self.listen.is_some() && (self.broker.is_some() || self.once.is_some()) {
            return Err("--listen is for the broker in the process, while there is a prompt");
        }
        Ok(())
    }

    /// The settings of the relay in this process. `None` if there is to be none.
    pub fn relay(&self, hub: &Settings) -> Result<Option<relay::Settings>, String> {
        let models = match &self.llm {
            Llm::Demo => Models::demo(),
            Llm::Model { service, .. } => {
                let endpoint = Endpoint::from_environment(*service, self.llm_url.as_deref(), environment)?;
                let mut models = Models::default();
                models.set(*service, Model::At(endpoint));
                models
            }
            Llm::None | Llm::Elsewhere if self.search_url.is_none() => return Ok(None),
            Llm::None | Llm::Elsewhere => Models::default(),
        };
        let (broker, search) = (hub.broker.clone(), self.search_url.clone());
        let mut relay = relay::Settings { broker, search, ..relay::Settings::in_memory(models) };
        if let Some(group) = host_relay::options::group(environment)? {
            relay.group = group;
        }
        Ok(Some(relay))
    }

    /// The hub's settings, with those in the environment.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::in_memory(&self.hub_id);
        // Nobody wants a hub of one question in their Home Assistant.
        settings.discovery = !self.is_temporary;
        if let Some(url) = &self.broker {
            let login = url.login.clone().or_else(|| login(environment));
            settings.broker = BrokerUrl { login, ..url.clone() };
        }
        let (ssid, password) = wifi::HOME;
        settings.wifi = (ssid.into(), password.into());
        settings.rule = self.llm.rule();
        settings.controller_hint = self.link.hint();
        if let Some(prefix) = environment(TOOL_PREFIX) {
            settings.tool_prefix = prefix;
        }
        settings.example_tools =
            environment("MCP_INCLUDE_EXAMPLE_TOOLS").is_some_and(|wanted| wanted == "true");
        settings
    }
}

/// Whether the file's option `name` makes no sense beside those `given` on the command line.
fn is_overridden(name: &str, is_once: bool, given: &[&str]) -> bool {
    let is_given = |name: &str| given.contains(&name);
    is_given(name)
        || match name {
            "llm_url" => is_given("llm"),
            "listen" => is_once || is_given("broker"),
            "broker" => is_given("listen"),
            // At another broker the relay there searches.
            "search_url" => is_given("broker") && !is_given("llm"),
            _ => false,
        }
}

/// How an option is written on the command line.
fn long(name: &str) -> String {
    name.replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Parsed<Options>, String> {
        Options::parse(arguments.iter().map(OsString::from)).map_err(|error| error.to_string())
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (arguments, part) in [
            (&["--broker", "mqtts://host"][..], "needs --ca"),
            (&["--broker", "https://host"], "https"),
            (&["--ca", "/nowhere.pem", "--broker", "mqtts://host"], "--ca: /nowhere.pem: "),
            (&["--broker", "mqtt://me:s3cret@host:70000"], "70000"),
            (&["--listen", "127.0.0.1:0", "--once", "x"], "--listen"),
            (&["--broker", "mqtt://:1883"], "host is missing"),
            (&["--broker", "mqtt://[::1]x1885"], "x1885"),
            (&["--hub-id", "a/b"], "letters"),
            (&["--hub-id", ""], "letters"),
            (&["--listen", "here"], "here"),
            (&["--console", "usb"], "'usb' is not pty"),
            (&["--search-url", "http://h"], "--search-url: "),
            (&["--search-url", "http://h/{query}", "--broker", "mqtt://h"], "cargo relay"),
            (&["--config", "no-such-file.json"], "no-such-file.json"),
            (&["--llm", "gpt"], "anthropic:MODEL"),
            (&["--llm", "ollama:"], "anthropic:MODEL"),
            (&["--once"], "--once"),
            (&["--frobnicate"], "frobnicate"),
            (&["stray"], "stray"),
        ] {
            let error = parse(arguments).expect_err("these are wrong");
            assert!(error.contains(part), "{arguments:?} gave: {error}");
            assert!(!error.contains("s3cret"), "the password is in: {error}");
        }
    }

    fn options(arguments: &[&str]) -> Options {
        match parse(arguments) {
            Ok(Parsed::Run(options)) => options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn who_answers() {
        assert_eq!(options(&[]).llm, Llm::Demo);
        assert_eq!(options(&["--broker", "mqtt://h"]).llm, Llm::Elsewhere);
        assert_eq!(options(&["--broker", "mqtt://h", "--llm", "none"]).llm, Llm::None);
        assert_eq!(options(&["--broker", "mqtt://h", "--llm", "demo"]).llm, Llm::Demo);
    }

    #[test]
    fn somebody_searches_with_or_without_a_model() {
        let url = "http://h/search?q={query}";
        for (llm, models) in [("demo", "anthropic, openai, ollama"), ("none", "none")] {
            let options = options(&["--llm", llm, "--search-url", url]);
            let relay = options.relay(&options.settings()).expect("right").expect("a relay");
            assert_eq!((relay.search, relay.models.to_string().as_str()), (SearchUrl::new(url).ok(), models));
        }
        assert!(options(&["--llm", "none"]).relay(&options(&[]).settings()).expect("right").is_none());
    }

    #[test]
    fn a_file_speaks_and_the_command_line_has_the_last_word() {
        let path = std::env::temp_dir().join(format!("hearthwave-config-{:016x}.json", random_seed()));
        let file = path.to_str().expect("text").to_owned();
        let with = |text: &str, arguments: &[&str]| {
            std::fs::write(&path, text).expect("written");
            parse(&[&["--config", &file], arguments].concat())
        };
        let all = r#"{"hub_id":"attic","llm":"ollama:qwen3:8b","llm_url":"http://h:1","listen":"127.0.0.1:9",
                      "search_url":"http://h/{query}","state":"hub.bin","link":"tcp:h:7"}"#;
        let Ok(Parsed::Run(options)) = with(all, &[]) else { panic!("wrong") };
        assert_eq!((options.hub_id.as_str(), options.llm_url.as_deref()), ("attic", Some("http://h:1")));
        assert_eq!((options.listen, options.state), ("127.0.0.1:9".parse().ok(), Some("hub.bin".into())));
        assert_eq!(
            (options.search_url, options.link),
            (SearchUrl::new("http://h/{query}").ok(), "tcp:h:7".parse().expect("a link"))
        );
        // What the file says of another model, or of a broker that is not there, is moot.
        let Ok(Parsed::Run(options)) = with(all, &["--llm", "demo", "--hub-id", "hall", "--once", "hi"])
        else {
            panic!("wrong")
        };
        assert_eq!(
            (options.hub_id.as_str(), options.llm, options.llm_url, options.listen),
            ("hall", Llm::Demo, None, None)
        );
        for (text, part) in [
            (r#"{"hub":"x"}"#, "'hub' is unknown"),
            (r#"{"hub_id":7}"#, "'hub_id' must be a text"),
            (r#"{"hub_id":"a/b"}"#, "'hub_id': a hub id has"),
            (r#"{"broker":"https://me:s3cret@h"}"#, "'broker': mqtt:// and mqtts://"),
            ("{", "not JSON"),
        ] {
            let error = with(text, &[]).expect_err("it is wrong");
            assert!(error.contains(part) && error.contains(&file) && !error.contains("s3cret"), "{error}");
        }
        std::fs::remove_file(&path).expect("removed");
    }
}

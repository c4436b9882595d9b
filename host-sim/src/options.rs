//! The simulator's command line.

mod broker_url;
mod config;
mod llm;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use hub_core::HubId;
use lexopt::prelude::*;

use crate::hub::{Settings, random_seed};
use crate::link::Spec;
use crate::relay::{self, Models, SearchUrl};

pub use broker_url::BrokerUrl;
pub use llm::Llm;

const HELP: &str = "\
The Hearthwave hub on a desktop: an MQTT broker, a simulated Z-Wave controller and the hub in one process.

Usage: cargo sim [OPTIONS]

  --once TEXT      ask one question, print the reply as JSON, and exit (0 if it succeeded, 1 if not).
                   TEXT is what a person says, or a tool call like
                   '{\"name\":\"echo\",\"arguments\":{\"text\":\"hello\"}}'
                   or NAME {\"argument\":...}
  --llm MODEL      which language model answers: demo, a small grammar in this process (the default); none, and only
                   tool calls are possible; or anthropic:MODEL, openai:MODEL or ollama:MODEL through a relay in this
                   process, with the key from ANTHROPIC_API_KEY or OPENAI_API_KEY.
                   With --broker and without this, a relay of yours at that broker answers
  --llm-url URL    where that model is, if not at its usual place
  --search-url URL who searches the web, with {query} where the words go and answers as SearXNG's in JSON:
                   'http://127.0.0.1:8888/search?format=json&q={query}'
  --broker URL     use this broker instead of the one in the process: mqtt://[USER:PASSWORD@]HOST[:PORT].
                   The login can also be in HEARTHWAVE_BROKER_USER and HEARTHWAVE_BROKER_PASSWORD
  --listen ADDR    where the broker in the process listens, like 0.0.0.0:1883. Without it, at
                   127.0.0.1:1883, or at a free port if that is taken
  --link LINK      what is at the far end of the hub's serial line: sim, a simulated controller in this process (the
                   default); exec:COMMAND, a program that speaks MCP on stdin and stdout; tcp:HOST:PORT; or
                   serial:PATH[@BAUD], a real port
  --state FILE     where the hub keeps settings, flags and documents; made if it is not there. Without it, what
                   the hub is told is forgotten when it ends
  --hub-id ID      the hub's name in every topic (sim; with --once and --broker, one of its own)
  --config FILE    options from a file: a JSON object like {\"hub_id\":\"attic\",\"llm\":\"none\"} with any of hub_id,
                   broker, listen, link, llm, llm_url, search_url and state. The command line wins
  --help           this text
  --version        the version

MCP_TOOL_PREFIX sets what stands before the names of the hub's tools (hub), and MCP_INCLUDE_EXAMPLE_TOOLS=true adds
the example tools. The log goes to stderr, at a terminal warnings only; RUST_LOG=info or debug shows more of it. When there is no more input,
as in a service, the hub goes on until it is stopped.";

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub enum Command {
    /// To run.
    Run(Box<Options>),
    /// To print something and end.
    Print(String),
}

/// How to run.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// One question instead of a prompt.
    pub once: Option<String>,
    /// A broker elsewhere.
    pub broker: Option<BrokerUrl>,
    /// Where the embedded broker listens.
    pub listen: Option<SocketAddr>,
    /// Who answers what people say.
    pub llm: Llm,
    /// Where the model is.
    pub llm_url: Option<String>,
    /// Who searches the web.
    pub search_url: Option<SearchUrl>,
    /// What is at the far end of the serial line.
    pub link: Spec,
    /// The file that is the hub's flash.
    pub state: Option<PathBuf>,
    /// The hub's name.
    pub hub_id: String,
    /// Whether that is made up for this one time, so that nothing is to stay of it at a broker elsewhere.
    pub is_passing: bool,
}

impl Options {
    /// Reads the arguments of the program, its own name left out.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, lexopt::Error> {
        let (mut once, mut config) = (None, None);
        let mut given: Vec<(&'static str, OsString)> = Vec::new();
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("once") => once = Some(parser.value()?.string()?),
                Long("config") => config = Some(PathBuf::from(parser.value()?)),
                Long("help") | Short('h') => return Ok(Command::Print(HELP.into())),
                Long("version") | Short('V') => {
                    return Ok(Command::Print(format!("hearthwave {}", env!("CARGO_PKG_VERSION"))));
                }
                Long(name) => match config::MEMBERS.into_iter().find(|member| long(member) == name) {
                    Some(member) => given.push((member, parser.value()?)),
                    None => return Err(argument.unexpected()),
                },
                other => return Err(other.unexpected()),
            }
        }
        let mut draft = Draft::default();
        if let Some(path) = &config {
            let is_given = |name: &str| given.iter().any(|(other, _)| *other == name);
            draft.take_file(path, once.is_some(), is_given)?;
        }
        for (name, value) in given {
            draft.set(name, value).map_err(|error| format!("--{}: {error}", long(name)))?;
        }
        let is_named = draft.hub_id.is_some();
        let mut options = Self {
            once,
            llm: match (draft.llm, &draft.broker) {
                (Some(llm), _) => llm,
                // A relay here would take the questions of every hub at that broker.
                (None, Some(_)) => Llm::Elsewhere,
                (None, None) => Llm::Demo,
            },
            broker: draft.broker,
            listen: draft.listen,
            llm_url: draft.llm_url,
            search_url: draft.search_url,
            link: draft.link.unwrap_or(Spec::Sim),
            state: draft.state,
            hub_id: draft.hub_id.unwrap_or_else(|| "sim".into()),
            is_passing: false,
        };
        if options.llm_url.is_some() && !matches!(options.llm, Llm::Model { .. }) {
            return Err("--llm-url is for --llm anthropic:MODEL, openai:MODEL or ollama:MODEL".into());
        }
        let has_relay = !matches!(options.llm, Llm::None | Llm::Elsewhere);
        if options.search_url.is_some() && options.broker.is_some() && !has_relay {
            // One that only searches would take the other questions from those who answer them.
            return Err(
                "--search-url: at another broker, the relay there searches: give it to `cargo relay`".into(),
            );
        }
        if options.listen.is_some() && (options.broker.is_some() || options.once.is_some()) {
            return Err("--listen is for the broker in the process, while there is a prompt".into());
        }
        if options.once.is_some() && options.broker.is_some() && !is_named {
            // A hub that is already there under the usual name would be thrown out.
            options.hub_id = format!("sim-{:04x}", random_seed() & 0xFFFF);
            options.is_passing = true;
        }
        Ok(Command::Run(Box::new(options)))
    }

    /// The settings of the relay in this process, if one is wanted: `None` if not.
    pub fn relay(&self, hub: &Settings) -> Result<Option<relay::Settings>, lexopt::Error> {
        let provider = match &self.llm {
            Llm::Demo => Some("demo"),
            Llm::Model { provider, .. } => Some(provider.as_str()),
            Llm::None | Llm::Elsewhere => None,
        };
        let mut settings = match provider {
            Some(provider) => {
                let mut arguments = vec!["--provider".into(), OsString::from(provider)];
                if let Some(url) = &self.llm_url {
                    arguments.extend(["--url".into(), OsString::from(url)]);
                }
                let parsed = relay::options::parse(arguments, |name| std::env::var(name).ok())?;
                let relay::options::Command::Run(settings) = parsed else { return Ok(None) };
                settings
            }
            None if self.search_url.is_some() => Box::new(relay::Settings::in_memory(Models::default())),
            None => return Ok(None),
        };
        settings.search = self.search_url.clone();
        let (host, port, login) = (hub.host.clone(), hub.port, hub.login.clone());
        settings.broker = BrokerUrl { host, port, login };
        Ok(Some(*settings))
    }

    /// The hub's settings, with what the environment says.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::in_memory(&self.hub_id);
        if let Some(url) = &self.broker {
            settings.host = url.host.clone();
            settings.port = url.port;
            settings.login = url.login.clone().or_else(login_from_environment);
        }
        settings.rule = self.llm.rule();
        settings.controller_hint = self.link.hint().into();
        if let Ok(prefix) = std::env::var("MCP_TOOL_PREFIX") {
            settings.tool_prefix = prefix;
        }
        settings.example_tools = std::env::var("MCP_INCLUDE_EXAMPLE_TOOLS")
            .is_ok_and(|wanted| wanted.eq_ignore_ascii_case("true"));
        settings
    }
}

/// What was said so far.
#[derive(Default)]
struct Draft {
    broker: Option<BrokerUrl>,
    listen: Option<SocketAddr>,
    llm: Option<Llm>,
    llm_url: Option<String>,
    search_url: Option<SearchUrl>,
    link: Option<Spec>,
    state: Option<PathBuf>,
    hub_id: Option<String>,
}

impl Draft {
    /// Sets an option by its name in a file. The error never shows the value: a password may be in it.
    fn set(&mut self, name: &str, value: OsString) -> Result<(), String> {
        if name == "state" {
            self.state = Some(value.into());
            return Ok(());
        }
        let text = value.into_string().map_err(|_| "it is not a text in UTF-8")?;
        match name {
            "broker" => self.broker = Some(BrokerUrl::parse(&text)?),
            "listen" => {
                let address = text.parse().map_err(|_| format!("'{text}' is not like 127.0.0.1:1883"))?;
                self.listen = Some(address);
            }
            "llm" => self.llm = Some(text.parse()?),
            "llm_url" => self.llm_url = Some(text),
            "search_url" => self.search_url = Some(SearchUrl::new(&text)?),
            "link" => self.link = Some(text.parse()?),
            "hub_id" => self.hub_id = Some(hub_id(&text)?),
            _ => return Err("there is no such option".into()),
        }
        Ok(())
    }

    /// Takes what a file says, but for what makes no sense with what the command line says.
    fn take_file(
        &mut self,
        path: &Path,
        is_once: bool,
        is_given: impl Fn(&str) -> bool,
    ) -> Result<(), String> {
        for (name, value) in config::read(path).map_err(|error| format!("--config: {error}"))? {
            let is_moot = match name {
                "llm_url" => is_given("llm"),
                "listen" => is_once || is_given("broker"),
                "broker" => is_given("broker") || is_given("listen"),
                // At another broker the relay there searches.
                "search_url" => is_given("search_url") || is_given("broker") && !is_given("llm"),
                _ => is_given(name),
            };
            if !is_moot {
                let named = |error| format!("--config: {}: '{name}': {error}", path.display());
                self.set(name, value.into()).map_err(named)?;
            }
        }
        Ok(())
    }
}

/// How an option is written on the command line.
fn long(name: &str) -> String {
    name.replace('_', "-")
}

fn login_from_environment() -> Option<(String, String)> {
    let user = std::env::var("HEARTHWAVE_BROKER_USER").ok().filter(|user| !user.is_empty())?;
    Some((user, std::env::var("HEARTHWAVE_BROKER_PASSWORD").unwrap_or_default()))
}

fn hub_id(text: &str) -> Result<String, String> {
    match HubId::new(text) {
        Some(_) => Ok(text.into()),
        None => Err("a hub id has 1 to 32 letters, digits, '-' and '_'".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Command, String> {
        Options::parse(arguments.iter().map(OsString::from)).map_err(|error| error.to_string())
    }

    #[test]
    fn wrong_arguments_are_named() {
        for (arguments, part) in [
            (&["--broker", "mqtts://host"][..], "mqtts"),
            (&["--broker", "mqtt://me:s3cret@host:70000"], "70000"),
            (&["--listen", "127.0.0.1:0", "--once", "x"], "--listen"),
            (&["--broker", "mqtt://:1883"], "host is missing"),
            (&["--broker", "mqtt://[::1]x1885"], "x1885"),
            (&["--hub-id", "a/b"], "letters"),
            (&["--hub-id", ""], "letters"),
            (&["--listen", "here"], "here"),
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
            Ok(Command::Run(options)) => *options,
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
        let Ok(Command::Run(options)) = with(all, &[]) else { panic!("wrong") };
        assert_eq!((options.hub_id.as_str(), options.llm_url.as_deref()), ("attic", Some("http://h:1")));
        assert_eq!((options.listen, options.state), ("127.0.0.1:9".parse().ok(), Some("hub.bin".into())));
        assert_eq!(
            (options.search_url, options.link),
            (SearchUrl::new("http://h/{query}").ok(), "tcp:h:7".parse().expect("a link"))
        );
        // What the file says of another model, or of a broker that is not there, is moot.
        let Ok(Command::Run(options)) = with(all, &["--llm", "demo", "--hub-id", "hall", "--once", "hi"])
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
            (r#"{"broker":"mqtts://me:s3cret@h"}"#, "'broker': only mqtt://"),
            ("{", "not JSON"),
        ] {
            let error = with(text, &[]).expect_err("it is wrong");
            assert!(error.contains(part) && error.contains(&file) && !error.contains("s3cret"), "{error}");
        }
        std::fs::remove_file(&path).expect("removed");
    }
}

//! The simulator's command line.

use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

use hub_core::HubId;
use lexopt::prelude::*;

use crate::hub::{Settings, random_seed};
use crate::link::Spec;
use crate::relay;

const HELP: &str = "\
The Hearthwave hub on a desktop: an MQTT broker, a simulated Z-Wave controller and the hub in one process.

Usage: cargo sim [OPTIONS]

  --once TEXT      ask one question, print the reply as JSON, and exit (0 if it succeeded, 1 if not).
                   TEXT is what a person says, or a tool call like
                   '{\"name\":\"echo\",\"arguments\":{\"text\":\"hello\"}}'
  --llm MODEL      which language model answers: demo, a small grammar in this process (the default); none, and text is
                   echoed; or anthropic:MODEL, openai:MODEL or ollama:MODEL through a relay in this process, with the key
                   from ANTHROPIC_API_KEY or OPENAI_API_KEY
                   With --broker it is none unless given: a relay of yours answers
  --llm-url URL    where that model is, if not at its usual place
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
  --help           this text
  --version        the version

MCP_TOOL_PREFIX sets what stands before the names of the hub's tools (hub), and MCP_INCLUDE_EXAMPLE_TOOLS=true adds
the example tools. The log goes to stderr; RUST_LOG=debug shows more of it, RUST_LOG=warn less. When there is no more input,
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
    /// What is at the far end of the serial line.
    pub link: Spec,
    /// The file that is the hub's flash.
    pub state: Option<PathBuf>,
    /// The hub's name.
    pub hub_id: String,
}

impl Options {
    /// Reads the arguments of the program, its own name left out.
    pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, lexopt::Error> {
        let mut options = Self {
            once: None,
            broker: None,
            listen: None,
            llm: Llm::Demo,
            llm_url: None,
            link: Spec::Sim,
            state: None,
            hub_id: "sim".into(),
        };
        let (mut is_named, mut is_llm_chosen) = (false, false);
        let mut parser = lexopt::Parser::from_args(arguments);
        while let Some(argument) = parser.next()? {
            match argument {
                Long("once") => options.once = Some(parser.value()?.string()?),
                // Not by `parse_with`, whose error would show the password.
                Long("broker") => {
                    let url = BrokerUrl::parse(&parser.value()?.string()?);
                    options.broker = Some(url.map_err(|error| format!("--broker: {error}"))?);
                }
                Long("listen") => options.listen = Some(parser.value()?.parse()?),
                Long("llm") => {
                    options.llm = parser.value()?.parse_with(str::parse)?;
                    is_llm_chosen = true;
                }
                Long("llm-url") => options.llm_url = Some(parser.value()?.string()?),
                Long("link") => options.link = parser.value()?.parse_with(str::parse)?,
                Long("state") => options.state = Some(parser.value()?.into()),
                Long("hub-id") => {
                    options.hub_id = parser.value()?.parse_with(hub_id)?;
                    is_named = true;
                }
                Long("help") | Short('h') => return Ok(Command::Print(HELP.into())),
                Long("version") | Short('V') => {
                    return Ok(Command::Print(format!("hearthwave {}", env!("CARGO_PKG_VERSION"))));
                }
                other => return Err(other.unexpected()),
            }
        }
        if options.broker.is_some() && !is_llm_chosen {
            // A relay here would take the questions of every hub at that broker.
            options.llm = Llm::None;
        }
        if options.llm_url.is_some() && !matches!(options.llm, Llm::Model { .. }) {
            return Err("--llm-url is for --llm anthropic:MODEL, openai:MODEL or ollama:MODEL".into());
        }
        if options.listen.is_some() && (options.broker.is_some() || options.once.is_some()) {
            return Err("--listen is for the broker in the process, while there is a prompt".into());
        }
        if options.once.is_some() && options.broker.is_some() && !is_named {
            // A hub that is already there under the usual name would be thrown out.
            options.hub_id = format!("sim-{:04x}", random_seed() & 0xFFFF);
        }
        Ok(Command::Run(Box::new(options)))
    }

    /// The settings of the relay in this process, if one is wanted: `None` if not.
    pub fn relay(&self, hub: &Settings) -> Result<Option<relay::Settings>, lexopt::Error> {
        let provider = match &self.llm {
            Llm::None => return Ok(None),
            Llm::Demo => "demo",
            Llm::Model { provider, .. } => provider,
        };
        let mut arguments = vec!["--provider".into(), OsString::from(provider)];
        if let Some(url) = &self.llm_url {
            arguments.extend(["--url".into(), OsString::from(url)]);
        }
        let parsed = relay::options::parse(arguments, |name| std::env::var(name).ok())?;
        let relay::options::Command::Run(mut settings) = parsed else { return Ok(None) };
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

/// Who answers what people say, written `demo`, `none` or `PROVIDER:MODEL`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Llm {
    /// A small grammar.
    Demo,
    /// Nobody.
    None,
    /// A model.
    Model {
        /// `anthropic`, `openai` or `ollama`.
        provider: String,
        /// As the provider calls it.
        model: String,
    },
}

impl Llm {
    /// The default rule of a hub that is to be answered by this one.
    pub fn rule(&self) -> String {
        let (service, model) = match self {
            Self::Demo => ("ollama", "demo"),
            Self::None => return String::new(),
            Self::Model { provider, model } => (provider.as_str(), model.as_str()),
        };
        let tools = serde_json::json!({ "enabled": true });
        serde_json::json!({ "name": "default", "service": service, "model": model, "tools": tools })
            .to_string()
    }
}

impl FromStr for Llm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "demo" => Ok(Self::Demo),
            None if text == "none" => Ok(Self::None),
            Some((provider @ ("anthropic" | "openai" | "ollama"), model)) if !model.is_empty() => {
                Ok(Self::Model { provider: provider.into(), model: model.into() })
            }
            _ => Err("it is demo, none, anthropic:MODEL, openai:MODEL or ollama:MODEL".into()),
        }
    }
}

/// `mqtt://[USER:PASSWORD@]HOST[:PORT]`
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl {
    /// A name or an address.
    pub host: String,
    /// 1883 unless given.
    pub port: u16,
    /// User name and password.
    pub login: Option<(String, String)>,
}

/// Without the password.
impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.login.as_ref().map(|(user, _)| user);
        f.debug_struct("BrokerUrl")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &user)
            .finish()
    }
}

impl BrokerUrl {
    /// Reads a URL. Nothing in it is percent-encoded: a password may hold any character.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = match text.split_once("://") {
            Some(("mqtt", rest)) => rest,
            Some((scheme, _)) => return Err(format!("only mqtt:// is possible, not {scheme}://")),
            None => text,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => {
                let (user, password) = login.split_once(':').unwrap_or((login, ""));
                (Some((user.into(), password.into())), place)
            }
            None => (None, rest),
        };
        // An IPv6 address stands in brackets, since it has colons of its own.
        let (host, port) = match place.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, port)) => (address, Some(port.strip_prefix(':').unwrap_or(port))),
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        if host.is_empty() {
            return Err("the host is missing: mqtt://HOST[:PORT]".into());
        }
        let port = match port {
            Some(port) => port.parse().map_err(|_| format!("'{port}' is not a port"))?,
            None => 1883,
        };
        Ok(Self { host: host.into(), port, login })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(arguments: &[&str]) -> Result<Command, String> {
        Options::parse(arguments.iter().map(OsString::from)).map_err(|error| error.to_string())
    }

    #[test]
    fn broker_urls_in_all_their_forms() {
        let url = |host: &str, port, login: Option<(&str, &str)>| {
            Ok(BrokerUrl { host: host.into(), port, login: login.map(|(u, p)| (u.into(), p.into())) })
        };
        assert_eq!(BrokerUrl::parse("mqtt://broker.local"), url("broker.local", 1883, None));
        assert_eq!(BrokerUrl::parse("10.0.0.7:1884"), url("10.0.0.7", 1884, None));
        assert_eq!(
            BrokerUrl::parse("mqtt://me:p@ss:word@host/"),
            url("host", 1883, Some(("me", "p@ss:word")))
        );
        assert_eq!(BrokerUrl::parse("mqtt://[::1]:1885"), url("::1", 1885, None));
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
}

//! The command line of `cargo relay`.

use std::ffi::OsString;
use std::net::SocketAddr;

use host_desktop::broker::{BrokerUrl, Ca};
use host_desktop::options::{Parsed, login, read, value};
use lexopt::prelude::*;

use crate::voice;
use crate::{Endpoint, Model, Models, Provider, ProviderExt as _, SearchUrl, Settings};

const HELP: &str = "\
Connects Hearthwave hubs to language models: takes their requests from an MQTT broker, adds the key,
asks the provider and returns the answer. With --wyoming it also, or only, connects Home Assistant's
voice assistants to a hub.

Usage: cargo relay [OPTIONS]

  --broker URL         the hubs' broker: mqtt://[USER:PASSWORD@]HOST[:PORT], or mqtts://… for TLS
                       (default: mqtt://127.0.0.1). HEARTHWAVE_BROKER_USER and
                       HEARTHWAVE_BROKER_PASSWORD can hold the login instead
  --ca FILE            CA certificate to trust with mqtts://, in PEM; or the broker's own certificate
  --provider PROVIDER  provider to serve: anthropic, openai or ollama; repeatable. demo is a small
                       grammar that needs no network and answers for all of them. (default: every
                       provider with a key in the environment or with a --url)
  --url [PROVIDER=]URL address of a compatible server, with or without the path, if not the
                       provider's default
  --search-url URL     SearXNG-compatible JSON search URL for the hubs; {query} is replaced:
                       'http://127.0.0.1:8888/search?format=json&q={query}'.
                       HEARTHWAVE_SEARCH_URL can hold a URL with a key instead
  --wyoming ADDR       serve Home Assistant's voice assistants at [HOST:]PORT; needs no provider.
                       Without a host, only programs on this machine can connect. With one, such as
                       0.0.0.0:10900, anyone on the network can speak to the home, and the service
                       is announced there
  --hub ID             hub that the voice assistants speak to (default: the only one at the broker)
  --client-id ID       the relay's client id at the broker, unique per relay (default: a random one)
  --help               print this text
  --version            print the version

All relays at a broker share the work, so they must serve the same providers.
HEARTHWAVE_RELAY_GROUP names their group (default: relay). A client that knows the name can join the
group and keep questions from the relays. At a broker with access rules, make it a secret.
ANTHROPIC_API_KEY and OPENAI_API_KEY hold the keys. Ollama needs none and is expected at
http://127.0.0.1:11434. The log goes to stderr, one line per request; RUST_LOG=debug logs more,
RUST_LOG=warn only failures.";

/// What minimq has room for.
const CLIENT_ID: usize = 64;

/// The variable with the address of the search service, which may have a key in it.
const SEARCH_URL: &str = "HEARTHWAVE_SEARCH_URL";

/// The variable with the name of the relay's group.
const GROUP: &str = "HEARTHWAVE_RELAY_GROUP";

/// At the end of the voice service's name at the broker.
const VOICE: &str = "-voice";

/// What a relay is started with.
#[derive(Debug)]
pub struct Options {
    /// The relay; without models it has nothing to do.
    pub relay: Settings,
    /// The voice service and where it listens, if it is wanted.
    pub voice: Option<(voice::Settings, SocketAddr)>,
}

/// An address for one provider, or for the only one.
type GivenUrl = (Option<Provider>, String);

/// Reads the arguments of the program, its own name left out. `variable` looks up a variable of the environment.
pub fn parse(
    arguments: impl IntoIterator<Item = OsString>,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Parsed<Options>, lexopt::Error> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let mut settings = Settings::in_memory(Models::default());
    settings.broker.host = "127.0.0.1".into();
    let mut providers = Vec::new();
    let mut has_demo = false;
    let mut ca = None;
    let mut urls: Vec<GivenUrl> = Vec::new();
    let (mut wyoming, mut hub) = (None, None);
    let text = read(arguments, HELP, |name, parser| {
        match name {
            "broker" => settings.broker = value(parser, name, BrokerUrl::parse)?,
            "ca" => ca = Some(value(parser, name, |path| Ca::read(path.as_ref()))?),
            "provider" => match parser.value()?.parse_with(provider)? {
                Some(service) => providers.push(service),
                None => has_demo = true,
            },
            "url" => urls.push(given_url(&parser.value()?.string()?)),
            "search-url" => settings.search = Some(value(parser, name, SearchUrl::new)?),
            "wyoming" => wyoming = Some(value(parser, name, voice::parse_address)?),
            "hub" => hub = Some(value(parser, name, checked_hub)?),
            "client-id" => settings.client_id = parser.value()?.parse_with(checked_client_id)?,
            _ => return Ok(false),
        }
        Ok(true)
    })?;
    if let Some(text) = text {
        return Ok(Parsed::Print(text));
    }
    if let (None, Some(url)) = (&settings.search, variable(SEARCH_URL)) {
        settings.search = Some(SearchUrl::new(&url).map_err(|error| format!("{SEARCH_URL}: {error}"))?);
    }
    if let Some(group) = group(variable)? {
        settings.group = group;
    }
    settings.broker.trust(ca)?;
    settings.broker.login = settings.broker.login.or_else(|| login(variable));
    if hub.is_some() && wyoming.is_none() {
        return Err("--hub is for --wyoming; models are asked for all hubs".into());
    }
    settings.models = models(providers, has_demo, urls, variable, wyoming.is_some())?;
    let voice = wyoming.map(|address| {
        let client_id = format!("{}{VOICE}", settings.client_id);
        let broker = settings.broker.clone();
        (voice::Settings { broker, client_id, hub, seed: settings.seed }, address)
    });
    Ok(Parsed::Run(Options { relay: settings, voice }))
}

fn models(
    mut providers: Vec<Provider>,
    has_demo: bool,
    mut urls: Vec<GivenUrl>,
    variable: impl Fn(&str) -> Option<String>,
    may_be_none: bool,
) -> Result<Models, String> {
    if providers.is_empty() && !has_demo {
        let has_key =
            |service: &Provider| service.key_variable().is_some_and(|name| variable(name).is_some());
        providers.extend(Provider::ALL.into_iter().filter(has_key));
        providers.extend(urls.iter().filter_map(|(service, _)| *service));
    }
    if providers.is_empty() && !has_demo && !may_be_none {
        return Err("there is no model to ask: set ANTHROPIC_API_KEY or OPENAI_API_KEY, or use --provider ollama for an \
                    Ollama on this machine, or --provider demo to try it"
            .into());
    }
    providers.sort_unstable();
    providers.dedup();
    for (given, _) in &mut urls {
        match (&*given, providers.as_slice()) {
            (None, [only]) => *given = Some(*only),
            (None, _) => {
                return Err("--url: say whose it is, like --url openai=http://127.0.0.1:8000".into());
            }
            (Some(service), providers) if !providers.contains(service) => {
                return Err(format!("--url: {0} is not served; add --provider {0}", service.name()));
            }
            (Some(_), _) => {}
        }
    }
    let mut models = if has_demo { Models::demo() } else { Models::default() };
    for service in providers {
        let url = urls.iter().rev().find(|(given, _)| *given == Some(service)).map(|(_, url)| url.as_str());
        models.set(service, Model::At(Endpoint::from_environment(service, url, &variable)?));
    }
    Ok(models)
}

/// None is the demo model.
fn provider(text: &str) -> Result<Option<Provider>, String> {
    match (text, Provider::named(text)) {
        ("demo", _) => Ok(None),
        (_, Some(service)) => Ok(Some(service)),
        (_, None) => Err("there are anthropic, openai, ollama and demo".into()),
    }
}

/// `URL` or `PROVIDER=URL`. An address may have a `=` of its own.
fn given_url(text: &str) -> GivenUrl {
    let named = text.split_once('=').and_then(|(name, url)| Some((Provider::named(name)?, url)));
    match named {
        Some((service, url)) => (Some(service), url.into()),
        None => (None, text.into()),
    }
}

fn checked_client_id(text: &str) -> Result<String, String> {
    const MOST: usize = CLIENT_ID - VOICE.len();
    match text.len() {
        1..=MOST => Ok(text.into()),
        _ => Err(format!("a client id has 1 to {MOST} bytes")),
    }
}

/// The name of the relay's group from the environment. It is part of a topic filter. It may be a secret, so the error does
/// not show it.
pub fn group(variable: impl Fn(&str) -> Option<String>) -> Result<Option<String>, String> {
    let Some(group) = variable(GROUP).filter(|group| !group.is_empty()) else { return Ok(None) };
    match group.len() <= 64 && group.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    {
        true => Ok(Some(group)),
        false => Err(format!("{GROUP} must have 1 to 64 letters, digits, '-' and '_'")),
    }
}

fn checked_hub(text: &str) -> Result<String, String> {
    match text.is_empty() || text.contains(['/', '+', '#']) {
        true => Err("it is the name of a hub, as in its topics".into()),
        false => Ok(text.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Settings, String> {
        read_all(arguments, environment).map(|options| options.relay)
    }

    fn read_all(arguments: &[&str], environment: &[(&str, &str)]) -> Result<Options, String> {
        let environment: std::collections::HashMap<&str, &str> = environment.iter().copied().collect();
        let lookup = |name: &str| environment.get(name).map(ToString::to_string);
        match parse(arguments.iter().map(OsString::from), lookup) {
            Ok(Parsed::Run(options)) => Ok(options),
            Ok(Parsed::Print(text)) => Err(text),
            Err(error) => Err(error.to_string()),
        }
    }

    fn addresses(arguments: &[&str], environment: &[(&str, &str)]) -> Vec<String> {
        let settings = read(arguments, environment).expect("right");
        let address = |(_, model): (_, &Model)| match model {
            Model::At(endpoint) => endpoint.url(),
            Model::Demo => "demo".into(),
        };
        settings.models.iter().map(address).collect()
    }

    const KEYS: [(&str, &str); 2] = [("ANTHROPIC_API_KEY", "sk-a"), ("OPENAI_API_KEY", "sk-o")];

    #[test]
    fn keys_decide_whom_to_serve() {
        let both = ["https://api.anthropic.com/v1/messages", "https://api.openai.com/v1/chat/completions"];
        assert_eq!(addresses(&[], &KEYS), both);
        assert_eq!(addresses(&[], &KEYS[..1]), both[..1]);
        assert_eq!(addresses(&["--provider", "openai"], &KEYS), both[1..]);
        assert_eq!(addresses(&["--provider", "ollama"], &KEYS), ["http://127.0.0.1:11434/api/chat"]);
    }

    #[test]
    fn the_demo_stands_in_for_all_others() {
        assert_eq!(addresses(&["--provider", "demo"], &KEYS), ["demo", "demo", "demo"]);
        let mixed = ["--provider", "demo", "--provider", "openai", "--url", "http://h/chat"];
        assert_eq!(addresses(&mixed, &[]), ["demo", "http://h/chat", "demo"]);
    }

    #[test]
    fn addresses_of_others() {
        let compatible = ["http://127.0.0.1:8000/v1/chat/completions"];
        assert_eq!(addresses(&["--url", "openai=http://127.0.0.1:8000"], &[]), compatible);
        let unnamed = ["--provider", "openai", "--url", "http://127.0.0.1:8000/v1"];
        assert_eq!(addresses(&unnamed, &[]), compatible);
        let query = ["--provider", "openai", "--url", "http://h/chat?a=b"];
        assert_eq!(addresses(&query, &[]), ["http://h/chat?a=b"]);
    }

    #[test]
    fn the_broker_and_its_login() {
        let settings = read(&["--broker", "mqtt://me:pass@box:1884"], &KEYS).expect("right");
        assert_eq!((settings.broker.host.as_str(), settings.broker.port), ("box", 1884));
        assert_eq!(settings.broker.login, Some(("me".into(), "pass".into())));
        let login = [KEYS[0], ("HEARTHWAVE_BROKER_USER", "u"), ("HEARTHWAVE_BROKER_PASSWORD", "p")];
        let settings = read(&["--client-id", "r1"], &login).expect("right");
        assert_eq!(settings.broker.login, Some(("u".into(), "p".into())));
        assert_eq!((settings.broker.host.as_str(), settings.client_id.as_str()), ("127.0.0.1", "r1"));
        assert!(!format!("{settings:?}").contains("sk-a"), "the key is shown");
    }

    #[test]
    fn secrets_are_taken_from_the_environment() {
        assert_eq!(read(&[], &KEYS).expect("right").group, "relay");
        let searching = [KEYS[0], (SEARCH_URL, "http://h/?key=s&q={query}")];
        assert!(read(&[], &searching).expect("right").search.is_some());
        assert_eq!(read(&[], &[KEYS[0], (GROUP, "5e-C_ret")]).expect("right").group, "5e-C_ret");
    }

    #[test]
    fn voice_is_off_unless_asked_for_and_needs_no_model() {
        assert!(read_all(&[], &KEYS).expect("right").voice.is_none());
        for (address, listens_at) in [
            ("10900", "127.0.0.1:10900"),
            (":10900", "127.0.0.1:10900"),
            ("localhost:10900", "127.0.0.1:10900"),
            ("tcp://0.0.0.0:10900", "0.0.0.0:10900"),
            ("[::1]:10900", "[::1]:10900"),
        ] {
            let options = read_all(&["--wyoming", address, "--client-id", "r1"], &[]).expect("right");
            let (settings, listens) = options.voice.expect("voice");
            assert_eq!(listens.to_string(), listens_at);
            assert_eq!((settings.client_id.as_str(), settings.hub), ("r1-voice", None));
            assert_eq!(options.relay.models.iter().count(), 0);
        }
        let both = ["--wyoming", "1", "--hub", "attic", "--broker", "mqtt://me:pass@box"];
        let options = read_all(&both, &KEYS).expect("right");
        let (settings, _) = options.voice.expect("voice");
        assert_eq!((settings.hub.as_deref(), settings.broker.host.as_str()), (Some("attic"), "box"));
        assert_eq!(settings.broker.login, Some(("me".into(), "pass".into())));
        assert_eq!(options.relay.models.iter().count(), 2);
    }

    #[test]
    fn wrong_arguments_are_named() {
        let long = "x".repeat(65);
        for (arguments, environment, part) in [
            (&[][..], &[][..], "set ANTHROPIC_API_KEY or OPENAI_API_KEY"),
            (&[], &[("OPENAI_API_KEY", "")], "set ANTHROPIC_API_KEY"),
            (&["--provider", "anthropic"], &[], "anthropic needs a key: set ANTHROPIC_API_KEY"),
            (&[], &[("OPENAI_API_KEY", "sk s3cret")], "OPENAI_API_KEY: it is not a key"),
            (&["--provider", "claude"], &KEYS, "anthropic, openai, ollama and demo"),
            (&["--url", "http://h"], &KEYS, "say whose it is"),
            (&["--provider", "ollama", "--url", "openai=http://h"], &KEYS, "add --provider openai"),
            (&["--url", "openai=h"], &[], "http://"),
            (&["--broker", "mqtts://me:s3cret@h"], &KEYS, "needs --ca"),
            (&["--client-id", &long], &KEYS, "58"),
            (&["--client-id", ""], &KEYS, "58"),
            (&["--wyoming", "kitchen:10900"], &[], "an address of this machine"),
            (&["--wyoming", "0.0.0.0"], &[], "a port"),
            (&["--wyoming", "70000"], &[], "a port"),
            (&["--wyoming", "1", "--hub", "a/b"], &[], "the name of a hub"),
            (&["--hub", "attic"], &KEYS, "--hub is for --wyoming"),
            (&["--wyoming", "1", "--provider", "anthropic"], &[], "anthropic needs a key"),
            (&["--search-url", "http://h"], &KEYS, "{query}"),
            (&[], &[KEYS[0], (GROUP, "s3cret/+")], "HEARTHWAVE_RELAY_GROUP must have"),
            (&[], &[KEYS[0], (SEARCH_URL, "http://h/?key=s3cret")], "HEARTHWAVE_SEARCH_URL: "),
            (&["--frobnicate"], &KEYS, "frobnicate"),
            (&["stray"], &KEYS, "stray"),
        ] {
            let error = read(arguments, environment).expect_err("these are wrong");
            assert!(error.contains(part), "{arguments:?} gave: {error}");
            assert!(!error.contains("s3cret"), "the secret is in: {error}");
        }
        assert!(read(&["--help"], &[]).expect_err("a text").contains("--provider PROVIDER"));
    }
}

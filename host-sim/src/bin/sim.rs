//! `cargo sim`: the whole hub in one process, and a prompt to talk to it.

use std::io::{IsTerminal, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use host_sim::broker::{Options as BrokerOptions, Server};
use host_sim::caller::{NoAnswer, ask, wait_for_controller};
use host_sim::flash::{self, FileFlash, MemoryFlash};
use host_sim::hub::{self, Settings};
use host_sim::link::{self, Spec};
use host_sim::network::Network;
use host_sim::options::{Command, Llm, Options};
use host_sim::relay;
use host_sim::zwave::Home;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::signal::unix::{SignalKind, signal};

/// How long a question may take, from the start of the hub.
const PATIENCE: Duration = Duration::from_secs(150);

/// How long a question waits for the controller to be ready: all quick attempts, and some time for each.
const CONTROLLER_PATIENCE: Duration = Duration::from_secs(25);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = match Options::parse(std::env::args_os().skip(1)) {
        Ok(Command::Run(options)) => options,
        Ok(Command::Print(text)) => {
            println!("{text}");
            return;
        }
        Err(error) => {
            eprintln!("sim: {error}\nsim: `cargo sim --help` lists what it takes");
            std::process::exit(2);
        }
    };
    start_log(options.once.is_some());

    let network = match &options.broker {
        Some(_) => Network::Tcp,
        None => Network::Memory(Server::start(BrokerOptions::default())),
    };
    let mut settings = options.settings();
    if options.once.is_none()
        && let Network::Memory(server) = &network
    {
        match listen(server, &options) {
            // The hub dials in memory all the same; this is what a person sees.
            Ok(address) => (settings.host, settings.port) = (visible(address.ip()), address.port()),
            Err(error) => {
                eprintln!("sim: {error}");
                std::process::exit(1);
            }
        }
    }
    let relay = match options.relay(&settings) {
        Ok(relay) => relay,
        Err(error) => {
            eprintln!("sim: --llm: {error}");
            std::process::exit(2);
        }
    };
    let code = match &options.state {
        None => run(&options, &settings, relay, network, MemoryFlash::default()).await,
        Some(path) => match FileFlash::open(path, flash::SIZE) {
            Ok(flash) => run(&options, &settings, relay, network, flash).await,
            Err(error) => {
                eprintln!("sim: --state: {error}");
                1
            }
        },
    };
    // At once: the runtime would wait for somebody to press Enter at the prompt.
    std::process::exit(code)
}

/// Runs the hub for as long as somebody wants to talk to it. Returns the exit status.
async fn run(
    options: &Options,
    settings: &Settings,
    relay: Option<relay::Settings>,
    network: Network,
    flash: impl MultiwriteNorFlash,
) -> i32 {
    // From now on: who reads what is printed below may interrupt at once.
    let Ok(mut interrupt) = signal(SignalKind::interrupt()) else { return 1 };
    let home = Home::new(hub::random_seed());
    let line = match &options.link {
        Spec::Sim => link::to_home(&home),
        other => link::open(other),
    };
    let hub = hub::run(settings, line, network.clone(), flash, hub::random_seed());
    let relaying = async {
        if let Some(settings) = &relay
            && let Err(error) = relay::run(network.clone(), settings, std::future::pending()).await
        {
            log::error!("relay: {error}");
        }
        std::future::pending().await
    };
    tokio::select! {
        never = hub => never,
        never = relaying => never,
        code = async {
            match &options.once {
                Some(text) => once(network.clone(), settings, options, text).await,
                None => talk(network.clone(), settings, options, &home).await,
            }
        } => code,
        _ = interrupt.recv() => 0,
    }
}

/// Whether a person is looking at a prompt, which a line of the log should not run into.
static AT_PROMPT: AtomicBool = AtomicBool::new(false);

const PROMPT: &str = "> ";

fn start_log(is_brief: bool) {
    let level = if is_brief { "warn" } else { "info" };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(level))
        .format(move |out, record| {
            let at_prompt = AT_PROMPT.load(Ordering::Relaxed);
            if at_prompt {
                write!(out, "\r\x1b[K")?;
            }
            if !is_brief {
                write!(out, "{} ", out.timestamp_seconds())?;
            }
            let style = out.default_level_style(record.level());
            writeln!(out, "{style}{:5}{style:#} {}", record.level(), record.args())?;
            if at_prompt { write!(out, "{PROMPT}") } else { Ok(()) }
        })
        .target(env_logger::Target::Stderr)
        .init();
}

/// One question: the reply on stdout. Returns the exit status.
async fn once(network: Network, settings: &Settings, options: &Options, text: &str) -> i32 {
    // The question may be for the controller. One that is not there within this time is not waited for.
    let _ = wait_for_controller(network.clone(), settings, CONTROLLER_PATIENCE).await;
    match call(network, settings, options, text).await {
        Ok(reply) => {
            println!("{reply}");
            let succeeded = serde_json::from_str::<serde_json::Value>(&reply)
                .is_ok_and(|reply| reply["success"] != serde_json::Value::Bool(false));
            i32::from(!succeeded)
        }
        Err(error) => {
            eprintln!("sim: {error}");
            1
        }
    }
}

/// A tool call as JSON goes to the hub as it is; any other text is said to it, or echoed if no model is there.
async fn call(
    network: Network,
    settings: &Settings,
    options: &Options,
    text: &str,
) -> Result<String, NoAnswer> {
    let (request, payload) = if text.trim_start().starts_with('{') {
        ("tool/call", text.to_owned())
    } else if options.llm == Llm::None {
        ("tool/call", serde_json::json!({ "name": "echo", "arguments": { "text": text } }).to_string())
    } else {
        ("chat", serde_json::json!({ "text": text }).to_string())
    };
    let reply = ask(network, settings, request, payload.as_bytes(), PATIENCE).await?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

/// Talks with the person until they quit. Returns the exit status.
async fn talk(network: Network, settings: &Settings, options: &Options, home: &Home) -> i32 {
    let id = &settings.hub_id;
    let Settings { host, port, .. } = settings;
    let login =
        settings.login.as_ref().map(|(user, _)| format!(" -u {user} -P PASSWORD")).unwrap_or_default();
    let place = format!("-V 5 -h {host} -p {port}{login}");
    eprintln!(
        "Hearthwave {} in simulation\n\
         \n  hub         {id}\n  broker      {host}:{port}{}\n  controller  {}\n\
         \nFrom another terminal, with mosquitto-clients:\n\
         \n  mosquitto_sub {place} -v -t 'hearthwave/{id}/#'\n  \
         mosquitto_pub {place} -t hearthwave/{id}/request/tool/call \\\n    \
         -m '{{\"name\":\"echo\",\"arguments\":{{\"text\":\"hello\"}}}}'\n\
         \nHere: say something, type a tool call as JSON, tools for a list of them, or quit.{}\n",
        env!("CARGO_PKG_VERSION"),
        match options {
            Options { broker: Some(_), .. } => "",
            Options { listen: None, .. } if *port != 1883 => " (in this process; port 1883 is taken)",
            _ => " (in this process)",
        },
        options.link,
        match options.link {
            Spec::Sim => "\nunplug and plug take the controller away and bring it back.",
            _ => "",
        },
    );
    let is_terminal = std::io::stdin().is_terminal();
    let mut input = BufReader::new(tokio::io::stdin());
    let mut line = Vec::new();
    loop {
        if is_terminal {
            eprint!("{PROMPT}");
            AT_PROMPT.store(true, Ordering::Relaxed);
        }
        line.clear();
        let read = input.read_until(b'\n', &mut line).await;
        AT_PROMPT.store(false, Ordering::Relaxed);
        match read {
            Ok(1..) => {}
            // The end, if a person says so.
            Ok(0) if is_terminal => {
                eprintln!();
                return 0;
            }
            Ok(0) => {
                log::info!("sim: no more input; the hub goes on until it is stopped");
                std::future::pending().await
            }
            Err(error) => {
                eprintln!("sim: the input cannot be read: {error}");
                return 1;
            }
        }
        match String::from_utf8_lossy(&line).trim() {
            "" => {}
            "quit" | "exit" => return 0,
            "unplug" if options.link == Spec::Sim => {
                home.faults().unplug();
                eprintln!("The controller is unplugged. The hub notices when it next hears nothing from it.");
            }
            "plug" if options.link == Spec::Sim => {
                home.faults().plug();
                eprintln!("The controller is plugged in.");
            }
            "tools" => match names(network.clone(), settings).await {
                Ok(names) => println!("{names}"),
                Err(error) => eprintln!("sim: {error}"),
            },
            text => match call(network.clone(), settings, options, text).await {
                Ok(reply) => println!("{reply}"),
                Err(error) => eprintln!("sim: {error}"),
            },
        }
    }
}

/// The names of all tools, a line each.
async fn names(network: Network, settings: &Settings) -> Result<String, NoAnswer> {
    let mut names = Vec::new();
    let mut request = serde_json::json!({ "format": "anthropic" });
    loop {
        let reply =
            ask(network.clone(), settings, "tool/list", request.to_string().as_bytes(), PATIENCE).await?;
        let reply: serde_json::Value = serde_json::from_slice(&reply).unwrap_or_default();
        let tools = reply["tools"].as_array().into_iter().flatten();
        names.extend(tools.filter_map(|tool| tool["name"].as_str().map(str::to_owned)));
        match reply["next"].as_str() {
            Some(next) => request["after"] = next.into(),
            None => return Ok(names.join("\n")),
        }
    }
}

/// Opens the embedded broker to other programs, at the usual port if that is free.
fn listen(server: &Server, options: &Options) -> Result<SocketAddr, String> {
    match options.listen {
        Some(address) => {
            server.listen(address).map_err(|error| format!("cannot listen on {address}: {error}"))
        }
        None => server
            .listen((Ipv4Addr::LOCALHOST, 1883).into())
            .or_else(|_| server.listen((Ipv4Addr::LOCALHOST, 0).into()))
            .map_err(|error| format!("cannot listen on this machine: {error}")),
    }
}

/// An address that a client on this machine can connect to.
fn visible(address: IpAddr) -> String {
    if address.is_unspecified() { "127.0.0.1".into() } else { address.to_string() }
}

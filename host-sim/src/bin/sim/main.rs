//! `cargo sim`: the whole hub in one process, and a prompt to talk to it.

mod line;
mod prompt;
mod thinking;

use std::io::{IsTerminal as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::Ordering;
use std::time::Duration;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use host_sim::broker::{Options as BrokerOptions, Server};
use host_sim::caller;
use host_sim::flash::{self, FileFlash, MemoryFlash};
use host_sim::hub::{self, Settings};
use host_sim::link::{self, Spec};
use host_sim::network::Network;
use host_sim::options::{Command, Options};
use host_sim::relay;
use host_sim::zwave::Home;
use tokio::signal::unix::{SignalKind, signal};

/// For a broker to take back what a hub for one question has left there.
const FAREWELL: Duration = Duration::from_secs(3);

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
    // A person wants to read the answers; a service's log is all there is to see.
    start_log(options.once.is_some() || std::io::stdin().is_terminal());

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
    if options.is_passing {
        // Nobody will ever look for it; if the broker does not listen, that is all there is to lose.
        let _ = caller::forget(Network::Tcp, &settings, FAREWELL).await;
    }
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
                Some(text) => prompt::once(network.clone(), settings, options, text).await,
                None => prompt::talk(network.clone(), settings, options, &home).await,
            }
        } => code,
        _ = interrupt.recv() => 0,
    }
}

fn start_log(is_brief: bool) {
    let level = if is_brief { "warn" } else { "info" };
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(level))
        .format(move |out, record| {
            let at_prompt = prompt::AT_PROMPT.load(Ordering::Relaxed);
            if at_prompt {
                write!(out, "\r\x1b[K")?;
            }
            if !is_brief {
                write!(out, "{} ", out.timestamp_seconds())?;
            }
            let style = out.default_level_style(record.level());
            writeln!(out, "{style}{:5}{style:#} {}", record.level(), record.args())?;
            if at_prompt { write!(out, "{}", prompt::SIGN) } else { Ok(()) }
        })
        .target(env_logger::Target::Stderr)
        .init();
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

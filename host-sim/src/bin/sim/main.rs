//! `cargo sim`: the whole hub in one process, and a prompt to talk to it.

mod approval;
mod complete;
mod controller;
mod history;
mod input;
mod line;
mod prompt;
mod wrap;

use std::io::IsTerminal as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::pin;
use std::time::Duration;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use host_broker::{Options as BrokerOptions, Server};
use host_desktop::logging::start_log;
use host_desktop::options::Parsed;
use host_desktop::random::random_seed;
use host_relay as relay;
use host_sim::caller;
use host_sim::console;
use host_sim::flash::{self, FileFlash, MemoryFlash};
use host_sim::hub::{self, Settings};
use host_sim::link::{self, Spec};
use host_sim::network::Network;
use host_sim::options::sim::Options;
use host_sim::wifi::{OverWifi, Wifi};
use host_zwave::Home;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::controller::Controller;

/// For the broker to remove the retained messages of a hub for one question.
const REMOVE_WITHIN: Duration = Duration::from_secs(3);

/// Why the program cannot start, and its exit status.
type Failure = (i32, String);

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = Parsed::or_exit(Options::parse(std::env::args_os().skip(1)), "sim");
    // A person wants to read the answers; a service's log is all there is to see.
    let is_brief = options.once.is_some() || std::io::stdin().is_terminal();
    start_log(if is_brief { "warn" } else { "info" }, !is_brief, Some(Box::new(input::LogTarget)));
    let code = start(&options).await.unwrap_or_else(|(code, error)| {
        eprintln!("sim: {error}");
        code
    });
    input::close();
    // At once: the runtime would wait for somebody to press Enter at the prompt.
    std::process::exit(code)
}

/// How long the relay in this process has to take its leave.
const FAREWELL: Duration = Duration::from_secs(1);

/// Runs broker, relay and hub with these options. Returns the exit status.
async fn start(options: &Options) -> Result<i32, Failure> {
    let mut settings = options.settings();
    let network = match &options.broker {
        Some(_) => Network::Tcp,
        None => {
            let server = Server::start(BrokerOptions::default());
            if options.once.is_none() {
                let address = listen(&server, options.listen).map_err(|error| (1, error))?;
                // The hub dials in memory all the same; this is what a person sees.
                (settings.broker.host, settings.broker.port) = (visible(address.ip()), address.port());
            }
            Network::Memory(server)
        }
    };
    let relay = options.relay(&settings).map_err(|error| (2, format!("--llm: {error}")))?;
    let code = match &options.state {
        None => run(options, &settings, relay, network, MemoryFlash::default()).await,
        Some(path) => {
            let mut flash =
                FileFlash::open(path, flash::SIZE).map_err(|error| (1, format!("--state: {error}")))?;
            settings.hub_id = hub::id(&settings, &mut flash).await;
            run(options, &settings, relay, network, flash).await
        }
    };
    if options.is_temporary {
        // Nobody will look for that hub again. If the broker does not answer, its messages stay.
        let _ = caller::remove_retained(Network::Tcp, &settings, REMOVE_WITHIN).await;
    }
    Ok(code)
}

/// Runs the hub until the person at the prompt quits, or the one question is answered. Returns the exit status.
async fn run(
    options: &Options,
    settings: &Settings,
    relay: Option<relay::Settings>,
    network: Network,
    flash: impl MultiwriteNorFlash,
) -> i32 {
    // Before anything is printed: whoever reads it may interrupt at once.
    let Ok(mut interrupt) = signal(SignalKind::interrupt()) else { return 1 };
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return 1 };
    let interrupts = prompt::Interrupts::default();
    let home = Home::new(random_seed());
    let line = match &options.link {
        Spec::Sim => link::to_home(&home),
        other => link::open(other),
    };
    let controller = Controller::new(&network, settings, &options.link, line.0.far_end());
    let wifi = Wifi::default();
    let (port, _nobody) = console::pair();
    let port = match &options.console {
        None => port,
        Some(spec) => match console::open(spec).await {
            Ok((port, place)) => {
                eprintln!("The hub's console is at {place}.");
                port
            }
            Err(error) => {
                eprintln!("sim: --console: {error}");
                return 1;
            }
        },
    };
    // Without a console nobody can change the network, and it need not be waited for.
    let dial = OverWifi(options.console.is_some().then(|| wifi.clone()), network.clone());
    let mut hub = pin!(hub::run(settings, line, port, dial, wifi, flash, random_seed()));
    let (stop, stopped) = oneshot::channel::<()>();
    let mut relaying = pin!(async {
        let Some(settings) = &relay else { return std::future::pending().await };
        let stopped = async { drop(stopped.await) };
        relay::run(network.clone(), settings, stopped).await
    });
    let code = tokio::select! {
        never = &mut hub => never,
        ended = &mut relaying => {
            if let Err(error) = ended {
                eprintln!("relay: {error}");
            }
            return 1;
        }
        code = async {
            match &options.once {
                Some(text) => prompt::once(network.clone(), settings, options, &controller, text).await,
                None => tokio::select! {
                    code = prompt::talk(network.clone(), settings, options, &controller, &home, &interrupts) => code,
                    never = controller.tell_start() => never,
                },
            }
        } => code,
        () = async {
            interrupt.recv().await;
            // The first Ctrl-C cancels what the hub is working on.
            while interrupts.cancel() {
                interrupt.recv().await;
            }
        } => 0,
        _ = terminate.recv() => 0,
    };
    if relay.is_some() {
        drop(stop);
        // It takes its leave. Otherwise the broker would keep questions for it, and those who come next would not be answered.
        let leaving = async {
            tokio::select! {
                never = hub => never,
                _ = relaying => {}
            }
        };
        let _ = timeout(FAREWELL, leaving).await;
    }
    code
}

/// Opens the embedded broker to other programs: at `address`, or else at the usual port, or else at a free one.
fn listen(server: &Server, address: Option<SocketAddr>) -> Result<SocketAddr, String> {
    match address {
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

//! `cargo sim`: the whole hub in one process, and a prompt to talk to it.

use std::io::{IsTerminal, Write as _};
use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
use host_sim::broker::{Options as BrokerOptions, Server};
use host_sim::caller::{NoAnswer, ask};
use host_sim::controller::Home;
use host_sim::hub::{self, Settings};
use host_sim::network::Network;
use host_sim::options::{Command, Options};
use tokio::io::{AsyncBufReadExt, BufReader};

/// How long a question may take, from the start of the hub.
const PATIENCE: Duration = Duration::from_secs(60);

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
    start_log(if options.once.is_some() { "warn" } else { "info" });

    let network = match &options.broker {
        Some(_) => Network::Tcp,
        None => Network::Memory(Server::start(BrokerOptions::default())),
    };
    let settings = options.settings();
    let (rx, tx) = tokio::io::split(Home::start());
    let hub =
        hub::run(&settings, (FromTokio::new(rx), FromTokio::new(tx)), network.clone(), hub::random_seed());

    let code = tokio::select! {
        never = hub => never,
        code = async {
            match &options.once {
                Some(text) => once(network.clone(), &settings, text).await,
                None => talk(network.clone(), &settings, &options).await,
            }
        } => code,
        _ = tokio::signal::ctrl_c() => 0,
    };
    // At once: the runtime would wait for somebody to press Enter at the prompt.
    std::process::exit(code)
}

fn start_log(level: &str) {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(level))
        .format(|out, record| {
            let style = out.default_level_style(record.level());
            writeln!(out, "{style}{:5}{style:#} {}", record.level(), record.args())
        })
        .target(env_logger::Target::Stderr)
        .init();
}

/// One question: the reply on stdout. Returns the exit status.
async fn once(network: Network, settings: &Settings, text: &str) -> i32 {
    match call(network, settings, text).await {
        Ok(reply) => {
            println!("{reply}");
            let succeeded = serde_json::from_str::<serde_json::Value>(&reply)
                .is_ok_and(|reply| reply["success"] == serde_json::Value::Bool(true));
            i32::from(!succeeded)
        }
        Err(error) => {
            eprintln!("sim: {error}");
            1
        }
    }
}

/// A tool call as JSON goes to the hub as it is; any other text is echoed.
async fn call(network: Network, settings: &Settings, text: &str) -> Result<String, NoAnswer> {
    let payload = if text.trim_start().starts_with('{') {
        text.to_owned()
    } else {
        serde_json::json!({ "name": "echo", "arguments": { "text": text } }).to_string()
    };
    let reply = ask(network, settings, "tool/call", payload.as_bytes(), PATIENCE).await?;
    Ok(String::from_utf8_lossy(&reply).into_owned())
}

/// Talks with the person until they quit. Returns the exit status.
async fn talk(network: Network, settings: &Settings, options: &Options) -> i32 {
    let (host, port) = match listen(&network, options) {
        Ok(Some(address)) => (address.ip().to_string(), address.port()),
        Ok(None) => (settings.host.clone(), settings.port),
        Err(error) => {
            eprintln!("sim: {error}");
            return 1;
        }
    };
    let id = &settings.hub_id;
    eprintln!(
        "Hearthwave {} in simulation\n\
         \n  hub         {id}\n  broker      {host}:{port}{}\n  controller  simulated\n\
         \nFrom another terminal, with mosquitto-clients:\n\
         \n  mosquitto_sub -V 5 -h {host} -p {port} -v -t 'hearthwave/{id}/#'\n  \
         mosquitto_pub -V 5 -h {host} -p {port} -t hearthwave/{id}/request/tool/call \\\n    \
         -m '{{\"name\":\"echo\",\"arguments\":{{\"text\":\"hello\"}}}}'\n\
         \nHere: type a text to have it echoed, a tool call as JSON, or quit.\n",
        env!("CARGO_PKG_VERSION"),
        if options.broker.is_some() { "" } else { " (in this process)" },
    );
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    loop {
        if std::io::stdin().is_terminal() {
            eprint!("> ");
        }
        match lines.next_line().await {
            Ok(Some(line)) => match line.trim() {
                "" => {}
                "quit" | "exit" => return 0,
                text => match call(network.clone(), settings, text).await {
                    Ok(reply) => println!("{reply}"),
                    Err(error) => eprintln!("sim: {error}"),
                },
            },
            // Nobody to talk with, as when it runs as a service: the hub goes on.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }
}

/// Opens the embedded broker to other programs, at the usual port if that is free.
fn listen(network: &Network, options: &Options) -> Result<Option<std::net::SocketAddr>, String> {
    let Network::Memory(server) = network else { return Ok(None) };
    let opened = match options.listen {
        Some(address) => {
            server.listen(address).map_err(|error| format!("cannot listen on {address}: {error}"))?
        }
        None => server
            .listen(([127, 0, 0, 1], 1883).into())
            .or_else(|_| server.listen(([127, 0, 0, 1], 0).into()))
            .map_err(|error| format!("cannot listen on this machine: {error}"))?,
    };
    Ok(Some(opened))
}

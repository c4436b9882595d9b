//! `cargo relay`: the bridge between hubs and language models, alone.

use std::io::Write as _;

use host_sim::network::Network;
use host_sim::relay::options::{self, Command};
use host_sim::relay::{self, Model};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let settings = match options::parse(std::env::args_os().skip(1), |name| std::env::var(name).ok()) {
        Ok(Command::Run(settings)) => settings,
        Ok(Command::Print(text)) => {
            println!("{text}");
            return;
        }
        Err(error) => {
            eprintln!("relay: {error}\nrelay: `cargo relay --help` lists what it takes");
            std::process::exit(2);
        }
    };
    start_log();
    for (service, model) in settings.models.iter() {
        match model {
            Model::At(endpoint) if endpoint.exposes_key() => {
                let (name, url) = (service.name(), endpoint.url());
                log::warn!("relay: the key of {name} travels unprotected to {url}; https:// would hide it");
            }
            Model::Demo => log::info!("relay: {} is the demo model", service.name()),
            Model::At(endpoint) => log::info!("relay: {} is at {}", service.name(), endpoint.place()),
        }
    }
    if let Err(error) = relay::run(Network::Tcp, &settings, stopped()).await {
        eprintln!("relay: {error}");
        std::process::exit(1);
    }
}

/// Ready when somebody wants the relay to end.
async fn stopped() {
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        },
        Err(_) => {
            let _ = tokio::signal::ctrl_c().await;
        }
    }
}

fn start_log() {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info"))
        .format(|out, record| {
            let style = out.default_level_style(record.level());
            let time = out.timestamp_seconds();
            writeln!(out, "{time} {style}{:5}{style:#} {}", record.level(), record.args())
        })
        .target(env_logger::Target::Stderr)
        .init();
}

//! `cargo relay`: the bridge between hubs and language models, alone.

use host_sim::logging::start_log;
use host_sim::network::Network;
use host_sim::options::{Parsed, environment, relay as options};
use host_sim::relay::{self, Model};
use tokio::signal::unix::{SignalKind, signal};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let settings = Parsed::or_exit(options::parse(std::env::args_os().skip(1), environment), "relay");
    start_log("info", true, None);
    for (service, model) in settings.models.iter() {
        match model {
            Model::At(endpoint) if endpoint.exposes_key() => {
                let (name, url) = (service.name(), endpoint.url());
                log::warn!("relay: the key of {name} travels unprotected to {url}; https:// would hide it");
            }
            Model::Demo => log::info!("relay: {} is the demo model", service.name()),
            Model::At(endpoint) => log::info!("relay: {} is at {}", service.name(), endpoint.authority()),
        }
    }
    if let Err(error) = relay::run(Network::Tcp, &settings, stopped()).await {
        eprintln!("relay: {error}");
        std::process::exit(1);
    }
}

/// Ready when the process is to end.
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

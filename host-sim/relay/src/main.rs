//! `cargo relay`: the bridge between hubs and language models, and from voice assistants to hubs, alone.

use std::net::SocketAddr;

use host_desktop::broker::Tcp;
use host_desktop::logging::start_log;
use host_desktop::options::{Parsed, environment};
use host_relay::voice::{self, Announcement, Listener};
use host_relay::{self as relay, Model, options};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let options = Parsed::or_exit(options::parse(std::env::args_os().skip(1), environment), "relay");
    start_log("info", true, None);
    for (service, model) in options.relay.models.iter() {
        match model {
            Model::At(endpoint) if endpoint.exposes_key() => {
                let (name, url) = (service.name(), endpoint.url());
                log::warn!("relay: the key of {name} travels unprotected to {url}; https:// would hide it");
            }
            Model::Demo => log::info!("relay: {} is the demo model", service.name()),
            Model::At(endpoint) => log::info!("relay: {} is at {}", service.name(), endpoint.authority()),
        }
    }
    let stop = watch::Sender::new(false);
    let is_stopped = || {
        let mut stop = stop.subscribe();
        async move { drop(stop.wait_for(|stop| *stop).await) }
    };
    let relaying = async {
        match options.relay.models.iter().next() {
            Some(_) => relay::run(Tcp, &options.relay, is_stopped()).await,
            // It would take requests from relays that have models.
            None => Ok(()),
        }
    };
    let hearing = async {
        let Some((settings, address)) = &options.voice else { return Ok(()) };
        let (listener, _announcement) = open(*address, settings.hub.as_deref()).await;
        voice::run(Tcp, settings, listener, is_stopped()).await
    };
    let stopping = async {
        stopped().await;
        stop.send_replace(true);
        Ok(())
    };
    if let Err(error) = tokio::try_join!(relaying, hearing, stopping) {
        eprintln!("relay: {error}");
        std::process::exit(1);
    }
}

/// Listens for voice assistants, and has them find the service.
async fn open(address: SocketAddr, hub: Option<&str>) -> (Listener, Option<Announcement>) {
    let listener = Listener::bind(address).await.unwrap_or_else(|error| {
        eprintln!("relay: cannot listen at {address}: {error}");
        std::process::exit(1)
    });
    let address = listener.address().unwrap_or(address);
    log::info!("voice: listens at {address}");
    // What is announced on the network cannot be reached there if only this machine gets in.
    if address.ip().is_loopback() {
        return (listener, None);
    }
    log::warn!(
        "voice: anyone who reaches {address} can speak to the home: there is no login, and no encryption"
    );
    let announcement = Announcement::new(address, hub);
    let announcement = announcement.inspect_err(|error| log::warn!("voice: it cannot be announced: {error}"));
    (listener, announcement.ok())
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

//! What a conversation is at, while somebody waits for its answer.

use host_sim::hub::{Settings, random_seed};
use host_sim::network::Network;
use hub_core::Dial as _;
use minimq::{Buffers, ConfigBuilder, Session, TopicFilter};
use serde_json::Value;

/// Packets on the way; what the hub tells of its conversations is short.
const PACKET: usize = 4096;

/// Waits for an answer, and meanwhile tells on stderr what the hub does for it.
pub(crate) async fn shown<T>(network: Network, settings: &Settings, answer: impl Future<Output = T>) -> T {
    let telling = async {
        // Without it there is an answer all the same.
        let _ = tell(network, settings).await;
        std::future::pending().await
    };
    tokio::select! {
        biased;
        answer = answer => answer,
        never = telling => never,
    }
}

async fn tell(mut network: Network, settings: &Settings) -> Option<()> {
    let id = format!("hearthwave-prompt-{:016x}", random_seed());
    let (mut receive, mut send) = (vec![0; PACKET], vec![0; PACKET]);
    let mut config = ConfigBuilder::new(Buffers::new(&mut receive, &mut send)).client_id(&id).ok()?;
    if let Some((user, password)) = &settings.login {
        config = config.auth(user, password.as_bytes()).ok()?;
    }
    let mut session = Session::new(config);
    let io = network.dial(&settings.host, settings.port).await.ok()?;
    let mut connection = session.connect(io).await.ok()?;
    let topic = format!("hearthwave/{}/event/chat", settings.hub_id);
    connection.subscribe(&[TopicFilter::new(&topic)], &[]).await.ok()?;
    loop {
        let message = connection.recv().await.ok()?;
        let event: Value = serde_json::from_slice(message.payload()).ok()?;
        // Others may talk to the hub, too.
        if event["conversation"] != "default" {
            continue;
        }
        match (event["state"].as_str(), event["tool"].as_str()) {
            (Some("waiting"), _) => eprintln!("  ... waiting for the model"),
            (Some("calling"), Some(tool)) => eprintln!("  ... calling {tool}"),
            _ => {}
        }
    }
}

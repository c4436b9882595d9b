//! The same with the broker that people run.

use std::collections::BTreeSet;
use std::time::Duration;

use host_relay::Settings;
use host_sim::network::Network;
use support::mosquitto::Mosquitto;
use support::server::{Act, Server};
use tokio::net::TcpStream;
use tokio::time::sleep;
use world::in_real_time;
use world::relay::{Relay, models};

use crate::hub::{Hub, With, correlated, error};
use crate::scene::BODY;

async fn relay(port: u16, server: &Server) -> Relay {
    let mut settings = Settings::in_memory(models(&server.listen().await));
    (settings.broker.host, settings.broker.port) = ("127.0.0.1".into(), port);
    Relay::start(&Network::Tcp, settings)
}

#[test]
#[ignore = "needs mosquitto"]
fn two_relays_share_the_requests_of_hubs_at_mosquitto() {
    in_real_time(async {
        let mosquitto = Mosquitto::start();
        let servers = [(); 2].map(|()| Server::always(Act::ok("{\"ok\":true}")));
        let relays = [relay(mosquitto.port, &servers[0]).await, relay(mosquitto.port, &servers[1]).await];
        let stream = TcpStream::connect(("127.0.0.1", mosquitto.port)).await.expect("a broker");
        let mut hub = Hub::connect(stream, "kitchen").await;
        hub.announce(r#"{"limits":{"llm_reply":5}}"#);
        sleep(Duration::from_secs(1)).await;
        let (answer, _) = hub.ask("openai", BODY, With::default()).await;
        let expected = "the reply of openai has 11 bytes; the hub takes at most 5";
        assert_eq!(error(&answer), (expected.into(), None));
        hub.announce("{}");
        sleep(Duration::from_millis(200)).await;
        for number in 0..40_u32 {
            let correlation = number.to_be_bytes();
            hub.send("anthropic", BODY, correlated(&correlation));
        }
        let mut answered = BTreeSet::new();
        while let Some(answer) = hub.next(Duration::from_secs(3)).await {
            assert_eq!(answer.payload, b"{\"ok\":true}");
            assert!(answered.insert(answer.correlation), "answered twice");
        }
        assert_eq!(answered.len(), 40);
        let seen = servers.each_ref().map(|server| server.seen().len());
        assert!(seen.iter().sum::<usize>() == 41 && seen.iter().all(|seen| *seen > 10), "{seen:?}");

        // One leaves; the other gets everything.
        let [first, _second] = relays;
        first.stop().await;
        for number in 100..110_u32 {
            let correlation = number.to_be_bytes();
            let (answer, _) = hub.ask("ollama", BODY, correlated(&correlation)).await;
            assert_eq!(answer.payload, b"{\"ok\":true}");
        }
        assert_eq!(servers[0].seen().len(), seen[0]);
    });
}

//! The same with the broker that people run.

use std::collections::BTreeSet;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use host_sim::network::Network;
use host_sim::relay::Settings;
use tokio::time::sleep;

use crate::client::{Client, With};
use crate::world::{BODY, Relay, in_real_time, models};
use support::server::{Act, Server};

struct Mosquitto {
    process: Child,
    port: u16,
}

impl Mosquitto {
    async fn start() -> Self {
        // Debian puts daemons where an ordinary user's PATH does not look.
        let path = format!("{}:/usr/sbin", std::env::var("PATH").unwrap_or_default());
        // Somebody else may take the port between its choice and its use.
        for _ in 0..5 {
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let port = listener.local_addr().expect("its number").port();
            drop(listener);
            let mut process = Command::new("mosquitto")
                .args(["-p", &port.to_string()])
                .env("PATH", &path)
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("mosquitto is installed");
            for _ in 0..200 {
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return Self { process, port };
                }
                if process.try_wait().expect("its state").is_some() {
                    break;
                }
                sleep(Duration::from_millis(50)).await;
            }
        }
        panic!("mosquitto does not start");
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

async fn relay(port: u16, server: &Server) -> Relay {
    let mut settings = Settings::in_memory(models(&server.listen().await));
    (settings.broker.host, settings.broker.port) = ("127.0.0.1".into(), port);
    Relay::start(&Network::Tcp, settings)
}

#[test]
#[ignore = "needs mosquitto"]
fn two_relays_share_the_requests_of_hubs_at_mosquitto() {
    in_real_time(async {
        let mosquitto = Mosquitto::start().await;
        let servers = [(); 2].map(|()| Server::always(Act::ok("{\"ok\":true}")));
        let relays = [relay(mosquitto.port, &servers[0]).await, relay(mosquitto.port, &servers[1]).await];
        let mut hub = Client::hub(&Network::Tcp, "kitchen", mosquitto.port).await;
        hub.announce(r#"{"limits":{"llm_reply":5}}"#).await;
        sleep(Duration::from_secs(1)).await;
        let (answer, _) = hub.ask("openai", BODY, With::default()).await;
        let expected = "the reply of openai has 11 bytes; the hub takes at most 5";
        assert_eq!(answer.error(), (expected.into(), None));
        hub.announce("{}").await;
        sleep(Duration::from_millis(200)).await;
        for number in 0..40_u32 {
            let correlation = number.to_be_bytes();
            hub.send("anthropic", BODY, With { correlation: &correlation, ..With::default() }).await;
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
            let (answer, _) =
                hub.ask("ollama", BODY, With { correlation: &correlation, ..With::default() }).await;
            assert_eq!(answer.payload, b"{\"ok\":true}");
        }
        assert_eq!(servers[0].seen().len(), seen[0]);
    });
}

//! A hub with a simulated home and the demo model, at a real broker, and the service by which voice assistants reach it.

use std::net::{Ipv4Addr, TcpListener};
use std::thread::JoinHandle;

use host_relay::voice::{self, Listener};
use host_relay::{Models, Settings};
use host_sim::network::Network;
use host_sim::options::Llm;
use host_zwave::{Home, Plans};
use serde_json::{Value, json};
use support::Folder;
use support::mosquitto::Mosquitto;
use tokio::sync::oneshot;
use world::{Setup, in_real_time};

/// The hub's id.
pub(crate) const HUB: &str = "desk";

/// A hub in a thread of its own. Its power is cut when it is dropped.
pub(crate) struct House {
    pub(crate) home: Home,
    /// Where voice assistants reach it.
    pub(crate) voice_port: u16,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl House {
    pub(crate) fn start(broker: &Mosquitto) -> Self {
        let (home, port) = (Home::default().with_plans(groups()), broker.port);
        let (stop, stopped) = oneshot::channel();
        let own = home.clone();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let voice_port = listener.local_addr().expect("an address").port();
        listener.set_nonblocking(true).expect("as tokio wants it");
        let thread = std::thread::spawn(move || {
            let mut relay = Settings::in_memory(Models::demo());
            (relay.broker.host, relay.broker.port) = ("127.0.0.1".into(), port);
            let setup = Setup::new().network(Network::Tcp).home(&own).relay(relay).hub(|hub| {
                hub.hub_id = HUB.into();
                hub.rule = Llm::Demo.rule();
                (hub.broker.host, hub.broker.port) = ("127.0.0.1".into(), port);
            });
            let mut voice = voice::Settings::in_memory();
            (voice.broker.host, voice.broker.port) = ("127.0.0.1".into(), port);
            in_real_time(setup.tell(async |_| {
                let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
                let stopped = async { drop(stopped.await) };
                let serving = voice::run(Network::Tcp, &voice, Listener::Tcp(listener), stopped);
                serving.await.expect("settings that fit");
            }));
        });
        Self { home, voice_port, stop: Some(stop), thread: Some(thread) }
    }

    /// The state of a device in words.
    pub(crate) fn stands(&self, name: &str) -> String {
        self.home.device(name).expect(name).state.to_string()
    }
}

impl Drop for House {
    fn drop(&mut self) {
        let _ = self.stop.take().map(|stop| stop.send(()));
        let ended = self.thread.take().map(JoinHandle::join);
        if let Some(Err(_)) = ended
            && !std::thread::panicking()
        {
            panic!("the hub's thread has panicked");
        }
    }
}

/// One of switches, and one of covers.
fn groups() -> Plans {
    let folder = Folder::new("hearthwave-groups");
    let file = folder.0.join("groups.json");
    let groups =
        json!({ "groups": { "Lamps": ["Floor Lamp", "Kitchen Light"], "Awnings": ["Porch Awning"] } });
    std::fs::write(&file, groups.to_string()).expect("a file");
    Plans::read(&file).expect("groups")
}

/// Changes a setting of a hub.
pub(crate) fn set(broker: &Mosquitto, hub: &str, key: &str, value: &Value) {
    let request = json!({ "key": key, "value": value }).to_string();
    let reply = broker.ask(&format!("hearthwave/{hub}/request/config/set"), request.as_bytes());
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    assert_eq!(reply["success"], true, "{key}={value}: {reply}");
}

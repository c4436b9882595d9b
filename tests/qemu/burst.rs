//! The connection to the broker breaks again and again while the controller is being called and talks much.

use std::cell::Cell;
use std::io::copy;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use host_sim::hub::Settings;
use host_sim::network::Network;
use host_zwave::{Fault, Home};
use serde_json::json;
use support::PATIENCE;
use tokio::time::{sleep, timeout};
use world::{client, in_real_time};

use crate::serves;
use crate::way::Way;

/// A way to a port that can be cut.
struct Cable {
    port: u16,
    open: Arc<Mutex<Vec<TcpStream>>>,
}

impl Cable {
    fn to(broker: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let port = listener.local_addr().expect("its number").port();
        let open = Arc::<Mutex<Vec<_>>>::default();
        let ends = open.clone();
        std::thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, broker)) else { continue };
                let pairs = [(&near, &far), (&far, &near)];
                for (from, to) in pairs.map(|(from, to)| (from.try_clone(), to.try_clone())) {
                    let (mut from, mut to) = (from.expect("a socket"), to.expect("a socket"));
                    std::thread::spawn(move || {
                        let _ = copy(&mut from, &mut to);
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
                ends.lock().expect("a test that goes on").push(near);
            }
        });
        Self { port, open }
    }

    /// Cuts whatever goes through it. It can be used again at once.
    fn cut(&self) {
        for end in self.open.lock().expect("a test that goes on").drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }
}

const DEVICES: [&str; 2] = ["Switch One", "Kitchen Light"];

/// What is done in the call with this number.
fn command(number: usize) -> &'static str {
    if number.is_multiple_of(2) { "on" } else { "off" }
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn no_call_is_lost_while_hands_are_shaken_again_and_again() {
    const CUTS: usize = 4;
    Way::each(|way| {
        let site = way.broker();
        let cable = Cable::to(site.port());
        let machine = site.machine_at(cable.port, &["report=1"]);
        let home = Home::fast(7);
        // A controller that never stops talking: noise before every line, and much of it before some.
        home.faults().set(Fault::Garbage, 1.0);
        home.faults().set(Fault::LongLine, 0.05);
        serves(&home, machine.line());
        let mut settings = Settings::in_memory("qemu");
        (settings.broker.host, settings.broker.port) = ("127.0.0.1".into(), site.broker.port);
        let person = async |name: &str| {
            let topics = ["hearthwave/qemu/#".to_owned(), format!("reply/{name}")];
            let mut person =
                client(&Network::Tcp, &settings, name, &topics.each_ref().map(String::as_str)).await;
            timeout(PATIENCE, person.sees_link("ready")).await.expect("the firmware");
            person
        };
        let connections = || machine.log().matches("mqtt: connected").count();
        let is_over = Cell::new(false);
        let counts = in_real_time(async {
            let (mut ann, mut ben) = (person("ann").await, person("ben").await);
            let calls = async |person: &mut support::client::Client, device: &str| {
                let mut number = 0;
                while !is_over.get() {
                    let arguments = json!({ "device_name": device, "command": command(number) });
                    let call = json!({ "name": "control_zwave_device", "arguments": arguments });
                    let asking = person.asks_with_response_topic("tool/call", call);
                    let reply = timeout(PATIENCE, asking).await.expect("a reply");
                    assert_eq!(reply["success"], true, "call {number}: {reply}");
                    number += 1;
                }
                number
            };
            let cuts = async {
                for cut in 1..=CUTS {
                    while connections() < cut {
                        sleep(Duration::from_millis(20)).await;
                    }
                    sleep(Duration::from_millis(300)).await;
                    cable.cut();
                }
                while connections() <= CUTS {
                    sleep(Duration::from_millis(20)).await;
                }
                is_over.set(true);
            };
            let cuts = async { timeout(2 * PATIENCE, cuts).await.expect("the firmware comes back") };
            let (ann, ben, ()) = tokio::join!(calls(&mut ann, DEVICES[0]), calls(&mut ben, DEVICES[1]), cuts);
            [ann, ben]
        });
        // Each was done once, in the order in which it was asked for.
        let done = home.record().calls();
        for (device, count) in DEVICES.into_iter().zip(counts) {
            let actions: Vec<_> = done
                .iter()
                .filter_map(|call| call.arguments.as_ref())
                .filter(|arguments| arguments["deviceName"] == device)
                .map(|arguments| arguments["action"].clone())
                .collect();
            let wanted: Vec<_> = (0..count).map(command).collect();
            assert_eq!(actions, wanted, "{device}");
        }
        println!("{counts:?} calls over {} connections", connections());
    });
}

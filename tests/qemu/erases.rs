//! The store is written and erased, which stops the machine as it stops a board, while the controller is being called.

use std::cell::Cell;

use host_sim::hub::Settings;
use host_sim::network::Network;
use host_zwave::Home;
use serde_json::{Value, json};
use support::PATIENCE;
use tokio::time::timeout;
use world::{client, in_real_time};

use crate::serves;
use crate::way::Way;

/// Writes of a document that takes most of a page: the flash is full after half of them.
const WRITES: usize = 70;

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn erasing_in_a_burst_of_calls_loses_none() {
    let site = Way::Tls.broker();
    let machine = site.machine(&["flash=slow"]);
    let home = Home::fast(7);
    serves(&home, machine.slow_line());
    let mut settings = Settings::in_memory("qemu");
    (settings.broker.host, settings.broker.port) = ("127.0.0.1".into(), site.broker.port);
    let person = async |name: &str| {
        let topics = ["hearthwave/qemu/#".to_owned(), format!("reply/{name}")];
        let mut person = client(&Network::Tcp, &settings, name, &topics.each_ref().map(String::as_str)).await;
        timeout(PATIENCE, person.sees_link("ready")).await.expect("the firmware");
        person
    };
    in_real_time(async {
        let (mut ann, mut ben) = (person("ann").await, person("ben").await);
        let is_over = Cell::new(false);
        // Longer answers than a receiver has room for.
        let calls = async {
            let mut count = 0;
            while !is_over.get() {
                let call = json!({ "name": "list_devices", "arguments": {} });
                let asking = ann.asks_with_response_topic("tool/call", call);
                let reply = timeout(PATIENCE, asking).await.expect("a reply");
                assert_eq!(reply["success"], true, "call {count}: {reply}");
                assert!(reply["result"].to_string().len() > 500, "{reply}");
                count += 1;
            }
            count
        };
        let writes = async {
            for number in 0..WRITES {
                let text = format!("{number} {}", "d".repeat(2900));
                let document = json!({ "name": "list", "category": "home", "text": text });
                let asking = ben.asks_with_response_topic("content/put", document);
                let reply = timeout(PATIENCE, asking).await.expect("a reply");
                assert_eq!(reply["success"], true, "{reply}");
            }
            let health = ben.asks_with_response_topic("health", json!({})).await;
            is_over.set(true);
            health["store"].clone()
        };
        let (count, store): (usize, Value) = tokio::join!(calls, writes);
        println!("{count} calls during {WRITES} writes; {store}");
        assert!(store["erases"].as_u64() > Some(20) && store["erases_in_calls"] == 0, "{store}");
        assert!(count > 10, "{count} calls");
    });
    let log = machine.log();
    assert!(!log.contains("bytes were lost") && !log.contains("not JSON-RPC"), "{log}");
}

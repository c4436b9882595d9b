//! Improv with a client by other hands: the SDK that browsers use, on Node.

use host_sim::wifi::{HOME, Wifi};
use serde_json::json;
use tokio::net::TcpListener;
use world::in_real_time;

use super::new_hub;

#[test]
#[ignore = "needs Node and the package improv-wifi-serial-sdk; ./tests/run runs it"]
fn a_browsers_sdk_sets_the_hub_up() {
    let wifi = Wifi::default();
    in_real_time(new_hub(&wifi).tell(async |world| {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let mut port = world.console_port();
        let serving = async {
            let (mut stream, _) = listener.accept().await.expect("a client");
            let _ = tokio::io::copy_bidirectional(&mut stream, &mut port).await;
        };
        let (ssid, password) = HOME;
        let client = support::improv::sets_up(&address, ssid, password);
        let (seen, ()) = tokio::join!(client, serving);
        support::improv::check(
            &seen,
            "sim",
            "story",
            &json!([
                { "name": "Simulated Café", "rssi": -81, "secured": false },
                { "name": "Simulated Home", "rssi": -52, "secured": true },
            ]),
        );
        assert_eq!(wifi.joined().as_deref(), Some(ssid));
    }));
}

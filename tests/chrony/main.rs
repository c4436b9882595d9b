//! The hub's clock is set by a real time server, over a real network.

use std::time::{SystemTime, UNIX_EPOCH};

use support::chrony::Chrony;
use world::in_real_time;
use world::prelude::*;

#[test]
#[ignore = "needs chrony; ./tests/run runs it"]
fn a_real_time_server_sets_the_clock() {
    let chrony = Chrony::start();
    in_real_time(Setup::new().hub(|hub| hub.has_clock = false).tell(async |world| {
        world.lan.is_real.set(true);
        let mut ann = world.person("ann").await;
        ann.sets("time.zone", json!("UTC")).await;
        ann.sets("time.server", json!(format!("127.0.0.1:{}", chrony.port))).await;
        logged("by 127.0.0.1").await;
        let result = ann.uses("datetime", json!({})).await["result"].take();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let shown: u64 = result["time"]
            .as_str()
            .expect("a time")
            .split(':')
            .fold(0, |sum, part| sum * 60 + part.parse::<u64>().expect("a number"));
        let off = (now % 86_400).abs_diff(shown);
        assert!(off.min(86_400 - off) <= 2, "{off} seconds wrong");
        assert_eq!(result["source"], "sntp");
    }));
}

//! Whatever a controller says of its devices, the table stays whole, what it tells is JSON, and every name and call can be
//! looked at.
#![no_main]

use embassy_time::Instant;
use hub_core::home::{Found, Home};
use hub_core::json::{Value, Writer};
use hub_core::limits::DEVICES;
use hub_core::link::{Offer, ResourceNews};
use libfuzzer_sys::fuzz_target;

fuzz_target!(init: support::stack::guard(), |input: &[u8]| {
    let home = Box::new(Home::new());
    home.on_resource_event(ResourceNews::Opened(Offer::Subscriptions));
    let mut ids = Vec::new();
    for line in input.split(|byte| *byte == b'\n') {
        let Ok(line) = core::str::from_utf8(line) else { continue };
        let Some((verb, rest)) = line.split_at_checked(1) else { continue };
        match verb {
            // Lists a device.
            "L" => {
                let listed = serde_json::json!({ "uri": format!("home://devices/{rest}") }).to_string();
                home.on_resource_event(ResourceNews::Listed(Value::parse(listed.as_bytes()).expect("JSON")));
                ids.push(rest.to_owned());
            }
            // Describes the one that was listed last.
            "D" => {
                let result = serde_json::json!({ "contents": [{ "text": rest }] }).to_string();
                let id = ids.last().map_or("", String::as_str);
                home.read(id, Value::parse(result.as_bytes()).expect("JSON"), Instant::MIN);
            }
            // Says anything else of it.
            "R" => {
                if let Ok(result) = Value::parse(rest.as_bytes()) {
                    home.read(ids.last().map_or("", String::as_str), result, Instant::MIN);
                    home.on_resource_event(ResourceNews::Listed(result));
                }
            }
            // Somebody names one.
            "N" => {
                if let Found::One(id) = home.find(rest) {
                    assert!(home.with(&id, |_| ()).is_some());
                }
                let mut candidates = String::new();
                home.write_nearest(None, rest, &mut candidates).expect("it never fails");
            }
            // A model calls a tool.
            "C" => {
                if let Some((tool, arguments)) = rest.split_once(' ')
                    && let Ok(arguments) = Value::parse(arguments.as_bytes())
                {
                    home.resolve(tool, arguments);
                }
            }
            _ => home.on_resource_event(ResourceNews::Closed),
        }
    }
    assert!(home.count().0 <= DEVICES);
    for id in &ids {
        home.with(id, |device| {
            let mut buffer = [0; 2048];
            let mut writer = Writer::new(&mut buffer);
            writer.object(|out| device.write(out));
            let length = writer.finish().expect("it fits");
            let written: serde_json::Value = serde_json::from_slice(&buffer[..length]).expect("JSON");
            assert_eq!(written["id"], id.as_str());
            assert!(!device.to_string().is_empty());
        });
    }
});

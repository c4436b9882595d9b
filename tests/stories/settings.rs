//! Settings: listed, read, set within their bounds, and kept.

use hub_core::settings::SETTINGS;
use world::model::{calls, stop};
use world::prelude::*;

/// What `config/list` says about a setting is what `config/set` goes by.
#[test]
fn a_setting_takes_what_its_row_says_and_nothing_else() {
    story(async |world| {
        let mut owner = world.person("owner").await;
        let listed = owner.asks("config/list", json!({ "transaction": 7 })).await;
        assert_eq!((&listed["success"], &listed["transaction"]), (&json!(true), &json!(7)));
        let unknown = owner.asks("config/list", json!({ "after": "colour" })).await;
        assert_refused(&unknown, "invalid_request", "'key' must be one of");
        let rows = owner.asks_for_all("config/list", "settings", json!({})).await;
        let keys: Vec<&str> = rows.iter().filter_map(|row| row["key"].as_str()).collect();
        assert_eq!(keys, SETTINGS.iter().map(|row| row.key).collect::<Vec<_>>());
        let values = owner.asks("config/get", json!({})).await["settings"].clone();
        for row in rows.iter().filter(|row| row["type"] != "object") {
            let key = row["key"].as_str().expect("a key");
            assert_eq!(values[key], row["default"], "{key}");
            assert!(row["purpose"].as_str().is_some_and(|words| words.len() > 20), "{row}");
            let of_a_form = match key {
                "wifi.password" => Some((
                    vec![json!("x".repeat(8)), json!("a".repeat(64))],
                    vec![json!("x".repeat(7)), json!("x".repeat(64)), json!(12_345_678)],
                )),
                "broker.url" => Some((
                    vec![json!("mqtt://10.0.0.7:1884"), json!("MQTTS://broker.lan/"), json!("broker")],
                    vec![json!(""), json!("http://x"), json!("mqtt://"), json!("mqtt://x:0"), json!("a b")],
                )),
                "time.zone" => Some((
                    vec![json!("Europe/Berlin"), json!("CET-1CEST,M3.5.0,M10.5.0/3")],
                    vec![json!(""), json!("Europe/Berln"), json!("UTC+2"), json!("x".repeat(193)), json!(1)],
                )),
                "gate.pin" => Some((
                    vec![json!("4711"), json!("0".repeat(12))],
                    vec![json!("471"), json!("0".repeat(13)), json!("47 11"), json!(4711)],
                )),
                // Checked below, by what it becomes.
                "broker.ca" => continue,
                _ => None,
            };
            let (good, bad) = of_a_form.unwrap_or_else(|| {
                match (&row["enum"], row["minimum"].as_i64(), row["maxLength"].as_u64()) {
                    (Value::Array(options), ..) => (options.clone(), vec![json!("neither"), json!(true)]),
                    (_, Some(least), _) => {
                        let most = row["maximum"].as_i64().expect("a maximum");
                        (
                            vec![json!(least), json!(most)],
                            vec![json!(least - 1), json!(most + 1), json!("1"), json!(1.5)],
                        )
                    }
                    (_, _, Some(longest)) => {
                        let length = usize::try_from(longest).expect("a length");
                        (vec![json!("x".repeat(length))], vec![json!("x".repeat(length + 1)), json!(1)])
                    }
                    _ => panic!("a row without bounds: {row}"),
                }
            });
            let needs_restart = row["restart_required"] == true;
            for value in good {
                let reply = owner.sets(key, value.clone()).await;
                assert_eq!(reply["success"], true, "{key} {value}: {reply}");
                assert_eq!(reply.get("restart_required").is_some(), needs_restart, "{reply}");
                let seen = owner.asks("config/get", json!({ "key": key })).await;
                let shown = if row["secret"] == true { json!("***") } else { value };
                assert_eq!(seen["settings"], json!({ key: shown }));
            }
            for value in bad {
                assert_eq!(owner.sets(key, value.clone()).await["success"], false, "{key} {value}");
            }
            assert_eq!(owner.sets(key, Value::Null).await["success"], true);
        }
        let certificate = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        let reply = owner.sets("broker.ca", json!(certificate)).await;
        assert_refused(
            &reply,
            "invalid_request",
            "'value' must be a string with one certificate of at most 2048 bytes, in PEM",
        );
        assert_eq!(owner.asks("config/get", json!({})).await["settings"], values, "all as at first");
        let reply = owner.sets("tool_prefix", json!("a b")).await;
        assert_refused(
            &reply,
            "invalid_request",
            "'value' must be a string of at most 16 letters, digits, '-' and '_'",
        );
    });
}

/// spec: infra-14, infra-20, infra-23
#[test]
fn the_prefix_and_the_example_tools_are_settings_that_survive_a_restart() {
    story(async |world| {
        let mut owner = world.person("owner").await;
        let greet = json!({ "name": "Ada" });
        owner.sets("tool_prefix", json!("den")).await;
        owner.sets("example_tools", json!("on")).await;
        assert_eq!(
            owner.uses("hub_echo", json!({ "text": "x" })).await["success"],
            true,
            "not before the restart"
        );
        assert_refused(&owner.uses("example_greeting", greet.clone()).await, "unavailable", "not found");
        world.restarts_the_hub().await;
        owner.sees_online().await;
        assert_eq!(owner.uses("den_echo", json!({ "text": "x" })).await["success"], true);
        assert_refused(&owner.uses("hub_echo", json!({ "text": "x" })).await, "unavailable", "not found");
        assert_eq!(owner.uses("den_example_greeting", greet).await["success"], true);
        owner.sets("tool_prefix", json!("")).await;
        world.restarts_the_hub().await;
        owner.sees_online().await;
        assert_eq!(owner.uses("echo", json!({ "text": "x" })).await["success"], true);
        assert_refused(&owner.uses("den_echo", json!({ "text": "x" })).await, "unavailable", "not found");
    });
}

/// spec: reply-11
#[test]
fn the_hub_limits_the_rounds_of_calls_where_the_rule_does_not() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        person.sets("max_iterations", json!(1)).await;
        person.sets_rule(json!({ "name": "two", "tools": { "enabled": true, "max_iterations": 2 } })).await;
        let echo = || calls(&[("echo", json!({ "text": "x" }))]);
        person.says(json!({ "text": "Echo" }));
        model.serves(echo()).await;
        assert_eq!(person.reply().await["max_iterations_reached"], true);
        person.says(json!({ "text": "Echo", "rule": "two" }));
        model.serves(echo()).await;
        model.serves(stop("Done.")).await;
        assert_eq!(person.reply().await["content"], "Done.");
    });
}

#[test]
fn rules_that_are_built_in_or_do_not_fit_are_named() {
    story(async |world| {
        let mut owner = world.person("owner").await;
        let get = async |owner: &mut Client, request: Value| owner.asks("config/get", request).await;
        let all = get(&mut owner, json!({})).await;
        assert_eq!(all["built_in"], json!(["rule.default", "rule.brief"]));
        assert_eq!(all.get("left_out"), None, "{all}");
        let brief = get(&mut owner, json!({ "key": "rule.brief" })).await;
        assert_eq!(brief["settings"]["rule.brief"]["name"], "brief", "{brief}");
        assert_refused(&get(&mut owner, json!({ "key": "rule.none" })).await, "not_found", "no such rule");
        // More than fit into one reply.
        let rule = |name: &str| json!({ "name": name, "prompt": "p".repeat(900) });
        let names: Vec<_> = (0..12).map(|number| format!("r{number:02}")).chain(["brief".into()]).collect();
        for name in &names {
            owner.sets_rule(rule(name)).await;
        }
        let all = get(&mut owner, json!({ "transaction": "t".repeat(126) })).await;
        assert_eq!(all["built_in"], json!(["rule.default"]), "the other one is replaced");
        let left_out = all["left_out"]["keys"].as_array().expect("keys").clone();
        assert_eq!(all["left_out"]["count"], left_out.len());
        assert_contains(&all["left_out"]["message"], "get each by its key");
        let shown =
            all["settings"].as_object().expect("settings").keys().filter(|key| key.starts_with("rule."));
        let mut seen: Vec<_> = shown.cloned().collect();
        assert!(seen.len() >= 2 && left_out.len() >= 2, "{all}");
        for key in left_out {
            let key = key.as_str().expect("a key");
            let rule = get(&mut owner, json!({ "key": key })).await;
            assert_eq!(rule["settings"][key]["prompt"].as_str().map(str::len), Some(900), "{rule}");
            seen.push(key.to_owned());
        }
        seen.sort();
        let mut expected: Vec<_> = names.iter().map(|name| format!("rule.{name}")).collect();
        expected.sort();
        assert_eq!(seen, expected, "each is shown or named, and once");
    });
}

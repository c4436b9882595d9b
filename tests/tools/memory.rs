//! What the hub remembers: flags, documents and settings, over MQTT and over restarts.

use std::collections::{BTreeMap, BTreeSet};

use hub_core::limits;
use world::prelude::*;

use crate::owner::{a_hub, succeeds};

/// The documents of a reply as `category/name`, in order.
fn places(reply: &Value) -> Vec<String> {
    let documents = reply["result"]["documents"].as_array().unwrap_or_else(|| panic!("{reply}"));
    let place = |document: &Value| {
        format!("{}/{}", document["category"].as_str().unwrap(), document["name"].as_str().unwrap())
    };
    documents.iter().map(place).collect()
}

/// spec: infra-27, infra-28
#[test]
fn flags_of_a_project_go_before_those_for_everybody() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        succeeds(owner, "set_feature_flag", json!({ "name": "guests", "value": false })).await;
        succeeds(owner, "set_feature_flag", json!({ "name": "holiday", "value": "until Sunday" })).await;
        let seen = succeeds(owner, "get_project_flag", json!({ "name": "guests" })).await;
        assert_eq!(seen, json!({ "name": "guests", "value": false, "set_for": "everybody" }));
        let set = succeeds(owner, "set_project_flag", json!({ "name": "guests", "value": [1, "é"] })).await;
        assert_eq!(set, json!({ "project": "home", "name": "guests", "value": [1, "é"] }));
        // After a restart all of it is still so.
        world.restarts_the_hub().await;
        owner.sees_online().await;
        let seen = succeeds(owner, "get_project_flag", json!({ "name": "guests" })).await;
        assert_eq!(seen, json!({ "name": "guests", "value": [1, "é"], "set_for": "project" }));
        let all = succeeds(owner, "list_project_flags", json!({})).await;
        let flags = json!({ "guests": [1, "é"], "holiday": "until Sunday" });
        assert_eq!(all, json!({ "project": "home", "flags": flags }));
        succeeds(owner, "set_project_flag", json!({ "name": "guests", "value": null })).await;
        let seen = succeeds(owner, "get_project_flag", json!({ "name": "guests" })).await;
        assert_eq!(seen["value"], false, "what is set for everybody counts again");
        let seen = owner.uses("get_project_flag", json!({ "name": "nothing" })).await;
        assert_eq!(seen["result"], json!({ "name": "nothing", "value": null }));
        assert_eq!(seen["message"], "The flag nothing is not set.");
    });
}

/// spec: infra-29, infra-30
#[test]
fn flags_for_everybody_know_nothing_of_projects() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        succeeds(owner, "set_project_flag", json!({ "name": "guests", "value": true })).await;
        let seen = succeeds(owner, "get_feature_flag", json!({ "name": "guests" })).await;
        assert_eq!(seen, json!({ "name": "guests", "value": null }));
        assert_eq!(succeeds(owner, "list_feature_flags", json!({})).await, json!({ "flags": {} }));
        succeeds(owner, "set_feature_flag", json!({ "name": "guests", "value": 2 })).await;
        assert_eq!(
            succeeds(owner, "list_feature_flags", json!({})).await,
            json!({ "flags": { "guests": 2 } })
        );
        succeeds(owner, "set_feature_flag", json!({ "name": "guests", "value": null })).await;
        let seen = succeeds(owner, "get_project_flag", json!({ "name": "guests" })).await;
        assert_eq!(seen["value"], true, "the project's own is untouched");
    });
}

/// The hub is set to another project: its flags are its own.
#[test]
fn each_project_has_its_flags() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        succeeds(owner, "set_project_flag", json!({ "name": "heating", "value": 21 })).await;
        let reply = owner.asks("config/set", json!({ "key": "project", "value": "cabin" })).await;
        assert_eq!(reply, json!({ "success": true }));
        world.restarts_the_hub().await;
        owner.sees_online().await;
        let get = json!({ "name": "heating" });
        assert_eq!(succeeds(owner, "get_project_flag", get.clone()).await["value"], Value::Null);
        let settings = owner.asks("config/get", json!({ "key": "project", "transaction": 7 })).await;
        let expected = json!({ "success": true, "settings": { "project": "cabin" }, "transaction": 7 });
        assert_eq!(settings, expected);
        owner.asks("config/set", json!({ "key": "project", "value": null })).await;
        assert_eq!(succeeds(owner, "get_project_flag", get).await["value"], 21);
        for (wrong, words) in [
            (json!({ "key": "wifi", "value": "x" }), "'key' must be one of: hub.id"),
            (json!({ "key": "project" }), "'value' must be a string"),
            (json!({ "key": "project", "value": "" }), "must not be empty"),
            (json!({ "key": "project", "value": "p".repeat(33) }), "at most 32 bytes"),
        ] {
            let reply = owner.asks("config/set", wrong).await;
            assert_eq!(reply["success"], false);
            assert_contains(&reply["error"], words);
        }
    });
}

#[test]
fn many_flags_are_listed_page_by_page() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        let mut expected = BTreeMap::new();
        for number in 0..30 {
            let (name, value) = (format!("flag {number:02} \"é\""), "v".repeat(300));
            let tool = if number % 2 == 0 { "set_feature_flag" } else { "set_project_flag" };
            succeeds(owner, tool, json!({ "name": name, "value": value })).await;
            expected.insert(name, json!(value));
        }
        let mut flags = BTreeMap::new();
        let mut arguments = json!({});
        for page in 0.. {
            assert!(page < 30, "the list has no end");
            let reply = succeeds(owner, "list_project_flags", arguments.clone()).await;
            let shown = reply["flags"].as_object().unwrap();
            assert!(!shown.is_empty());
            flags.extend(shown.clone());
            match &reply["next"] {
                Value::Null => break,
                next => arguments = json!({ "after": next }),
            }
        }
        assert_eq!(flags, expected);
    });
}

#[test]
fn flags_that_cannot_be_are_refused_by_name() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        for (name, value, words) in [
            ("", json!(1), "'name'"),
            ("a\u{7}b", json!(1), "must not have '\\u{7}'"),
            (" a", json!(1), "must not start or end with a space"),
            ("a", json!("x".repeat(600)), "too large"),
        ] {
            let reply = owner.uses("set_feature_flag", json!({ "name": name, "value": value })).await;
            assert_refused(&reply, "invalid_parameters", words);
        }
        assert_eq!(succeeds(owner, "list_feature_flags", json!({})).await, json!({ "flags": {} }));
    });
}

/// A home with some documents.
async fn fill(owner: &mut Client) {
    for (category, name) in
        [("lang", "python"), ("lang", "rust"), ("lang", "java"), ("docs", "api"), ("guidelines", "zoo")]
    {
        let text = format!("about {name}\n\"quoted\" é");
        let document = json!({ "category": category, "name": name, "text": text });
        assert_eq!(owner.asks("content/put", document).await, json!({ "success": true }));
    }
}

/// spec: infra-44
#[test]
fn a_slash_parts_category_and_pattern() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        fill(owner).await;
        let one = succeeds(owner, "get_content", json!({ "expression": "lang/python" })).await;
        let two = succeeds(owner, "get_content", json!({ "expression": "lang", "pattern": "python" })).await;
        assert_eq!(one, two);
        let document = json!({ "category": "lang", "name": "python", "text": "about python\n\"quoted\" é" });
        assert_eq!(one, json!({ "documents": [document] }));
        let both = owner.uses("get_content", json!({ "expression": "lang/rust", "pattern": "x" })).await;
        assert_contains(&both["error"], "a category alone");
    });
}

/// spec: infra-45
#[test]
fn a_plus_joins_patterns() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        fill(owner).await;
        let reply = owner.uses("get_content", json!({ "expression": "lang/rust+p*+python+jav?" })).await;
        assert_eq!(places(&reply), ["lang/rust", "lang/python", "lang/java"], "in order, none twice");
    });
}

/// spec: infra-46
#[test]
fn a_comma_joins_expressions() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        fill(owner).await;
        let reply =
            owner.uses("get_content", json!({ "expression": "lang/python,docs/api,guidelines" })).await;
        let expected = ["lang/python", "docs/api", "guidelines/safety", "guidelines/voice", "guidelines/zoo"];
        assert_eq!(places(&reply), expected);
    });
}

#[test]
fn documents_are_put_listed_and_deleted() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        let list = async |owner: &mut Client| {
            let reply = owner.asks("content/list", json!({})).await;
            let of = |document: &Value| {
                let place =
                    [&document["category"], &document["name"]].map(|part| part.as_str().unwrap().to_owned());
                (place.join("/"), document["stored"].as_bool().unwrap())
            };
            reply["documents"].as_array().unwrap().iter().map(of).collect::<BTreeMap<_, _>>()
        };
        let ours = json!({ "category": "guidelines", "name": "voice", "text": "Sing." });
        let before = list(owner).await;
        assert!(!before["guidelines/voice"]);
        owner.asks("content/put", ours.clone()).await;
        assert!(list(owner).await["guidelines/voice"]);
        world.restarts_the_hub().await;
        owner.sees_online().await;
        let reply = succeeds(owner, "get_content", json!({ "expression": "guidelines/voice" })).await;
        assert_eq!(reply, json!({ "documents": [ours] }), "it replaces the built-in one");
        assert_eq!(owner.asks("content/delete", ours.clone()).await, json!({ "success": true }));
        assert!(!list(owner).await["guidelines/voice"]);
        assert_refused(&owner.asks("content/delete", ours.clone()).await, "not_found", "");
        for (wrong, words) in [
            (json!({ "name": "a", "text": "" }), "'category' must be a string"),
            (json!({ "category": "a", "name": 1, "text": "" }), "'name' must be a string"),
            (json!({ "category": "a", "name": "b" }), "'text' must be a string"),
            (json!({ "category": "a/b", "name": "b", "text": "" }), "must not have '/'"),
            (json!({ "category": "a", "name": "b", "text": "x".repeat(3500) }), "too large"),
            (json!({ "category": "c".repeat(40), "name": "b", "text": "" }), "at most 32"),
        ] {
            let reply = owner.asks("content/put", wrong).await;
            assert_eq!(reply["success"], false);
            assert_contains(&reply["error"], words);
        }
    });
}

#[test]
fn what_does_not_fit_into_one_answer_is_said() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        for name in ["a", "b", "c"] {
            let document = json!({ "category": "long", "name": name, "text": name.repeat(2000) });
            owner.asks("content/put", document).await;
        }
        let reply = owner.uses("get_content", json!({ "expression": "long" })).await;
        assert_eq!((places(&reply).len(), &reply["result"]["omitted"]), (1, &json!(2)), "{reply}");
        assert_contains(&reply["instruction"], "fewer");
        let escaped = "\u{1}".repeat(limits::DOCUMENT / 6);
        owner.asks("content/put", json!({ "category": "odd", "name": "x", "text": escaped })).await;
        owner.asks("content/put", json!({ "category": "odd", "name": "y", "text": escaped })).await;
        let reply = owner.uses("get_content", json!({ "expression": "odd/x" })).await;
        assert_eq!(reply["result"]["documents"][0]["text"], escaped.as_str());
        for (wrong, words) in
            [("nothing/*", "No document matches"), ("a//", "No document"), ("a/,", "lacks a pattern")]
        {
            let reply = owner.uses("get_content", json!({ "expression": wrong })).await;
            assert_contains(&reply["error"], words);
        }
    });
}

#[test]
fn documents_are_listed_page_by_page() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        for number in 0..80 {
            let name = format!("{number:02}-{}", "n".repeat(20));
            let document = json!({ "category": "many", "name": name, "text": "" });
            assert_eq!(owner.asks("content/put", document).await["success"], true);
        }
        let documents = owner.asks_for_all("content/list", "documents", json!({})).await;
        let names: BTreeSet<_> = documents.iter().map(|document| document["name"].as_str()).collect();
        assert_eq!(documents.len(), 80 + hub_core::tools::DOCUMENTS.len());
        assert_eq!(names.len(), documents.len());
    });
}

#[test]
fn a_factory_reset_forgets_everything_and_only_with_a_persons_word() {
    a_hub().story(async |world| {
        let owner = &mut world.person("owner").await;
        fill(owner).await;
        succeeds(owner, "set_feature_flag", json!({ "name": "a", "value": 1 })).await;
        owner.asks("config/set", json!({ "key": "project", "value": "cabin" })).await;
        for wrong in [json!({}), json!({ "confirm": "yes" }), json!({ "confirm": "FACTORY_RESET", "x": 1 })] {
            assert_refused(&owner.uses("factory_reset", wrong).await, "invalid_parameters", "");
        }
        assert_eq!(succeeds(owner, "get_feature_flag", json!({ "name": "a" })).await["value"], 1);
        let reply = succeeds(owner, "factory_reset", json!({ "confirm": "FACTORY_RESET" })).await;
        assert_eq!(reply, json!({ "erased": true, "restarting": true }));
        sleep(Duration::from_secs(5)).await;
        let flags = succeeds(owner, "list_project_flags", json!({})).await;
        assert_eq!(flags, json!({ "project": "home", "flags": {} }));
        assert_refused(&owner.uses("get_content", json!({ "expression": "lang" })).await, "not_found", "");
    });
}

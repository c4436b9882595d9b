//! Response rules.

use std::string::ToString;

use serde_json::json;

use proptest::prelude::*;

use super::settings;
use crate::chat::rule::{BUILT_IN, Rule, is_for};
use crate::chat::{Provider, TurnSettings};
use crate::limits;

#[test]
fn a_rule_says_everything() {
    let text = r#"{"name":"kitchen","service":"ollama","model":"qwen3:8b","prompt":"Say \"hi\"\n{{intent}}","max_tokens":300,
        "temperature":0.4,"thinking":false,"tools":{"enabled":true,"allowed_tools":["datetime","hub_search"],"max_iterations":3},
        "context":"recipes/*,guidelines/voice","intents":["cooking","k\u00fcche"]}"#;
    let rule = Rule::parse(text).unwrap();
    assert_eq!((rule.name.to_string(), rule.provider), ("kitchen".into(), Provider::Ollama));
    assert_eq!((rule.model.to_string(), rule.max_tokens), ("qwen3:8b".into(), 300));
    assert_eq!((rule.prompt.to_string(), rule.temperature), ("Say \"hi\"\n{{intent}}".into(), Some(0.4)));
    assert_eq!((rule.thinking, rule.tools.enabled, rule.tools.max_iterations), (Some(false), true, Some(3)));
    let tools = &settings(text).tools;
    assert!(tools.allows(["hub_datetime", "datetime"]) && tools.allows(["hub_search", "search"]));
    assert!(!tools.allows(["hub_volume", "volume"]));
    assert!(
        rule.context.unwrap().selects("recipes", "soup") && !rule.context.unwrap().selects("hub", "about")
    );
    assert!(is_for(text, "cooking") && is_for(text, "küche") && !is_for(text, "voice"));
}

#[test]
fn what_a_rule_leaves_out_is_as_in_the_one_below() {
    let rule = Rule::parse(r#"{"name":"mine"}"#).unwrap();
    let default = Rule::parse(BUILT_IN[0].1).unwrap();
    assert_eq!((rule.provider, rule.model, rule.prompt), (default.provider, default.model, default.prompt));
    assert_eq!((rule.max_tokens, rule.temperature), (limits::TOKENS, None));
    assert!(default.tools.enabled && rule.context == default.context);
    // Tools are not inherited.
    let mut turn = settings(r#"{"name":"mine"}"#);
    assert!(!rule.tools.enabled && !turn.tools.allows(["hub_echo", "echo"]));
    assert_eq!(rule.tools.max_iterations, None);

    let base = Rule::parse(
        r#"{"name":"base","service":"ollama","model":"llama3.2","temperature":1,"intents":["x"]}"#,
    );
    let over =
        base.unwrap().derive(r#"{"name":"over","tools":{"enabled":true},"temperature":null,"context":null}"#);
    let over = over.unwrap();
    assert_eq!((over.provider, over.model.to_string()), (Provider::Ollama, "llama3.2".into()));
    assert!(over.temperature.is_none() && over.context.is_none());
    turn.apply(&over, 5);
    assert!(turn.tools.allows(["hub_echo", "echo"]));
}

#[test]
fn built_in_rules_are_rules() {
    let rules = BUILT_IN.map(|(name, text)| {
        let rule = Rule::parse(text).unwrap();
        assert!(rule.name == *name);
        rule
    });
    for rule in rules {
        assert!(rule.tools.enabled && rule.tools.allowed.is_none());
        assert!(rule.prompt.to_string().contains("{{rag_context}}"));
    }
}

#[test]
fn no_iterations_means_the_usual_number() {
    let text = r#"{"name":"a","tools":{"enabled":true,"max_iterations":0}}"#;
    assert_eq!(settings(text).tools.max_iterations, 5);
}

#[test]
fn errors_name_the_member_and_what_it_must_be() {
    for (rule, error) in [
        ("", "the rule is not valid JSON: ends too early, at byte 0"),
        ("[]", "the rule must be an object"),
        ("{}", "'name' must be a text of 1 to 64 bytes, without escapes"),
        (r#"{"name":""}"#, "'name' must be a text of 1 to 64 bytes, without escapes"),
        (r#"{"name":"a\n"}"#, "'name' must be a text of 1 to 64 bytes, without escapes"),
        (r#"{"name":"a","service":"gemini"}"#, r#"'service' must be "anthropic", "openai" or "ollama""#),
        (r#"{"name":"a","model":7}"#, "'model' must be a text of 1 to 96 bytes, without escapes"),
        (r#"{"name":"a","prompt":null}"#, "'prompt' must be a text"),
        (r#"{"name":"a","max_tokens":0}"#, "'max_tokens' must be a whole number from 1 to 8192"),
        (r#"{"name":"a","max_tokens":1e99}"#, "'max_tokens' must be a whole number from 1 to 8192"),
        (r#"{"name":"a","temperature":2.1}"#, "'temperature' must be a number from 0 to 2"),
        (r#"{"name":"a","temperature":"warm"}"#, "'temperature' must be a number from 0 to 2"),
        (r#"{"name":"a","thinking":"hard"}"#, "'thinking' must be true or false"),
        (r#"{"name":"a","tools":true}"#, "'tools' must be an object"),
        (r#"{"name":"a","tools":{"enabled":1}}"#, "'tools.enabled' must be true or false"),
        (
            r#"{"name":"a","tools":{"allowed_tools":"echo"}}"#,
            "'tools.allowed_tools' must be an array of names",
        ),
        (r#"{"name":"a","tools":{"allowed_tools":[1]}}"#, "'tools.allowed_tools' must be an array of names"),
        (
            r#"{"name":"a","tools":{"max_iterations":17}}"#,
            "'tools.max_iterations' must be a whole number from 0 to 16",
        ),
        (r#"{"name":"a","tools":{"allowed":[]}}"#, "a rule has no member 'allowed'"),
        (
            r#"{"name":"a","context":"lang/"}"#,
            "'context': expression 1 lacks a pattern: write category/pattern",
        ),
        (
            r#"{"name":"a","context":5}"#,
            r#"'context' must be an expression like "category/pattern", without escapes"#,
        ),
        (r#"{"name":"a","intents":["a",2]}"#, "'intents' must be an array of names"),
        (r#"{"name":"a","promt":"x"}"#, "a rule has no member 'promt'"),
    ] {
        assert_eq!(Rule::parse(rule).unwrap_err().to_string(), error, "{rule}");
    }
}

proptest! {
    /// The settings of a turn come from its rule and the base rule, not from an earlier turn.
    #[test]
    fn what_a_rule_says_and_inherits_are_the_settings_of_the_turn(
        service in prop::option::of(prop::sample::select(std::vec!["anthropic", "openai", "ollama"])),
        model in prop::option::of("[a-z0-9:./-]{1,96}"),
        prompt in prop::option::of(any::<std::string::String>()),
        max_tokens in prop::option::of(1..=limits::TOKENS_MOST),
        temperature in prop::option::of(prop::option::of(0.0..=2.0)),
        thinking in prop::option::of(prop::option::of(any::<bool>())),
        context in prop::option::of(prop::option::of(Just("a/b+c,d"))),
        enabled in any::<bool>(),
        allowed in prop::option::of(prop::collection::vec("[a-z_\"\n]{1,8}|x{62,66}", 0..16)),
        iterations in 0..=limits::ITERATIONS_MOST,
    ) {
        let mut rule = json!({ "name": "a" });
        let members = [
            ("service", service.map(|it| json!(it))),
            ("model", model.map(|it| json!(it))),
            ("prompt", prompt.map(|it| json!(it))),
            ("max_tokens", max_tokens.map(|it| json!(it))),
            ("temperature", temperature.map(|it| json!(it))),
            ("thinking", thinking.map(|it| json!(it))),
            ("context", context.map(|it| json!(it))),
            ("tools", Some(json!({ "enabled": enabled, "allowed_tools": allowed, "max_iterations": iterations }))),
        ];
        for (name, value) in members {
            if let Some(value) = value {
                rule[name] = value;
            }
        }
        let text = rule.to_string();
        let mut whole = json!({"name":"b","service":"openai","model":"m","prompt":"p","max_tokens":9,"temperature":1,"thinking":true,"context":"x/y"});
        let base = whole.to_string();
        let base = Rule::parse(&base).unwrap();
        let mut turn = settings(r#"{"name":"z","model":"before","tools":{"enabled":true,"allowed_tools":["before"]}}"#);
        let read = base.derive(&text).unwrap();
        turn.apply(&read, 5);
        whole.as_object_mut().unwrap().extend(rule.as_object().unwrap().clone());
        let TurnSettings { provider, model, max_tokens, temperature, thinking, tools, .. } = *turn;
        prop_assert_eq!(json!([provider.name(), *model, max_tokens, thinking]),
            json!([whole["service"], whole["model"], whole["max_tokens"], whole["thinking"]]));
        match (temperature, whole["temperature"].as_f64()) {
            (Some(read), Some(said)) => prop_assert!((read - said).abs() < 1e-15),
            (read, said) => prop_assert_eq!(read, said),
        }
        prop_assert_eq!(&read.prompt.to_string(), whole["prompt"].as_str().unwrap());
        prop_assert_eq!(read.context.map(|context| context.text()), whole["context"].as_str());
        prop_assert_eq!((tools.enabled, tools.max_iterations), (enabled, if iterations > 0 { iterations } else { 5 }));
        for name in allowed.iter().flatten().map(|name| name.as_str()).chain(["before", "echo", ""]) {
            let can_be_a_tool = name.len() <= limits::TOOL_NAME;
            let is_listed = allowed.as_ref().is_none_or(|list| list.iter().any(|item| item == name) && can_be_a_tool);
            prop_assert_eq!(tools.allows(["hub_x", name]), enabled && is_listed, "{}", name);
        }
    }
}

//! Response rules.

use std::string::ToString;

use serde_json::json;

use crate::chat::rule::{BUILT_IN, Rank, Rule, Service, Wanted};
use crate::limits;

#[test]
fn a_rule_says_everything() {
    let text = r#"{"name":"kitchen","service":"ollama","model":"qwen3:8b","prompt":"Say \"hi\"\n{{intent}}","max_tokens":300,
        "temperature":0.4,"thinking":false,"tools":{"enabled":true,"allowed_tools":["datetime","hub_search"],"max_iterations":3},
        "context":"recipes/*,guidelines/voice","intents":["cooking","k\u00fcche"]}"#;
    let rule = Rule::parse(text).unwrap();
    assert_eq!((rule.name.to_string(), rule.service), ("kitchen".into(), Service::Ollama));
    assert_eq!((rule.model.to_string(), rule.max_tokens), ("qwen3:8b".into(), 300));
    assert_eq!((rule.prompt.to_string(), rule.temperature), ("Say \"hi\"\n{{intent}}".into(), Some(0.4)));
    assert_eq!((rule.thinking, rule.tools.enabled, rule.tools.max_iterations), (Some(false), true, 3));
    assert!(rule.tools.allows(["hub_datetime", "datetime"]) && rule.tools.allows(["hub_search", "search"]));
    assert!(!rule.tools.allows(["hub_volume", "volume"]));
    assert!(
        rule.context.unwrap().selects("recipes", "soup") && !rule.context.unwrap().selects("hub", "about")
    );
    assert!(rule.is_for("cooking") && rule.is_for("küche") && !rule.is_for("voice"));
}

#[test]
fn what_a_rule_leaves_out_is_as_in_the_one_below() {
    let rule = Rule::parse(r#"{"name":"mine"}"#).unwrap();
    let default = Rule::parse(BUILT_IN[0]).unwrap();
    assert_eq!((rule.service, rule.model, rule.prompt), (default.service, default.model, default.prompt));
    assert_eq!((rule.max_tokens, rule.temperature), (limits::TOKENS, None));
    assert!(default.tools.enabled && rule.context == default.context);
    // Tools are there for those who say so.
    assert!(!rule.tools.enabled && !rule.tools.allows(["hub_echo", "echo"]));
    assert_eq!(rule.tools.max_iterations, limits::ITERATIONS);

    let base = Rule::parse(
        r#"{"name":"base","service":"ollama","model":"llama3.2","temperature":1,"intents":["x"]}"#,
    );
    let over =
        base.unwrap().over(r#"{"name":"over","tools":{"enabled":true},"temperature":null,"context":null}"#);
    let over = over.unwrap();
    assert_eq!((over.service, over.model.to_string()), (Service::Ollama, "llama3.2".into()));
    assert!(over.temperature.is_none() && over.context.is_none() && !over.is_for("x"));
    assert!(over.tools.allows(["hub_echo", "echo"]));
}

#[test]
fn built_in_rules_are_rules() {
    let rules = BUILT_IN.map(|text| Rule::parse(text).unwrap());
    assert_eq!(rules.map(|rule| rule.name.to_string()), ["default", "brief"]);
    for rule in rules {
        assert!(rule.tools.enabled && rule.tools.allowed.is_none());
        assert!(rule.prompt.to_string().contains("{{rag_context}}"));
    }
}

#[test]
fn no_iterations_means_the_usual_number() {
    let rule = Rule::parse(r#"{"name":"a","tools":{"enabled":true,"max_iterations":0}}"#).unwrap();
    assert_eq!(rule.tools.max_iterations, limits::ITERATIONS);
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

#[test]
fn the_rule_is_chosen_by_name_then_intent_then_default() {
    let texts = [
        json!({ "name": "lights", "intents": ["light", "voice"] }).to_string(),
        json!({ "name": "other", "intents": ["light"] }).to_string(),
        json!({ "name": "default", "model": "mine" }).to_string(),
    ];
    let chosen = |name, intent, count: usize| {
        let rules = texts[..count].iter().map(|text| Rule::parse(text).unwrap());
        let (rule, rank) = Wanted { name, intent }.choose(rules).unwrap();
        (rule.name.to_string(), rule.model.to_string(), rank)
    };
    let claude = "claude-haiku-4-5".to_string();
    let is = |name: &str, model: &str, rank| (name.to_string(), model.to_string(), rank);
    assert_eq!(chosen(Some("other"), Some("voice"), 3), is("other", &claude, Rank::Named));
    assert_eq!(chosen(Some("brief"), Some("light"), 3), is("brief", &claude, Rank::Named));
    // Of several the first; and the owner's before those built in.
    assert_eq!(chosen(None, Some("light"), 3), is("lights", &claude, Rank::Intent));
    assert_eq!(chosen(None, Some("voice"), 3), is("lights", &claude, Rank::Intent));
    assert_eq!(chosen(None, Some("voice"), 0), is("brief", &claude, Rank::Intent));
    assert_eq!(chosen(Some("gone"), Some("light"), 3), is("lights", &claude, Rank::Intent));
    assert_eq!(chosen(Some("gone"), Some("nothing"), 3), is("default", "mine", Rank::Default));
    assert_eq!(chosen(None, None, 0), is("default", &claude, Rank::Default));
}

#[test]
fn a_built_in_rule_whose_name_is_taken_is_gone() {
    let text = json!({ "name": "brief", "model": "mine" }).to_string();
    let rules = [Rule::parse(&text).unwrap()];
    let (rule, rank) = Wanted { name: None, intent: Some("voice") }.choose(rules.into_iter()).unwrap();
    assert_eq!((rule.name.to_string(), rank), ("default".into(), Rank::Default));
}

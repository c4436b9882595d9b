//! A model with arbitrary replies: the turn goes on or ends, and the next question is valid for its provider, with one
//! result for each call.
#![no_main]

use std::sync::LazyLock;

use hub_core::chat::history::EarlierTurns;
use hub_core::chat::provider::{self, Ask};
use hub_core::chat::{Context, History, Provider, Rule, Turn, TurnEvent, TurnSettings, TurnStep};
use hub_core::json::Writer;
use hub_core::limits::{HISTORY, LLM_REPLY, MQTT_SEND, REPLY};
use hub_core::tool::Registry;
use hub_core::tools::TOOLS;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use support::input::stretch;

/// The separator of replies, a byte that UTF-8 never contains.
const BETWEEN: u8 = 0xFE;

const SHORT: &str = r#"{"success":true}"#;
static LONG: LazyLock<String> =
    LazyLock::new(|| format!(r#"{{"success":true,"result":"{}"}}"#, "é\n".repeat(700)));

fuzz_target!(init: support::stack::guard(), |input: &[u8]| {
    let Some((first, rest)) = input.split_first() else { return };
    let service = Provider::ALL[usize::from(first % 3)];
    let text = format!(
        r#"{{"name":"fuzz","service":"{}","model":"m","prompt":"p","tools":{{"enabled":{},"max_iterations":{}}}}}"#,
        service.name(),
        first & 4 == 0,
        first >> 3 & 15,
    );
    let mut settings = TurnSettings::new();
    settings.apply(&Rule::parse(&text).expect("a rule"), 5);
    settings.system = "p".try_into().expect("room");
    let registry = Box::new(Registry::new());
    for tool in TOOLS.iter().take(6) {
        registry.register(tool).expect("room");
    }
    let mut history = Box::new(History::new());
    let mut turn = None;
    for reply in rest.split(|byte| *byte == BETWEEN).take(24) {
        let reply = stretch(reply, LLM_REPLY);
        let mut context = Context { settings: &mut settings, registry: &registry, history: &mut history };
        let turn_now = turn.get_or_insert_with(|| Turn::start(&mut context, &"Go on").expect("it starts"));
        let mut step = turn_now.on(TurnEvent::Reply(provider::read(service, &reply)), &mut context);
        let mut runs = 0;
        let is_over = loop {
            match step {
                TurnStep::Run => {
                    runs += 1;
                    assert!(runs <= 8, "more calls than there can be at once");
                    let call = turn_now.call(context.history).expect("a call");
                    // Some results are longer than others.
                    let result = if call.name.len() % 2 == 0 { SHORT } else { &LONG };
                    step = turn_now.on(TurnEvent::ToolDone { result, is_error: runs % 3 == 0 }, &mut context);
                }
                TurnStep::Ask => break false,
                TurnStep::Finish(ending) => {
                    let mut buffer = [0; REPLY];
                    let mut writer = Writer::new(&mut buffer);
                    writer.object(|out| ending.write(context.settings, context.history, 64, out));
                    let length = writer.finish().expect("it fits");
                    assert!(length + 64 <= REPLY + 2);
                    serde_json::from_slice::<Value>(&buffer[..length]).expect("JSON");
                    break true;
                }
                TurnStep::Wait => panic!("the turn waited for that"),
            }
        };
        assert!(history.used() <= HISTORY);
        if is_over {
            turn = None;
        } else {
            for earlier in [EarlierTurns::Whole, EarlierTurns::Summaries, EarlierTurns::Words] {
                is_asked(earlier, &settings, &history, &registry);
            }
        }
    }
});

/// Checks the next question to the model.
fn is_asked(earlier: EarlierTurns, settings: &TurnSettings, history: &History, registry: &Registry) {
    let mut buffer = vec![0; MQTT_SEND];
    let mut writer = Writer::new(&mut buffer);
    let ask =
        Ask { tools: Some(registry), has_examples: false, earlier, ..Ask::new(settings, history, registry) };
    let left_out = provider::write(&ask, &mut writer).expect("it fits without tools");
    assert!(left_out.is_empty() || history.used() > HISTORY / 4, "few words, and no room for tools");
    let length = writer.finish().expect("it fits");
    let body: Value = serde_json::from_slice(&buffer[..length]).expect("JSON");
    let messages = body["messages"].as_array().expect("messages");
    // In every format, each call has an id, and one result after it.
    let mut called = Vec::new();
    for message in messages {
        let blocks = message["content"].as_array().into_iter().flatten();
        for block in blocks.chain(message["tool_calls"].as_array().into_iter().flatten()) {
            if block["type"] == "tool_use" || block["function"].is_object() {
                called.push(block["id"].clone());
            } else if block["type"] == "tool_result" {
                assert_eq!(called.remove(0), block["tool_use_id"]);
            }
        }
        if message["role"] == "tool" {
            let id = called.remove(0);
            assert!(settings.provider == Provider::Ollama || id == message["tool_call_id"], "{body}");
        }
        if message["role"] == "user" && !message["content"].is_array() {
            assert!(called.is_empty(), "{body}");
        }
    }
    assert!(called.is_empty(), "{body}");
}

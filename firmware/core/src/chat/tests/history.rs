//! What a history keeps, evicts and cuts.

use std::boxed::Box;
use std::string::{String, ToString};
use std::vec::Vec;
use std::{format, vec};

use proptest::prelude::*;
use serde_json::json;

use super::{read, reply_body};
use crate::chat::history::{EarlierTurns, HistoryFull, Message, NoResult};
use crate::chat::{History, ModelText, Provider};
use crate::limits;
use crate::text::MARK;

/// A history as lines of text, to compare.
fn shown(history: &History) -> Vec<String> {
    let mut shown = Vec::new();
    for message in history.messages_after(0, EarlierTurns::Whole) {
        match message {
            Message::User(text) => shown.push(format!("user: {text}")),
            Message::Assistant(text) => shown.push(format!("said: {text}")),
            Message::Round(round) => {
                shown.push(format!("round: {}", round.text.unwrap_or("-")));
                shown.extend(round.calls().map(|call| {
                    format!("{} {} {} -> {}", call.id, call.name, call.arguments().text(), call.result_text())
                }));
            }
        }
    }
    shown
}

/// Adds the calls of a model's reply.
fn request(
    history: &mut History,
    iteration: u8,
    service: Provider,
    body: &str,
) -> Result<usize, HistoryFull> {
    let reply = read(service, body);
    history.add_calls(iteration, reply.content, reply.calls())
}

#[test]
fn a_conversation_is_kept_in_order() {
    let mut history = History::new();
    history.begin(&"Light on").unwrap();
    let calls = [("a", "on", json!({"lamp": 1})), ("b", "on", json!({"lamp": 2}))];
    let body = reply_body(Provider::Anthropic, Some("One moment"), &calls);
    request(&mut history, 0, Provider::Anthropic, &body).unwrap();
    assert_eq!(history.pending().unwrap().id, "a");
    history.set_result("yes", false);
    assert_eq!(history.pending().unwrap().id, "b");
    history.set_result("no", true);
    assert!(history.pending().is_none());
    let body = reply_body(Provider::Anthropic, None, &[("c", "off", json!({}))]);
    request(&mut history, 1, Provider::Anthropic, &body).unwrap();
    history.set_result("", false);
    history.set_answer(&"Done");
    history.begin(&"Thanks").unwrap();
    assert_eq!(
        shown(&history),
        [
            "user: Light on",
            "round: One moment",
            "a on {\"lamp\":1} -> yes",
            "b on {\"lamp\":2} -> no",
            "round: -",
            "c off {} -> ",
            "said: Done",
            "user: Thanks",
        ]
    );
}

#[test]
fn ids_are_made_where_none_is_or_where_providers_refuse_it() {
    let mut history = History::new();
    history.begin(&"Go").unwrap();
    let body = reply_body(Provider::Ollama, None, &[("", "a", json!({})), ("", "b", json!({}))]);
    request(&mut history, 0, Provider::Ollama, &body).unwrap();
    let odd = ["call_2", "call_4", "with space", "", &"x".repeat(65), "ü", "call_2", "fine-1"];
    let calls = odd.map(|id| (id, "c", json!({})));
    request(&mut history, 1, Provider::OpenAi, &reply_body(Provider::OpenAi, None, &calls)).unwrap();
    while history.pending().is_some() {
        history.set_result("{}", false);
    }
    let ids: Vec<_> = history.calls().map(|call| call.id.to_string()).collect();
    let made =
        ["call_1", "call_2", "call_3", "call_4", "call_5", "call_6", "call_7", "call_8", "call_9", "fine-1"];
    assert_eq!(ids, made);
}

#[test]
fn names_that_providers_refuse_are_put_right() {
    let mut history = History::new();
    history.begin(&"Go").unwrap();
    let long = "n".repeat(100);
    let calls = [("1", "hub.echo now", json!({})), ("2", "", json!({})), ("3", long.as_str(), json!({}))];
    request(&mut history, 0, Provider::OpenAi, &reply_body(Provider::OpenAi, None, &calls)).unwrap();
    while history.pending().is_some() {
        history.set_result("{}", false);
    }
    let names: Vec<_> = history.calls().map(|call| call.name.to_string()).collect();
    assert_eq!(names, ["hub_echo_now", "_", &long[..64]]);
}

#[test]
fn arguments_that_are_no_object_are_quoted_in_one() {
    let long = format!("{{\"text\": \"{}", "ä\"\n".repeat(200));
    for (arguments, kept, is_invalid) in [
        (json!("{\"a\": 1}"), json!({"a": 1}), false),
        (json!(" "), json!({}), false),
        (json!(null), json!({}), false),
        (json!("{\"a\":"), json!({"invalid_arguments": "{\"a\":"}), true),
        (json!("[1]"), json!({"invalid_arguments": "[1]"}), true),
        (json!([1]), json!({"invalid_arguments": "[1]"}), true),
        (json!("a\u{1}\t\r\\"), json!({"invalid_arguments": "a\u{1}\t\r\\"}), true),
        (json!(long), json!(null), true),
    ] {
        let mut history = History::new();
        history.begin(&"Go").unwrap();
        let function = json!({"name": "echo", "arguments": arguments});
        let message = json!({"content": null, "tool_calls": [{"id": "1", "function": function}]});
        let body = json!({"choices": [{"message": message}]}).to_string();
        request(&mut history, 0, Provider::OpenAi, &body).unwrap();
        let call = history.pending().unwrap();
        let found: serde_json::Value = serde_json::from_str(call.arguments().text()).unwrap();
        assert_eq!(call.is_invalid, is_invalid, "{arguments}");
        match found["invalid_arguments"].as_str().filter(|_| kept.is_null()) {
            Some(quoted) => assert!(long.starts_with(quoted.strip_suffix(MARK).unwrap())),
            None => assert_eq!(found, kept),
        }
    }
}

#[test]
fn results_are_dropped_first_then_calls_then_words() {
    let mut history = History::new();
    let turn = |history: &mut History, number: usize| {
        history.begin(&format!("question {number} {}", "q".repeat(300))).unwrap();
        let calls = [("", "echo", json!({"n": number}))];
        request(history, 0, Provider::Ollama, &reply_body(Provider::Ollama, None, &calls)).unwrap();
        let result = json!({"success": true, "result": "r".repeat(600), "message": format!("done {number}")});
        history.set_result(&result.to_string(), false);
        history.set_answer(&format!("answer {number}"));
    };
    let mut most = 0;
    for number in 0..50 {
        turn(&mut history, number);
        let lines = shown(&history);
        // The detail kept of each turn: 0 for words, 1 for the call with a summary, 2 for everything.
        let mut details = Vec::new();
        for line in &lines {
            match line {
                line if line.starts_with("user: ") => details.push(0),
                line if line.contains("-> {") => {
                    *details.last_mut().unwrap() = if line.contains("rrr") { 2 } else { 1 };
                }
                _ => {}
            }
        }
        assert!(details.is_sorted() && *details.last().unwrap() == 2, "{lines:#?}");
        assert!(lines[0].starts_with(&format!("user: question {} ", number + 1 - details.len())), "in order");
        assert!(lines.last().unwrap().ends_with(&format!("answer {number}")));
        most = most.max(details.len());
    }
    // This many turns fit without their calls.
    assert!(most > 11, "{most}");
}

#[test]
fn a_message_that_can_never_fit_drops_nothing() {
    let mut history = History::new();
    history.begin(&"Hello").unwrap();
    history.set_answer(&"Hi");
    let before = shown(&history);
    assert_eq!(history.begin(&"x".repeat(limits::HISTORY)), Err(HistoryFull));
    assert_eq!(history.begin(&"x".repeat(100_000)), Err(HistoryFull));
    assert_eq!(shown(&history), before);
    assert_eq!(history.begin(&"x".repeat(limits::HISTORY - 200)), Ok(()));
}

#[test]
fn only_calls_that_fit_are_added() {
    let mut history = History::new();
    history.begin(&"Go").unwrap();
    let long = "x".repeat(2000);
    let calls = ["a", "b", "c", "d"].map(|id| (id, "echo", json!({"text": long})));
    let body = reply_body(Provider::Anthropic, Some("Well"), &calls);
    assert_eq!(request(&mut history, 0, Provider::Anthropic, &body), Ok(2));
    history.set_result("{}", false);
    history.set_result("{}", false);
    let taken: Vec<_> = history.calls().map(|call| call.id.to_string()).collect();
    assert_eq!((taken, history.omitted().not_run), (vec!["a".into(), "b".into()], 2));

    // If not even the first call fits, nothing is added.
    let mut history = History::new();
    let message = "x".repeat(4900);
    history.begin(&message).unwrap();
    let body =
        reply_body(Provider::Anthropic, Some("Well"), &[("a", "echo", json!({"text": "y".repeat(200)}))]);
    assert_eq!(request(&mut history, 0, Provider::Anthropic, &body), Err(HistoryFull));
    assert_eq!(shown(&history), [format!("user: {message}")]);
}

#[test]
fn earlier_rounds_keep_summaries() {
    let mut history = History::new();
    history.begin(&"Go").unwrap();
    let of = |history: &History, place: usize| {
        let result = history.calls().nth(place).unwrap().result_text().to_string();
        serde_json::from_str::<serde_json::Value>(&result).unwrap()
    };
    for iteration in 0..4u8 {
        let calls = [("", "a", json!({})), ("", "b", json!({}))];
        request(&mut history, iteration, Provider::Ollama, &reply_body(Provider::Ollama, None, &calls))
            .unwrap();
        let said = json!({"success": true, "result": "ä".repeat(800), "message": "That is done"});
        history.set_result(&said.to_string(), false);
        history.set_result(&json!({"success": true, "result": ["ö".repeat(400), 7]}).to_string(), false);
        let last = usize::from(iteration) * 2;
        assert!(of(&history, last)["result"].as_str().unwrap().starts_with("ää"));
        assert!(of(&history, last + 1)["result"][0].as_str().unwrap().starts_with("öö"));
    }
    assert_eq!(of(&history, 0), json!({"success": true, "message": "That is done"}));
    let cut = of(&history, 1)["result"][0].as_str().unwrap().to_string();
    assert!(cut.starts_with("öö") && cut.ends_with(MARK), "{cut}");
    history.set_answer(&"w".repeat(10_000));
    assert!(shown(&history).last().unwrap().ends_with(MARK));
}

#[test]
fn long_results_of_one_round_share_the_room() {
    let mut history = History::new();
    history.begin(&"Go").unwrap();
    let calls: Vec<_> = (0..8).map(|_| ("", "a", json!({}))).collect();
    request(&mut history, 0, Provider::Ollama, &reply_body(Provider::Ollama, None, &calls)).unwrap();
    for _ in 0..8 {
        let rows: Vec<_> = (0..60).map(|row| json!({"row": row, "on": true})).collect();
        history.set_result(&json!({"success": true, "result": rows, "tool_name": "a"}).to_string(), false);
    }
    let mut cut = 0;
    for call in history.calls() {
        let result: serde_json::Value = serde_json::from_str(call.result_text()).unwrap();
        assert_eq!((&result["success"], &result["tool_name"]), (&json!(true), &json!("a")));
        let rows = result["result"].as_array().unwrap();
        assert_eq!(rows[0], json!({"row": 0, "on": true}));
        let is_cut = rows.last().unwrap().to_string().contains(MARK);
        assert!(is_cut || rows.len() == 60, "{rows:?}");
        cut += usize::from(is_cut);
    }
    assert!(cut >= 7, "{cut}");
}

#[test]
fn long_results_are_cut_before_earlier_words_are_evicted() {
    for count in 1..=4 {
        let mut history = History::new();
        let words: Vec<_> = (0..5).map(|turn| format!("{turn} {}", "word ".repeat(40))).collect();
        for words in &words {
            history.begin(words).unwrap();
            history.set_answer(words);
        }
        history.begin(&"Go").unwrap();
        let calls = vec![("", "a", json!({})); count];
        request(&mut history, 0, Provider::Ollama, &reply_body(Provider::Ollama, None, &calls)).unwrap();
        for _ in 0..count {
            let result = json!({"success": true, "result": "r".repeat(2600)});
            history.set_result(&result.to_string(), false);
        }
        let lines = shown(&history);
        let kept = words.iter().filter(|words| lines.contains(&format!("user: {words}"))).count();
        assert_eq!(kept, 5, "{lines:#?}");
        for call in history.calls() {
            assert!(call.result_text().len() >= 450, "{count}: {}", call.result_text());
        }
    }
}

#[test]
fn a_remark_evicts_no_words_and_removes_no_calls() {
    let mut history = History::new();
    history.begin(&"w".repeat(1000)).unwrap();
    history.set_answer(&"w".repeat(1000));
    history.begin(&"Go").unwrap();
    for (round, remark) in ["", "", "", "", &"r".repeat(2500)].into_iter().enumerate() {
        let calls = vec![("", "echo", json!({"text": "lamp"})); 8];
        let body = reply_body(Provider::Ollama, Some(remark), &calls);
        assert_eq!(request(&mut history, round as u8, Provider::Ollama, &body), Ok(0));
        (0..8).for_each(|_| history.set_result(r#"{"success":true}"#, false));
    }
    assert_eq!((history.turns(), history.calls().count()), (2, 40));
}

const INTERRUPTED: NoResult =
    NoResult { error: "interrupted", error_type: "outcome_unknown", milliseconds: 7 };

#[test]
fn a_turn_that_fails_is_forgotten_unless_something_was_done() {
    let mut history = History::new();
    history.begin(&"First").unwrap();
    history.set_answer(&"");
    history.begin(&"Second").unwrap();
    history.abort(None, "sorry");
    assert_eq!(shown(&history), ["user: First", "said: (nothing said)"]);

    history.begin(&"Third").unwrap();
    let calls = [("a", "x", json!({})), ("b", "y", json!({})), ("c", "z", json!({}))];
    request(&mut history, 0, Provider::OpenAi, &reply_body(Provider::OpenAi, None, &calls)).unwrap();
    history.set_result("fine", false);
    history.abort(Some(INTERRUPTED), "sorry");
    let not_run = r#"{"success":false,"error_type":"cancelled","error":"Not run: the turn ended before","tool_name":"z","execution_time_ms":0}"#;
    let interrupted = r#"{"success":false,"error_type":"outcome_unknown","error":"interrupted","tool_name":"y","execution_time_ms":7}"#;
    assert_eq!(
        shown(&history)[2..],
        [
            "user: Third".to_string(),
            "round: -".into(),
            "a x {} -> fine".into(),
            format!("b y {{}} -> {interrupted}"),
            format!("c z {{}} -> {not_run}"),
            "said: sorry".into(),
        ]
    );
    history.clear();
    assert!(history.used() == 0 && history.messages_after(0, EarlierTurns::Whole).next().is_none());
}

/// One thing that happens to a history.
#[derive(Clone, Debug)]
enum Act {
    Begin(usize),
    /// A round: the words beside it, and the length of the arguments of each call.
    Request(usize, Vec<usize>),
    Answer(usize),
    Say(usize),
    GiveUp(bool),
}

fn acts() -> impl Strategy<Value = Vec<Act>> {
    let length = || prop_oneof![4 => 0..60usize, 2 => 0..800usize, 1 => 0..6000usize];
    let act = prop_oneof![
        2 => length().prop_map(Act::Begin),
        3 => (length(), prop::collection::vec(length(), 1..8)).prop_map(|(text, calls)| Act::Request(text, calls)),
        8 => length().prop_map(Act::Answer),
        2 => length().prop_map(Act::Say),
        1 => any::<bool>().prop_map(Act::GiveUp),
    ];
    prop::collection::vec(act, 1..60)
}

/// A unique text of about this length, with characters of all widths.
fn text(length: usize, number: usize) -> String {
    format!("{number}:{}", "aä€😀\"".repeat(length / 11))
}

proptest! {
    #[test]
    fn nothing_is_split_or_lost_but_whole_turns(acts in acts()) {
        let mut history = Box::new(History::new());
        // The messages of people, and the results, which must come back.
        let mut begun: Vec<String> = vec![];
        let mut results: Vec<(String, String)> = vec![];
        let mut is_open = false;
        let mut iteration = 0;
        for (number, act) in acts.into_iter().enumerate() {
            let pending = history.pending().map(|call| call.id.to_string());
            match act {
                Act::Begin(length) => {
                    let message = text(length, number);
                    match history.begin(&message) {
                        Ok(()) => {
                            begun.push(message);
                            is_open = true;
                            iteration = 0;
                        }
                        Err(HistoryFull) => prop_assert!(message.len() + 150 > limits::HISTORY),
                    }
                }
                // The iteration counts up with each round, as in a turn.
                Act::Request(beside, calls) if is_open && pending.is_none() => {
                    let calls: Vec<_> = calls.iter().map(|length| json!({ "t": text(*length, number) })).collect();
                    let calls: Vec<_> = calls.into_iter().map(|arguments| ("", "echo", arguments)).collect();
                    let body = reply_body(Provider::OpenAi, Some(&text(beside, number)), &calls);
                    let before = history.messages_after(0, EarlierTurns::Whole).filter(|message| matches!(message, Message::Round(_))).count();
                    match request(&mut history, iteration, Provider::OpenAi, &body) {
                        Ok(_) => prop_assert!(history.pending().is_some()),
                        Err(HistoryFull) => {
                            let after = history.messages_after(0, EarlierTurns::Whole).filter(|message| matches!(message, Message::Round(_)));
                            prop_assert!(after.count() <= before && history.pending().is_none());
                        }
                    }
                    iteration += 1;
                }
                Act::Answer(length) => {
                    let result = json!({ "success": true, "result": text(length, number) }).to_string();
                    history.set_result(&result, false);
                    if let Some(id) = pending {
                        results.push((id, result));
                    }
                }
                Act::Say(length) if pending.is_none() => {
                    history.set_answer(&text(length, number));
                    is_open = false;
                }
                Act::GiveUp(running) => {
                    history.abort((running && pending.is_some()).then_some(INTERRUPTED), "sorry");
                    is_open = false;
                }
                _ => {}
            }
            prop_assert!(history.used() <= limits::HISTORY);
            check(&history, &begun, &results, is_open)?;
        }
    }
}

fn check(
    history: &History,
    begun: &[String],
    results: &[(String, String)],
    is_open: bool,
) -> Result<(), TestCaseError> {
    let messages: Vec<_> = history.messages_after(0, EarlierTurns::Whole).collect();
    let mut bytes = 0;
    let mut last = None;
    let mut ids = std::collections::HashSet::new();
    for (place, message) in messages.iter().enumerate() {
        let is_last = place + 1 == messages.len();
        match message {
            Message::User(text) => {
                // Aborted turns are missing, and the others are in order.
                let position = begun.iter().position(|begun| begun == text);
                prop_assert!(position.is_some() && position > last, "a message that nobody said: {text}");
                last = position;
                let after = messages.get(place + 1);
                prop_assert!(!matches!(after, Some(Message::User(_))), "an unanswered message");
                prop_assert!(after.is_some() || is_open);
                bytes += text.len();
            }
            Message::Assistant(text) => {
                prop_assert!(!text.trim().is_empty());
                prop_assert!(place > 0 && !matches!(messages[place - 1], Message::Assistant(_)));
                bytes += text.len();
            }
            Message::Round(round) => {
                prop_assert!(place > 0 && !matches!(messages[place - 1], Message::Assistant(_)));
                let calls: Vec<_> = round.calls().collect();
                prop_assert!((1..=limits::CALLS_AT_ONCE).contains(&calls.len()));
                for call in calls {
                    prop_assert!(ids.insert(call.id));
                    // Arguments that are too long are kept like invalid ones.
                    let is_long = call.arguments().get("invalid_arguments").is_some();
                    prop_assert_eq!(call.is_invalid, is_long);
                    prop_assert!(is_long || call.arguments().get("t").is_some());
                    prop_assert!(call.result.is_some() || (is_last && is_open));
                    let given = results.iter().rev().find(|(id, _)| id == call.id).map(|(_, result)| result);
                    if let (Some(result), Some(given)) = (call.result, given) {
                        let kept: serde_json::Value = serde_json::from_str(result.text).expect("JSON");
                        let given: serde_json::Value = serde_json::from_str(given).unwrap();
                        prop_assert_eq!(&kept["success"], &given["success"]);
                        if let Some(kept) = kept["result"].as_str() {
                            let whole = given["result"].as_str().unwrap();
                            let beginning = kept.split(MARK).next().unwrap_or_default();
                            prop_assert!(
                                kept == whole || kept.ends_with(MARK) && whole.starts_with(beginning),
                                "{kept}"
                            );
                        }
                    }
                    bytes += call.id.len() + call.name.len() + call.arguments().text().len();
                    bytes += call.result.map_or(0, |result| result.text.len());
                }
            }
        }
    }
    prop_assert!(bytes <= history.used());
    if is_open {
        prop_assert_eq!(last, Some(begun.len() - 1), "the current turn is there");
    }
    Ok(())
}

#[test]
fn content_without_a_trace_is_blank() {
    assert!(ModelText::NONE.is_blank());
}

#[test]
fn a_history_is_its_bytes_and_little_else() {
    assert!(size_of::<History>() <= limits::HISTORY + 40);
}

//! The reply at the end of a turn.

use std::format;
use std::string::ToString;
use std::vec;

use serde_json::{Value, json};

use super::{Todo, World};
use crate::chat::{Ending, FinishReason, ModelText, Provider, TurnEvent, TurnFailure};
use crate::limits;
use crate::text::MARK;

#[test]
fn a_reply_fits_whatever_is_in_it() {
    let mut world =
        World::new(Provider::Anthropic, json!({"tools": {"enabled": true, "max_iterations": 16}}));
    for room in [600, 700, 900, 1500, 2000, 4096, 20_000] {
        world.room = room;
        world.says("Go");
        for round in 0..6 {
            let calls = vec![("", "hub_echo", json!({"text": "\n".repeat(10 * round)})); 4];
            world.hears(Some("Moment"), &calls);
            for call in 0..4 {
                world.done(json!({"success": true, "result": "\"ä".repeat(60 * call)}));
            }
        }
        assert_eq!(world.hears(Some(&"\"Long\"\n".repeat(900)), &[]), Todo::Finish);
        let reply = world.reply();
        let calls = reply["tool_calls"].as_array().unwrap();
        let left_out = reply.get("tool_calls_left_out").map_or(0, |count| count.as_u64().unwrap());
        assert_eq!(calls.len() as u64 + left_out, 24, "{room}");
        let content = reply["content"].as_str().unwrap();
        assert!(room > 10_000 || content.ends_with(MARK), "{room}: {content}");
        assert!(reply.to_string().len() <= room - limits::TRANSACTION, "{room}: room for a transaction");
        for call in calls {
            assert!(call["iteration"].as_u64().unwrap() < 6 && call["tool"] == "hub_echo");
            let (params, result) = (&call["params"], &call["result"]);
            assert!(params.is_object() || params.as_str().unwrap().ends_with(MARK), "{params}");
            assert!(result.is_object() || result.as_str().unwrap().trim_end().ends_with(MARK), "{result}");
        }
        let some = match room {
            0..1500 => 0..=24,
            1500..10_000 => 8..=21,
            _ => 0..=0,
        };
        assert!(some.contains(&left_out), "{room}: {left_out}");
    }
}

#[test]
fn a_long_answer_leaves_room_for_what_the_caller_adds() {
    for length in [3000, 3900, 4096, 6000] {
        let mut world = World::new(Provider::Ollama, json!({}));
        world.says("Go");
        world.hears(Some(&"x".repeat(length)), &[]);
        assert!(world.reply().to_string().len() <= world.room - limits::TRANSACTION - 20, "{length}");
        assert_eq!(world.reply()["content"].as_str().unwrap().ends_with(MARK), length > 3800);
    }
}

#[test]
fn what_the_person_hears_is_the_answer() {
    assert_eq!(Ending::OutOfIterations.to_string(), "I reached the maximum number of tool calls...");
    assert_eq!(Ending::Failed(TurnFailure::TimedOut).to_string(), "Sorry, that took too long.");
    let finish = FinishReason::Refused("refusal");
    let refused = Ending::Failed(TurnFailure::NoAnswer { finish, words: ModelText::NONE });
    let words = "I encountered an issue... My language model refused to answer that.";
    assert_eq!(refused.to_string(), words);
}

/// However much was done, why there is no answer is said too.
#[test]
fn what_was_done_leaves_room_for_why_the_turn_ended() {
    for room in [600, 700, 900, 1500, 2000, 4096] {
        let mut world =
            World::new(Provider::OpenAi, json!({"tools": {"enabled": true, "max_iterations": 16}}));
        world.room = room;
        world.says("Go");
        for round in 0..5 {
            world.hears(None, &vec![("", "hub_echo", json!({})); 4]);
            for call in 0..4 {
                let message = format!("{round}{call} \"{}", "ä\n".repeat(90));
                world.done(json!({"success": true, "message": message}));
            }
        }
        assert_eq!(world.on(TurnEvent::TimedOut), Todo::Finish);
        let words = world.reply()["message"].as_str().unwrap();
        assert!(words.ends_with(" Sorry, that took too long."), "{room}: {words}");
        assert!(words.starts_with("00 \"ä") && (room > 1500 || words.contains(MARK)), "{room}: {words}");
        assert!(world.reply().to_string().len() <= room - limits::TRANSACTION, "{room}");
    }
}

/// People hear the tools' own words and numbers, never names of tools.
#[test]
fn report_names_no_tools() {
    let said = |results: &[Value]| {
        let mut world = World::new(Provider::OpenAi, json!({}));
        world.says("Go");
        world.hears(None, &vec![("", "hub_echo", json!({})); results.len()]);
        for result in results {
            world.done(result.clone());
        }
        if world.turn.is_some() {
            world.on(TurnEvent::TimedOut);
        }
        world.reply()["message"].as_str().unwrap().replace(" Sorry, that took too long.", "")
    };
    let done = json!({"success": true, "result": {"on": true}});
    let unknown = json!({"success": false, "error": "'hub_echo' …", "error_type": "outcome_unknown", "tool_name": "hub_echo"});
    let words = json!({"success": true, "message": "The light is on"});
    let large =
        json!({"success": false, "error": "'hub_echo' …", "error_type": "too_large", "message": "Too long."});
    let failed = json!({"success": false, "error": "no", "error_type": "execution_error", "message": "No."});
    for (results, expected) in [
        (vec![done.clone(), failed.clone()], "I completed one step."),
        (vec![done.clone(), failed.clone(), done.clone()], "I completed 2 steps."),
        (vec![unknown.clone(), failed.clone()], "I do not know whether one step was completed."),
        (
            vec![unknown.clone(), unknown.clone(), failed.clone()],
            "I do not know whether 2 steps were completed.",
        ),
        (
            vec![done.clone(), unknown.clone(), failed.clone()],
            "I completed one step. I do not know whether one more step was completed.",
        ),
        (
            vec![done.clone(), words.clone(), large, words, done, unknown.clone(), unknown, failed],
            "The light is on. Too long. The light is on. I completed 2 more steps. \
             I do not know whether 2 more steps were completed.",
        ),
    ] {
        assert_eq!(said(&results), expected);
    }
}

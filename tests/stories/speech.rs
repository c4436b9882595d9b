//! People speak to the hub through satellites, which say its answers aloud.

use world::model::{calls, stop};
use world::prelude::*;

/// spec: gateway-17
#[test]
fn what_is_heard_is_answered_aloud_if_it_was_meant_for_the_hub() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let hears = |text: &str| {
            let request = json!({ "text": text, "satellite": "den", "conversation": "den" });
            person.sends("transcript", request);
        };
        hears("so I told her to turn it off");
        hears("Hey, Hearthwave! What is 6 times 7?");
        let reply = person.gets("transcript").await;
        assert_eq!(reply, json!({ "success": true, "addressed": false }));
        let question = model.hears_question().await;
        assert_eq!(question.json()["messages"][0]["content"], "What is 6 times 7?");
        model.answers(&question, calls(&[("hub_math_eval", json!({ "expression": "6*7" }))]));
        let question = model.hears_question().await;
        let result = question.json()["messages"][2]["content"][0]["content"].to_string();
        assert!(result.contains("42") && result.contains("hub_math_eval"), "{result}");
        assert_logged("tool hub_math_eval {\"expression\":\"6*7\"} in ");
        model.answers(&question, stop("It is 42."));
        let speech = person.hears("speech").await.json();
        assert_eq!(speech, json!({ "text": "It is 42.", "conversation": "den", "satellite": "den" }));
        // Transcribers that do not know the name write it in two words.
        person.sends("transcript", json!({ "text": "Hey hearth wave, and 7 times 6?", "satellite": "den" }));
        let question = model.serves(stop("The same.")).await;
        let messages = question.json()["messages"].as_array().expect("messages").clone();
        assert_eq!(messages.last().expect("the last")["content"], "and 7 times 6?");
        person.hears("speech").await;
        // Other wake phrases, by a setting.
        person.sets("wake_phrases", json!("computer, hallo Haus")).await;
        person.sends("transcript", json!({ "text": "HALLO, haus: é?" }));
        assert_eq!(model.hears_question().await.json()["messages"][0]["content"], "é?");
    });
}

/// A wake phrase alone, and every failure, gets a spoken answer.
#[test]
fn satellites_always_get_words_to_say() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let say = |text: &str| json!({ "text": text, "satellite": { "id": "den", "room": "Den" } });
        person.sends("transcript", say("Hey Hearthwave!"));
        let speech = person.hears("speech").await.json();
        let expected =
            json!({ "text": "Yes?", "conversation": "den", "satellite": { "id": "den", "room": "Den" } });
        assert_eq!(speech, expected);
        // An empty answer of the model.
        person.sends("transcript", say("Hearthwave, hm."));
        model.serves(json!({ "content": [], "stop_reason": "end_turn" })).await;
        assert_eq!(person.hears("speech").await.json()["text"], "Sorry, my language model gave no answer.");
        // An invalid request is refused to the caller.
        let wrong = json!({ "text": "Hearthwave, hello", "conversation": 5 });
        let reply = person.asks("transcript", wrong).await;
        assert_eq!(reply["error"], "'conversation' must be a string");
        // The last question of that room is still being answered.
        person.sends("transcript", say("Hearthwave, what is love?"));
        let question = model.hears_question().await;
        person.sends("transcript", say("Hearthwave, are you there?"));
        let speech = person.hears("speech").await.json();
        assert_eq!(speech["text"], "One moment, I am still busy with your last question.");
        // A very long answer is cut, not lost.
        model.answers(&question, stop(&"é\n".repeat(1800)));
        let speech = person.hears("speech").await;
        assert!(speech.payload.len() > 4000, "{}", speech.payload.len());
        let text = speech.json()["text"].as_str().expect("words").to_owned();
        assert!(text.starts_with("é\né\n") && text.ends_with("[cut: the rest did not fit]"), "{text}");
        for (said, words) in [
            (json!({ "text": "hearthwave @nope" }), "Sorry, I do not know that prompt."),
            (
                json!({ "text": "hearthwave hi", "rule": "nope" }),
                "Sorry, something is wrong with my settings.",
            ),
        ] {
            person.sends("transcript", said);
            let speech = person.hears("speech").await.json();
            assert_eq!(speech, json!({ "text": words, "conversation": "default" }));
        }
        assert_logged("what was heard is not answered: There is no such rule");
    });
}

/// Each satellite has its own conversation, and speech its own rule.
#[test]
fn every_room_goes_on_with_its_own_conversation() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        for satellite in ["den", "kitchen"] {
            person.sends("transcript", json!({ "text": "Hearthwave, hello", "satellite": satellite }));
        }
        // Both at once, without waiting for each other.
        let questions = [model.hears_question().await, model.hears_question().await];
        for question in &questions {
            let body = question.json();
            assert_eq!(count(&body["messages"]), 1);
            assert_contains(&body["system"], "one short sentence");
            model.answers(question, stop("Hello."));
        }
        let mut rooms = [person.hears("speech").await, person.hears("speech").await]
            .map(|speech| speech.json()["conversation"].to_string());
        rooms.sort();
        assert_eq!(rooms, ["\"den\"", "\"kitchen\""]);
        person.sends("transcript", json!({ "text": "Hearthwave, and now?", "satellite": "den" }));
        assert_eq!(count(&model.hears_question().await.json()["messages"]), 3);
        // The member `satellite` has a maximum size.
        let long = json!({ "text": "hearthwave hi", "satellite": "s".repeat(300) });
        let reply = person.asks("transcript", long).await;
        assert_eq!(reply["error"], "'satellite' is too long; at most 256 bytes are possible");
    });
}

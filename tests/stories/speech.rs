//! People speak to the hub through satellites, which say its answers aloud.

use serde_json::{Value, json};

use crate::model::{QUESTION, a_home, calls, stop};
use crate::world::{Person, Request, World, log_text};

const SPEECH: &str = "hearthwave/story/speech";

impl Person {
    fn is_overheard(&self, request: &Value) {
        self.asks(Request::new("transcript", request.to_string().as_bytes()));
    }
}

/// spec: gateway-17
#[tokio::test(start_paused = true)]
async fn what_is_heard_is_answered_aloud_if_it_was_meant_for_the_hub() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            let hears = |text: &str| {
                let request = json!({ "text": text, "satellite": "den", "conversation": "den" });
                person.asks(Request::new("transcript", request.to_string().as_bytes()));
            };
            hears("so I told her to turn it off");
            hears("Hey, Hearthwave! What is 6 times 7?");
            let reply = person.hears("hearthwave/story/response/transcript").await.json();
            assert_eq!(reply, json!({ "success": true, "addressed": false }));
            let question = model.hears(QUESTION).await;
            assert_eq!(question.json()["messages"][0]["content"], "What is 6 times 7?");
            model.answers(&question, &calls(&[("hub_math_eval", json!({ "expression": "6*7" }))]));
            let question = model.hears(QUESTION).await;
            let result = question.json()["messages"][2]["content"][0]["content"].to_string();
            assert!(result.contains("42") && result.contains("hub_math_eval"), "{result}");
            assert!(log_text().contains("tool hub_math_eval {\"expression\":\"6*7\"} in "), "{}", log_text());
            model.answers(&question, &stop("It is 42."));
            let speech = person.hears("hearthwave/story/speech").await.json();
            assert_eq!(speech, json!({ "text": "It is 42.", "conversation": "den", "satellite": "den" }));
            // Other words, if people want them.
            let set = json!({ "key": "wake_phrases", "value": "computer, hallo Haus" }).to_string();
            person.asks(Request::new("config/set", set.as_bytes()));
            person.hears("hearthwave/story/response/config/set").await;
            let request = json!({ "text": "HALLO, haus: é?" }).to_string();
            person.asks(Request::new("transcript", request.as_bytes()));
            assert_eq!(model.hears(QUESTION).await.json()["messages"][0]["content"], "é?");
        })
        .await;
}

/// The hub's name alone, and whatever is wrong, gets words that can be said.
#[tokio::test(start_paused = true)]
async fn satellites_always_get_words_to_say() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            let say = |text: &str| json!({ "text": text, "satellite": { "id": "den", "room": "Den" } });
            person.is_overheard(&say("Hey Hearthwave!"));
            let speech = person.hears(SPEECH).await.json();
            let expected =
                json!({ "text": "Yes?", "conversation": "den", "satellite": { "id": "den", "room": "Den" } });
            assert_eq!(speech, expected);
            // A model that has nothing to say.
            person.is_overheard(&say("Hearthwave, hm."));
            let question = model.hears(QUESTION).await;
            model.answers(&question, &json!({ "content": [], "stop_reason": "end_turn" }));
            assert_eq!(person.hears(SPEECH).await.json()["text"], "I have nothing to say to that.");
            // What is wrong with a request is told to who made it.
            person.is_overheard(&json!({ "text": "Hearthwave, hello", "conversation": 5 }));
            let reply = person.hears("hearthwave/story/response/transcript").await.json();
            assert_eq!(reply["error"], "'conversation' must be a string");
            // Busy with the last question of that room.
            person.is_overheard(&say("Hearthwave, what is love?"));
            let question = model.hears(QUESTION).await;
            person.is_overheard(&say("Hearthwave, are you there?"));
            let speech = person.hears(SPEECH).await.json();
            assert_eq!(speech["text"], "One moment, I am still busy with your last question.");
            // A very long answer is cut, not lost.
            model.answers(&question, &stop(&"é\n".repeat(1800)));
            let speech = person.hears(SPEECH).await;
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
                person.is_overheard(&said);
                let speech = person.hears(SPEECH).await.json();
                assert_eq!(speech, json!({ "text": words, "conversation": "default" }));
            }
            assert!(
                log_text().contains("what was heard is not answered: There is no such rule"),
                "{}",
                log_text()
            );
        })
        .await;
}

/// Each satellite has its own conversation, and speech its own rule.
#[tokio::test(start_paused = true)]
async fn every_room_goes_on_with_its_own_conversation() {
    let world = World::new();
    world
        .tell(async {
            let (mut person, mut model) = a_home(&world).await;
            for satellite in ["den", "kitchen"] {
                person.is_overheard(&json!({ "text": "Hearthwave, hello", "satellite": satellite }));
            }
            // Both at once, neither waits for the other.
            let questions = [model.hears(QUESTION).await, model.hears(QUESTION).await];
            for question in &questions {
                let body = question.json();
                assert_eq!(body["messages"].as_array().map(Vec::len), Some(1));
                assert!(body["system"].as_str().expect("a prompt").contains("one short sentence"), "{body}");
                model.answers(question, &stop("Hello."));
            }
            let mut rooms = [person.hears(SPEECH).await, person.hears(SPEECH).await]
                .map(|speech| speech.json()["conversation"].to_string());
            rooms.sort();
            assert_eq!(rooms, ["\"den\"", "\"kitchen\""]);
            person.is_overheard(&json!({ "text": "Hearthwave, and now?", "satellite": "den" }));
            assert_eq!(model.hears(QUESTION).await.json()["messages"].as_array().map(Vec::len), Some(3));
            // What a satellite says about itself has bounds.
            let long = json!({ "text": "hearthwave hi", "satellite": "s".repeat(300) });
            person.is_overheard(&long);
            let reply = person.hears("hearthwave/story/response/transcript").await.json();
            assert_eq!(reply["error"], "'satellite' is too long; at most 256 bytes are possible");
        })
        .await;
}

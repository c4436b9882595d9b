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
        model.answers(&question, stop(&"é\n".repeat(1700)));
        let speech = person.hears("speech").await;
        assert!(speech.payload.len() > 4000, "{}", speech.payload.len());
        let text = speech.json()["text"].as_str().expect("words").to_owned();
        assert!(text.starts_with("é é é") && text.ends_with("... The rest is too long to say."), "{text}");
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

/// Something else heard the wake word, such as a satellite that listens for it: what follows is answered, with the phrase or
/// without, where the caller wants it.
#[test]
fn what_is_known_to_be_said_to_the_hub_needs_no_wake_phrase() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let say = |text: &str| json!({ "text": text, "satellite": "den", "addressed": true });
        for (text, question) in [
            ("What is 6 times 7?", "What is 6 times 7?"),
            ("Hey, hearth wave: what is 6 times 7?", "what is 6 times 7?"),
        ] {
            // On `speech`, as always,
            person.sends("transcript", say(text));
            let asked = model.serves(stop("It is **42**.")).await.json()["messages"].clone();
            assert_eq!(asked.as_array().expect("messages").last().expect("the last")["content"], question);
            let expected = json!({ "text": "It is 42.", "conversation": "den", "satellite": "den" });
            assert_eq!(person.hears("speech").await.json(), expected);
            // or for the caller alone.
            let request = person.request("transcript", say(text).to_string());
            person.publish(request.reply_to("reply/voice").correlation(b"7"));
            model.serves(stop("It is 42.")).await;
            let reply = person.hears_at("reply/voice").await;
            assert_eq!((reply.json(), reply.correlation.as_deref()), (expected, Some(&b"7"[..])));
        }
        // What is not said to the hub, as far as is known, is left alone; its answer goes to `speech` alone.
        let request = json!({ "text": "so I told her", "addressed": false });
        assert_eq!(person.asks_with_response_topic("transcript", request).await["addressed"], false);
        let request = json!({ "text": "Hearthwave, hello", "addressed": false }).to_string();
        person.publish(person.request("transcript", request).reply_to("reply/voice"));
        model.serves(stop("Hello.")).await;
        assert_eq!(person.hears("speech").await.json()["text"], "Hello.");
        let all = person.hears_all("speech").await;
        assert!(all.is_empty(), "no answer comes twice: {all:?}");
    });
}

/// Who asks for themselves gets words to say, whatever happens, and refusals as everybody does.
#[test]
fn what_is_known_to_be_said_to_the_hub_gets_words_or_a_refusal() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let say = |text: &str| json!({ "text": text, "satellite": "den", "addressed": true });
        let reply = person.asks_with_response_topic("transcript", say("Hey Hearthwave!")).await;
        assert_eq!(reply, json!({ "text": "Yes?", "conversation": "den", "satellite": "den" }));
        let reply = person.asks_with_response_topic("transcript", say("")).await;
        assert_eq!(reply["text"], "Yes?");
        let wrong = json!({ "text": "hello", "addressed": "yes" });
        let reply = person.asks_with_response_topic("transcript", wrong).await;
        assert_refused(&reply, "invalid_request", "'addressed' must be one of: true, false");
        // The room is still being answered.
        person.publish(person.request("transcript", say("what is love?").to_string()).reply_to("reply/love"));
        let question = model.hears_question().await;
        let reply = person.asks_with_response_topic("transcript", say("are you there?")).await;
        assert_eq!(reply["text"], "One moment, I am still busy with your last question.");
        // The model fails.
        model.answers(&question, json!({ "error": { "status": 500, "message": "_Overloaded_" } }));
        let reply = person.hears_at("reply/love").await.json();
        assert_eq!(reply["text"], "Sorry, my language model reports a problem.");
        // All slots are taken.
        for room in 0..6 {
            let request =
                json!({ "text": "hello", "conversation": room.to_string(), "addressed": true }).to_string();
            person.publish(person.request("transcript", request).reply_to("reply/many"));
        }
        let mut replies = Vec::new();
        while let Some(reply) = person.next(Duration::from_secs(5)).await {
            replies.extend((reply.topic == "reply/many").then(|| reply.json()));
        }
        assert!(
            replies.iter().any(|reply| reply["text"] == "One moment, I am talking with others."),
            "{replies:?}"
        );
    });
}

/// Two satellites whose names differ only at the end are two rooms.
#[test]
fn rooms_with_long_names_stay_apart() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let satellite = |room: &str| format!("assist_satellite.voice_assistant_of_the_upper_floor_{room}");
        let mut conversations = Vec::new();
        for room in ["kitchen", "bathroom", "kitchen"] {
            let request =
                json!({ "text": "hello", "satellite": { "id": satellite(room) }, "addressed": true });
            person.sends("transcript", request);
            let question = model.serves(stop("Hello.")).await.json();
            let speech = person.hears("speech").await.json();
            assert_eq!(speech["satellite"]["id"], satellite(room));
            conversations.push((speech["conversation"].clone(), count(&question["messages"])));
        }
        assert_ne!(conversations[0].0, conversations[1].0);
        assert_eq!(conversations[0].0, conversations[2].0, "the same every time");
        assert_eq!(conversations.iter().map(|(_, count)| *count).collect::<Vec<_>>(), [1, 1, 3]);
    });
}

#[test]
fn answers_are_written_to_be_spoken() {
    story(async |world| {
        let (mut person, mut model) = world.talking().await;
        let written = "**Temperatures** 🌡️:\n\n- Kitchen: 21.5 °C\n- Den: 19°C, 45 %\n\nSee https://x.org";
        for (said, request) in [
            (
                "Temperatures: Kitchen: 21.5 degrees Celsius. Den: 19 degrees Celsius, 45 percent. See a link",
                json!({ "text": "Hearthwave, how warm is it?" }),
            ),
            (
                "Temperatures: Kitchen: 21.5 °C. Den: 19°C, 45 %. See link",
                json!({ "text": "Hearthwave, wie warm ist es?", "language": "de-CH" }),
            ),
        ] {
            person.sends("transcript", request);
            model.serves(stop(written)).await;
            assert_eq!(person.hears("speech").await.json()["text"], said);
        }
        // Nothing in it can be said.
        person.sends("transcript", json!({ "text": "Hearthwave, good night" }));
        model.serves(stop("👍")).await;
        assert_eq!(person.hears("speech").await.json()["text"], "Okay.");
        // Who reads it gets it as it is.
        person.says(json!({ "text": "How warm is it?", "conversation": "app" }));
        model.serves(stop(written)).await;
        assert_eq!(person.reply().await["content"], written);
        // Words of tools, if the model has none.
        person.sends("transcript", json!({ "text": "Hearthwave, quieter" }));
        model.serves(calls(&[("hub_volume", json!({ "level": 30 }))])).await;
        model.serves(json!({ "content": [], "stop_reason": "end_turn" })).await;
        let words = person.hears("speech").await.json()["text"].to_string();
        assert!(words.contains("The volume is 30 percent.") && !words.contains(['_', '*', '%']), "{words}");
    });
}

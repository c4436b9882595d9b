//! How turns end: what people hear of what was done, and of what a model wrote.

use world::model::{calls, stop};
use world::prelude::*;

/// The order to switch something on.
fn on() -> Value {
    json!({ "device_name": "Switch One", "command": "on" })
}

/// Whoever hears only "Sorry" repeats the order, and a toggle is toggled twice.
#[test]
fn what_was_done_is_said_before_the_model_fails() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected().await;
        let mut model = world.model().await;
        let error = json!({ "error": { "status": 529, "message": "Overloaded" } });
        let done = "Switch One is on. The volume is 30 percent. Sorry, my language model reports a problem.";
        let round = calls(&[
            ("control_zwave_device", on()),
            ("hub_volume", json!({ "level": 30 })),
            // What failed was not done.
            ("hub_volume", json!({ "level": 300 })),
        ]);
        ann.says(json!({ "text": "Turn it on" }));
        model.serves(round.clone()).await;
        controller.serves("Switch One is on\n").await;
        model.serves(error.clone()).await;
        let reply = ann.reply().await;
        assert_refused(&reply, "provider_error", "Overloaded");
        assert_eq!(reply["message"], done);
        // The same aloud.
        ann.sends("transcript", json!({ "text": "Hearthwave, turn it on" }));
        model.serves(round).await;
        controller.serves("Switch One is on").await;
        model.serves(error).await;
        assert_eq!(ann.hears("speech").await.json()["text"], done);
        // Nobody answers after the call, or with nothing.
        ann.says(json!({ "text": "Turn it on" }));
        model.serves(calls(&[("control_zwave_device", on())])).await;
        controller.serves_result(json!({ "content": [{ "type": "text", "text": "{\"on\":true}" }] })).await;
        model.serves(stop("")).await;
        assert_eq!(ann.reply().await["content"], "control_zwave_device was done.");
    });
}

#[test]
fn what_was_done_is_said_when_the_rounds_or_the_time_are_over() {
    story(async |world| {
        let (mut controller, mut ann) = world.connected().await;
        let mut model = world.model().await;
        ann.says(json!({ "text": "Loop" }));
        for _ in 0..5 {
            model.serves(calls(&[("control_zwave_device", on())])).await;
            controller.serves("Switch One was toggled.").await;
        }
        let reply = ann.reply().await;
        let words = "Switch One was toggled. (5 times) I reached the maximum number of tool calls...";
        assert_eq!(reply["content"], words);
        assert_eq!(reply["max_iterations_reached"], true);
        // Cancelled in the middle of the second call.
        ann.says(json!({ "text": "Go", "conversation": "den" }));
        let round = calls(&[("list_devices", json!({})), ("control_zwave_device", on())]);
        model.serves(round).await;
        controller.serves(&"Lamp, ".repeat(100)).await;
        controller.hears_call().await;
        sleep(Duration::from_secs(3)).await;
        ann.asks("cancel", json!({ "conversation": "den" })).await;
        let reply = ann.reply().await;
        let words = reply["message"].as_str().expect("words");
        assert!(words.starts_with("Lamp, Lamp, ") && words.len() < 300, "{words}");
        assert!(
            words.ends_with("… I do not know whether control_zwave_device was done. I stopped."),
            "{words}"
        );
        // No model is there any more after a call that the controller leaves unanswered.
        ann.says(json!({ "text": "Go" }));
        model.serves(calls(&[("control_zwave_device", on())])).await;
        controller.hears_call().await;
        let question = model.hears_question().await;
        model.answers(&question, json!({ "error": { "relay": "unavailable", "message": "no route" } }));
        let words = "The controller took too long, and I do not know whether that was done. Please check. Sorry, I \
                     cannot reach my language model right now.";
        assert_eq!(ann.reply().await["message"], words);
    });
}

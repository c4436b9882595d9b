//! The example of the guide: every kind of line that a story is made of.

use world::model::{calls, stop};
use world::prelude::*;

#[test]
fn a_light_is_switched_on_by_hand_and_by_a_model() {
    story(async |world| {
        // A controller, played by hand, is connected to the hub; Ann has an MQTT client.
        let (mut controller, mut ann) = world.connected().await;

        // Ann calls a tool of the controller's; the controller answers.
        let on = json!({ "device_name": "Switch One", "command": "on" });
        ann.calls("control_zwave_device", on.clone());
        let call = controller.serves("Switch One is on").await;
        assert_eq!(call["params"]["arguments"], json!({ "deviceName": "Switch One", "action": "on" }));
        assert_eq!(ann.result().await["result"], "Switch One is on");

        // What makes no sense is refused: the type of the error, and words that are in it.
        let reply = ann.uses("control_zwave_device", json!({ "command": "explode" })).await;
        assert_refused(&reply, "invalid_parameters", "missing 'deviceName'");
        assert_logged("Tool control_zwave_device failed");

        // Ann talks; a model, played by hand too, calls the tool and then has the last word.
        let mut model = world.model().await;
        ann.says(json!({ "text": "Turn it on" }));
        model.serves(calls(&[("control_zwave_device", on)])).await;
        controller.serves("Switch One is on").await;
        model.serves(stop("It is on.")).await;
        assert_eq!(ann.reply().await["content"], "It is on.");

        // Time is virtual: an hour passes at once, and nothing was lost in it.
        sleep(Duration::from_secs(3600)).await;
        ann.gets_an_echo().await;
        assert_eq!(world.dials(), 1, "the hub kept its connection");
    });
}

//! Names of parameters, for tools of the controller.

use hub_core::json::{Value as Text, Writer};
use hub_core::tool::{TooMany, normalise};
use serde_json::{Value, json};

const CONTROL: &str = r#"{"properties":{"deviceName":{},"action":{},"level":{}}}"#;

/// The arguments with the controller's names, and whether any differs.
fn names(tool: &str, schema: &str, arguments: Value) -> (Value, bool) {
    let arguments = arguments.to_string();
    let mut buffer = [0; 512];
    let mut writer = Writer::new(&mut buffer);
    let differs = normalise(
        tool,
        Text::parse(schema.as_bytes()).expect("JSON"),
        Text::parse(arguments.as_bytes()).expect("JSON"),
        None,
        &mut writer,
    )
    .expect("not too many");
    let length = writer.finish().expect("it fits");
    (serde_json::from_slice(&buffer[..length]).expect("JSON"), differs)
}

/// spec: gateway-29
#[test]
fn the_table_knows_what_cannot_be_guessed() {
    let given = json!({ "device_name": "Switch One", "command": "on" });
    let (normalised, differs) = names("control_zwave_device", CONTROL, given);
    assert_eq!(normalised, json!({ "deviceName": "Switch One", "action": "on" }));
    assert!(differs);
}

/// spec: gateway-30
#[test]
fn the_rest_is_guessed() {
    let (normalised, _) = names("other", "{}", json!({ "new_parameter_name": 1, "a_b": [{ "x_y": 2 }] }));
    assert_eq!(normalised, json!({ "newParameterName": 1, "aB": [{ "x_y": 2 }] }));
    let (normalised, differs) = names("other", "{}", json!({ "_private": 1, "trailing_": 2, "__": 3 }));
    assert_eq!((normalised, differs), (json!({ "_private": 1, "trailing_": 2, "__": 3 }), false));
}

/// spec: gateway-31
#[test]
fn names_without_underscores_stay() {
    let given = json!({ "level": 7, "value": true, "deviceName": "x" });
    assert_eq!(names("control_zwave_device", CONTROL, given.clone()), (given, false));
}

#[test]
fn a_name_that_the_schema_has_stays() {
    let schema = r#"{"properties":{"device_name":{},"command":{}}}"#;
    let given = json!({ "device_name": "x", "command": "on" });
    assert_eq!(names("control_zwave_device", schema, given.clone()), (given, false));
}

#[test]
fn nothing_is_overwritten() {
    let given = json!({ "device_name": "a", "deviceName": "b", "x_y": 1, "xY": 2 });
    assert_eq!(names("control_zwave_device", CONTROL, given.clone()), (given, false));
}

#[test]
fn two_names_never_become_one() {
    let given = json!({ "a_bC": 1, "aB_c": 2, "c_d": 3 });
    assert_eq!(names("other", "{}", given), (json!({ "a_bC": 1, "aB_c": 2, "cD": 3 }), true));
    // Only small letters grow.
    let given = json!({ "zone_2": 1, "a_B": 2 });
    assert_eq!(names("other", "{}", given.clone()), (given, false));
    // No argument gets a name that another one has.
    let given = json!({ "a__b": 1, "a__B": 2, "a___b": 3 });
    assert_eq!(names("other", "{}", given), (json!({ "a_B": 1, "a__B": 2, "a___b": 3 }), true));
    let given = json!({ "command": "on", "action": "off" });
    assert_eq!(names("control_zwave_device", "{}", given.clone()), (given, false));
}

#[test]
fn too_many_names_are_refused() {
    let arguments: serde_json::Map<_, _> = (0..65).map(|number| (format!("a_{number}"), json!(1))).collect();
    let arguments = Value::from(arguments).to_string();
    let mut buffer = [0; 4096];
    let arguments = Text::parse(arguments.as_bytes()).expect("JSON");
    let normalised = normalise("other", Text::EMPTY_OBJECT, arguments, None, &mut Writer::new(&mut buffer));
    assert_eq!(normalised, Err(TooMany));
}

#[test]
fn of_a_name_that_is_given_twice_the_last_counts() {
    let arguments = br#"{"device_name":"unchecked","command":"on","device_name":"checked"}"#;
    let mut buffer = [0; 256];
    let mut writer = Writer::new(&mut buffer);
    normalise(
        "control_zwave_device",
        Text::EMPTY_OBJECT,
        Text::parse(arguments).expect("JSON"),
        None,
        &mut writer,
    )
    .expect("few");
    let length = writer.finish().expect("it fits");
    assert_eq!(&buffer[..length], br#"{"action":"on","deviceName":"checked"}"#);
}

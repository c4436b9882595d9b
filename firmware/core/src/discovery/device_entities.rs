//! The announcement of a device.

use crate::config::HubId;
use crate::home::{Device, Kind, Measurement, Mode};
use crate::json::{Text, Writer};
use crate::text;

/// Where its state is, and when that counts. `$` is the device's id.
const COMMON: &str = r#""avty":[{"t":"hearthwave/@/availability"},{"t":"hearthwave/@/home"},{"t":"hearthwave/@/device/$","val_tpl":"{{'online' if value_json.available else 'offline'}}"}],"avty_mode":"all","cmd_t":"hearthwave/@/request/device/set""#;

const STATE_TOPIC: &str = r#""stat_t":"hearthwave/@/device/$""#;

/// The entity that people mean by the device's name.
const MAIN: &str = r#""name":null,"uniq_id":"hearthwave_@_$""#;

/// `ON` and `OFF`, `LOCK` and `UNLOCK` are the names of actions, too.
const COMMAND: &str = r#""cmd_tpl":"{\"device\":\"$\",\"action\":\"{{value|lower}}\"}""#;

const SWITCH: &str =
    r#""p":"switch","val_tpl":"{{iif(value_json.state.on|default(none),'ON','OFF','None')}}""#;

/// A group tells no state.
const GROUP: &str = r#""p":"switch","opt":true"#;

const SIREN: &str = r#""p":"siren","sup_dur":false,"sup_vol":false,"stat_val_tpl":"{{iif(value_json.state.on|default(none),'ON','OFF','None')}}""#;

const LIGHT: &str = r#""p":"light","schema":"template","stat_tpl":"{{iif(value_json.state.on|default(none),'on','off','None')}}","cmd_off_tpl":"{\"device\":\"$\",\"action\":\"off\"}""#;

/// `<` is the lowest value, and `^` the highest.
const LEVEL: &str =
    r#""bri_tpl":"{{(value_json.state.level*255/^)|round|int if value_json.state.level is defined}}""#;

const COLOR: &str = r#""r_tpl":"{{value_json.state.color[0:2]|int(base=16) if value_json.state.color is defined}}","g_tpl":"{{value_json.state.color[2:4]|int(base=16) if value_json.state.color is defined}}","b_tpl":"{{value_json.state.color[4:6]|int(base=16) if value_json.state.color is defined}}""#;

/// Sets the colour and then the level, if they are given.
const LIGHT_ON: &str = r#""cmd_on_tpl":"{\"device\":\"$\",{% if red is defined %}\"action\":\"color\",\"value\":\"{{'%02x%02x%02x'|format(red,green,blue)}}\"{% if brightness is defined %},\"then\":{\"action\":\"level\",\"value\":{{[1,(brightness*^/255)|round|int]|max}}}{% endif %}{% elif brightness is defined %}\"action\":\"level\",\"value\":{{[1,(brightness*^/255)|round|int]|max}}{% else %}\"action\":\"on\"{% endif %}}""#;

const LOCK: &str = r#""p":"lock","val_tpl":"{{'JAMMED' if value_json.state.jammed|default(false) else iif(value_json.state.locked|default(none),'LOCKED','UNLOCKED','None')}}""#;

const COVER: &str = r#""p":"cover","pl_open":"{\"device\":\"$\",\"action\":\"open\"}","pl_cls":"{\"device\":\"$\",\"action\":\"close\"}""#;

const COVER_STATE: &str = r#""val_tpl":"{% set s=value_json.state %}{{'open' if s.stopped|default(false) else 'None' if s.position is not defined else 'closed' if s.position==0 else 'open'}}""#;

const STOP: &str = r#""pl_stop":"{\"device\":\"$\",\"action\":\"stop\"}""#;

const NO_STOP: &str = r#""pl_stop":null"#;

const POSITION: &str = r#""pos_t":"hearthwave/@/device/$","pos_tpl":"{{value_json.state.position if value_json.state.position is defined}}","set_pos_t":"hearthwave/@/request/device/set","set_pos_tpl":"{\"device\":\"$\",\"action\":\"position\",\"value\":{{value}}}","pos_clsd":0,"pos_open":^"#;

/// The modes follow. A mode that is unknown to Home Assistant becomes `None`, so that Home Assistant does not keep
/// showing the previous mode.
const CLIMATE: &str = r#""p":"climate","~":"hearthwave/@","mode_stat_t":"~/device/$","mode_cmd_t":"~/request/device/set","temp_stat_t":"~/device/$","temp_stat_tpl":"{{value_json.state.setpoint|default('None')}}","curr_temp_t":"~/device/$","curr_temp_tpl":"{{value_json.state.temperature|default('None')}}","temp_step":0.5"#;

/// A thermostat that has only a setpoint. A climate entity would offer to turn it off, which fails.
const SETPOINT_ALONE: &str = r#""p":"number","mode":"box","step":0.5,"cmd_tpl":"{\"device\":\"$\",\"action\":\"setpoint\",\"value\":{{value}}}","min":<,"max":^"#;

/// The setpoint of a thermostat.
const SETPOINT_STATE: &str =
    r#""dev_cla":"temperature","val_tpl":"{{value_json.state.setpoint|default('None')}}""#;

const SETPOINT: &str = r#""temp_cmd_t":"~/request/device/set","temp_cmd_tpl":"{\"device\":\"$\",\"action\":\"setpoint\",\"value\":{{value}}}","min_temp":<,"max_temp":^"#;

const BINARY: &str =
    r#""p":"binary_sensor","val_tpl":"{{iif(value_json.state.active|default(none),'ON','OFF','None')}}""#;

const SCENE: &str = r#""p":"scene","pl_on":"{\"device\":\"$\",\"action\":\"activate\"}""#;

const BUTTON: &str = r#""p":"event","dev_cla":"button","stat_t":"hearthwave/@/event/device/$","evt_typ":["single","double","triple","quadruple","quintuple","hold","release"]"#;

const BATTERY: &str = r#""p":"sensor","uniq_id":"hearthwave_@_$_battery","dev_cla":"battery","unit_of_meas":"%","stat_cla":"measurement","ent_cat":"diagnostic","val_tpl":"{{value_json.battery|default('None')}}""#;

/// `^` is the reading.
const READING: &str =
    r#""p":"sensor","uniq_id":"hearthwave_@_$_^","val_tpl":"{{value_json.state['^']|default('None')}}""#;

/// What Home Assistant calls what binary sensors watch.
const CLASSES: [(&str, &str); 8] = [
    ("motion", r#""dev_cla":"motion""#),
    ("contact", r#""dev_cla":"door""#),
    ("window", r#""dev_cla":"window""#),
    ("leak", r#""dev_cla":"moisture""#),
    ("smoke", r#""dev_cla":"smoke""#),
    ("gas", r#""dev_cla":"gas""#),
    ("heat", r#""dev_cla":"heat""#),
    ("tamper", r#""dev_cla":"tamper""#),
];

/// Whether Home Assistant can show anything of a device.
pub(super) fn has_components(device: &Device<'_>) -> bool {
    // Without a buffer, whatever is written does not fit.
    let mut nothing = Writer::new(&mut []);
    write_components(&[('@', ""), ('$', device.id)], device, &mut nothing);
    nothing.overflowed()
}

/// Writes the announcement.
pub(super) fn write(hub: HubId<'_>, device: &Device<'_>, out: &mut Writer<'_>) {
    let fill = [('@', hub.as_str()), ('$', device.id)];
    out.object(|out| {
        out.key("dev");
        out.object(|out| {
            out.members(r#""ids":["hearthwave_@_$"],"via_device":"hearthwave_@""#, &fill);
            out.field("name", device.name);
            if !device.room.is_empty() {
                out.field("sa", device.room);
            }
        });
        out.members(super::ORIGIN, &[]);
        out.members(COMMON, &fill);
        if device.kind != Kind::Group {
            out.members(STATE_TOPIC, &fill);
        }
        out.key("cmps");
        out.object(|out| write_components(&fill, device, out));
    });
}

fn write_components(fill: &[(char, &str); 2], device: &Device<'_>, out: &mut Writer<'_>) {
    let before = out.mark();
    write_main(fill, device, out);
    let is_alone = out.since(before).is_empty() && device.readings().nth(1).is_none();
    device.readings().for_each(|name| write_reading(fill, device, name, is_alone, out));
    if device.kind != Kind::Button && device.state().get("presses").is_some() {
        out.key("button");
        out.object(|out| {
            out.members(BUTTON, fill);
            out.members(r#""name":"Button","uniq_id":"hearthwave_@_$_button""#, fill);
        });
    }
    if device.battery.is_some() {
        out.key("battery");
        out.object(|out| out.members(BATTERY, fill));
    }
}

/// Writes the entity that people mean by the device's name, if it is not one of its readings.
fn write_main(fill: &[(char, &str); 2], device: &Device<'_>, out: &mut Writer<'_>) {
    let bounds = device.abilities.bounds();
    let [least, most]: [heapless::String<8>; 2] = [bounds.0, bounds.1].map(|bound| text::clip(&bound));
    let [hub, id] = *fill;
    let fill = &[hub, id, ('<', least.as_str()), ('^', most.as_str())];
    let has_modes = device.abilities.modes().next().is_some();
    let can = |action, row: &'static str| if device.can(action) { row } else { "" };
    let rows: &[&str] = match device.kind {
        Kind::Switch => &[SWITCH, COMMAND],
        Kind::Siren => &[SIREN, COMMAND],
        Kind::Light => {
            let level = if most == "0" { "" } else { can("level", LEVEL) };
            &[LIGHT, level, can("color", COLOR), LIGHT_ON]
        }
        Kind::Lock => &[LOCK, COMMAND],
        Kind::Cover | Kind::Garage => {
            let stop = if device.can("stop") { STOP } else { NO_STOP };
            let class = if device.kind == Kind::Garage { r#""dev_cla":"garage""# } else { "" };
            &[COVER, COVER_STATE, stop, can("position", POSITION), class]
        }
        Kind::Climate => {
            let is_fahrenheit = device.unit("setpoint").is_some_and(|unit| unit == *"°F");
            let unit = match (has_modes, is_fahrenheit) {
                (true, true) => r#""temp_unit":"F""#,
                (true, false) => r#""temp_unit":"C""#,
                (false, true) => r#""unit_of_meas":"°F""#,
                (false, false) => r#""unit_of_meas":"°C""#,
            };
            match (has_modes, device.can("setpoint")) {
                (true, _) => &[CLIMATE, can("setpoint", SETPOINT), unit],
                (false, true) => &[SETPOINT_ALONE, SETPOINT_STATE, unit],
                (false, false) => &[r#""p":"sensor""#, SETPOINT_STATE, unit],
            }
        }
        Kind::BinarySensor => {
            let class = device.state().get("class").and_then(|class| class.as_text());
            let known = CLASSES.iter().find(|(name, _)| class.is_some_and(|class| class == **name));
            &[BINARY, known.map_or("", |(_, row)| row)]
        }
        Kind::Scene => &[SCENE],
        Kind::Button => &[BUTTON],
        Kind::Group if device.can("on") => &[GROUP, COMMAND],
        Kind::Group if device.can("open") => &[COVER, NO_STOP, r#""opt":true"#],
        Kind::Group | Kind::Sensor | Kind::Other => return,
    };
    out.key("main");
    out.object(|out| {
        out.members(MAIN, fill);
        rows.iter().filter(|row| !row.is_empty()).for_each(|row| out.members(row, fill));
        if has_modes {
            write_modes(device, out);
        }
    });
}

/// Writes the modes that Home Assistant can show, and the templates that read and set them.
fn write_modes(device: &Device<'_>, out: &mut Writer<'_>) {
    let modes = || device.abilities.modes();
    // The first mode of its class.
    let selected =
        || modes().filter(move |mode| modes().find(|other| other.class == mode.class) == Some(*mode));
    out.key("modes");
    out.array(|out| selected().for_each(|mode| out.value(mode.class)));
    out.key("mode_stat_tpl");
    out.string(|text| {
        text.write_str("{{ {")?;
        modes().try_for_each(|Mode { word, class }| write!(text, "'{word}':'{class}',"))?;
        text.write_str("}.get(value_json.state.mode|default(0),'None')}}")
    });
    out.key("mode_cmd_tpl");
    out.string(|text| {
        write!(text, r#"{{"device":"{}","action":"mode","value":"{{{{"#, device.id)?;
        let renamed = || selected().filter(|mode| mode.word != mode.class);
        if renamed().next().is_some() {
            text.write_str(" {")?;
            renamed().try_for_each(|Mode { word, class }| write!(text, "'{class}':'{word}',"))?;
            text.write_str("}.get(value,value)}}\"}")
        } else {
            text.write_str("value}}\"}")
        }
    });
}

/// Writes a reading as a sensor.
fn write_reading(
    fill: &[(char, &str); 2],
    device: &Device<'_>,
    name: Text<'_>,
    is_alone: bool,
    out: &mut Writer<'_>,
) {
    // It becomes a part of a template.
    let is_plain = |name: &&str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let is_taken = |name: &&str| ["main", "battery", "button"].contains(name);
    let Some(name) = name.plain().filter(|name| is_plain(name) && !is_taken(name)) else { return };
    let known = Measurement::named(name);
    let unit = device.unit(name);
    let [hub, id] = *fill;
    out.key(name);
    out.object(|out| {
        out.members(READING, &[hub, id, ('^', name)]);
        let is_total = known.is_some_and(|reading| reading.is_total);
        out.field("stat_cla", if is_total { "total_increasing" } else { "measurement" });
        // Home Assistant refuses a unit that it does not expect of a class.
        let is_expected = |reading: &&Measurement| {
            unit.is_none_or(|unit| reading.units.iter().any(|expected| unit == **expected))
        };
        let class = known.filter(is_expected).map_or("", |reading| reading.class);
        if !class.is_empty() {
            out.field("dev_cla", class);
        }
        match (unit, known.and_then(|reading| reading.units.first())) {
            (Some(unit), _) => out.field("unit_of_meas", unit),
            (None, Some(usual)) => out.field("unit_of_meas", *usual),
            (None, None) => {}
        }
        if is_alone {
            out.field("name", None::<&str>);
        } else if class.is_empty() {
            // The others are named after their class, in the language of Home Assistant.
            out.key("name");
            out.string(|text| write_title(name, text));
        }
    });
}

/// `carbon_dioxide` as people write it: `Carbon dioxide`.
fn write_title(name: &str, text: &mut dyn core::fmt::Write) -> core::fmt::Result {
    name.char_indices().try_for_each(|(at, letter)| match (at, letter) {
        (0, letter) => text.write_char(letter.to_ascii_uppercase()),
        (_, '_') => text.write_char(' '),
        (_, letter) => text.write_char(letter),
    })
}

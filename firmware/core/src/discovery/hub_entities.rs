//! The announcement of the hub itself.

use crate::config::HubId;
use crate::json::Writer;

/// What the hub is.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// Its id.
    pub id: HubId<'a>,
    /// What people call it.
    pub name: &'a str,
    /// Whether the hub's name is unset. Then its id follows the default name, so that two hubs can be told apart.
    pub is_nameless: bool,
    /// The machine it runs on.
    pub target: &'a str,
    /// Whether the hub has a radio with a signal strength, joined or not.
    pub has_signal: bool,
    /// Whether it knows how much stack is free.
    pub has_stack: bool,
}

/// An entity of the hub: the end of its unique id, and its members as JSON.
type EntityRow = (&'static str, &'static str);

/// What people use.
const ENTITIES: [EntityRow; 10] = [
    (
        "ask",
        r#""p":"text","name":"Ask","ic":"mdi:message-text","max":255,"cmd_t":"~/request/chat","cmd_tpl":"{\"text\":{{value|tojson}},\"conversation\":\"home-assistant\"}""#,
    ),
    (
        "last_answer",
        r#""p":"sensor","name":"Last answer","ic":"mdi:message-reply-text","stat_t":"~/event/answer","val_tpl":"{{value_json.text[:255]}}","json_attr_t":"~/event/answer""#,
    ),
    (
        "answer",
        r#""p":"event","name":"Answer","ic":"mdi:message-reply","stat_t":"~/event/answer","evt_typ":["answer"]"#,
    ),
    (
        "announce",
        r#""p":"notify","name":"Announce","cmd_t":"~/request/speak","cmd_tpl":"{\"text\":{{value|tojson}}}""#,
    ),
    (
        "volume",
        r#""p":"number","name":"Volume","ic":"mdi:volume-high","min":0,"max":100,"unit_of_meas":"%","stat_t":"~/volume","val_tpl":"{{value_json.level}}","cmd_t":"~/request/tool/call","cmd_tpl":"{\"name\":\"volume\",\"arguments\":{\"level\":{{value|int}}}}""#,
    ),
    (
        "approval",
        r#""p":"event","name":"Approval","ic":"mdi:shield-key","stat_t":"~/approval/+","val_tpl":"{{dict(value_json,event_type=value_json.state)|tojson}}","evt_typ":["waiting","allowed","denied","expired","cancelled"]"#,
    ),
    (
        "pending",
        r#""p":"sensor","name":"Pending approval","ic":"mdi:shield-alert","stat_t":"~/approval","val_tpl":"{{value_json.what[:255] or 'none'}}","json_attr_t":"~/approval""#,
    ),
    (
        "controller",
        r#""p":"binary_sensor","name":"Controller","dev_cla":"connectivity","ent_cat":"diagnostic","stat_t":"~/info","val_tpl":"{{'ON' if value_json.link=='ready' else 'OFF'}}""#,
    ),
    (
        "relay",
        r#""p":"binary_sensor","name":"Relay","dev_cla":"connectivity","ent_cat":"diagnostic","stat_t":"hearthwave/relay/availability","val_tpl":"{{'ON' if value_json.state=='online' else 'OFF'}}""#,
    ),
    (
        "restart",
        r#""p":"button","name":"Restart","dev_cla":"restart","ent_cat":"config","cmd_t":"~/request/tool/call","pl_prs":"{\"name\":\"restart_hub\",\"arguments\":{\"confirm\":\"RESTART_HUB\"}}""#,
    ),
];

/// Decides about the approval that *Pending approval* shows, by its number. The hub shows one at a time, and none for a moment
/// before it shows the next one. `^` is the decision.
const DECIDE: &str = r#""p":"button","json_attr_t":"~/approval","json_attr_tpl":"{{{'id':value_json.id,'what':value_json.what}|tojson}}","cmd_t":"~/request/approve","cmd_tpl":"{\"id\":{{this.attributes.id|default(0)}},\"allow\":^}""#;

/// A member of `health`, `^`.
const DIAGNOSTIC: &str = r#""p":"sensor","ent_cat":"diagnostic","stat_t":"~/health","val_tpl":"{{value_json['^']|default('None')}}""#;

/// Of what `health` tells: the member, and the rest.
const DIAGNOSTICS: [EntityRow; 8] = [
    ("uptime", r#""name":"Uptime","dev_cla":"duration","unit_of_meas":"s""#),
    ("boot", r#""name":"Last start","ic":"mdi:restart-alert""#),
    (SIGNAL, r#""name":"Signal","dev_cla":"signal_strength","unit_of_meas":"dBm","stat_cla":"measurement""#),
    (STACK, r#""name":"Free stack","dev_cla":"data_size","unit_of_meas":"B","stat_cla":"measurement""#),
    (
        "round_trip",
        r#""name":"Controller round trip","dev_cla":"duration","unit_of_meas":"ms","stat_cla":"measurement""#,
    ),
    ("calls", r#""name":"Calls","ic":"mdi:counter","stat_cla":"total_increasing""#),
    ("failures", r#""name":"Failures","ic":"mdi:alert","stat_cla":"total_increasing""#),
    (
        "slowest",
        r#""name":"Slowest tool","ic":"mdi:timer-sand","json_attr_t":"~/health","json_attr_tpl":"{{{'milliseconds':value_json.slowest_ms|default(0)}|tojson}}""#,
    ),
];

const SIGNAL: &str = "signal";
const STACK: &str = "stack";

/// Writes the announcement.
pub(super) fn write(about: &About<'_>, out: &mut Writer<'_>) {
    let hub = ('@', about.id.as_str());
    out.object(|out| {
        out.key("dev");
        out.object(|out| {
            out.members(r#""ids":["hearthwave_@"],"mf":"Hearthwave""#, &[hub]);
            match about.is_nameless {
                true => out.field("name", format_args!("{} {}", about.name, about.id.as_str())),
                false => out.field("name", about.name),
            }
            out.field("mdl", about.target);
            out.field("sw", env!("CARGO_PKG_VERSION"));
        });
        out.members(super::ORIGIN, &[]);
        out.members(r#""avty_t":"hearthwave/@/availability""#, &[hub]);
        out.key("cmps");
        out.object(|out| {
            let mut entity = |name: &str, members: &[&str], value: &str| {
                let fill = [hub, ('^', value)];
                out.key(name);
                out.object(|out| {
                    out.members(r#""~":"hearthwave/@","uniq_id":"hearthwave_@_^""#, &[hub, ('^', name)]);
                    members.iter().for_each(|row| out.members(row, &fill));
                });
            };
            for (name, members) in ENTITIES {
                entity(name, &[members], name);
            }
            entity("allow", &[r#""name":"Allow","ic":"mdi:check""#, DECIDE], "true");
            entity("deny", &[r#""name":"Deny","ic":"mdi:close""#, DECIDE], "false");
            for (name, members) in DIAGNOSTICS {
                let is_known = match name {
                    SIGNAL => about.has_signal,
                    STACK => about.has_stack,
                    _ => true,
                };
                if is_known {
                    entity(name, &[DIAGNOSTIC, members], name);
                }
            }
        });
    });
}

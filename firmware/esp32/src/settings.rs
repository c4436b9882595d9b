//! Defaults that are built in, for settings that nobody has set: whoever builds many boards need not set up each.
//!
//! | environment variable         | default of        | when not set                     |
//! | ---------------------------- | ----------------- | -------------------------------- |
//! | `HEARTHWAVE_WIFI_SSID`       | `wifi.ssid`       | none: the console or Improv asks |
//! | `HEARTHWAVE_WIFI_PASSWORD`   | `wifi.password`   | an open network                  |
//! | `HEARTHWAVE_BROKER`          | `broker.url`      | `mqtt://homeassistant.local`     |
//! | `HEARTHWAVE_BROKER_USER`     | `broker.user`     | no login                         |
//! | `HEARTHWAVE_BROKER_PASSWORD` | `broker.password` | empty                            |
//! | `HEARTHWAVE_BROKER_CA`       | `broker.ca`       | none                             |
//! | `HEARTHWAVE_HUB_ID`          | `hub.id`          | `hub`                            |
//! | `HEARTHWAVE_HUB_NAME`        | `hub.name`        | `Hearthwave`                     |
//! | `HEARTHWAVE_TIME_ZONE`       | `time.zone`       | `UTC`                            |
//! | `HEARTHWAVE_TIME_SERVER`     | `time.server`     | `pool.ntp.org`                   |
//! | `HEARTHWAVE_BAUD`            | `controller.baud` | 115200                           |
//! | `HEARTHWAVE_RULE`            | the default rule  | Anthropic's model                |
//! | `MCP_TOOL_PREFIX`            | `tool_prefix`     | `hub`; empty means none          |
//! | `MCP_INCLUDE_EXAMPLE_TOOLS`  | the example tools | none; `true` adds them           |
//!
//! An empty variable counts as not set. Id, network, login, baud rate and tool prefix are checked at build time, and a bad one
//! fails the build with a sentence that says why. They end up readable in the flash image, so an image is as secret as its
//! passwords.

use hub_core::{Broker, Config, Credentials, HubId, boot::BootReport, is_tool_prefix};

/// What the hub is started with.
pub const fn config(boot: BootReport) -> Config<'static> {
    Config { boot, ..BUILT_IN }
}

const BUILT_IN: Config<'static> = Config {
    target: if cfg!(feature = "esp32c6") { "esp32c6" } else { "esp32c3" },
    id: match HubId::new(set(option_env!("HEARTHWAVE_HUB_ID"), Config::DEFAULT.id.as_str())) {
        Some(id) => id,
        None => panic!("HEARTHWAVE_HUB_ID: a hub id has 1 to 32 letters, digits, `-` and `_`"),
    },
    name: set(option_env!("HEARTHWAVE_HUB_NAME"), Config::DEFAULT.name),
    wifi: wifi(
        set(option_env!("HEARTHWAVE_WIFI_SSID"), ""),
        set(option_env!("HEARTHWAVE_WIFI_PASSWORD"), ""),
    ),
    broker: Broker {
        url: set(option_env!("HEARTHWAVE_BROKER"), Config::DEFAULT.broker.url),
        user: set(option_env!("HEARTHWAVE_BROKER_USER"), ""),
        password: set(option_env!("HEARTHWAVE_BROKER_PASSWORD"), ""),
        ca: set(option_env!("HEARTHWAVE_BROKER_CA"), ""),
    },
    time_zone: set(option_env!("HEARTHWAVE_TIME_ZONE"), Config::DEFAULT.time_zone),
    time_server: set(option_env!("HEARTHWAVE_TIME_SERVER"), Config::DEFAULT.time_server),
    baud_rate: baud_rate(set(option_env!("HEARTHWAVE_BAUD"), Config::DEFAULT.baud_rate)),
    tool_prefix: match option_env!("MCP_TOOL_PREFIX") {
        Some(prefix) => tool_prefix(prefix),
        None => Config::DEFAULT.tool_prefix,
    },
    rule: set(option_env!("HEARTHWAVE_RULE"), ""),
    example_tools: matches!(set(option_env!("MCP_INCLUDE_EXAMPLE_TOOLS"), "").as_bytes(), b"true"),
    ..Config::DEFAULT
};

/// An empty variable is how a shell or a CI file spells "not set".
const fn set(variable: Option<&'static str>, default: &'static str) -> &'static str {
    match variable {
        Some(value) if !value.is_empty() => value,
        _ => default,
    }
}

const fn wifi(ssid: &'static str, password: &'static str) -> Credentials<'static> {
    assert!(ssid.len() <= 32, "HEARTHWAVE_WIFI_SSID: the name of a Wi-Fi network has at most 32 bytes");
    assert!(
        password.is_empty() || !ssid.is_empty(),
        "HEARTHWAVE_WIFI_PASSWORD is set, but HEARTHWAVE_WIFI_SSID is not"
    );
    assert!(
        password.is_empty() || 8 <= password.len() && password.len() <= 63,
        "HEARTHWAVE_WIFI_PASSWORD: a Wi-Fi password has 8 to 63 characters; leave it out for an open network"
    );
    Credentials { ssid, password }
}

const fn tool_prefix(prefix: &'static str) -> &'static str {
    assert!(
        is_tool_prefix(prefix),
        "MCP_TOOL_PREFIX: a tool prefix has at most 16 letters, digits, `-` and `_`"
    );
    prefix
}

const fn baud_rate(digits: &'static str) -> &'static str {
    match u32::from_str_radix(digits, 10) {
        Ok(9600..=921_600) => digits,
        _ => panic!("HEARTHWAVE_BAUD: a number from 9600 to 921600"),
    }
}

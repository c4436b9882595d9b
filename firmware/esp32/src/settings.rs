//! Settings that are built in: the network, the broker and the hub's name.
//!
//! | environment variable         | means                                     | when not set              |
//! | ---------------------------- | ----------------------------------------- | ------------------------- |
//! | `HEARTHWAVE_WIFI_SSID`       | name of the Wi-Fi network                 | the radio stays off       |
//! | `HEARTHWAVE_WIFI_PASSWORD`   | its password                              | an open network           |
//! | `HEARTHWAVE_BROKER`          | `host` or `host:port`; a name or an IPv4  | `homeassistant.local`     |
//! | `HEARTHWAVE_BROKER_USER`     | user name at the broker                   | no login                  |
//! | `HEARTHWAVE_BROKER_PASSWORD` | its password                              | empty                     |
//! | `HEARTHWAVE_HUB_ID`          | the hub's name in every topic             | `hub`                     |
//! | `HEARTHWAVE_RULE`            | the default response rule, as JSON        | Anthropic's model         |
//! | `MCP_TOOL_PREFIX`            | before the names of the hub's tools       | `hub`; empty means none   |
//! | `MCP_INCLUDE_EXAMPLE_TOOLS`  | `true` adds the example tools             | no example tools          |
//!
//! An empty variable counts as not set. All but the rule, which the hub complains about when it is used, are checked at
//! build time: a bad one fails the build with a sentence that says why. They end up readable in the flash image, so an image is as secret as its
//! passwords.

use hub_core::{Broker, Config, DEFAULT_TOOL_PREFIX, HubId};

/// MQTT without TLS.
const BROKER_PORT: u16 = 1883;

/// Where the broker usually is in a home that has one; found through multicast DNS.
const BROKER: &str = "homeassistant.local";

const HUB_ID: &str = "hub";

/// A Wi-Fi network.
#[derive(Clone, Copy)]
pub struct Network {
    /// Its name, at most 32 bytes.
    pub name: &'static str,
    /// 8 to 64 characters, or none if the network is open.
    pub password: Option<&'static str>,
}

/// The network to join, if any.
pub const NETWORK: Option<Network> =
    network(set(option_env!("HEARTHWAVE_WIFI_SSID")), set(option_env!("HEARTHWAVE_WIFI_PASSWORD")));

/// Who the hub is and where it belongs.
pub const HUB: Config<'static> = Config {
    id: hub_id(set(option_env!("HEARTHWAVE_HUB_ID"))),
    target: if cfg!(feature = "esp32c6") { "esp32c6" } else { "esp32c3" },
    broker: broker(
        set(option_env!("HEARTHWAVE_BROKER")),
        set(option_env!("HEARTHWAVE_BROKER_USER")),
        set(option_env!("HEARTHWAVE_BROKER_PASSWORD")),
    ),
    tool_prefix: match option_env!("MCP_TOOL_PREFIX") {
        Some(prefix) => prefix,
        None => DEFAULT_TOOL_PREFIX,
    },
    rule: match option_env!("HEARTHWAVE_RULE") {
        Some(rule) => rule,
        None => "",
    },
    example_tools: is_true(set(option_env!("MCP_INCLUDE_EXAMPLE_TOOLS"))),
    ..Config::DEFAULT
};

/// An empty variable is how a shell or a CI file spells "not set".
const fn set(variable: Option<&'static str>) -> Option<&'static str> {
    match variable {
        Some(value) if !value.is_empty() => Some(value),
        _ => None,
    }
}

const fn is_true(value: Option<&str>) -> bool {
    match value {
        Some(value) => matches!(value.as_bytes(), b"true"),
        None => false,
    }
}

const fn network(name: Option<&'static str>, password: Option<&'static str>) -> Option<Network> {
    let Some(name) = name else {
        assert!(password.is_none(), "HEARTHWAVE_WIFI_PASSWORD is set, but HEARTHWAVE_WIFI_SSID is not");
        return None;
    };
    assert!(name.len() <= 32, "HEARTHWAVE_WIFI_SSID: the name of a Wi-Fi network has at most 32 bytes");
    if let Some(password) = password {
        assert!(
            8 <= password.len() && password.len() <= 64,
            "HEARTHWAVE_WIFI_PASSWORD: a Wi-Fi password has 8 to 63 characters (or 64 hexadecimal digits); leave \
             it out for an open network"
        );
        assert!(
            password.len() < 64 || is_hexadecimal(password),
            "HEARTHWAVE_WIFI_PASSWORD: 64 characters have to be hexadecimal digits; a password ends at 63"
        );
    }
    Some(Network { name, password })
}

const fn is_hexadecimal(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if !first.is_ascii_hexdigit() {
            return false;
        }
        rest = tail;
    }
    true
}

const fn hub_id(name: Option<&'static str>) -> HubId<'static> {
    let name = match name {
        Some(name) => name,
        None => HUB_ID,
    };
    match HubId::new(name) {
        Some(id) => id,
        None => panic!("HEARTHWAVE_HUB_ID: a hub id has 1 to 32 letters, digits, `-` and `_`"),
    }
}

const fn broker(
    address: Option<&'static str>,
    user: Option<&'static str>,
    password: Option<&'static str>,
) -> Broker<'static> {
    let url = match address {
        Some(address) => {
            split_port(address);
            address
        }
        None => BROKER,
    };
    let (user, password) = match (user, password) {
        (Some(user), Some(password)) => (user, password),
        (Some(user), None) => (user, ""),
        (None, None) => ("", ""),
        (None, Some(_)) => panic!("HEARTHWAVE_BROKER_PASSWORD is set, but HEARTHWAVE_BROKER_USER is not"),
    };
    Broker { url, user, password, ca: "" }
}

/// `host:port` or `host`.
const fn split_port(address: &'static str) -> (&'static str, u16) {
    let address = without_scheme(address);
    let bytes = address.as_bytes();
    let mut colon = None;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'/' => {
                panic!(
                    "HEARTHWAVE_BROKER: give `host` or `host:port`, without a path; only `mqtt://` may stand before it"
                )
            }
            b':' if colon.is_some() => {
                panic!("HEARTHWAVE_BROKER: more than one colon; give a name or an IPv4 address, and a port")
            }
            b':' => colon = Some(at),
            b'!'..=b'~' => {}
            _ => panic!("HEARTHWAVE_BROKER: spaces and characters outside ASCII cannot be in a host's name"),
        }
        at += 1;
    }
    let (host, port) = match colon {
        Some(colon) => {
            let (host, port) = address.split_at(colon);
            (host, parse_port(port.split_at(1).1))
        }
        None => (address, BROKER_PORT),
    };
    assert!(!host.is_empty(), "HEARTHWAVE_BROKER: the host is missing before the colon");
    assert!(host.len() <= 253, "HEARTHWAVE_BROKER: a host's name has at most 253 characters");
    (host, port)
}

/// `mqtt://` may stand before it, as the simulator has it.
const fn without_scheme(address: &'static str) -> &'static str {
    match address.split_at_checked(7) {
        Some((scheme, rest)) if matches!(scheme.as_bytes(), b"mqtt://") => rest,
        _ => address,
    }
}

const fn parse_port(digits: &str) -> u16 {
    match u16::from_str_radix(digits, 10) {
        Ok(port) if port != 0 => port,
        _ => panic!("HEARTHWAVE_BROKER: after the colon comes a port from 1 to 65535"),
    }
}

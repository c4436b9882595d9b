//! The configuration that a hub is started with.

use core::fmt;

use crate::boot::BootReport;
use crate::limits;
use crate::platform::Credentials;

/// What a hub is started with: the machine's name, and the values of settings that nobody has set.
#[derive(Clone, Copy, Debug)]
pub struct Config<'a> {
    /// The machine, as announced in `info`: `esp32c3`, `qemu`, `sim`.
    pub target: &'a str,
    /// How this start came about.
    pub boot: BootReport,
    /// The hub's id in every topic: `hearthwave/<id>/…`.
    pub id: HubId<'a>,
    /// What people call the hub.
    pub name: &'a str,
    /// The Wi-Fi network.
    pub wifi: Credentials<'a>,
    /// The MQTT broker.
    pub broker: Broker<'a>,
    /// The time zone, like `Europe/Berlin`.
    pub time_zone: &'a str,
    /// Who is asked for the time by SNTP.
    pub time_server: &'a str,
    /// The speed of the controller's serial line, a number.
    pub baud_rate: &'a str,
    /// The prefix of the hub's own tools, without the underscore; no prefix if this is empty.
    pub tool_prefix: &'a str,
    /// The default rule for conversations, as JSON; the built-in one if this is empty.
    pub rule: &'a str,
    /// What people should check if the controller cannot be reached. `{baud}` is replaced by the baud rate of the line.
    pub controller_hint: &'a str,
    /// Whether the example tools are registered.
    pub example_tools: bool,
    /// Whether it announces itself to Home Assistant, unless the setting says otherwise.
    pub discovery: bool,
}

/// The default of [`Config::tool_prefix`].
pub const DEFAULT_TOOL_PREFIX: &str = "hub";

/// Whether a text may be [`Config::tool_prefix`]: at most [`TOOL_PREFIX`](limits::TOOL_PREFIX) letters, digits, `-` and `_`.
/// `const`, so that a board checks its own at build time.
pub const fn is_tool_prefix(text: &str) -> bool {
    text.len() <= limits::TOOL_PREFIX && is_word(text)
}

/// Whether a text consists of ASCII letters, digits, `-` and `_`.
pub(crate) const fn is_word(text: &str) -> bool {
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        if !(first.is_ascii_alphanumeric() || *first == b'-' || *first == b'_') {
            return false;
        }
        rest = tail;
    }
    true
}

/// [`Config::controller_hint`] for a board.
pub const SERIAL_HINT: &str = "the controller's power, RX and TX (crossed?), the ground wire, {baud} baud";

/// The placeholder for the baud rate in [`Config::controller_hint`].
pub(crate) const BAUD_PLACE: &str = "{baud}";

/// A hub's name: one to [`HUB_ID`](crate::limits::HUB_ID) letters, digits, `-` and `_`, so that it is one
/// level of an MQTT topic and never needs quoting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubId<'a>(&'a str);

impl<'a> HubId<'a> {
    /// `None` if `name` is invalid. `const`, so that a board checks its own at build time.
    pub const fn new(name: &'a str) -> Option<Self> {
        let is_valid = !name.is_empty() && name.len() <= limits::HUB_ID && is_word(name);
        if is_valid { Some(Self(name)) } else { None }
    }

    /// The name itself.
    pub const fn as_str(&self) -> &'a str {
        self.0
    }
}

impl Config<'_> {
    /// A hub called `hub` whose broker, time zone and all the rest are the usual ones. To be completed:
    /// `Config { target: "my-board", ..Config::DEFAULT }`.
    pub const DEFAULT: Config<'static> = Config {
        target: "",
        boot: BootReport::POWER_ON,
        id: HubId("hub"),
        name: "Hearthwave",
        wifi: Credentials { ssid: "", password: "" },
        broker: Broker { url: "mqtt://homeassistant.local", user: "", password: "", ca: "" },
        time_zone: "UTC",
        time_server: "pool.ntp.org",
        baud_rate: hub_contract::DEFAULT_BAUD_TEXT,
        tool_prefix: DEFAULT_TOOL_PREFIX,
        rule: "",
        controller_hint: SERIAL_HINT,
        example_tools: false,
        discovery: true,
    };
}

/// Where the broker is and how to log in.
#[derive(Clone, Copy)]
pub struct Broker<'a> {
    /// Its [address](Address).
    pub url: &'a str,
    /// The user name; empty if the broker does not ask for one.
    pub user: &'a str,
    /// The password of that user.
    pub password: &'a str,
    /// The CA certificate that the broker's certificate is checked against, in PEM or as the base64 of its DER; empty for none.
    pub ca: &'a str,
}

/// Without the password.
impl fmt::Debug for Broker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broker").field("url", &self.url).field("user", &self.user).finish_non_exhaustive()
    }
}

/// A broker's address, written `mqtt://HOST[:PORT]` or, with TLS, `mqtts://HOST[:PORT]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'a> {
    /// A name or an address.
    pub host: &'a str,
    /// 1883 unless given, with TLS 8883.
    pub port: u16,
    /// Whether the connection is encrypted.
    pub is_tls: bool,
}

impl<'a> Address<'a> {
    /// `None` if it is not one. Without a scheme it is `mqtt://`. What people type with it is forgiven: spaces around it,
    /// capitals in the scheme and a slash at the end.
    pub fn parse(url: &'a str) -> Option<Self> {
        let url = url.trim();
        let (scheme, rest) = url
            .split_once(':')
            .and_then(|(scheme, rest)| Some((scheme, rest.strip_prefix("//")?)))
            .unwrap_or(("mqtt", url));
        let (is_tls, usual) = if scheme.eq_ignore_ascii_case("mqtt") {
            (false, 1883)
        } else if scheme.eq_ignore_ascii_case("mqtts") {
            (true, 8883)
        } else {
            return None;
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        // An IPv6 address is in brackets, since it has colons of its own.
        let (host, port, is_bracketed) = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port, true),
            None => {
                let end = rest.find(':').unwrap_or(rest.len());
                let (host, port) = rest.split_at_checked(end)?;
                (host, port, false)
            }
        };
        let port = match port.strip_prefix(':') {
            Some(port) => port.parse().ok().filter(|port| *port > 0)?,
            None if port.is_empty() => usual,
            None => return None,
        };
        let is_host = |byte: u8| {
            byte.is_ascii_alphanumeric()
                || matches!(byte, b'-' | b'.' | b'_')
                || is_bracketed && matches!(byte, b':' | b'%')
        };
        let is_right = !host.is_empty() && host.len() <= limits::HOST && host.bytes().all(is_host);
        is_right.then_some(Self { host, port, is_tls })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A build with a wrong tool prefix fails as this one would.
    const _: () = assert!(is_tool_prefix("hub") && !is_tool_prefix("my hub"));

    #[test]
    fn a_tool_prefix_suits_names_of_tools() {
        for prefix in ["", "hub", "my-hub_2", "0123456789abcdef"] {
            assert!(is_tool_prefix(prefix), "{prefix}");
        }
        for prefix in ["my hub", "hub.", "küche", "\"", "0123456789abcdefg"] {
            assert!(!is_tool_prefix(prefix), "{prefix}");
        }
    }
}

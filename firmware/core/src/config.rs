//! What a hub is told when it starts.

use core::fmt;

use crate::limits;

/// Who the hub is and where it belongs.
#[derive(Clone, Copy, Debug)]
pub struct Config<'a> {
    /// The hub's name in every topic: `hearthwave/<id>/…`.
    pub id: HubId<'a>,
    /// What it runs on, as announced in `info`: `esp32c3`, `qemu`, `sim`.
    pub target: &'a str,
    /// The broker to keep a session with.
    pub broker: Broker<'a>,
    /// What stands before the names of the hub's own tools, with an underscore between; nothing if it is empty.
    pub tool_prefix: &'a str,
    /// The default rule for conversations, as JSON; the built-in one if this is empty.
    pub rule: &'a str,
    /// What a person should check when the controller is not reached.
    pub controller_hint: &'a str,
    /// Whether the tools that only show how tools are made are there.
    pub example_tools: bool,
}

/// What hubs put before the names of their tools unless they are told otherwise.
pub const DEFAULT_TOOL_PREFIX: &str = "hub";

/// What to check on a board when the controller is not reached.
pub const SERIAL_HINT: &str = "the controller's power, RX and TX (crossed?), the ground wire, 115200 baud";

/// A hub's name: one to [`HUB_ID`](crate::limits::HUB_ID) letters, digits, `-` and `_`, so that it is one
/// level of an MQTT topic and needs no quoting anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubId<'a>(&'a str);

impl<'a> HubId<'a> {
    /// `None` unless `name` is a valid one. `const`, so that a board checks its own at build time.
    pub const fn new(name: &'a str) -> Option<Self> {
        let mut rest = name.as_bytes();
        if rest.is_empty() || rest.len() > limits::HUB_ID {
            return None;
        }
        while let [first, tail @ ..] = rest {
            if !(first.is_ascii_alphanumeric() || *first == b'-' || *first == b'_') {
                return None;
            }
            rest = tail;
        }
        Some(Self(name))
    }

    /// The name itself.
    pub const fn as_str(&self) -> &'a str {
        self.0
    }
}

/// Where the broker is and how to log in.
#[derive(Clone, Copy)]
pub struct Broker<'a> {
    /// A name or an address.
    pub host: &'a str,
    /// Usually 1883.
    pub port: u16,
    /// User name and password, if the broker wants them.
    pub login: Option<(&'a str, &'a str)>,
}

/// Without the password.
impl fmt::Debug for Broker<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.login.map(|(user, _)| user);
        f.debug_struct("Broker")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &user)
            .finish()
    }
}

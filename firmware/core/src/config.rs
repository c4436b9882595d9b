//! The configuration that a hub is started with.

use core::fmt;

use crate::limits;

/// The identity of a hub, its broker and its defaults.
#[derive(Clone, Copy, Debug)]
pub struct Config<'a> {
    /// The hub's name in every topic: `hearthwave/<id>/…`.
    pub id: HubId<'a>,
    /// The machine, as announced in `info`: `esp32c3`, `qemu`, `sim`.
    pub target: &'a str,
    /// The MQTT broker.
    pub broker: Broker<'a>,
    /// The prefix of the hub's own tools, without the underscore; no prefix if this is empty.
    pub tool_prefix: &'a str,
    /// The default rule for conversations, as JSON; the built-in one if this is empty.
    pub rule: &'a str,
    /// What people should check when the controller is not reached.
    pub controller_hint: &'a str,
    /// Whether the example tools are registered.
    pub example_tools: bool,
}

/// The default of [`Config::tool_prefix`].
pub const DEFAULT_TOOL_PREFIX: &str = "hub";

/// [`Config::controller_hint`] for a board.
pub const SERIAL_HINT: &str = "the controller's power, RX and TX (crossed?), the ground wire, 115200 baud";

/// A hub's name: one to [`HUB_ID`](crate::limits::HUB_ID) letters, digits, `-` and `_`, so that it is one
/// level of an MQTT topic and never needs quoting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HubId<'a>(&'a str);

impl<'a> HubId<'a> {
    /// `None` if `name` is invalid. `const`, so that a board checks its own at build time.
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
    /// User name and password, if the broker requires them.
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

//! One device: as the controller describes it, and as the hub keeps it.

use core::fmt::{self, Display, Write as _};

use super::kind::{Kind, Standing};
use crate::json::{self, Text, Value, Writer};
use crate::limits;
use crate::text::Measure;

/// The name by which a device is known in topics and to the controller.
pub type DeviceId = heapless::String<{ limits::DEVICE_ID }>;

/// What stands before an id in the URI of its resource.
pub(super) const URI: &str = "home://devices/";

/// The id in a resource's URI. None if it is no device's, or cannot be part of a topic.
pub(super) fn id_in(uri: &Text<'_>) -> Option<DeviceId> {
    // A longer one is no device's.
    let uri: heapless::String<{ limits::DEVICE_ID + URI.len() }> = uri.decode()?;
    let id = uri.strip_prefix(URI)?;
    let suits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
    DeviceId::try_from(id).ok().filter(|id| !id.is_empty() && id.bytes().all(suits))
}

/// A device as the hub knows it.
#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    /// Its id.
    pub id: &'a str,
    /// What people call it.
    pub name: &'a str,
    /// Where it is; empty if nobody has said so.
    pub room: &'a str,
    /// What it is.
    pub kind: Kind,
    /// The controller's word for its kind, if the hub does not know that.
    pub(super) kind_word: &'a str,
    /// How it stands: a JSON object.
    pub(super) state: &'a str,
    /// What can be done with it, if that is [guarded](Kind::is_guarded): a JSON object, or empty.
    pub(super) actions: &'a str,
    /// Whether it can be reached.
    pub is_available: bool,
    /// How full its battery is, in percent.
    pub battery: Option<u8>,
}

impl<'a> Device<'a> {
    /// How it stands: an object.
    pub fn state(&self) -> Value<'a> {
        Value::parse(self.state.as_bytes()).unwrap_or(Value::EMPTY_OBJECT)
    }

    /// What can be done with it, as far as it is kept.
    pub(super) fn actions(&self) -> Value<'a> {
        Value::parse(self.actions.as_bytes()).unwrap_or(Value::EMPTY_OBJECT)
    }

    /// Writes the members that it has in `device/<id>` and in lists.
    pub fn write(&self, out: &mut Writer<'_>) {
        out.field("id", self.id);
        out.field("name", self.name);
        out.field("room", self.room);
        out.field("kind", self.kind.name().unwrap_or(self.kind_word));
        out.field("state", self.state());
        out.field("available", self.is_available);
        if let Some(battery) = self.battery {
            out.field("battery", u32::from(battery));
        }
    }
}

/// Its name and how it stands, as a sentence without an end.
impl Display for Device<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.is_available {
            return write!(f, "{} does not answer", self.name);
        }
        write!(f, "{} is {}", self.name, Standing { kind: self.kind, state: self.state() })
    }
}

/// A device as the controller describes it in a resource.
#[derive(Clone, Copy, Debug)]
pub struct Description<'a>(Value<'a>);

impl<'a> Description<'a> {
    /// The description in the answer to `resources/read`, whose text is unescaped into `room`. None if it is not one, or
    /// does not fit.
    pub(super) fn read(result: Value<'_>, room: &'a mut [u8]) -> Option<Self> {
        let contents = result.get("contents")?.items().next()?;
        let text = contents.get("text")?.as_text()?.decode_into(room)?;
        let resource = Value::parse(text.as_bytes()).ok()?;
        (resource.kind() == json::Kind::Object).then_some(Self(resource))
    }

    /// What it is.
    pub(super) fn kind(&self) -> Kind {
        Kind::of(self.0)
    }

    /// What can be done with it, by action.
    pub(super) fn actions(&self) -> Value<'a> {
        self.object("actions").unwrap_or(Value::EMPTY_OBJECT)
    }

    pub(super) fn state(&self) -> Value<'a> {
        self.object("state").unwrap_or(Value::EMPTY_OBJECT)
    }

    pub(super) fn is_available(&self) -> bool {
        self.0.get("available").is_none_or(|value| value.text() != "false")
    }

    pub(super) fn battery(&self) -> Option<u8> {
        self.0
            .get("battery")?
            .as_f64()
            .filter(|percent| (0.0..=100.0).contains(percent))
            .map(|percent| percent as u8)
    }

    /// The texts that are kept of it, in the order of [`super::table::Part`]; the first is its id.
    pub(super) fn texts(&self, id: &str, look: &mut dyn FnMut([&dyn Display; 6])) {
        let text = |name: &str| self.0.get(name).and_then(|value| value.as_text());
        let clipped = |name, most| Clipped { text: text(name), most };
        let kind = self.kind();
        let (mut name, room) = (clipped("name", limits::DEVICE_NAME), clipped("room", limits::DEVICE_ROOM));
        let is_nameless = name.text.is_none_or(|name| crate::text::is_blank(&name));
        name.text = name.text.filter(|_| !is_nameless);
        let word = if kind == Kind::Other { clipped("kind", limits::DEVICE_ROOM) } else { Clipped::NOTHING };
        let (state, actions) = (Compact(self.state()), Compact(self.actions()));
        let fits = |text: &dyn Display, most| Measure::Plain.length(text) <= most;
        let state: &dyn Display = if fits(&state, limits::DEVICE_STATE) { &state } else { &"{}" };
        let is_kept = kind.is_guarded() && fits(&actions, limits::DEVICE_ACTIONS);
        let actions: &dyn Display = if is_kept { &actions } else { &"" };
        let name: &dyn Display = if is_nameless { &id } else { &name };
        look([&id, name, &room, &word, state, actions]);
    }

    fn object(&self, name: &str) -> Option<Value<'a>> {
        self.0.get(name).filter(|value| value.kind() == json::Kind::Object)
    }
}

/// As much of a text as fits, and a mark if there is more.
struct Clipped<'a> {
    text: Option<Text<'a>>,
    most: usize,
}

impl Clipped<'_> {
    const NOTHING: Self = Self { text: None, most: 0 };
}

impl Display for Clipped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.text {
            Some(text) => Measure::Plain.write_marked(text, self.most, "…", f),
            None => Ok(()),
        }
    }
}

/// JSON without white space between its parts.
struct Compact<'a>(Value<'a>);

impl Display for Compact<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut is_string, mut is_escaped) = (false, false);
        for character in self.0.text().chars() {
            if is_string || !character.is_ascii_whitespace() {
                f.write_char(character)?;
            }
            let is_quote = character == '"' && !is_escaped;
            is_string ^= is_quote;
            is_escaped = is_string && character == '\\' && !is_escaped;
        }
        Ok(())
    }
}

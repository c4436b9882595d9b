//! Settings: what people can change while the hub runs. Each is a row in `rows.rs`; requests, their errors, the list of
//! settings and the documentation all come from there.

mod rows;
mod typed;

#[cfg(test)]
mod tests;

use core::fmt::{self, Display};
use core::pin::{Pin, pin};

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

pub use self::rows::*;
pub use self::typed::{SettingValue, TypedSetting};
use crate::config::{Address, Config, HubId, is_word};
use crate::json::{self, Value, Writer};
use crate::limits;
use crate::log::warn;
use crate::store::{Key, Scope, Section, Store, StoreError};
use crate::text;
use crate::zone::{UnknownZone, Zone};
pub use hub_mqtt::certificate;

/// One setting.
pub struct Setting {
    /// By which it is read and set. That of a [family](SettingKind::Rule) ends with `NAME`.
    pub key: &'static str,
    /// What it is for, in one sentence.
    pub purpose: &'static str,
    /// Which values it takes.
    pub kind: SettingKind,
    /// Its value as long as nobody has set it: what the hub was started with, or a constant.
    pub default: for<'a> fn(&Config<'a>) -> &'a str,
    /// Whether it is never shown.
    pub is_secret: bool,
    /// Whether a change takes effect only when the hub starts the next time.
    pub needs_restart: bool,
    /// What a change is applied to at once, if the setting is not read each time it counts.
    pub effect: Effect,
}

/// What a change of a setting is applied to at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// The speaker.
    Volume,
    /// The clock: the new server is asked.
    TimeServer,
    /// Home Assistant's announcements, which are published or removed.
    Announcements,
    /// The count of wrong PINs, which starts again.
    Pin,
}

/// Which values a setting takes. Values are kept as texts; a whole number is one in JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// Any text of at most [`limits::SETTING`] bytes.
    Text,
    /// Letters, digits, `-` and `_`, at most so many, or nothing.
    Word(usize),
    /// The name of a group of flags.
    Group,
    /// `on` or `off`.
    Switch,
    /// A [`Policy`].
    Policy,
    /// A code that people say: at least four digits, or nothing.
    Code,
    /// A whole number in between.
    Whole(u32, u32),
    /// The number of a pin, or nothing.
    Pin,
    /// A [hub's id](HubId).
    HubId,
    /// Any text of at most so many bytes.
    Short(usize),
    /// The password of a Wi-Fi network, or nothing.
    WifiPassword,
    /// The [address](Address) of a broker.
    Address,
    /// A [time zone](Zone).
    Zone,
    /// A [certificate], or nothing.
    Certificate,
    /// A [response rule](crate::chat::rule), as JSON. A family: each name after `rule.` is a setting of its own.
    Rule,
}

/// The value of a setting that is not a rule, as text.
pub type SettingText = String<{ limits::SETTING }>;

/// Why a setting does not take a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingError {
    /// It is of another kind.
    Kind(SettingKind),
    /// It has more than this many bytes.
    Long(usize),
    /// It is no time zone.
    Zone(UnknownZone),
    /// The store does not take it.
    Store(StoreError),
}

impl Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "must be {kind}"),
            Self::Zone(unknown) => write!(f, "must be {}{unknown}", SettingKind::Zone),
            Self::Long(most) => write!(f, "is too long; at most {most} bytes are possible"),
            Self::Store(error) => write!(f, "cannot be kept: {error}"),
        }
    }
}

/// In words: a value must be …
impl Display for SettingKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text | Self::Group => f.write_str("a string"),
            Self::Word(most) => write!(f, "a string of at most {most} letters, digits, '-' and '_'"),
            Self::Switch => f.write_str("one of: on, off"),
            Self::Policy => f.write_str("one of: allow, ask, deny"),
            Self::Code => write!(f, "a string of {CODE_LEAST} to {} digits, or nothing", limits::PIN),
            Self::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Pin => write!(f, "a whole number from 0 to {PIN_MOST}, or nothing"),
            Self::HubId => write!(f, "a string of 1 to {} letters, digits, '-' and '_'", limits::HUB_ID),
            Self::Short(most) => write!(f, "a string of at most {most} bytes"),
            Self::WifiPassword => f.write_str(
                "a string of 8 to 63 characters or 64 hexadecimal digits, or empty for an open network",
            ),
            Self::Address => f.write_str("a string like mqtt://HOST, mqtt://HOST:PORT or mqtts://HOST"),
            Self::Zone => {
                f.write_str("a time zone like Europe/Berlin, or a rule like CET-1CEST,M3.5.0,M10.5.0/3")
            }
            Self::Certificate => {
                write!(f, "a string with one certificate of at most {} bytes, in PEM", limits::CERTIFICATE)
            }
            Self::Rule => f.write_str("an object"),
        }
    }
}

/// The highest number that a pin has on any of the boards.
const PIN_MOST: u32 = 48;

/// A shorter code is guessed too easily.
pub const CODE_LEAST: usize = 4;

/// What is done about something that may be dangerous, from the mildest to the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Policy {
    /// It is done.
    Allow,
    /// A person is asked first.
    #[default]
    Ask,
    /// It is not done.
    Deny,
}

impl Policy {
    const ALL: [(&'static str, Self); 3] = [("allow", Self::Allow), ("ask", Self::Ask), ("deny", Self::Deny)];

    /// The policy of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, policy)| policy)
    }
}

/// The value of a certificate that is set, as it is shown.
const IS_SET: &str = "(set)";

/// The beginning of the key of every rule.
pub const RULE_PREFIX: &str = "rule.";

/// The setting of this key.
pub fn find(key: &str) -> Option<&'static Setting> {
    let is_rule = key.strip_prefix(RULE_PREFIX).is_some_and(|name| !name.is_empty());
    SETTINGS.iter().copied().find(|row| if row.kind == SettingKind::Rule { is_rule } else { row.key == key })
}

/// Writes the keys of all settings, with commas between them.
pub fn write_keys(out: &mut dyn fmt::Write) -> fmt::Result {
    SETTINGS.iter().enumerate().try_for_each(|(index, row)| {
        out.write_str(if index > 0 { ", " } else { "" })?;
        out.write_str(row.key)
    })
}

impl Setting {
    /// What most settings have in common.
    const PLAIN: Self = Self {
        key: "",
        purpose: "",
        kind: SettingKind::Text,
        default: |_| "",
        is_secret: false,
        needs_restart: false,
        effect: Effect::None,
    };

    /// What settings have in common that are read when the hub starts.
    const AT_START: Self = Self { needs_restart: true, ..Self::PLAIN };

    /// Its value: what somebody set, or else the default. What cannot be read, or does not suit, counts as not set. Of a
    /// certificate it says only whether it is set.
    pub async fn value<F: MultiwriteNorFlash>(
        &self,
        store: &mut Store<'_, F>,
        config: &Config<'_>,
    ) -> SettingText {
        if self.kind == SettingKind::Certificate {
            let is_set = store.contains(Key::Setting(self.key)).await || !(self.default)(config).is_empty();
            return text::clip(if is_set { &IS_SET } else { &"" });
        }
        // Behind a pointer: otherwise each caller would bring its own copy of the store's code.
        let looking: Pin<&mut dyn Future<Output = _>> = pin!(store.look(Key::Setting(self.key)));
        let kept = looking.await.ok().flatten();
        let kept = kept.filter(|text| text.len() <= limits::SETTING && self.suits(text).is_ok());
        let text = kept.unwrap_or((self.default)(config));
        SettingText::try_from(text).unwrap_or_else(|_| {
            warn!("settings: the default of {} is too long, so it is empty; set it", self.key);
            SettingText::new()
        })
    }

    /// The text of a value that somebody wants to set.
    pub fn check(&self, value: Value<'_>) -> Result<SettingText, SettingError> {
        let wrong = SettingError::Kind(self.kind);
        let text = match self.kind {
            SettingKind::Whole(..) | SettingKind::Pin if value.as_text().is_none() => {
                let number = value.as_integer().and_then(|number| u32::try_from(number).ok());
                text::clip(&number.ok_or(wrong)?)
            }
            SettingKind::Pin if value.as_text().is_some_and(|text| text == *"") => SettingText::new(),
            SettingKind::Whole(..) | SettingKind::Pin => return Err(wrong),
            _ => value.as_text().ok_or(wrong)?.decode().ok_or(SettingError::Long(limits::SETTING))?,
        };
        self.accept(text)
    }

    /// The same for a value that somebody typed, who may write a switch and a number in any way.
    pub fn check_text(&self, typed: &str) -> Result<SettingText, SettingError> {
        let is_one_of = |words: [&str; 4]| words.iter().any(|word| word.eq_ignore_ascii_case(typed));
        let text = match (self.kind, typed.parse::<u32>()) {
            (SettingKind::Whole(..) | SettingKind::Pin, Ok(number)) => text::clip(&number),
            (SettingKind::Switch, _) if is_one_of(["on", "yes", "true", "1"]) => text::clip(&"on"),
            (SettingKind::Switch, _) if is_one_of(["off", "no", "false", "0"]) => text::clip(&"off"),
            _ => SettingText::try_from(typed).map_err(|_| SettingError::Long(limits::SETTING))?,
        };
        self.accept(text)
    }

    /// The text if it suits. A zone is kept under the name that it has in the table, however it was written.
    fn accept(&self, text: SettingText) -> Result<SettingText, SettingError> {
        if self.kind == SettingKind::Zone {
            let zone = Zone::find(&text).map_err(SettingError::Zone)?;
            return Ok(if zone.name.is_empty() { text } else { text::clip(&zone.name) });
        }
        self.suits(&text).map(|()| text)
    }

    /// The base64 of a certificate that somebody wants to set, in `scratch`.
    pub fn check_certificate<'a>(
        &self,
        text: json::Text<'_>,
        scratch: &'a mut [u8],
    ) -> Result<&'a str, SettingError> {
        let longest = scratch.len();
        let length = text.decode_into(scratch).ok_or(SettingError::Long(longest))?.len();
        let base64 = scratch.get_mut(..length).and_then(certificate::to_base64);
        base64.ok_or(SettingError::Kind(self.kind))
    }

    fn suits(&self, text: &str) -> Result<(), SettingError> {
        let is_right = match self.kind {
            SettingKind::Whole(least, most) => {
                text.parse().is_ok_and(|number| (least..=most).contains(&number))
            }
            SettingKind::Pin => text.is_empty() || text.parse().is_ok_and(|number: u32| number <= PIN_MOST),
            SettingKind::HubId => HubId::new(text).is_some(),
            SettingKind::Short(most) => text.len() <= most,
            SettingKind::WifiPassword => is_wifi_password(text),
            SettingKind::Address => Address::parse(text).is_some(),
            SettingKind::Certificate => text.is_empty() || certificate::is_certificate(text),
            SettingKind::Switch => matches!(text, "on" | "off"),
            SettingKind::Policy => Policy::named(text).is_some(),
            SettingKind::Code => {
                text.is_empty()
                    || (CODE_LEAST..=limits::PIN).contains(&text.len())
                        && text.bytes().all(|byte| byte.is_ascii_digit())
            }
            SettingKind::Word(most) => text.len() <= most && is_word(text),
            SettingKind::Group => {
                return Section::Flags(Scope::Project(text)).check().map_err(SettingError::Store);
            }
            // A zone was looked up when it was set.
            SettingKind::Text | SettingKind::Rule | SettingKind::Zone => true,
        };
        if is_right { Ok(()) } else { Err(SettingError::Kind(self.kind)) }
    }

    /// Writes a value as a member: a number as a number, everything else as a string, a secret as stars.
    pub fn write(&self, text: &str, out: &mut Writer<'_>) {
        match (self.kind, text.parse::<u32>()) {
            _ if self.is_secret => out.field(self.key, if text.is_empty() { "" } else { "***" }),
            (SettingKind::Whole(..) | SettingKind::Pin, Ok(number)) => out.field(self.key, number),
            _ => out.field(self.key, text),
        }
    }

    /// Writes what it is, in the words of JSON Schema where there are some: key, purpose, type and bounds, default, secret
    /// or not, and when a change takes effect.
    pub fn describe(&self, config: &Config<'_>, out: &mut Writer<'_>) {
        out.object(|out| {
            out.field("key", self.key);
            out.field("purpose", self.purpose);
            let (name, longest) = match self.kind {
                SettingKind::Text => ("string", Some(limits::SETTING)),
                SettingKind::Word(most) => ("string", Some(most)),
                SettingKind::Group => ("string", Some(limits::GROUP)),
                SettingKind::Rule => ("object", Some(limits::RULE)),
                SettingKind::HubId => ("string", Some(limits::HUB_ID)),
                SettingKind::Short(most) => ("string", Some(most)),
                SettingKind::WifiPassword => ("string", Some(limits::WIFI_PASSWORD)),
                SettingKind::Address | SettingKind::Zone => ("string", Some(limits::SETTING)),
                SettingKind::Certificate => ("string", Some(limits::DOCUMENT)),
                SettingKind::Switch | SettingKind::Policy => ("string", None),
                SettingKind::Code => ("string", Some(limits::PIN)),
                SettingKind::Whole(..) | SettingKind::Pin => ("integer", None),
            };
            out.field("type", name);
            if let Some(longest) = longest {
                out.field("maxLength", longest);
            }
            let bounds = match self.kind {
                SettingKind::Whole(least, most) => Some((least, most)),
                SettingKind::Pin => Some((0, PIN_MOST)),
                _ => None,
            };
            if let Some((least, most)) = bounds {
                out.field("minimum", least);
                out.field("maximum", most);
            }
            let options: &[&str] = match self.kind {
                SettingKind::Switch => &["on", "off"],
                SettingKind::Policy => &["allow", "ask", "deny"],
                _ => &[],
            };
            if !options.is_empty() {
                out.key("enum");
                out.array(|out| options.iter().for_each(|option| out.value(*option)));
            }
            if self.kind != SettingKind::Rule {
                let default = Self { key: "default", ..*self };
                let text = (self.default)(config);
                // A certificate fills a reply by itself.
                let is_shown = text.is_empty() || self.kind != SettingKind::Certificate;
                default.write(if is_shown { text } else { IS_SET }, out);
            }
            out.field("secret", self.is_secret);
            out.field("restart_required", self.needs_restart);
        });
    }
}

/// What WPA2 allows. Nothing stands for an open network.
fn is_wifi_password(text: &str) -> bool {
    match text.len() {
        0 | 8..=63 => true,
        limits::WIFI_PASSWORD => text.bytes().all(|byte| byte.is_ascii_hexdigit()),
        _ => false,
    }
}

//! Settings: what people can change while the hub runs. Each is a row in `rows.rs`; requests, their errors, the list of
//! settings and the documentation all come from there.

mod rows;

#[cfg(test)]
mod tests;

use core::fmt::{self, Display};
use core::pin::{Pin, pin};

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

pub use self::rows::*;
use crate::config::Config;
use crate::json::{Value, Writer};
use crate::limits;
use crate::store::{Key, Scope, Section, Store, StoreError};
use crate::text;

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
    /// A whole number in between.
    Whole(u8, u8),
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
    /// The store does not take it.
    Store(StoreError),
}

impl Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind(kind) => write!(f, "must be {kind}"),
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
            Self::Whole(least, most) => write!(f, "a whole number from {least} to {most}"),
            Self::Rule => f.write_str("an object"),
        }
    }
}

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
    };

    /// Its value: what somebody set, or else the default. What cannot be read, or does not suit, counts as not set.
    pub async fn value<F: MultiwriteNorFlash>(
        &self,
        store: &mut Store<'_, F>,
        config: &Config<'_>,
    ) -> SettingText {
        let mut text = [0; limits::SETTING];
        // Behind a pointer: otherwise each caller would bring its own copy of the store's code.
        let getting: Pin<&mut dyn Future<Output = _>> = pin!(store.get(Key::Setting(self.key), &mut text));
        let kept = getting.await.ok().flatten();
        let kept = kept.filter(|text| self.suits(text).is_ok());
        SettingText::try_from(kept.unwrap_or((self.default)(config))).unwrap_or_default()
    }

    /// The text of a value that somebody wants to set.
    pub fn check(&self, value: Value<'_>) -> Result<SettingText, SettingError> {
        let wrong = SettingError::Kind(self.kind);
        let text = match self.kind {
            SettingKind::Whole(..) => {
                let number = value.as_integer().and_then(|number| u8::try_from(number).ok());
                text::clip(&number.ok_or(wrong)?)
            }
            _ => value.as_text().ok_or(wrong)?.decode().ok_or(SettingError::Long(limits::SETTING))?,
        };
        self.suits(&text).map(|()| text)
    }

    fn suits(&self, text: &str) -> Result<(), SettingError> {
        let is_word = || text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        let is_right = match self.kind {
            SettingKind::Whole(least, most) => {
                text.parse().is_ok_and(|number| (least..=most).contains(&number))
            }
            SettingKind::Switch => matches!(text, "on" | "off"),
            SettingKind::Word(most) => text.len() <= most && is_word(),
            SettingKind::Group => {
                return Section::Flags(Scope::Project(text)).check().map_err(SettingError::Store);
            }
            SettingKind::Text | SettingKind::Rule => true,
        };
        if is_right { Ok(()) } else { Err(SettingError::Kind(self.kind)) }
    }

    /// Writes a value as a member: a number as a number, everything else as a string, a secret as stars.
    pub fn write(&self, text: &str, out: &mut Writer<'_>) {
        match (self.kind, text.parse::<u8>()) {
            _ if self.is_secret => out.field(self.key, "***"),
            (SettingKind::Whole(..), Ok(number)) => out.field(self.key, u32::from(number)),
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
                SettingKind::Switch => ("string", None),
                SettingKind::Whole(..) => ("integer", None),
            };
            out.field("type", name);
            if let Some(longest) = longest {
                out.field("maxLength", longest);
            }
            if let SettingKind::Whole(least, most) = self.kind {
                out.field("minimum", u32::from(least));
                out.field("maximum", u32::from(most));
            }
            if self.kind == SettingKind::Switch {
                out.key("enum");
                out.array(|options| ["on", "off"].into_iter().for_each(|option| options.value(option)));
            }
            if self.kind != SettingKind::Rule {
                let default = Self { key: "default", ..*self };
                default.write((self.default)(config), out);
            }
            out.field("secret", self.is_secret);
            out.field("restart_required", self.needs_restart);
        });
    }
}

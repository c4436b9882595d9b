//! What an entry is called.

use sequential_storage::map::{SerializationError, Value};

use super::error::{NameFault, NamedPart, StoreError};
use crate::limits;

/// The longest key as it is kept: its kind, a group, a separator and a name.
pub(super) const KEY: usize = 1 + limits::GROUP + 1 + limits::NAME;

// Its length is kept in one byte.
const _: () = assert!(KEY <= u8::MAX as usize);

/// Between the parts of a key. Sorts before every character of a name, and is in none.
const SEPARATOR: u8 = 0;

/// The name of an entry, and what it is. Keys sort by kind, then group, then name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key<'a> {
    /// A document.
    Document {
        /// The group it belongs to.
        category: &'a str,
        /// Unique in its category.
        name: &'a str,
    },
    /// A flag for all projects, or for one.
    Flag(Scope<'a>, &'a str),
    /// A setting.
    Setting(&'a str),
}

/// Where a flag is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope<'a> {
    /// Everywhere.
    Global,
    /// In the project of this name.
    Project(&'a str),
}

/// A part of the store to list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section<'a> {
    /// All settings.
    Settings,
    /// The flags of one scope, and of that one alone.
    Flags(Scope<'a>),
    /// All documents.
    Documents,
    /// The documents of one category.
    Category(&'a str),
}

/// A key as it is kept in flash and RAM.
#[derive(Clone, Copy)]
pub(super) struct Encoded {
    bytes: [u8; KEY],
    len: usize,
}

impl Encoded {
    const fn new(kind: u8) -> Self {
        let mut bytes = [0; KEY];
        if let Some(first) = bytes.first_mut() {
            *first = kind;
        }
        Self { bytes, len: 1 }
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }

    fn push(mut self, part: NamedPart, name: &str) -> Result<Self, StoreError> {
        check(part, name).map_err(|fault| StoreError::Name(part, fault))?;
        let end = self.len + name.len();
        // The check bounds every part, and all of them fit.
        self.bytes.get_mut(self.len..end).ok_or(StoreError::Corrupt)?.copy_from_slice(name.as_bytes());
        self.len = end;
        Ok(self)
    }

    fn separator(mut self) -> Self {
        if let Some(next) = self.bytes.get_mut(self.len) {
            *next = SEPARATOR;
            self.len += 1;
        }
        self
    }
}

const DOCUMENT: u8 = b'd';
const GLOBAL: u8 = b'g';
const PROJECT: u8 = b'p';
const SETTING: u8 = b's';

impl<'a> Key<'a> {
    /// A key that keeps to the limits, or what is wrong with it.
    pub(super) fn encode(&self) -> Result<Encoded, StoreError> {
        match *self {
            Self::Setting(name) => Encoded::new(SETTING).push(NamedPart::Setting, name),
            Self::Flag(Scope::Global, name) => Encoded::new(GLOBAL).push(NamedPart::Flag, name),
            Self::Flag(Scope::Project(project), name) => Encoded::new(PROJECT)
                .push(NamedPart::Project, project)?
                .separator()
                .push(NamedPart::Flag, name),
            Self::Document { category, name } => Encoded::new(DOCUMENT)
                .push(NamedPart::Category, category)?
                .separator()
                .push(NamedPart::Document, name),
        }
    }

    /// `None` if it was not encoded by this version of the firmware.
    pub(super) fn decode(bytes: &'a [u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let rest = core::str::from_utf8(rest).ok()?;
        match *kind {
            SETTING => Some(Self::Setting(rest)),
            GLOBAL => Some(Self::Flag(Scope::Global, rest)),
            PROJECT => {
                let (project, name) = rest.split_once(SEPARATOR as char)?;
                Some(Self::Flag(Scope::Project(project), name))
            }
            DOCUMENT => {
                let (category, name) = rest.split_once(SEPARATOR as char)?;
                Some(Self::Document { category, name })
            }
            _ => None,
        }
    }

    /// What it names, and how large that may be.
    pub(super) const fn value(&self) -> (NamedPart, usize) {
        match self {
            Self::Setting(_) => (NamedPart::Setting, limits::DOCUMENT),
            Self::Flag(..) => (NamedPart::Flag, limits::FLAG),
            Self::Document { .. } => (NamedPart::Document, limits::DOCUMENT),
        }
    }
}

impl Section<'_> {
    /// Whether its name keeps to the limits.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let (part, name) = match *self {
            Self::Flags(Scope::Project(project)) => (NamedPart::Project, project),
            Self::Category(category) => (NamedPart::Category, category),
            Self::Settings | Self::Flags(Scope::Global) | Self::Documents => return Ok(()),
        };
        check(part, name).map_err(|fault| StoreError::Name(part, fault))
    }

    /// Whether an entry belongs to it.
    pub(super) fn has(&self, key: Key<'_>) -> bool {
        match (*self, key) {
            (Self::Settings, Key::Setting(_)) | (Self::Documents, Key::Document { .. }) => true,
            (Self::Flags(wanted), Key::Flag(scope, _)) => wanted == scope,
            (Self::Category(wanted), Key::Document { category, .. }) => wanted == category,
            _ => false,
        }
    }
}

/// A name is one line of text. Those of documents can also be written in an expression and mean themselves.
pub(super) fn check(part: NamedPart, name: &str) -> Result<(), NameFault> {
    let limit = match part {
        NamedPart::Project | NamedPart::Category => limits::GROUP,
        NamedPart::Setting | NamedPart::Flag | NamedPart::Document => limits::NAME,
    };
    let reserved: &[char] = match part {
        NamedPart::Category => &['/', ',', '+', '*', '?'],
        NamedPart::Document => &[',', '+', '*', '?'],
        NamedPart::Setting | NamedPart::Flag | NamedPart::Project => &[],
    };
    if name.is_empty() {
        Err(NameFault::Empty)
    } else if name.len() > limit {
        Err(NameFault::TooLong(limit))
    } else if let Some(character) = name.chars().find(|c| c.is_control() || reserved.contains(c)) {
        Err(NameFault::Character(character))
    } else if name.trim() != name {
        Err(NameFault::Space)
    } else {
        Ok(())
    }
}

/// What an entry takes besides its key and text: its id, and the length of its key.
pub(super) const OVERHEAD: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Item<'a> {
    pub(super) key: &'a [u8],
    pub(super) text: &'a str,
}

impl<'a> Item<'a> {
    /// `None` if it was not written by this version of the firmware.
    pub(super) fn read(bytes: &'a [u8]) -> Option<Self> {
        let (key_len, rest) = bytes.split_first()?;
        let (key, text) = rest.split_at_checked(usize::from(*key_len))?;
        Some(Self { key, text: core::str::from_utf8(text).ok()? })
    }
}

impl<'a> Value<'a> for Item<'a> {
    fn serialize_into(&self, buffer: &mut [u8]) -> Result<usize, SerializationError> {
        let key_len = u8::try_from(self.key.len()).map_err(|_| SerializationError::InvalidData)?;
        let length = 1 + self.key.len() + self.text.len();
        let room = buffer.get_mut(..length).ok_or(SerializationError::BufferTooSmall)?;
        let bytes = core::iter::once(&key_len).chain(self.key).chain(self.text.as_bytes());
        room.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
        Ok(length)
    }

    fn deserialize_from(buffer: &'a [u8]) -> Result<(Self, usize), SerializationError> {
        let item = Self::read(buffer).ok_or(SerializationError::InvalidFormat)?;
        Ok((item, buffer.len()))
    }
}

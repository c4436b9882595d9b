//! Errors of the store, by who has to act.

use core::fmt;

use embedded_storage_async::nor_flash::{NorFlashError, NorFlashErrorKind};

use crate::json;

/// Why the store did not do what it was asked. After any of these every entry is as it was, but for one case:
/// after [`Flash`](Self::Flash) the entry that was being written has its old or its new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// The name is malformed.
    Name(NamedPart, NameFault),
    /// The value is too long.
    TooLarge {
        /// Which value.
        part: NamedPart,
        /// Its length in bytes.
        length: usize,
        /// The most that is possible.
        limit: usize,
    },
    /// The value of a flag is not JSON.
    NotJson(json::Error),
    /// There is no room left.
    Full(Capacity),
    /// The caller's buffer is too small for the value, which has this many bytes.
    Buffer(usize),
    /// The entry is damaged. Setting or deleting it repairs it.
    Corrupt,
    /// The flash took a value and did not keep it: it is worn out. The old value is still there.
    Worn,
    /// The flash is unsuitable: it has this many bytes, fewer than three pages, or its pages are too small.
    Unsuitable(usize),
    /// The flash reports a failure of its own.
    Flash(NorFlashErrorKind),
}

/// What a name or a value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamedPart {
    /// A setting.
    Setting,
    /// A flag.
    Flag,
    /// A project.
    Project,
    /// A document.
    Document,
    /// A category of documents.
    Category,
}

/// What is wrong with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameFault {
    /// It is empty.
    Empty,
    /// It has more bytes than this.
    TooLong(usize),
    /// It has a character in it that names must not have.
    Character(char),
    /// It starts or ends with a space.
    Space,
}

/// What is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capacity {
    /// The flash.
    Flash,
    /// [`STORE_ENTRIES`](crate::limits::STORE_ENTRIES).
    Entries,
    /// [`STORE_NAMES`](crate::limits::STORE_NAMES).
    Names,
}

impl StoreError {
    pub(super) fn flash(error: impl NorFlashError) -> Self {
        Self::Flash(error.kind())
    }
}

impl NamedPart {
    /// The word for it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Setting => "setting",
            Self::Flag => "flag",
            Self::Project => "project",
            Self::Document => "document",
            Self::Category => "category",
        }
    }
}

/// For the person or the model that asked.
impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Name(part, fault) => {
                write!(f, "the name of a {} ", part.text())?;
                match fault {
                    NameFault::Empty => write!(f, "must not be empty"),
                    NameFault::TooLong(limit) => write!(f, "has at most {limit} bytes"),
                    NameFault::Character(character) => write!(f, "must not have {character:?} in it"),
                    NameFault::Space => write!(f, "must not start or end with a space"),
                }
            }
            Self::TooLarge { part, length, limit } => {
                write!(f, "the {} is too large: {length} bytes, and {limit} are possible", part.text())
            }
            Self::NotJson(error) => write!(f, "the value of a flag is {error}"),
            Self::Full(Capacity::Flash) => write!(f, "the store is full; delete something first"),
            Self::Full(Capacity::Entries) => {
                write!(f, "the store has {} entries, and no more fit", crate::limits::STORE_ENTRIES)
            }
            Self::Full(Capacity::Names) => {
                write!(f, "there is no room for another name; delete something first")
            }
            Self::Buffer(needed) => write!(f, "the value has {needed} bytes, more than fit here"),
            Self::Corrupt => write!(f, "the entry is damaged; set it again"),
            Self::Worn => write!(f, "the flash no longer keeps what is written to it"),
            Self::Unsuitable(bytes) => write!(f, "{bytes} bytes of flash are not enough for a store"),
            Self::Flash(NorFlashErrorKind::NotAligned) => write!(f, "the flash refused an unaligned access"),
            Self::Flash(NorFlashErrorKind::OutOfBounds) => write!(f, "the flash ends too early"),
            Self::Flash(_) => write!(f, "the flash failed"),
        }
    }
}

impl core::error::Error for StoreError {}

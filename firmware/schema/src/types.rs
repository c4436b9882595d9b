//! Sets of JSON Schema's types.

use core::fmt;

use hub_json::{Kind, Text, Value};

/// Some of the seven types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Types(u8);

/// The types with their names in a schema and in a sentence, most telling first.
const NAMES: [(Types, &str, &str); 7] = [
    (Types::STRING, "string", "a string"),
    (Types::INTEGER, "integer", "an integer"),
    (Types::NUMBER, "number", "a number"),
    (Types::BOOLEAN, "boolean", "a boolean"),
    (Types::ARRAY, "array", "an array"),
    (Types::OBJECT, "object", "an object"),
    (Types::NULL, "null", "null"),
];

impl Types {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(1 << 1);
    pub(super) const INTEGER: Self = Self(1 << 2);
    pub(super) const NUMBER: Self = Self(1 << 3);
    pub(super) const STRING: Self = Self(1 << 4);
    pub(super) const ARRAY: Self = Self(1 << 5);
    pub(super) const OBJECT: Self = Self(1 << 6);
    pub(super) const ANY: Self = Self(0x7F);

    /// The types that the keyword `type` names, or `None` if its value is malformed.
    pub(super) fn named(value: Value<'_>) -> Option<Self> {
        match value.as_text() {
            Some(name) => Self::one(name),
            None => {
                let named = value
                    .items()
                    .try_fold(Self::NONE, |all, one| Some(all.with(Self::one(one.as_text()?)?)))?;
                (named != Self::NONE).then_some(named)
            }
        }
    }

    fn one(name: Text<'_>) -> Option<Self> {
        NAMES.iter().find(|(_, word, _)| name == **word).map(|(types, ..)| *types)
    }

    /// The type of `value`, where an integer is a number too.
    pub(super) fn of(value: Value<'_>) -> Self {
        match value.kind() {
            Kind::Null => Self::NULL,
            Kind::Bool => Self::BOOLEAN,
            Kind::Number => Self::NUMBER,
            Kind::String => Self::STRING,
            Kind::Array => Self::ARRAY,
            Kind::Object => Self::OBJECT,
        }
    }

    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether it has a type of `other`.
    pub(super) const fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The names a schema has for them.
    pub(super) fn words(self) -> impl Iterator<Item = (Self, &'static str)> {
        NAMES.iter().filter(move |(types, ..)| self.meets(*types)).map(|(types, word, _)| (*types, *word))
    }
}

/// As in "must be a string, an integer or null".
impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0.count_ones();
        for (_, _, words) in NAMES.iter().filter(|(types, ..)| self.meets(*types)) {
            left = left.saturating_sub(1);
            f.write_str(words)?;
            f.write_str(match left {
                0 => "",
                1 => " or ",
                _ => ", ",
            })?;
        }
        Ok(())
    }
}

//! The keywords of a schema, read once.

use super::types::Types;
use crate::json::{Kind, Text, Value};

/// A keyword that the hub knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    Type,
    Enum,
    Const,
    Minimum,
    Maximum,
    ExclusiveMinimum,
    ExclusiveMaximum,
    MultipleOf,
    MinLength,
    MaxLength,
    MinItems,
    MaxItems,
    UniqueItems,
    Required,
    Properties,
    AdditionalProperties,
    Items,
    AnyOf,
    OneOf,
    AllOf,
    Not,
    Description,
    /// Not checked, but `additionalProperties` does not concern what it names.
    PatternProperties,
    /// Not checked, but `items` comes after its items.
    PrefixItems,
    /// Irrelevant to validity. The last, because its value is never read.
    Annotation,
}

impl Keyword {
    /// Longer than any of them.
    const LONGEST: usize = 24;

    /// The keyword called `name`.
    pub(super) fn named(name: Text<'_>) -> Option<Self> {
        let decoded;
        let name = match name.plain() {
            Some(plain) => plain,
            None => {
                decoded = name.decode::<{ Self::LONGEST }>()?;
                decoded.as_str()
            }
        };
        Some(match name {
            "type" => Self::Type,
            "enum" => Self::Enum,
            "const" => Self::Const,
            "minimum" => Self::Minimum,
            "maximum" => Self::Maximum,
            "exclusiveMinimum" => Self::ExclusiveMinimum,
            "exclusiveMaximum" => Self::ExclusiveMaximum,
            "multipleOf" => Self::MultipleOf,
            "minLength" => Self::MinLength,
            "maxLength" => Self::MaxLength,
            "minItems" => Self::MinItems,
            "maxItems" => Self::MaxItems,
            "uniqueItems" => Self::UniqueItems,
            "required" => Self::Required,
            "properties" => Self::Properties,
            "additionalProperties" => Self::AdditionalProperties,
            "items" => Self::Items,
            "anyOf" => Self::AnyOf,
            "oneOf" => Self::OneOf,
            "allOf" => Self::AllOf,
            "not" => Self::Not,
            "description" => Self::Description,
            "patternProperties" => Self::PatternProperties,
            "prefixItems" => Self::PrefixItems,
            "title" | "default" | "examples" | "format" | "deprecated" | "readOnly" | "writeOnly"
            | "$schema" | "$id" | "$anchor" | "$comment" | "$defs" | "definitions" | "contentEncoding"
            | "contentMediaType" | "contentSchema" => Self::Annotation,
            _ => return None,
        })
    }

    /// Whether this keyword can have `value`.
    fn takes(self, value: Value<'_>) -> bool {
        let kind = value.kind();
        match self {
            Self::Type => Types::named(value).is_some(),
            Self::Enum | Self::Required | Self::PrefixItems => kind == Kind::Array,
            Self::Minimum | Self::Maximum | Self::ExclusiveMinimum | Self::ExclusiveMaximum => {
                kind == Kind::Number
            }
            Self::MultipleOf | Self::MinLength | Self::MaxLength | Self::MinItems | Self::MaxItems => {
                kind == Kind::Number && !value.text().starts_with('-')
            }
            Self::UniqueItems => kind == Kind::Bool,
            Self::Properties | Self::PatternProperties => kind == Kind::Object,
            Self::AdditionalProperties | Self::Items | Self::Not => matches!(kind, Kind::Object | Kind::Bool),
            Self::AnyOf | Self::OneOf | Self::AllOf => {
                let inside = value.text().strip_prefix('[').map(str::trim_ascii_start);
                inside.is_some_and(|inside| !inside.starts_with(']'))
            }
            Self::Const | Self::Description | Self::Annotation => true,
        }
    }

    /// Whether a schema's member `name` with this value is checked, or need not be.
    pub(super) fn covers(name: Text<'_>, value: Value<'_>) -> bool {
        match Self::named(name) {
            None | Some(Self::PatternProperties | Self::PrefixItems) => false,
            Some(keyword) => keyword.takes(value),
        }
    }
}

/// The keywords of one schema, without those inside it. Of a repeated keyword the last is valid; one whose value is
/// malformed is left out.
#[derive(Debug)]
pub(super) struct Keywords<'s>([Option<Value<'s>>; Keyword::Annotation as usize]);

impl<'s> Keywords<'s> {
    /// Reads `schema`, which costs one pass over its text. Empty for anything but an object.
    pub(super) fn read(schema: Value<'s>) -> Self {
        let mut values = [None; Keyword::Annotation as usize];
        for (name, value) in schema.members() {
            if let Some(keyword) = Keyword::named(name)
                && let Some(slot) = values.get_mut(keyword as usize)
            {
                *slot = keyword.takes(value).then_some(value);
            }
        }
        Self(values)
    }

    /// The value of `keyword`, if the schema has it.
    pub(super) fn get(&self, keyword: Keyword) -> Option<Value<'s>> {
        self.0.get(keyword as usize).copied().flatten()
    }
}

//! The keywords of a schema, read once.

use super::exact::Exact;
use super::pattern;
use super::types::Types;
use hub_json::{Kind, Text, Value};

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
    If,
    Then,
    Else,
    Ref,
    Pattern,
    MinProperties,
    MaxProperties,
    DependentRequired,
    PropertyNames,
    PatternProperties,
    PrefixItems,
    AdditionalItems,
    Contains,
    MinContains,
    MaxContains,
    /// Irrelevant to validity. The first whose value is never read.
    Annotation,
    /// Schemas that references lead to.
    Definitions,
    /// Irrelevant to validity by the standard, and yet people mean it.
    Format,
}

/// Their names, the frequent ones first.
const NAMES: [(&str, Keyword); 54] = [
    ("type", Keyword::Type),
    ("description", Keyword::Annotation),
    ("properties", Keyword::Properties),
    ("required", Keyword::Required),
    ("title", Keyword::Annotation),
    ("enum", Keyword::Enum),
    ("default", Keyword::Annotation),
    ("items", Keyword::Items),
    ("additionalProperties", Keyword::AdditionalProperties),
    ("anyOf", Keyword::AnyOf),
    ("minimum", Keyword::Minimum),
    ("maximum", Keyword::Maximum),
    ("minLength", Keyword::MinLength),
    ("maxLength", Keyword::MaxLength),
    ("$ref", Keyword::Ref),
    ("const", Keyword::Const),
    ("exclusiveMinimum", Keyword::ExclusiveMinimum),
    ("exclusiveMaximum", Keyword::ExclusiveMaximum),
    ("multipleOf", Keyword::MultipleOf),
    ("minItems", Keyword::MinItems),
    ("maxItems", Keyword::MaxItems),
    ("uniqueItems", Keyword::UniqueItems),
    ("oneOf", Keyword::OneOf),
    ("allOf", Keyword::AllOf),
    ("not", Keyword::Not),
    ("if", Keyword::If),
    ("then", Keyword::Then),
    ("else", Keyword::Else),
    ("pattern", Keyword::Pattern),
    ("minProperties", Keyword::MinProperties),
    ("maxProperties", Keyword::MaxProperties),
    ("dependentRequired", Keyword::DependentRequired),
    ("propertyNames", Keyword::PropertyNames),
    ("patternProperties", Keyword::PatternProperties),
    ("prefixItems", Keyword::PrefixItems),
    ("additionalItems", Keyword::AdditionalItems),
    ("contains", Keyword::Contains),
    ("minContains", Keyword::MinContains),
    ("maxContains", Keyword::MaxContains),
    ("$defs", Keyword::Definitions),
    ("definitions", Keyword::Definitions),
    ("format", Keyword::Format),
    ("examples", Keyword::Annotation),
    ("deprecated", Keyword::Annotation),
    ("readOnly", Keyword::Annotation),
    ("writeOnly", Keyword::Annotation),
    ("discriminator", Keyword::Annotation),
    ("$schema", Keyword::Annotation),
    ("$id", Keyword::Annotation),
    ("$anchor", Keyword::Annotation),
    ("$comment", Keyword::Annotation),
    ("contentEncoding", Keyword::Annotation),
    ("contentMediaType", Keyword::Annotation),
    ("contentSchema", Keyword::Annotation),
];

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
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, keyword)| *keyword)
    }

    /// Whether this keyword can have `value`.
    fn takes(self, value: Value<'_>) -> bool {
        let kind = value.kind();
        let is_count = || kind == Kind::Number && !value.text().starts_with('-');
        match self {
            Self::Type => Types::named(value).is_some(),
            Self::Enum | Self::Required | Self::PrefixItems => kind == Kind::Array,
            Self::Minimum | Self::Maximum | Self::ExclusiveMinimum | Self::ExclusiveMaximum => {
                kind == Kind::Number
            }
            Self::MultipleOf => kind == Kind::Number && Exact::parse(value.text().as_bytes()).is_divisor(),
            Self::MinLength | Self::MaxLength | Self::MinItems | Self::MaxItems => is_count(),
            Self::MinProperties | Self::MaxProperties | Self::MinContains | Self::MaxContains => is_count(),
            Self::UniqueItems => kind == Kind::Bool,
            Self::Properties | Self::PatternProperties | Self::DependentRequired => kind == Kind::Object,
            Self::AdditionalProperties | Self::PropertyNames | Self::AdditionalItems | Self::Contains => {
                matches!(kind, Kind::Object | Kind::Bool)
            }
            Self::Not | Self::If | Self::Then | Self::Else => matches!(kind, Kind::Object | Kind::Bool),
            Self::Items => matches!(kind, Kind::Object | Kind::Bool | Kind::Array),
            Self::AnyOf | Self::OneOf | Self::AllOf => {
                let inside = value.text().strip_prefix('[').map(str::trim_ascii_start);
                inside.is_some_and(|inside| !inside.starts_with(']'))
            }
            Self::Ref | Self::Pattern => kind == Kind::String,
            Self::Const | Self::Annotation | Self::Definitions | Self::Format => true,
        }
    }

    /// Whether its value is a schema or a list of them.
    pub(super) const fn has_schemas(self) -> bool {
        matches!(
            self,
            Self::AdditionalProperties
                | Self::PropertyNames
                | Self::Items
                | Self::PrefixItems
                | Self::AdditionalItems
                | Self::Contains
                | Self::AnyOf
                | Self::OneOf
                | Self::AllOf
                | Self::Not
                | Self::If
                | Self::Then
                | Self::Else
        )
    }

    /// Whether a schema's member `name` with this value is checked, or need not be. Where a reference leads is not looked at.
    pub(super) fn covers(name: Text<'_>, value: Value<'_>) -> bool {
        Self::named(name).is_some_and(|keyword| {
            keyword.takes(value)
                && match keyword {
                    Self::Pattern => value.as_text().is_some_and(pattern::is_understood),
                    Self::PatternProperties => value.members().all(|(name, _)| pattern::is_understood(name)),
                    _ => true,
                }
        })
    }
}

/// The keywords of one schema, without those inside it. Of a repeated keyword the last is valid; one whose value is
/// malformed is left out.
#[derive(Debug)]
pub(super) struct Keywords<'s> {
    values: [Option<Value<'s>>; Keyword::Annotation as usize],
    /// Whether there are others, which may or may not say something about valid values.
    pub(super) incomplete: bool,
}

impl<'s> Keywords<'s> {
    /// Reads `schema`, which costs one pass over its text. Empty for anything but an object.
    pub(super) fn read(schema: Value<'s>) -> Self {
        let mut values = [None; Keyword::Annotation as usize];
        let mut incomplete = false;
        for (name, value) in schema.members() {
            match Keyword::named(name) {
                None | Some(Keyword::Format) => incomplete = true,
                Some(keyword) => {
                    let taken = keyword.takes(value);
                    incomplete |= !taken;
                    if let Some(slot) = values.get_mut(keyword as usize) {
                        *slot = taken.then_some(value);
                    }
                }
            }
        }
        Self { values, incomplete }
    }

    /// The value of `keyword`, if the schema has it.
    pub(super) fn get(&self, keyword: Keyword) -> Option<Value<'s>> {
        self.values.get(keyword as usize).copied().flatten()
    }
}

/// The values that a schema names, with `const` and `enum`.
pub(super) fn literals_of(schema: Value<'_>) -> impl Iterator<Item = Value<'_>> + Clone {
    let options = schema.get("enum").into_iter().flat_map(|options| options.items());
    schema.get("const").into_iter().chain(options)
}

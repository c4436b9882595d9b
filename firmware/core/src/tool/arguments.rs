//! Names of parameters: models write `device_name`, controllers want `deviceName`.

use super::call::Addressed;
use crate::json::{Text, Value, Writer};
use crate::limits;

/// The pairs that cannot be guessed, per tool of the controller.
const MAPPED: [(&str, &[(&str, &str)]); 1] =
    [("control_zwave_device", &[("device_name", "deviceName"), ("command", "action")])];

/// There are more arguments than [`limits::ARGUMENTS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// Writes `arguments` for the controller's tool `tool` with the names that its `schema` has, and returns whether any
/// differs from what was given.
///
/// A name that the schema has stays. Otherwise the table decides, and for names it does not hold `_x` becomes `X`. Two
/// names never become one: if that is what they would do, both stay.
///
/// The argument `replaced` names gets its value, and is added if it is missing.
///
/// The work is at most [`limits::ARGUMENTS`] times the length of schema and arguments.
pub fn normalise(
    tool: &str,
    schema: Value<'_>,
    arguments: Value<'_>,
    replaced: Option<&Addressed>,
    out: &mut Writer<'_>,
) -> Result<bool, TooMany> {
    if arguments.members().take(limits::ARGUMENTS + 1).count() > limits::ARGUMENTS {
        return Err(TooMany);
    }
    let properties = schema.get("properties").unwrap_or(Value::EMPTY_OBJECT);
    let table = MAPPED.iter().find(|(name, _)| *name == tool).map_or(&[][..], |(_, pairs)| pairs);
    let mut differs = false;
    let mut missing = replaced;
    out.object(|out| {
        for (name, value) in distinct(arguments) {
            // By another argument that becomes the same, or that is the same and may have to stay.
            let is_taken = |other: Text<'_>| {
                let becomes = renamed(table, other).eq(renamed(table, name));
                (becomes || other.chars().eq(renamed(table, name))) && other != name
            };
            if renamed(table, name).eq(name.chars())
                || properties.members().any(|(property, _)| property == name)
                || arguments.members().any(|(other, _)| is_taken(other))
            {
                out.key_text(name);
                missing = missing.filter(|replaced| name != *replaced.argument);
                write_value(name.chars(), value, replaced, out);
            } else {
                differs = true;
                out.key_chars(renamed(table, name));
                missing = missing.filter(|replaced| !replaced.argument.chars().eq(renamed(table, name)));
                write_value(renamed(table, name), value, replaced, out);
            }
        }
        if let Some(missing) = missing {
            out.key(&missing.argument);
            missing.write(out);
        }
    });
    Ok(differs)
}

/// Writes the value of an argument, or the one that replaces it.
fn write_value(
    name: impl Iterator<Item = char>,
    value: Value<'_>,
    replaced: Option<&Addressed>,
    out: &mut Writer<'_>,
) {
    match replaced.filter(|replaced| replaced.argument.chars().eq(name)) {
        Some(replaced) => replaced.write(out),
        None => out.value(value),
    }
}

/// The arguments, each once: of several with one name the last is valid, in the check and at the controller.
pub(crate) fn distinct(arguments: Value<'_>) -> impl Iterator<Item = (Text<'_>, Value<'_>)> {
    arguments.members().enumerate().filter_map(move |(index, (name, value))| {
        let is_last = arguments.members().skip(index + 1).all(|(later, _)| later != name);
        is_last.then_some((name, value))
    })
}

/// The name by the table, or else `new_parameter_name` as `newParameterName`. Underscores stay at the ends, and where no
/// small letter follows.
fn renamed<'a>(table: &'a [(&'a str, &'a str)], name: Text<'a>) -> impl Iterator<Item = char> + 'a {
    let mapped = table.iter().find(|(from, _)| name == **from).map(|(_, to)| *to);
    let mut rest = if mapped.is_some() { None } else { Some(name.chars().peekable()) };
    let mut is_inside = false;
    let camel = core::iter::from_fn(move || {
        let rest = rest.as_mut()?;
        let character = rest.next()?;
        if character == '_'
            && is_inside
            && let Some(next) = rest.next_if(|next| next.is_ascii_lowercase())
        {
            return Some(next.to_ascii_uppercase());
        }
        is_inside |= character != '_';
        Some(character)
    });
    mapped.unwrap_or_default().chars().chain(camel)
}

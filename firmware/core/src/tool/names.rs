//! Names of parameters: models write `device_name`, controllers want `deviceName`.

use crate::json::{Text, Value, Writer};

/// The pairs that cannot be guessed, per tool of the controller.
const MAPPED: [(&str, &[(&str, &str)]); 1] =
    [("control_zwave_device", &[("device_name", "deviceName"), ("command", "action")])];

/// Writes `arguments` for the controller's tool `tool` with the names that its `schema` has, and returns whether any
/// differs from what was given.
///
/// A name that the schema has stays. Otherwise the table decides, and for names it does not hold `_x` becomes `X`. A
/// name is not changed into one that was given too.
pub fn normalise(tool: &str, schema: Value<'_>, arguments: Value<'_>, out: &mut Writer<'_>) -> bool {
    let properties = schema.get("properties");
    let table = MAPPED.iter().find(|(name, _)| *name == tool).map_or(&[][..], |(_, pairs)| pairs);
    let mut differs = false;
    out.object(|out| {
        for (name, value) in arguments.members() {
            let known = |wanted: Text<'_>| {
                properties
                    .is_some_and(|all| all.members().any(|(property, _)| property.chars().eq(wanted.chars())))
            };
            let mapped = table.iter().find(|(from, _)| name == **from).map(|(_, to)| *to);
            if known(name) {
                out.key_text(name);
            } else if let Some(to) = mapped.filter(|to| arguments.get(to).is_none()) {
                differs = true;
                out.key(to);
            } else if mapped.is_none()
                && has_hump(name)
                && !arguments.members().any(|(other, _)| other.chars().eq(camel(name)))
            {
                differs = true;
                out.key_chars(camel(name));
            } else {
                out.key_text(name);
            }
            out.value(value);
        }
    });
    differs
}

fn has_hump(name: Text<'_>) -> bool {
    !camel(name).eq(name.chars())
}

/// `new_parameter_name` as `newParameterName`. Underscores at the ends stay.
fn camel<'a>(name: Text<'a>) -> impl Iterator<Item = char> + use<'a> {
    let mut rest = name.chars().peekable();
    let mut is_inside = false;
    core::iter::from_fn(move || {
        let character = rest.next()?;
        if character == '_'
            && is_inside
            && let Some(next) = rest.next_if(|next| next.is_ascii_alphanumeric())
        {
            return Some(next.to_ascii_uppercase());
        }
        is_inside |= character != '_';
        Some(character)
    })
}

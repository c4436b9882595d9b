//! Whether two values are the same, however they are written.

use core::cmp::Ordering;

use super::exact::Exact;
use super::{Exhausted, Work};
use hub_json::{Kind, Members, Text, Value};

/// The value of the member `name` of `object`. Of several, the last counts.
pub(super) fn member<'a>(
    object: Value<'a>,
    name: Text<'_>,
    work: &mut Work,
) -> Result<Option<Value<'a>>, Exhausted> {
    member_by(object, |key| key == name, work)
}

/// The value of the last member of `object` whose name is the right one.
pub(super) fn member_by<'a>(
    object: Value<'a>,
    is_it: impl Fn(Text<'a>) -> bool,
    work: &mut Work,
) -> Result<Option<Value<'a>>, Exhausted> {
    let mut found = None;
    for (key, value) in object.members() {
        work.spend(key.escaped().len() + value.text().len())?;
        if is_it(key) {
            found = Some(value);
        }
    }
    Ok(found)
}

/// Whether a member called `name` is among `members`.
pub(super) fn has(members: Members<'_>, name: Text<'_>, work: &mut Work) -> Result<bool, Exhausted> {
    for (key, value) in members {
        work.spend(key.escaped().len() + value.text().len())?;
        if key == name {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the two mean the same: 1.0 is 1, the order of members does not matter, and an escape is what it stands for.
/// `depth` is how many levels may still be entered.
pub(super) fn equal(one: Value<'_>, other: Value<'_>, work: &mut Work, depth: u8) -> Result<bool, Exhausted> {
    // Comparing bytes is faster than parsing them.
    work.spend(one.text().len().min(other.text().len()) / 8)?;
    if one.text() == other.text() {
        return Ok(true);
    }
    if one.kind() != other.kind() {
        return Ok(false);
    }
    match one.kind() {
        Kind::Null | Kind::Bool => Ok(false),
        Kind::String => {
            work.spend(one.text().len())?;
            Ok(one.as_text() == other.as_text())
        }
        // An integer without an exponent can be written in one way only.
        Kind::Number if is_plain(one) && is_plain(other) => Ok(false),
        Kind::Number => {
            let (one, other) = (Exact::read(one, work)?, Exact::read(other, work)?);
            Ok(one.compare(&other) == Ordering::Equal)
        }
        Kind::Array => {
            let depth = depth.checked_sub(1).ok_or(Exhausted)?;
            let (mut ones, mut others) = (one.items(), other.items());
            loop {
                match (ones.next(), others.next()) {
                    (None, None) => return Ok(true),
                    (Some(one), Some(other)) if equal(one, other, work, depth)? => {}
                    _ => return Ok(false),
                }
            }
        }
        Kind::Object => {
            let depth = depth.checked_sub(1).ok_or(Exhausted)?;
            let mut members = one.members();
            while let Some((name, value)) = members.next() {
                let same = match member(other, name, work)? {
                    Some(other) => equal(value, other, work, depth)?,
                    None => false,
                };
                // A later member of the same name may replace it.
                if !same && !has(members.clone(), name, work)? {
                    return Ok(false);
                }
            }
            for (name, _) in other.members() {
                if !has(one.members(), name, work)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

fn is_plain(number: Value<'_>) -> bool {
    number.text().bytes().all(|byte| byte.is_ascii_digit())
}

//! References from one place of a schema to another.

use super::equal::member_by;
use super::{Exhausted, Work};
use crate::limits::{REF, REFS, REFS_KEPT};
use hub_json::text;
use hub_json::{Kind, Text, Value};

/// The references of one schema.
pub(super) struct References<'s> {
    root: Value<'s>,
    /// Where the latest ones led.
    kept: heapless::Vec<(&'s str, Option<Value<'s>>), REFS_KEPT>,
    /// Up to draft 7, a `$ref` stands for the whole schema, whatever else is in it. Known after the first one.
    alone: bool,
}

impl<'s> References<'s> {
    pub(super) const fn new(root: Value<'s>) -> Self {
        Self { root, kept: heapless::Vec::new(), alone: false }
    }

    /// Whether what stands beside a reference says nothing. Ask after [`target`](Self::target).
    pub(super) const fn stand_alone(&self) -> bool {
        self.alone
    }

    /// Where `reference` leads, if that can be told.
    pub(super) fn target(
        &mut self,
        reference: Text<'s>,
        work: &mut Work,
    ) -> Result<Option<Value<'s>>, Exhausted> {
        let name = reference.escaped();
        if let Some((_, target)) = self.kept.iter().find(|(kept, _)| *kept == name) {
            return Ok(*target);
        }
        let target = resolve(self.root, reference, work)?;
        self.alone = self.root.get("$schema").and_then(|version| version.as_text()).is_some_and(is_old);
        if self.kept.is_full() {
            self.kept.remove(0);
        }
        // There is room now.
        let _ = self.kept.push((name, target));
        Ok(target)
    }

    /// Where `schema` leads if it is a reference, and else `schema` itself. For what is shown to people: what cannot be
    /// followed stays as it is.
    pub(super) fn follow(&mut self, mut schema: Value<'s>, work: &mut Work) -> Result<Value<'s>, Exhausted> {
        for _ in 0..REFS {
            work.spend(schema.text().len())?;
            let Some(reference) = schema.get("$ref").and_then(|reference| reference.as_text()) else { break };
            let Some(target) = self.target(reference, work)? else { break };
            schema = target;
        }
        Ok(schema)
    }
}

/// Whether this is the name of a draft before 2019: `http://json-schema.org/draft-07/schema#`.
fn is_old(version: Text<'_>) -> bool {
    text::find(version.escaped().as_bytes(), b"/draft-0").is_some()
}

/// The schema that `reference` leads to: a place in `root` as a JSON pointer, such as `#/$defs/Room`. `None` if it leads
/// elsewhere.
#[inline(never)]
pub(super) fn resolve<'s>(
    root: Value<'s>,
    reference: Text<'_>,
    work: &mut Work,
) -> Result<Option<Value<'s>>, Exhausted> {
    let mut bytes = heapless::Vec::<u8, REF>::new();
    if has_inner_ids(root, work)? || decode(reference, &mut bytes).is_none() {
        return Ok(None);
    }
    let mut steps = bytes.split(|byte| *byte == b'/');
    if steps.next() != Some(b"#") {
        return Ok(None);
    }
    let mut found = root;
    for step in steps {
        let Ok(step) = core::str::from_utf8(step) else { return Ok(None) };
        let inside = match found.kind() {
            Kind::Object => member_by(found, |name| name.chars().eq(unescape(step)), work)?,
            Kind::Array => {
                work.spend(found.text().len())?;
                step.parse().ok().and_then(|index| found.items().nth(index))
            }
            _ => None,
        };
        let Some(inside) = inside else { return Ok(None) };
        found = inside;
    }
    Ok(matches!(found.kind(), Kind::Object | Kind::Bool).then_some(found))
}

/// Whether a schema inside `root` has an `$id`: references are relative to it, not to `root`.
fn has_inner_ids(root: Value<'_>, work: &mut Work) -> Result<bool, Exhausted> {
    work.spend(root.text().len())?;
    let ids = root.text().as_bytes().windows(5).filter(|window| window == b"\"$id\"").count();
    Ok(ids > usize::from(root.get("$id").is_some()))
}

/// The text with its `%` escapes decoded.
fn decode(reference: Text<'_>, bytes: &mut heapless::Vec<u8, REF>) -> Option<()> {
    let mut characters = reference.chars();
    while let Some(character) = characters.next() {
        match character {
            '%' => {
                let mut digit = || characters.next()?.to_digit(16);
                let byte = digit()? << 4 | digit()?;
                bytes.push(u8::try_from(byte).ok()?).ok()?;
            }
            _ => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()).ok()?,
        }
    }
    Some(())
}

/// A step of a JSON pointer, where `~1` is a slash and `~0` a tilde.
fn unescape(step: &str) -> impl Iterator<Item = char> {
    let mut rest = step.chars();
    core::iter::from_fn(move || match rest.next()? {
        '~' => match rest.next() {
            Some('0') => Some('~'),
            Some('1') => Some('/'),
            // Malformed. No name has this.
            _ => Some('\0'),
        },
        other => Some(other),
    })
}

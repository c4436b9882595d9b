//! Finds the rule of a turn: one that a person set, one of the firmware, or one that is built in.

use core::ops::ControlFlow;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use crate::chat::Rule;
use crate::chat::rule::{BUILT_IN, DEFAULT, is_for};
use crate::limits;
use crate::log::warn;
use crate::request::Refusal;
use crate::settings::RULE_PREFIX;
use crate::store::{Key, Section, Store};

const DEFAULT_KEY: &str = "rule.default";

/// Which rule a request wants.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The one of this name.
    pub(super) name: Option<&'a str>,
    /// Or one for this intent.
    pub(super) intent: Option<&'a str>,
}

// A turn begins with the reply's buffer as scratch: for the rule, the one it inherits from, and the documents that it selects.
const _: () = assert!(limits::REPLY >= 2 * limits::RULE + limits::PROMPT);

/// Finds the rule that is wanted, and reads it. `firmware` is the default rule that the hub was started with, if any. The
/// texts are kept in `scratch`; what is left of it comes back.
pub(super) async fn choose<'s, F: MultiwriteNorFlash>(
    wanted: Wanted<'_>,
    firmware: &'s str,
    store: &mut Store<'_, F>,
    scratch: &'s mut [u8],
) -> Result<(Rule<'s>, &'s mut [u8]), Refusal> {
    let (base, scratch) = base_rule(firmware, store, scratch).await?;
    let (text, rest) = match wanted {
        Wanted { name: Some("default"), .. } | Wanted { name: None, intent: None } => {
            return Ok((base, scratch));
        }
        Wanted { name: Some(name), .. } => {
            let mut key = String::<{ limits::NAME }>::new();
            key.push_str(RULE_PREFIX).and_then(|()| key.push_str(name)).map_err(|_| Refusal::NoRule)?;
            let (kept, rest) = load(&key, store, scratch).await;
            let built_in = BUILT_IN.into_iter().find(|(known, _)| *known == name).map(|(_, text)| text);
            (Some(kept.or(built_in).ok_or(Refusal::NoRule)?), rest)
        }
        Wanted { intent: Some(intent), .. } => for_intent(intent, store, scratch).await,
    };
    match text {
        Some(text) => Ok((base.derive(text).map_err(Refusal::WrongRule)?, rest)),
        None => Ok((base, rest)),
    }
}

/// The text of a setting, and what is left of the buffer. Without the store there is none.
async fn load<'s, F: MultiwriteNorFlash>(
    key: &str,
    store: &mut Store<'_, F>,
    buffer: &'s mut [u8],
) -> (Option<&'s str>, &'s mut [u8]) {
    let kept = store.get(Key::Setting(key), buffer).await.ok().flatten().map(str::len);
    split_text(kept, buffer)
}

/// Splits a text of this length off a buffer.
fn split_text(length: Option<usize>, buffer: &mut [u8]) -> (Option<&str>, &mut [u8]) {
    let length = length.filter(|length| *length <= buffer.len());
    let (text, rest) = buffer.split_at_mut(length.unwrap_or(0));
    (length.and_then(|_| core::str::from_utf8(text).ok()), rest)
}

/// The default rule, from which all others inherit.
async fn base_rule<'s, F: MultiwriteNorFlash>(
    firmware: &'s str,
    store: &mut Store<'_, F>,
    buffer: &'s mut [u8],
) -> Result<(Rule<'s>, &'s mut [u8]), Refusal> {
    let firmware = if firmware.is_empty() { DEFAULT } else { firmware };
    let (kept, rest) = load(DEFAULT_KEY, store, buffer).await;
    let rule = Rule::parse(kept.unwrap_or(firmware)).or_else(|error| {
        let error = Refusal::WrongRule(error).words();
        warn!("chat: the default rule is malformed, and the built-in one is used: {}", error.as_str());
        Rule::parse(DEFAULT)
    });
    Ok((rule.map_err(Refusal::WrongRule)?, rest))
}

/// A rule for an intent: the first that somebody set, or else one that is built in and whose name nobody has taken.
async fn for_intent<'s, F: MultiwriteNorFlash>(
    intent: &str,
    store: &mut Store<'_, F>,
    buffer: &'s mut [u8],
) -> (Option<&'s str>, &'s mut [u8]) {
    let mut length = None;
    let mut built_in = BUILT_IN.map(Some);
    let mut visit = |key: Key<'_>, text: &str| {
        let Key::Setting(key) = key else { return ControlFlow::Continue(()) };
        let Some(name) = key.strip_prefix(RULE_PREFIX) else { return ControlFlow::Continue(()) };
        for rule in &mut built_in {
            let _ = rule.take_if(|(taken, _)| *taken == name);
        }
        match buffer.get_mut(..text.len()) {
            Some(room) if is_for(text, intent) => {
                room.copy_from_slice(text.as_bytes());
                length = Some(text.len());
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    };
    let _ = store.each(Section::Settings, &mut visit).await;
    let (kept, rest) = split_text(length, buffer);
    let mut built_in = built_in.into_iter().flatten().map(|(_, text)| text);
    (kept.or_else(|| built_in.find(|text| is_for(text, intent))), rest)
}

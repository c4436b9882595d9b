//! Which rule a turn goes by: set by a person, by the firmware, or built in.

use core::ops::ControlFlow;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use crate::chat::Rule;
use crate::chat::rule::{BUILT_IN, DEFAULT};
use crate::json::Writer;
use crate::limits;
use crate::log::warn;
use crate::mqtt::Refusal;
use crate::store::{Key, Section, Store};

/// What stands before the name of a rule among the settings.
pub(super) const PREFIX: &str = "rule.";

const DEFAULT_KEY: &str = "rule.default";

/// A rule's text as it is kept.
type RuleText = String<{ limits::RULE }>;

/// Which rule a request wants.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The one of this name.
    pub(super) name: Option<&'a str>,
    /// Or one for this intent.
    pub(super) intent: Option<&'a str>,
}

/// Finds the rule that is wanted, and writes it into `whole`, with all that it inherits. `firmware` is the default rule
/// that the hub was started with, if any. `scratch` has room for three rules.
pub(super) async fn choose<F: MultiwriteNorFlash>(
    wanted: Wanted<'_>,
    firmware: &str,
    store: &mut Store<'_, F>,
    scratch: &mut [u8],
    whole: &mut RuleText,
) -> Result<(), Refusal> {
    let (base, rest) = scratch.split_at_mut_checked(limits::RULE).ok_or(Refusal::NoRule)?;
    let (other, expanded) = rest.split_at_mut_checked(limits::RULE).ok_or(Refusal::NoRule)?;
    let base = base_rule(firmware, store, base).await?;
    let found = match wanted {
        Wanted { name: Some("default"), .. } | Wanted { name: None, intent: None } => None,
        Wanted { name: Some(name), .. } => {
            let mut key = String::<{ limits::NAME }>::new();
            key.push_str(PREFIX).and_then(|()| key.push_str(name)).map_err(|_| Refusal::NoRule)?;
            let kept = store.get(Key::Setting(&key), other).await.ok().flatten();
            let is_it = |text: &&str| Rule::parse(text).is_ok_and(|rule| rule.name == *name);
            Some(kept.or_else(|| BUILT_IN.into_iter().find(is_it)).ok_or(Refusal::NoRule)?)
        }
        Wanted { intent: Some(intent), .. } => for_intent(intent, store, other).await,
    };
    let length = expand(&base, found, expanded)?;
    let text = expanded.get(..length).and_then(|text| core::str::from_utf8(text).ok());
    whole.clear();
    whole.push_str(text.unwrap_or_default()).map_err(|_| Refusal::LongRule)
}

/// Whether a rule that somebody wants to set is one, and fits with all that it inherits. `scratch` has room for two rules.
pub(super) async fn check<F: MultiwriteNorFlash>(
    name: &str,
    text: &str,
    firmware: &str,
    store: &mut Store<'_, F>,
    scratch: &mut [u8],
) -> Result<(), Refusal> {
    if text.len() > limits::RULE {
        return Err(Refusal::LongRule);
    }
    let (base, other) = scratch.split_at_mut_checked(limits::RULE).ok_or(Refusal::LongRule)?;
    let rule = Rule::parse(text).map_err(Refusal::WrongRule)?;
    if rule.name != *name {
        return Err(Refusal::RuleName);
    }
    let other = other.get_mut(..limits::RULE).ok_or(Refusal::LongRule)?;
    if name == "default" {
        return expand(&rule, None, other).map(drop);
    }
    expand(&base_rule(firmware, store, base).await?, Some(text), other).map(drop)
}

/// The default rule, on which all others stand.
async fn base_rule<'s, F: MultiwriteNorFlash>(
    firmware: &'s str,
    store: &mut Store<'_, F>,
    buffer: &'s mut [u8],
) -> Result<Rule<'s>, Refusal> {
    let firmware = if firmware.is_empty() { DEFAULT } else { firmware };
    // Without the store there is what was built in.
    let kept = store.get(Key::Setting(DEFAULT_KEY), buffer).await.ok().flatten();
    Rule::parse(kept.unwrap_or(firmware))
        .or_else(|error| {
            let error = Refusal::WrongRule(error).words();
            warn!("chat: the default rule is not one, and the built-in one counts: {}", error.as_str());
            Rule::parse(DEFAULT)
        })
        .map_err(Refusal::WrongRule)
}

/// A rule for an intent: the first that somebody set, or else one that is built in and whose name nobody has taken.
async fn for_intent<'s, F: MultiwriteNorFlash>(
    intent: &str,
    store: &mut Store<'_, F>,
    buffer: &'s mut [u8],
) -> Option<&'s str> {
    let mut length = 0;
    let mut built_in = BUILT_IN.map(Some);
    let mut visit = |key: Key<'_>, text: &str| {
        let Key::Setting(key) = key else { return ControlFlow::Continue(()) };
        let Some(name) = key.strip_prefix(PREFIX) else { return ControlFlow::Continue(()) };
        let is_taken = |text: &mut &str| Rule::parse(text).is_ok_and(|rule| rule.name == *name);
        for place in &mut built_in {
            let _ = place.take_if(is_taken);
        }
        match buffer.get_mut(..text.len()) {
            Some(room) if Rule::parse(text).is_ok_and(|rule| rule.is_for(intent)) => {
                room.copy_from_slice(text.as_bytes());
                length = text.len();
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        }
    };
    let _ = store.each(Section::Settings, &mut visit).await;
    let kept = buffer.get(..length).and_then(|text| core::str::from_utf8(text).ok());
    let is_for = |text: &&str| Rule::parse(text).is_ok_and(|rule| rule.is_for(intent));
    kept.filter(|text| !text.is_empty()).or_else(|| built_in.into_iter().flatten().find(is_for))
}

/// Writes a rule with nothing left out: the base, or the rule that stands on it.
fn expand(base: &Rule<'_>, text: Option<&str>, buffer: &mut [u8]) -> Result<usize, Refusal> {
    let mut writer = Writer::new(buffer);
    match text {
        None => base.write(&mut writer),
        Some(text) => base.over(text).map_err(Refusal::WrongRule)?.write(&mut writer),
    }
    writer.finish().map_err(|_| Refusal::LongRule)
}

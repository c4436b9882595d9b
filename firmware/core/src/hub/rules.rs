//! Which rule a turn goes by: set by a person, by the firmware, or built in.

use core::ops::ControlFlow;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use crate::chat::Rule;
use crate::chat::rule::{BUILT_IN, DEFAULT, Wanted};
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

/// Finds the rule that is wanted, and writes it into `whole`, with all that it inherits. `firmware` is the default rule
/// that the hub was started with, if any. `scratch` has room for two rules.
pub(super) async fn choose<F: MultiwriteNorFlash>(
    wanted: Wanted<'_>,
    firmware: &str,
    store: &mut Store<'_, F>,
    scratch: &mut [u8],
    whole: &mut RuleText,
) -> Result<(), Refusal> {
    let (base, other) = scratch.split_at_mut_checked(limits::RULE).ok_or(Refusal::NoRule)?;
    let firmware = if firmware.is_empty() { DEFAULT } else { firmware };
    // Without the store there is what was built in.
    let base = store.get(Key::Setting(DEFAULT_KEY), base).await.ok().flatten().unwrap_or(firmware);
    let base = Rule::parse(base).or_else(|error| {
        warn!("chat: the default rule is not one, and the built-in one counts: {}", words(&error).as_str());
        Rule::parse(DEFAULT)
    });
    let base = base.map_err(|_| Refusal::NoRule)?;

    let built_in = |is_it: &dyn Fn(&Rule<'_>) -> bool| {
        BUILT_IN.iter().skip(1).copied().find(|text| Rule::parse(text).is_ok_and(|rule| is_it(&rule)))
    };
    let found = match wanted {
        Wanted { name: Some("default"), .. } | Wanted { name: None, intent: None } => None,
        Wanted { name: Some(name), .. } => {
            let mut key = String::<{ limits::NAME }>::new();
            key.push_str(PREFIX).and_then(|()| key.push_str(name)).map_err(|_| Refusal::NoRule)?;
            let kept = store.get(Key::Setting(&key), other).await.ok().flatten();
            Some(kept.or_else(|| built_in(&|rule| rule.name == *name)).ok_or(Refusal::NoRule)?)
        }
        Wanted { intent: Some(intent), .. } => {
            let mut length = 0;
            let visit = |key: Key<'_>, text: &str| {
                let is_rule = matches!(key, Key::Setting(name) if name.starts_with(PREFIX));
                match other.get_mut(..text.len()) {
                    Some(room) if is_rule && Rule::parse(text).is_ok_and(|rule| rule.is_for(intent)) => {
                        room.copy_from_slice(text.as_bytes());
                        length = text.len();
                        ControlFlow::Break(())
                    }
                    _ => ControlFlow::Continue(()),
                }
            };
            let _ = store.each(Section::Settings, visit).await;
            let kept = other.get(..length).and_then(|text| core::str::from_utf8(text).ok());
            kept.filter(|text| !text.is_empty()).or_else(|| built_in(&|rule| rule.is_for(intent)))
        }
    };
    let rule = match found {
        Some(text) => base.over(text).map_err(|_| Refusal::NoRule)?,
        None => base,
    };
    write_whole(&rule, whole).ok_or(Refusal::NoRule)
}

/// Writes the rule with nothing left out.
fn write_whole(rule: &Rule<'_>, whole: &mut RuleText) -> Option<()> {
    // A string of this length has room for as much.
    whole.clear();
    let mut text = core::mem::take(whole).into_bytes();
    text.resize_default(limits::RULE).ok()?;
    let mut writer = Writer::new(&mut text);
    writer.object(|out| {
        out.field("name", rule.name);
        out.field("service", rule.service.name());
        out.field("model", rule.model);
        out.field("prompt", rule.prompt);
        out.field("max_tokens", rule.max_tokens);
        if let Some(temperature) = rule.temperature {
            out.field("temperature", temperature);
        }
        if let Some(context) = rule.context {
            out.field("context", context.text());
        }
        out.key("tools");
        out.object(|tools| {
            tools.field("enabled", rule.tools.enabled);
            if let Some(allowed) = rule.tools.allowed {
                tools.field("allowed_tools", allowed);
            }
            tools.field("max_iterations", u32::from(rule.tools.max_iterations));
        });
    });
    let length = writer.finish().ok()?;
    text.truncate(length);
    *whole = RuleText::from_utf8(text).ok()?;
    Some(())
}

/// What is wrong with a rule, for the log.
fn words(error: &dyn core::fmt::Display) -> String<{ limits::REFUSAL }> {
    use core::fmt::Write as _;
    let mut words = String::new();
    // A text that is cut says enough.
    let _ = write!(words, "{error}");
    words
}

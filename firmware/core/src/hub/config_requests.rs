//! `request/config/…`: reads and changes settings.

use core::ops::ControlFlow;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use crate::chat::rule::BUILT_IN;
use crate::config::Config;
use crate::context::{HubContext, NewValue};
use crate::json::{Kind, Value, Writer};
use crate::limits;
use crate::request::{self, Refusal};
use crate::settings::{self, RULE_PREFIX, SETTINGS, Setting, SettingKind};
use crate::store::{Key, Section, Store};

type SettingKey = String<{ limits::NAME }>;

/// Room for what follows in a reply.
const TAIL: usize = limits::TRANSACTION + 64;

/// `{"key"?}` → `{"settings": {…}, "built_in"?, "left_out"?}`: one of them, or all that fit. The rules that are built in and
/// that nobody replaced are named; one is shown if its key is given. So are the rules for which there is no room.
pub(super) async fn get<F: MultiwriteNorFlash>(
    request: Value<'_>,
    config: &Config<'_>,
    store: &Mutex<NoopRawMutex, Store<'_, F>>,
    reply: &mut Writer<'_>,
) -> Result<(), Refusal> {
    let wanted: Option<SettingKey> = request::text(request, "key")?;
    let wanted = wanted.as_deref();
    if wanted.is_some_and(|key| settings::find(key).is_none()) {
        return Err(Refusal::NoSetting);
    }
    let is_wanted = |key: &str| wanted.is_none_or(|wanted| wanted == key);
    let mut store = store.lock().await;
    reply.key("settings");
    let opened = reply.open();
    for setting in SETTINGS.iter().filter(|setting| is_wanted(setting.key)) {
        if setting.kind != SettingKind::Rule {
            setting.write(&setting.value(&mut store, config).await, reply);
        }
    }
    let mut built_in = BUILT_IN.map(|(name, text)| Some((name, text)));
    let mut last_shown = SettingKey::new();
    let mut left_out = 0usize;
    let mut show = |key: Key<'_>, text: &str| {
        if let Key::Setting(key) = key
            && let Some(name) = key.strip_prefix(RULE_PREFIX)
            && let Ok(rule) = Value::parse(text.as_bytes())
        {
            for rule in &mut built_in {
                let _ = rule.take_if(|(replaced, _)| *replaced == name);
            }
            let before = reply.mark();
            if is_wanted(key) && left_out == 0 {
                reply.field(key, rule);
            }
            if left_out > 0 || reply.room() < limits::LEFT_OUT + TAIL {
                reply.rewind(before);
                left_out += usize::from(is_wanted(key));
            } else if is_wanted(key) {
                // Keys in the store fit.
                last_shown = SettingKey::try_from(key).unwrap_or_default();
            }
        }
        ControlFlow::Continue(())
    };
    store.each(Section::Settings, &mut show).await?;
    let is_missing = last_shown.is_empty();
    if let Some(name) = wanted.and_then(|key| key.strip_prefix(RULE_PREFIX)).filter(|_| is_missing) {
        let (_, text) = built_in.iter().flatten().find(|(known, _)| *known == name).ok_or(Refusal::NoRule)?;
        let is_firmwares = name == "default" && !config.rule.is_empty();
        let text = if is_firmwares { config.rule } else { text };
        if let (Some(key), Ok(rule)) = (wanted, Value::parse(text.as_bytes())) {
            reply.field(key, rule);
        }
    }
    reply.close(opened);
    if wanted.is_none() || is_missing && wanted.is_some_and(|key| key.starts_with(RULE_PREFIX)) {
        reply.key("built_in");
        reply.array(|list| {
            for (name, _) in built_in.iter().flatten() {
                list.value(format_args!("{RULE_PREFIX}{name}"));
            }
        });
    }
    if left_out > 0 {
        let names = store.names(Section::Settings).await?;
        reply.key("left_out");
        reply.object(|out| {
            out.field("count", left_out);
            out.field("message", "There is no room for these rules; get each by its key");
            out.key("keys");
            out.array(|keys| {
                for key in names {
                    let before = keys.mark();
                    if let Key::Setting(key) = key
                        && key.starts_with(RULE_PREFIX)
                        && key > last_shown.as_str()
                    {
                        keys.value(key);
                    }
                    if keys.room() < TAIL {
                        return keys.rewind(before);
                    }
                }
            });
        });
    }
    Ok(())
}

/// `{"key", "value"}`: changes a setting; null resets it to its default. Returns the setting. `scratch` is for a certificate
/// while it is unescaped.
pub(super) async fn set<F: MultiwriteNorFlash>(
    request: Value<'_>,
    hub: &HubContext<'_, Store<'_, F>>,
    scratch: &mut [u8],
) -> Result<&'static Setting, Refusal> {
    let key: SettingKey = request::text(request, "key")?.ok_or(Refusal::NoSetting)?;
    let setting = settings::find(&key).ok_or(Refusal::NoSetting)?;
    let value = request.get("value").ok_or(Refusal::NotText("value"))?;
    let value = if value.kind() == Kind::Null { NewValue::Default } else { NewValue::Json(value) };
    hub.write_setting(&key, setting, value, scratch).await?;
    Ok(setting)
}

/// `{"after"?}` → `{"settings": [{"key", "purpose", "type", …}], "next"?}`: as many as fit, from after the setting of that key.
pub(super) fn list(request: Value<'_>, config: &Config<'_>, reply: &mut Writer<'_>) -> Result<(), Refusal> {
    let after: Option<SettingKey> = request::text(request, "after")?;
    let first = match &after {
        None => 0,
        Some(after) => {
            1 + SETTINGS.iter().position(|row| row.key == after.as_str()).ok_or(Refusal::NoSetting)?
        }
    };
    let mut shown = 0;
    let rows = || SETTINGS.iter().skip(first);
    reply.key("settings");
    reply.array(|list| {
        for setting in rows() {
            let before = list.mark();
            setting.describe(config, list);
            if list.room() < TAIL + limits::NAME {
                return list.rewind(before);
            }
            shown += 1;
        }
    });
    if shown < rows().count()
        && let Some(last) = rows().take(shown).next_back()
    {
        reply.field("next", last.key);
    }
    Ok(())
}

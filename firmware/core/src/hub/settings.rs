//! `request/config/…`: reads and changes settings.

use core::ops::ControlFlow;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::turn::choose_rule;
use crate::config::Config;
use crate::json::{Kind, Value, Writer};
use crate::limits;
use crate::request::{self, Refusal};
use crate::settings::{self, RULE_PREFIX, SETTINGS, Setting};
use crate::store::{Key, Section, Store};

type SettingKey = String<{ limits::NAME }>;

/// `{"key"?}` → `{"settings": {…}}`: one of them, or all that fit.
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
        if setting.kind != settings::SettingKind::Rule {
            setting.write(&setting.value(&mut store, config).await, reply);
        }
    }
    let mut show = |key: Key<'_>, text: &str| {
        if let Key::Setting(key) = key
            && key.starts_with(RULE_PREFIX)
            && is_wanted(key)
            && let Ok(rule) = Value::parse(text.as_bytes())
        {
            let before = reply.mark();
            reply.field(key, rule);
            if reply.room() < limits::TRANSACTION + 64 {
                reply.rewind(before);
            }
        }
        ControlFlow::Continue(())
    };
    store.each(Section::Settings, &mut show).await?;
    reply.close(opened);
    Ok(())
}

/// `{"key", "value"}`: changes a setting; null resets it to its default. Returns the setting.
pub(super) async fn set<F: MultiwriteNorFlash>(
    request: Value<'_>,
    store: &Mutex<NoopRawMutex, Store<'_, F>>,
) -> Result<&'static Setting, Refusal> {
    let key: SettingKey = request::text(request, "key")?.ok_or(Refusal::NoSetting)?;
    let setting = settings::find(&key).ok_or(Refusal::NoSetting)?;
    let value = request.get("value").ok_or(Refusal::NotText("value"))?;
    let mut store = store.lock().await;
    if value.kind() == Kind::Null {
        store.delete(Key::Setting(&key)).await?;
    } else if let Some(name) = key.strip_prefix(RULE_PREFIX) {
        choose_rule::check(name, value.text())?;
        store.set(Key::Setting(&key), value.text()).await?;
    } else {
        store.set(Key::Setting(&key), &setting.check(value)?).await?;
    }
    Ok(setting)
}

/// `{}` → `{"settings": [{"key", "purpose", "type", …}]}`.
pub(super) fn list(config: &Config<'_>, reply: &mut Writer<'_>) {
    reply.key("settings");
    reply.array(|list| SETTINGS.iter().for_each(|setting| setting.describe(config, list)));
}

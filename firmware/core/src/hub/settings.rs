//! `request/config/…`: what people can set while the hub runs.

use core::ops::ControlFlow;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::{rules, wake};
use crate::json::{Kind, Value, Writer};
use crate::limits;
use crate::mqtt::{self, Refusal};
use crate::store::flags::PROJECT;
use crate::store::{Key, Section, Store};

const UNKNOWN: Refusal = Refusal::NotOneOf("key", "project, tools, wake_phrases, rule.NAME");

/// The setting that is `off` if models may call no tools, whatever a rule says.
const TOOLS_KEY: &str = "tools";

/// Whether models may call tools.
pub(super) async fn tools_are_on<F: MultiwriteNorFlash>(store: &mut Store<'_, F>) -> bool {
    let mut switch = [0; 3];
    // What is longer than "off" is not that.
    !matches!(store.get(Key::Setting(TOOLS_KEY), &mut switch).await, Ok(Some("off")))
}

/// `{"key"?}` → `{"settings": {…}}`: one of them, or all that fit.
pub(super) async fn get<F: MultiwriteNorFlash>(
    request: Value<'_>,
    store: &Mutex<NoopRawMutex, Store<'_, F>>,
    reply: &mut Writer<'_>,
) -> Result<(), Refusal> {
    let wanted: Option<String<{ limits::NAME }>> = mqtt::text(request, "key")?;
    let wanted = wanted.as_deref();
    if wanted.is_some_and(|key| !is_known(key)) {
        return Err(UNKNOWN);
    }
    let mut store = store.lock().await;
    let project = store.project().await?;
    reply.field("success", true);
    reply.key("settings");
    let settings = reply.open();
    let is_wanted = |key: &str| wanted.is_none_or(|wanted| wanted == key);
    if is_wanted(PROJECT) {
        reply.field(PROJECT, project.as_str());
    }
    let (mut has_phrases, mut has_switch) = (false, false);
    let mut show = |key: Key<'_>, text: &str| {
        let Key::Setting(key) = key else { return ControlFlow::Continue(()) };
        if key == PROJECT || !is_wanted(key) {
            return ControlFlow::Continue(());
        }
        has_phrases |= key == wake::KEY;
        has_switch |= key == TOOLS_KEY;
        let before = reply.mark();
        match Value::parse(text.as_bytes()) {
            Ok(rule) if key.starts_with(rules::PREFIX) => reply.field(key, rule),
            _ => reply.field(key, text),
        }
        if reply.room() < limits::TRANSACTION + limits::WAKE_PHRASES + 64 {
            reply.rewind(before);
        }
        ControlFlow::Continue(())
    };
    store.each(Section::Settings, &mut show).await?;
    if !has_phrases && is_wanted(wake::KEY) {
        reply.field(wake::KEY, wake::AT_FIRST);
    }
    if !has_switch && is_wanted(TOOLS_KEY) {
        reply.field(TOOLS_KEY, "on");
    }
    reply.close(settings);
    Ok(())
}

/// `{"key", "value"}`: changes a setting; null makes it as it was at first. `rule` is the one that the hub was started with,
/// and `scratch` has room for two.
pub(super) async fn set<F: MultiwriteNorFlash>(
    request: Value<'_>,
    rule: &str,
    store: &Mutex<NoopRawMutex, Store<'_, F>>,
    scratch: &mut [u8],
) -> Result<(), Refusal> {
    let key: String<{ limits::NAME }> = mqtt::text(request, "key")?.ok_or(UNKNOWN)?;
    if !is_known(&key) {
        return Err(UNKNOWN);
    }
    let value = request.get("value").ok_or(Refusal::NotText("value"))?;
    let mut store = store.lock().await;
    if value.kind() == Kind::Null {
        return Ok(store.delete(Key::Setting(&key)).await.map(drop)?);
    }
    if let Some(name) = key.strip_prefix(rules::PREFIX) {
        rules::check(name, value.text(), rule, &mut store, scratch).await?;
        return Ok(store.set(Key::Setting(&key), value.text()).await?);
    }
    let text: String<{ limits::WAKE_PHRASES }> =
        mqtt::text(request, "value")?.ok_or(Refusal::NotText("value"))?;
    if key == TOOLS_KEY && !matches!(text.as_str(), "on" | "off") {
        return Err(Refusal::NotOneOf("value", "on, off"));
    }
    if key == PROJECT {
        return Ok(store.set_project(Some(&text)).await?);
    }
    Ok(store.set(Key::Setting(&key), &text).await?)
}

fn is_known(key: &str) -> bool {
    [PROJECT, TOOLS_KEY, wake::KEY].contains(&key)
        || key.len() > rules::PREFIX.len() && key.starts_with(rules::PREFIX)
}

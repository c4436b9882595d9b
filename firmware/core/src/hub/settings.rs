//! `request/config/…`: what people can set while the hub runs.

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use crate::json::{Kind, Value, Writer};
use crate::limits;
use crate::mqtt::{self, Refusal};
use crate::store::Store;
use crate::store::flags::PROJECT;

/// `{"key"?}` → `{"settings": {…}}`.
pub(super) async fn get<F: MultiwriteNorFlash>(
    request: Value<'_>,
    store: &Mutex<NoopRawMutex, Store<'_, F>>,
    reply: &mut Writer<'_>,
) -> Result<(), Refusal> {
    if request.get("key").is_some() {
        known(request)?;
    }
    let project = store.lock().await.project().await?;
    reply.field("success", true);
    reply.key("settings");
    reply.object(|settings| settings.field(PROJECT, project.as_str()));
    Ok(())
}

/// `{"key", "value"}`: changes a setting; null makes it as it was at first.
pub(super) async fn set<F: MultiwriteNorFlash>(
    request: Value<'_>,
    store: &Mutex<NoopRawMutex, Store<'_, F>>,
) -> Result<(), Refusal> {
    known(request)?;
    let is_null = request.get("value").is_some_and(|value| value.kind() == Kind::Null);
    let mut store = store.lock().await;
    if is_null {
        return Ok(store.set_project(None).await?);
    }
    let project = mqtt::text::<{ limits::GROUP }>(request, "value")?.ok_or(Refusal::NotText("value"))?;
    Ok(store.set_project(Some(&project)).await?)
}

fn known(request: Value<'_>) -> Result<(), Refusal> {
    match mqtt::text::<{ limits::NAME }>(request, "key") {
        Ok(Some(key)) if key == PROJECT => Ok(()),
        _ => Err(Refusal::UnknownSetting),
    }
}

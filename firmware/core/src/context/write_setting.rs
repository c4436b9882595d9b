//! Changes settings while the hub runs.

use core::pin::{Pin, pin};

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::HubContext;
use crate::approval::forget_wrong_pins;
use crate::json::Value;
use crate::limits;
use crate::request::{self, Refusal};
use crate::settings::{Effect, RULE_PREFIX, Setting, SettingError, SettingKind};
use crate::store::{Key, Section, Store, StoreError};

/// The value to write.
pub(crate) enum NewValue<'a> {
    /// A value from a request.
    Json(Value<'a>),
    /// A value that somebody typed. That of a certificate is its base64.
    Typed(&'a str),
    /// The default.
    Default,
}

/// Why a setting is not changed.
pub(crate) enum NotWritten {
    /// The setting does not take the value.
    Value(SettingError),
    /// The value is not a rule of that name.
    Rule(Refusal),
    /// The store failed.
    Store(StoreError),
    /// The setting is changed, but the store failed to forget the wrong PINs.
    WrongPins(StoreError),
}

impl From<NotWritten> for Refusal {
    fn from(why: NotWritten) -> Self {
        match why {
            NotWritten::Value(error) => error.into(),
            NotWritten::Rule(refusal) => refusal,
            NotWritten::Store(error) | NotWritten::WrongPins(error) => error.into(),
        }
    }
}

impl<F: MultiwriteNorFlash> HubContext<'_, Store<'_, F>> {
    /// Validates, stores and applies a value. Nothing else changes a setting, except a volume that was applied before
    /// ([`Speaker::keep_now`](crate::speaker::Speaker::keep_now)).
    ///
    /// `key` is that of the setting, or of one of its family. `scratch` is for a certificate while it is unescaped. Returns
    /// `false` if there was nothing to reset.
    pub(crate) async fn write_setting(
        &self,
        key: &str,
        setting: &'static Setting,
        value: NewValue<'_>,
        scratch: &mut [u8],
    ) -> Result<bool, NotWritten> {
        let checked;
        let text = match (value, setting.kind) {
            (NewValue::Default, _) => None,
            (NewValue::Json(value), SettingKind::Rule) => Some(check_rule(key, value.text())?),
            (NewValue::Typed(typed), SettingKind::Rule) => Some(check_rule(key, typed)?),
            (NewValue::Json(value), SettingKind::Certificate) => {
                let text = value.as_text().ok_or(SettingError::Kind(setting.kind));
                let base64 = text.and_then(|text| setting.check_certificate(text, scratch));
                Some(base64.map_err(NotWritten::Value)?)
            }
            (NewValue::Typed(base64), SettingKind::Certificate) => Some(base64),
            (NewValue::Json(value), _) => {
                checked = setting.check(value).map_err(NotWritten::Value)?;
                Some(checked.as_str())
            }
            (NewValue::Typed(typed), _) => {
                checked = setting.check_text(typed).map_err(NotWritten::Value)?;
                Some(checked.as_str())
            }
        };
        let mut store = self.store.lock().await;
        let is_changed = {
            // Behind pointers: otherwise each caller would bring its own copy of the store's code.
            let storing: Pin<&mut dyn Future<Output = _>> = pin!(async {
                match text {
                    Some(text) => store.set(Key::Setting(key), text).await.map(|()| true),
                    None => store.delete(Key::Setting(key)).await,
                }
            });
            storing.await.map_err(NotWritten::Store)?
        };
        let applying: Pin<&mut dyn Future<Output = _>> = pin!(self.apply(setting, &mut store));
        applying.await.map_err(NotWritten::WrongPins)?;
        Ok(is_changed)
    }

    /// Applies a changed setting.
    async fn apply(&self, setting: &Setting, store: &mut Store<'_, F>) -> Result<(), StoreError> {
        match setting.effect {
            Effect::None => {}
            Effect::Volume => self.speaker.apply(self.platform, store, self.config).await,
            Effect::TimeServer => self.clock.want(),
            Effect::Announcements => {
                self.discovery.apply(store, self.config).await;
                self.home.announce_all();
            }
            Effect::Pin => forget_wrong_pins(setting, store).await?,
        }
        Ok(())
    }

    /// Deletes all settings, rules among them, and restarts the hub. Flags and documents stay. Dropped in the middle, some are
    /// left.
    pub(crate) async fn reset_settings(&self) -> Result<(), StoreError> {
        let mut store = self.store.lock().await;
        loop {
            let first = match store.names(Section::Settings).await?.next() {
                Some(Key::Setting(name)) => String::<{ limits::NAME }>::try_from(name),
                _ => break,
            };
            // Names in the store fit.
            let Ok(name) = first else { break };
            store.delete(Key::Setting(&name)).await?;
        }
        self.forget_volume_and_restart();
        Ok(())
    }

    /// Erases all settings, flags and documents, and restarts the hub. Dropped in the middle, everything is erased or nothing.
    pub(crate) async fn factory_reset(&self) -> Result<(), StoreError> {
        self.store.lock().await.erase_all().await?;
        self.forget_volume_and_restart();
        Ok(())
    }

    /// A volume that is not kept yet would be kept before the restart.
    fn forget_volume_and_restart(&self) {
        self.speaker.forget();
        self.restart.signal(());
    }
}

/// Checks a rule that is to be kept under this key.
fn check_rule<'a>(key: &str, text: &'a str) -> Result<&'a str, NotWritten> {
    let name = key.strip_prefix(RULE_PREFIX).unwrap_or_default();
    request::check_rule(name, text).map(|()| text).map_err(NotWritten::Rule)
}

//! Settings with the type of their values.

use core::marker::PhantomData;
use core::ops::Deref;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::{Policy, Setting, SettingText};
use crate::config::Config;
use crate::store::Store;

/// A setting whose value is a `T`.
pub struct TypedSetting<T> {
    pub(super) row: Setting,
    value: PhantomData<fn() -> T>,
}

impl<T> TypedSetting<T> {
    pub(super) const fn new(row: Setting) -> Self {
        Self { row, value: PhantomData }
    }
}

impl<T> Deref for TypedSetting<T> {
    type Target = Setting;

    fn deref(&self) -> &Setting {
        &self.row
    }
}

impl<T: SettingValue> TypedSetting<T> {
    /// Its value: what somebody set, or else the default.
    pub async fn get<F: MultiwriteNorFlash>(&self, store: &mut Store<'_, F>, config: &Config<'_>) -> T {
        let text = self.value(store, config).await;
        // A stored value suits its row, but the hub may have been started with a default that does not.
        let value = T::read(&text).or_else(|| T::read((self.default)(&Config::DEFAULT)));
        value.unwrap_or_default()
    }
}

/// A type that settings have.
pub trait SettingValue: Default {
    /// Reads the text of a value. `None` if it does not suit.
    fn read(text: &str) -> Option<Self>;
}

impl SettingValue for SettingText {
    fn read(text: &str) -> Option<Self> {
        Self::try_from(text).ok()
    }
}

impl SettingValue for bool {
    fn read(text: &str) -> Option<Self> {
        match text {
            "on" => Some(true),
            "off" => Some(false),
            _ => None,
        }
    }
}

impl SettingValue for u32 {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

impl SettingValue for u8 {
    fn read(text: &str) -> Option<Self> {
        text.parse().ok()
    }
}

/// Nothing, if the text is empty.
impl SettingValue for Option<u8> {
    fn read(text: &str) -> Option<Self> {
        if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
    }
}

impl SettingValue for Policy {
    fn read(text: &str) -> Option<Self> {
        Self::named(text)
    }
}

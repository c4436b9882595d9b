//! `show`, `set` and `unset`.

use core::ops::Range;
use core::pin::{Pin, pin};

use embedded_io_async::Write;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::{String, Vec};

use super::Console;
use super::command::{assignment, known_key, nearest_key};
use super::line_reader::LineReader;
use crate::context::{HubContext, NewValue, NotWritten};
use crate::hash::Fnv32;
use crate::limits;
use crate::log::info;
use crate::platform::Network;
use crate::settings::{self, RULE_PREFIX, SETTINGS, Setting, SettingKind, certificate};
use crate::store::{Key, Section, Store};
use crate::text::one_line;

/// A key, as it is kept.
type SettingKey = String<{ limits::NAME }>;

/// Digests of the values with which the hub has started, by which changes that wait for a restart are known.
pub(super) struct Started(Vec<u32, { limits::SETTINGS }>);

impl Started {
    /// Reads all settings.
    pub(super) async fn read<F: MultiwriteNorFlash>(hub: &HubContext<'_, Store<'_, F>>) -> Self {
        let mut digests = Vec::new();
        let mut store = hub.store.lock().await;
        for row in SETTINGS {
            // There is room for all.
            let _ = digests.push(Fnv32::of(row.value(&mut store, hub.config).await.bytes()));
        }
        Self(digests)
    }

    fn of(&mut self, setting: &Setting) -> Option<&mut u32> {
        let index = SETTINGS.iter().position(|row| core::ptr::eq(*row, setting))?;
        self.0.get_mut(index)
    }

    /// Whether a setting has another value than at the start, and has to wait for the next.
    pub(super) fn waits(&mut self, setting: &Setting, value: &str) -> bool {
        setting.needs_restart && self.of(setting).is_some_and(|started| *started != Fnv32::of(value.bytes()))
    }

    /// It is in use already.
    pub(super) fn applied(&mut self, setting: &Setting, value: &str) {
        if let Some(started) = self.of(setting) {
            *started = Fnv32::of(value.bytes());
        }
    }

    /// It has changed in a way that its value does not show.
    fn changed(&mut self, setting: &Setting) {
        if let Some(started) = self.of(setting) {
            *started = 0;
        }
    }
}

impl<W: Write, N: Network, F: MultiwriteNorFlash> Console<'_, W, N, Store<'_, F>> {
    /// All settings, or the one that is named at this point of the line.
    pub(super) async fn show(&mut self, input: &mut LineReader, at: usize) {
        // What a slider has changed is among them.
        self.hub.speaker.keep_now(self.hub.store).await;
        let (typed, _) = assignment(input.line_from(at));
        if !typed.is_empty() {
            let Some((key, setting)) = self.find(typed) else { return };
            if setting.kind == SettingKind::Rule {
                return self.show_rule(&key, input).await;
            }
            self.show_one(setting).await;
            return self.screen.line(format_args!("  {}; it must be {}", setting.purpose, setting.kind));
        }
        for setting in SETTINGS.iter().filter(|row| row.kind != SettingKind::Rule) {
            self.show_one(setting).await;
            self.flush().await;
        }
        let mut store = self.hub.store.lock().await;
        for key in store.names(Section::Settings).await.into_iter().flatten() {
            if let Key::Setting(key) = key
                && key.starts_with(RULE_PREFIX)
            {
                self.screen.line(format_args!("{key} is set"));
            }
        }
    }

    async fn show_one(&mut self, setting: &'static Setting) {
        let mut store = self.hub.store.lock().await;
        let value = setting.value(&mut store, self.hub.config).await;
        let mark = match store.contains(Key::Setting(setting.key)).await {
            _ if self.started.waits(setting, &value) => " (takes effect after `restart`)",
            true => "",
            false => " (default)",
        };
        let is_hidden = setting.is_secret && !value.is_empty();
        let value: String<{ limits::SETTING }> = one_line(&if is_hidden { "***" } else { &*value });
        self.screen.line(format_args!("{} = {value}{mark}", setting.key));
    }

    /// A rule is as long as a line, and takes its place.
    async fn show_rule(&mut self, key: &str, input: &mut LineReader) {
        let mut store = self.hub.store.lock().await;
        match store.get(Key::Setting(key), input.scratch()).await {
            Ok(Some(rule)) => {
                let _ = self.tx.write_all(self.screen.bytes()).await;
                self.screen.clear();
                let _ = self.tx.write_all(rule.as_bytes()).await;
                self.screen.line(format_args!(""));
            }
            Ok(None) => self.screen.line(format_args!("{key} is not set")),
            Err(error) => self.screen.line(format_args!("{key} cannot be read: {error}")),
        }
    }

    /// `KEY VALUE`, at this point of the line.
    pub(super) async fn set(&mut self, input: &mut LineReader, at: usize) {
        let (typed, value) = assignment(input.line_from(at));
        let Some((key, setting)) = self.find(typed) else { return };
        let is_certificate = setting.kind == SettingKind::Certificate;
        let Some(value) = value else {
            self.wants_certificate = is_certificate;
            return match is_certificate {
                true => self.screen.line(format_args!("paste the certificate now, or press Ctrl-C")),
                false => self.screen.line(format_args!("{key} = what? It must be {}", setting.kind)),
            };
        };
        if is_certificate {
            let range = input.range(value);
            return match value {
                "" => self.unset(&key).await,
                _ => self.set_certificate(input, range).await,
            };
        }
        self.write(&key, setting, NewValue::Typed(value)).await;
    }

    /// Keeps the certificate in this part of the line.
    pub(super) async fn set_certificate(&mut self, input: &mut LineReader, range: Range<usize>) {
        let setting = &settings::BROKER_CA;
        let Some(base64) = input.scratch().get_mut(range).and_then(certificate::to_base64) else {
            return self.screen.line(format_args!("{} must be {}", setting.key, setting.kind));
        };
        self.write(setting.key, setting, NewValue::Typed(base64)).await;
    }

    /// Brings back the default of this setting.
    pub(super) async fn unset(&mut self, typed: &str) {
        let Some((key, setting)) = self.find(assignment(typed).0) else { return };
        self.write(&key, setting, NewValue::Default).await;
    }

    /// Changes a setting, and shows the outcome.
    async fn write(&mut self, key: &str, setting: &'static Setting, value: NewValue<'_>) {
        let is_certificate = setting.kind == SettingKind::Certificate;
        let is_reset = matches!(value, NewValue::Default);
        let written = {
            // Behind a pointer, for a stack frame of its own.
            let writing: Pin<&mut dyn Future<Output = _>> =
                pin!(self.hub.write_setting(key, setting, value, &mut []));
            writing.await
        };
        // The value of a certificate does not show that it has changed. A failure may have changed it.
        if is_certificate && (matches!(written, Ok(true)) || !is_reset) {
            self.started.changed(setting);
        }
        match &written {
            Ok(_) | Err(NotWritten::WrongPins(_)) => info!("console: {} was changed", key),
            Err(NotWritten::Value(error)) => return self.screen.line(format_args!("{key} {error}")),
            Err(NotWritten::Rule(refusal)) => {
                return self.screen.line(format_args!("{key}: {}", refusal.words()));
            }
            Err(NotWritten::Store(error)) => {
                return self.screen.line(format_args!("{key} stays as it was: {error}"));
            }
        }
        if let Err(NotWritten::WrongPins(error)) = &written {
            self.screen.line(format_args!("Wrong PINs are not forgotten: {error}"));
        }
        match setting.kind {
            SettingKind::Rule => self.screen.line(format_args!("{key} is changed")),
            _ => self.show_one(setting).await,
        }
    }

    /// The setting of this key, or says that there is none. What is only like a key is never taken for it.
    fn find(&mut self, typed: &str) -> Option<(SettingKey, &'static Setting)> {
        let key = known_key(typed).unwrap_or(typed);
        let found = settings::find(key).and_then(|row| Some((SettingKey::try_from(key).ok()?, row)));
        if found.is_none() {
            match nearest_key(typed) {
                _ if typed.is_empty() => self.screen.line(format_args!("which setting? `show` lists them")),
                Some(near) => {
                    self.screen.line(format_args!("no setting `{typed}`; did you mean `{near}`?"));
                }
                None => self.screen.line(format_args!("no setting `{typed}`; `show` lists them")),
            }
        }
        found
    }
}

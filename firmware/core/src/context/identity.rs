//! Who the hub is and where its broker is: what has to be known before anything else, read once at the start.

use core::pin::{Pin, pin};

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use crate::config::{Address, Config, HubId};
use crate::limits;
use crate::log::error;
use crate::platform::{Destination, Tls};
use crate::settings::{self, SettingText, certificate};
use crate::store::{Key, Store};

/// The settings that make a hub this hub.
pub(crate) struct Identity {
    id: String<{ limits::HUB_ID }>,
    name: String<{ limits::HUB_NAME }>,
    url: SettingText,
    user: SettingText,
    password: SettingText,
    certificate: [u8; limits::CERTIFICATE],
    certificate_length: usize,
}

impl Identity {
    /// Nobody yet.
    pub(crate) const fn new() -> Self {
        Self {
            id: String::new(),
            name: String::new(),
            url: String::new(),
            user: String::new(),
            password: String::new(),
            certificate: [0; limits::CERTIFICATE],
            certificate_length: 0,
        }
    }

    /// Reads the settings. `scratch` is for the certificate and has to have [`limits::DOCUMENT`] bytes.
    pub(crate) async fn read<F: MultiwriteNorFlash>(
        &mut self,
        store: &mut Store<'_, F>,
        config: &Config<'_>,
        scratch: &mut [u8],
    ) {
        // Rows only take values that fit.
        self.id = String::try_from(&*settings::HUB_ID.value(store, config).await).unwrap_or_default();
        self.name = String::try_from(&*settings::HUB_NAME.value(store, config).await).unwrap_or_default();
        self.url = settings::BROKER_URL.value(store, config).await;
        self.user = settings::BROKER_USER.value(store, config).await;
        self.password = settings::BROKER_PASSWORD.value(store, config).await;
        self.certificate_length = 0;
        let length = {
            // Behind a pointer: otherwise this would bring its own copy of the store's code.
            let getting: Pin<&mut dyn Future<Output = _>> =
                pin!(store.get(Key::Setting(settings::BROKER_CA.key), scratch));
            getting.await.ok().flatten().map(str::len)
        };
        let default = config.broker.ca.as_bytes();
        let length = length.unwrap_or_else(|| {
            scratch.iter_mut().zip(default).for_each(|(to, from)| *to = *from);
            default.len()
        });
        if length == 0 {
            return;
        }
        let length = scratch.get_mut(..length).and_then(certificate::to_base64).map(str::len);
        match length.and_then(|length| certificate::to_der(scratch.get_mut(..length)?)) {
            Some(der) if der.len() <= self.certificate.len() => {
                self.certificate.iter_mut().zip(der).for_each(|(to, from)| *to = *from);
                self.certificate_length = der.len();
            }
            _ => error!("hub: the certificate in broker.ca cannot be read; set it again"),
        }
    }

    /// Its id.
    pub(crate) fn id(&self) -> HubId<'_> {
        HubId::new(&self.id).unwrap_or(Config::DEFAULT.id)
    }

    /// What people call it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Where its broker is; `None` if what the firmware was built with is no address.
    pub(crate) fn address(&self) -> Option<Address<'_>> {
        Address::parse(&self.url)
    }

    /// User name and password at the broker, if there is a user name.
    pub(crate) fn login(&self) -> Option<(&str, &str)> {
        (!self.user.is_empty()).then_some((&*self.user, &*self.password))
    }

    /// What to dial, at this time.
    pub(crate) fn destination(&self, now: Option<i64>) -> Option<Destination<'_>> {
        let Address { host, port, is_tls } = self.address()?;
        let trusted = self.certificate.get(..self.certificate_length).unwrap_or_default();
        Some(Destination { host, port, tls: is_tls.then_some(Tls { trusted, now }) })
    }
}

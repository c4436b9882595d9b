//! Settings from the command line: words `key=value`.

use core::fmt::{self, Display};
use core::num::NonZeroU16;
use core::str::FromStr;

use embassy_time::Duration;
use hub_core::platform::Credentials;
use hub_core::{Address, Broker, Config, HubId};
use log::LevelFilter;
use semihosting::experimental::env::{Args, args};
use static_cell::StaticCell;

use crate::boot::Failure;
use crate::wifi;

/// The longest command line. A certificate may be in it.
const COMMAND_LINE: usize = 4096;

/// The settings.
pub struct Settings {
    /// `id`: the hub's name. Default `qemu`.
    pub id: HubId<'static>,
    /// `url`, `user`, `password` and `ca`. Default: port 1883 of the machine that runs the emulator.
    pub broker: Broker<'static>,
    /// `clock`: `off` for a machine that has to be told the time. Default `on`.
    pub has_clock: bool,
    /// `time`: the time server. Default `pool.ntp.org`.
    pub time_server: &'static str,
    /// `wifi`: `home` or `none`. Default: the network at home, which is joined.
    pub wifi: Credentials<'static>,
    /// `seed`: a number, for runs that repeat. Default: another one every time.
    pub seed: Option<u64>,
    /// `log`: the lowest level to show. Default `info`.
    pub log: LevelFilter,
    /// `report`: seconds between two reports of what the hub uses. Default: none.
    pub report: Option<Duration>,
    /// `flash`: `slow` for one that stops the machine while it is erased or written, as an ESP32's does. Default `fast`.
    pub has_slow_flash: bool,
    /// `fail`: `panic` or `exception` in the first start, or `starts` in every one. The machine then restarts, as a board
    /// does. Default: none, and a failure ends the emulator.
    pub fail: Option<Failure>,
}

/// Why the command line is invalid.
pub enum SettingsError {
    /// It is too long, or missing.
    Unreadable,
    /// A word is not `key=value`, or its key is unknown.
    Unknown(&'static str),
    /// A value has the wrong type.
    Invalid(&'static str),
}

impl Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Unreadable => write!(f, "no command line, or one of more than {COMMAND_LINE} bytes"),
            Self::Unknown(word) => write!(
                f,
                "no setting is called `{word}`; known are url, user, password, ca, id, wifi, clock, time, seed, log, report, flash and fail, each as key=value"
            ),
            Self::Invalid(word) => write!(f, "that value is not possible: `{word}`"),
        }
    }
}

impl Settings {
    /// Reads the command line. Call once: the settings borrow from it for good.
    pub fn read() -> Result<Self, SettingsError> {
        static LINE: StaticCell<Args<COMMAND_LINE>> = StaticCell::new();
        let line = LINE.init(args().map_err(|_| SettingsError::Unreadable)?);

        let mut settings = Self {
            id: const { HubId::new("qemu").unwrap() },
            broker: Broker { url: "mqtt://10.0.2.2", user: "", password: "", ca: "" },
            has_clock: true,
            time_server: Config::DEFAULT.time_server,
            wifi: wifi::HOME,
            seed: None,
            log: LevelFilter::Info,
            report: None,
            has_slow_flash: false,
            fail: None,
        };
        // The first word is the program's name.
        for word in (&*line).skip(1) {
            let word = word.map_err(|_| SettingsError::Unreadable)?;
            let (key, value) = word.split_once('=').ok_or(SettingsError::Unknown(word))?;
            match key {
                "id" => settings.id = HubId::new(value).ok_or(SettingsError::Invalid(word))?,
                "url" if Address::parse(value).is_none() => return Err(SettingsError::Invalid(word)),
                "url" => settings.broker.url = value,
                "user" => settings.broker.user = value,
                "password" => settings.broker.password = value,
                "ca" => settings.broker.ca = value,
                "clock" if matches!(value, "on" | "off") => settings.has_clock = value == "on",
                "clock" => return Err(SettingsError::Invalid(word)),
                "time" => settings.time_server = value,
                "wifi" => {
                    settings.wifi = match value {
                        "home" => wifi::HOME,
                        "none" => Credentials { ssid: "", password: "" },
                        _ => return Err(SettingsError::Invalid(word)),
                    }
                }
                "seed" => settings.seed = Some(parse(word, value)?),
                "log" => settings.log = parse(word, value)?,
                "report" => {
                    let seconds: NonZeroU16 = parse(word, value)?;
                    settings.report = Some(Duration::from_secs(seconds.get().into()));
                }
                "flash" if matches!(value, "fast" | "slow") => settings.has_slow_flash = value == "slow",
                "flash" => return Err(SettingsError::Invalid(word)),
                "fail" => {
                    settings.fail = Some(match value {
                        "panic" => Failure::Panic,
                        "exception" => Failure::Exception,
                        "starts" => Failure::Starts,
                        _ => return Err(SettingsError::Invalid(word)),
                    });
                }
                _ => return Err(SettingsError::Unknown(word)),
            }
        }
        Ok(settings)
    }
}

fn parse<T: FromStr>(word: &'static str, value: &str) -> Result<T, SettingsError> {
    value.parse().map_err(|_| SettingsError::Invalid(word))
}

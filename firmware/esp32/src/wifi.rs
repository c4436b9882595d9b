//! The Wi-Fi station: joins the network it is told to, joins it again whenever it is lost, and moves to a stronger access
//! point of the same name.
//!
//! ```text
//!   the hub ─► Wifi::join, Wifi::scan ─► Wifi, shared ◄─► keep_joined, a task ◄─► radio
//! ```
//!
//! The radio is started by the first join or scan. A board that knows no network needs none, and one whose radio fails
//! keeps its console, its store and its controller. That includes a radio that hangs: the watchdog restarts the chip
//! once, and then the hub runs without.

use alloc::vec::Vec;
use core::cell::Cell;

use defmt::{error, info, warn};
use embassy_futures::select::{Either, Either3, select, select3};
use embassy_sync::{blocking_mutex::raw::NoopRawMutex, signal::Signal};
use embassy_time::{Duration, Timer, with_timeout};
use esp_hal::peripherals::WIFI;
use esp_radio::wifi::{
    AuthenticationMethod, AuthenticationMethodConfig, Config, ConnectionError, ControllerConfig, CountryInfo,
    DisconnectReason, Password, Ssid, WifiController, WifiError,
    ap::AccessPointInfo,
    scan::{ScanConfig, ScanTypeConfig},
    sta::{ScanMethod, StationConfig},
};
use hub_core::{AccessPoint, Credentials, NetworkState};
use portable_atomic::{AtomicU32, Ordering};

use crate::{port, roam::Roaming};

/// World-safe: what is legal everywhere, for a hub that does not know where it stands. (The driver's own
/// default is China.) The driver listens on channels 1 to 13 with any country.
const COUNTRY: [u8; 2] = *b"01";

/// 15 dBm, in the driver's quarters of a decibel. Its default of 5 dBm does not reach through a wall; above
/// 16 dBm some small boards can no longer supply their own radio.
const TRANSMIT_POWER: i8 = 60;

/// For one attempt to join. The driver gives up by itself sooner than that, but its message can get lost.
const JOIN_TIMEOUT: Duration = Duration::from_secs(30);

/// First wait before joining again; it doubles up to [`BACKOFF_SLOWEST`].
const BACKOFF_FIRST: Duration = Duration::from_secs(1);

/// Longest wait: a router that restarts is found again soon after it is up.
const BACKOFF_SLOWEST: Duration = Duration::from_secs(30);

/// How often the signal is looked at, and whether the network is still there, should the driver's message have been
/// lost.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// How often a radio that does not start is tried again.
const RADIO_RETRY: Duration = Duration::from_secs(300);

/// A scan visits 13 channels.
const SCAN_TIMEOUT: Duration = Duration::from_secs(10);

/// On each channel. The driver's default of 20 ms misses busy access points.
const SCAN_CHANNEL: ScanTypeConfig = ScanTypeConfig::Active {
    min: esp_hal::time::Duration::from_millis(30),
    max: esp_hal::time::Duration::from_millis(120),
};

/// Access points that a scan returns at most. They are in the radio's heap, 60 bytes each.
const SCAN_MOST: usize = 32;

const RADIO_FAILS: &str = "the radio does not start; check the power supply, and restart the hub";

const RADIO_HUNG: &str =
    "the radio hung when it was started; check the power supply. It is tried again in 5 minutes";

/// Holds [`IN_START`] while the radio is being started, also over a restart: that is how a start that hung is known.
#[esp_hal::ram(unstable(rtc_fast, persistent))]
static RADIO: AtomicU32 = AtomicU32::new(0);

const IN_START: u32 = 0x5741_4B45;

/// What the hub wants of the station, and what it knows of it. The hub and the station's task are in one thread.
pub struct Wifi {
    wanted: Cell<Option<Station>>,
    is_scan_wanted: Cell<bool>,
    /// One of the above has changed.
    changed: Signal<NoopRawMutex, ()>,
    found: Signal<NoopRawMutex, Result<Vec<AccessPointInfo>, &'static str>>,
    state: Cell<NetworkState>,
    signal: Cell<Option<i8>>,
}

/// A network to join.
#[derive(Clone, Copy, PartialEq)]
struct Station {
    ssid: Ssid,
    authentication: AuthenticationMethodConfig,
}

impl Station {
    /// An error says in words what does not fit. The driver is not told such things: it stops when it refuses one.
    fn new(credentials: Credentials<'_>) -> Result<Self, &'static str> {
        let Credentials { ssid, password } = credentials;
        let authentication = match password.len() {
            0 => AuthenticationMethodConfig::Open,
            8..=64 => {
                AuthenticationMethodConfig::Wpa2Personal(Password::try_from(password).unwrap_or_default())
            }
            _ => return Err("a Wi-Fi password has 8 to 63 characters; set wifi.password"),
        };
        let ssid = Ssid::try_from(ssid).map_err(|_| "the name of a Wi-Fi network has at most 32 bytes")?;
        Ok(Self { ssid, authentication })
    }

    /// For the driver: to join one access point, or else the strongest.
    fn config(&self, access_point: Option<[u8; 6]>) -> Config {
        let station = StationConfig::default()
            .with_ssid(self.ssid)
            .with_authentication(self.authentication)
            // A home can have several access points under one name: join the strongest, not the first one heard.
            .with_scan_method(ScanMethod::AllChannels);
        Config::Station(match access_point {
            Some(address) => station.with_bssid(address),
            None => station,
        })
    }
}

impl Wifi {
    pub const fn new() -> Self {
        Self {
            wanted: Cell::new(None),
            is_scan_wanted: Cell::new(false),
            changed: Signal::new(),
            found: Signal::new(),
            state: Cell::new(NetworkState::Off),
            signal: Cell::new(None),
        }
    }

    /// Like [`hub_core::Network::join`].
    pub fn join(&self, credentials: Option<Credentials<'_>>) {
        let (wanted, state) = match credentials.map(Station::new) {
            None => (None, NetworkState::Off),
            Some(Ok(station)) => (Some(station), NetworkState::Joining),
            Some(Err(why)) => (None, NetworkState::Failed(why)),
        };
        // A board that knows no network leaves its radio off.
        if wanted.is_some() || self.wanted.get().is_some() {
            self.changed.signal(());
        }
        self.wanted.set(wanted);
        self.set(state);
    }

    /// Whether the station is on the network, and how well it hears it.
    pub fn state(&self) -> (NetworkState, Option<i8>) {
        (self.state.get(), self.signal.get())
    }

    /// Like [`hub_core::Network::scan`]. One at a time.
    pub async fn scan(&self, found: &mut dyn FnMut(&AccessPoint<'_>)) -> Result<(), &'static str> {
        self.found.reset();
        self.is_scan_wanted.set(true);
        self.changed.signal(());
        let mut left = self.found.wait().await?;
        // The strongest first; then no other of its name.
        while let Some(strongest) = left.iter().max_by_key(|one| one.signal_strength).cloned() {
            left.retain(|one| one.ssid != strongest.ssid);
            // A hidden network has no name to join it by.
            if !strongest.ssid.is_empty() {
                found(&AccessPoint {
                    ssid: strongest.ssid.as_str(),
                    signal: strongest.signal_strength,
                    is_open: strongest.auth_method == Some(AuthenticationMethod::None),
                });
            }
        }
        Ok(())
    }

    fn set(&self, state: NetworkState) {
        self.state.set(state);
        self.signal.set(None);
    }

    /// Answers that there is no radio. Returns when it is wanted again, or time to try it.
    async fn wait_without_radio(&self, why: &'static str) {
        self.fail(why);
        if self.is_scan_wanted.take() {
            self.found.signal(Err(why));
        }
        let _ = with_timeout(RADIO_RETRY, self.changed.wait()).await;
    }

    fn fail(&self, why: &'static str) {
        self.set(NetworkState::Failed(why));
    }
}

/// This start does not follow a failure: the radio was not hung when the one before ended.
pub fn forget_start() {
    RADIO.store(0, Ordering::Relaxed);
}

/// Does what the hub wants of the station, for ever.
#[embassy_executor::task]
pub async fn keep_joined(mut radio: WIFI<'static>, wifi: &'static Wifi) {
    wifi.changed.wait().await;
    if RADIO.load(Ordering::Relaxed) == IN_START {
        RADIO.store(0, Ordering::Relaxed);
        error!("Wi-Fi: {=str}", RADIO_HUNG);
        wifi.wait_without_radio(RADIO_HUNG).await;
    }
    loop {
        info!("Wi-Fi: starting the radio");
        // Whoever reads the log knows where it stopped, should the radio hang.
        port::flush_log().await;
        RADIO.store(IN_START, Ordering::Relaxed);
        let started = start(radio.reborrow());
        RADIO.store(0, Ordering::Relaxed);
        match started {
            Ok(controller) => Driver { controller, wifi, roaming: Roaming::new() }.run().await,
            Err(error) => {
                error!("Wi-Fi: the radio does not start: {}", error);
                wifi.wait_without_radio(RADIO_FAILS).await;
            }
        }
    }
}

/// Starts the radio. From here on it uses the heap.
fn start(radio: WIFI<'_>) -> Result<WifiController<'_>, WifiError> {
    let config = ControllerConfig::default()
        .with_country_info(CountryInfo::from(COUNTRY))
        .with_initial_config(Config::Station(StationConfig::default()));
    let mut controller = WifiController::new(radio, config)?;
    controller.set_max_tx_power(TRANSMIT_POWER)?;
    Ok(controller)
}

struct Driver<'a> {
    controller: WifiController<'a>,
    wifi: &'static Wifi,
    roaming: Roaming,
}

impl Driver<'_> {
    async fn run(&mut self) {
        let mut wait = BACKOFF_FIRST;
        let mut access_point = None;
        loop {
            self.scan_if_wanted().await;
            let Some(station) = self.wifi.wanted.get() else {
                self.wifi.changed.wait().await;
                continue;
            };
            let wifi = self.wifi;
            match select(self.join(station, access_point.take()), wifi.changed.wait()).await {
                Either::First(Ok(())) => {
                    wait = BACKOFF_FIRST;
                    access_point = self.stay(station).await;
                }
                Either::First(Err(why)) => {
                    error!("Wi-Fi: cannot join {=str}: {=str}", station.ssid.as_str(), why);
                    wifi.fail(why);
                    let asked = with_timeout(wait, wifi.changed.wait()).await.is_ok();
                    wait = if asked { BACKOFF_FIRST } else { (wait * 2).min(BACKOFF_SLOWEST) };
                }
                Either::Second(()) => {
                    wait = BACKOFF_FIRST;
                    self.leave().await;
                }
            }
        }
    }

    async fn join(&mut self, station: Station, access_point: Option<[u8; 6]>) -> Result<(), &'static str> {
        info!("Wi-Fi: joining {=str}", station.ssid.as_str());
        if let Err(error) = self.controller.set_config(&station.config(access_point)) {
            warn!("Wi-Fi: {}", error);
            return Err("the radio does not take name and password");
        }
        match with_timeout(JOIN_TIMEOUT, self.controller.connect_async()).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(ConnectionError::Failed(info))) => Err(explain(info.reason)),
            Ok(Err(error)) => {
                warn!("Wi-Fi: {}", error);
                Err("the radio refused")
            }
            Err(_) if self.controller.is_connected() => Ok(()),
            Err(_) => {
                self.leave().await;
                Err("no answer from the access point")
            }
        }
    }

    /// Stays on the network until it is lost or another is wanted. Returns the access point to move to, if there is a
    /// better one.
    async fn stay(&mut self, station: Station) -> Option<[u8; 6]> {
        self.take_signal();
        info!("Wi-Fi: joined, signal {=i8} dBm", self.wifi.signal.get().unwrap_or_default());
        loop {
            let lost = self.controller.wait_for_disconnect_async();
            match select3(lost, self.wifi.changed.wait(), Timer::after(CHECK_INTERVAL)).await {
                Either3::First(lost) => {
                    let why = lost.map_or("the connection broke", |info| explain(info.reason));
                    warn!("Wi-Fi: lost the network: {=str}", why);
                    self.wifi.fail(why);
                    return None;
                }
                Either3::Second(()) => {
                    self.scan_if_wanted().await;
                    if self.wifi.wanted.get() != Some(station) {
                        self.leave().await;
                        return None;
                    }
                    self.take_signal();
                }
                Either3::Third(()) => {
                    self.take_signal();
                    if let Some(better) = self.look_around(station).await {
                        self.wifi.set(NetworkState::Joining);
                        self.leave().await;
                        return Some(better);
                    }
                }
            }
        }
    }

    /// The station is joined, and hears its access point like this.
    fn take_signal(&self) {
        self.wifi.state.set(NetworkState::Joined);
        let signal = self.controller.rssi().ok().and_then(|signal| i8::try_from(signal).ok());
        self.wifi.signal.set(signal);
    }

    /// The access point to move to, if it is time to look and one is worth it.
    async fn look_around(&mut self, station: Station) -> Option<[u8; 6]> {
        let signal = self.wifi.signal.get()?;
        if !self.roaming.is_time_to_look(signal) {
            return None;
        }
        let here = self.controller.ap_info().ok()?.bssid;
        let found = self.scan(ScanConfig::default().with_ssid(station.ssid)).await.ok()?;
        let found = found.iter().map(|one| (one.bssid, one.signal_strength));
        let better = self.roaming.choose(here, signal, found);
        if better.is_some() {
            info!("Wi-Fi: the signal is weak, {=i8} dBm; moving to a stronger access point", signal);
        }
        better
    }

    async fn scan_if_wanted(&mut self) {
        if self.wifi.is_scan_wanted.take() {
            let found = self.scan(ScanConfig::default()).await;
            self.wifi.found.signal(found);
        }
    }

    /// Not while the station is joining.
    async fn scan(&mut self, config: ScanConfig) -> Result<Vec<AccessPointInfo>, &'static str> {
        let config = config.with_scan_type(SCAN_CHANNEL).with_max(SCAN_MOST);
        match with_timeout(SCAN_TIMEOUT, self.controller.scan_async(&config)).await {
            Ok(Ok(found)) => Ok(found),
            Ok(Err(error)) => {
                warn!("Wi-Fi: cannot scan: {}", error);
                Err("the radio is busy; try again in some seconds")
            }
            Err(_) => Err("the radio does not answer; restart the hub"),
        }
    }

    /// Ends a connection or an attempt, which the driver would refuse the next one for.
    async fn leave(&mut self) {
        let _ = with_timeout(CHECK_INTERVAL, self.controller.disconnect_async()).await;
    }
}

/// The driver's reason as something a person can act on.
fn explain(reason: DisconnectReason) -> &'static str {
    use DisconnectReason as Reason;
    match reason {
        Reason::NoAccessPointFound => "no such network in range; check the name, and that it is on 2.4 GHz",
        Reason::NoAccessPointFoundInRssiThreshold => "the network is too weak here",
        Reason::NoAccessPointFoundWithCompatibleSecurity | Reason::NoAccessPointFoundInAuthmodeThreshold => {
            "the network's security does not fit: it has to allow WPA2 (WPA3 alone is not supported), or be open if no \
             password is set"
        }
        Reason::AuthenticationFailed
        | Reason::FourWayHandshakeTimeout
        | Reason::HandshakeTimeout
        | Reason::MicFailure => "wrong password, most likely",
        Reason::AuthenticationExpired => "no agreement on the password: it is wrong, or the signal weak",
        Reason::AssociationTooMany => "the access point is full",
        Reason::BeaconTimeout => "the access point is out of reach or off",
        Reason::AuthenticationLeave
        | Reason::AssociationLeave
        | Reason::AccessPointInitiatedDisassociation
        | Reason::DisassociatedDueToInactivity => "the access point sent the hub away",
        Reason::AssociationFailed | Reason::ConnectionFailed => {
            "the access point does not let the hub in; check its filters"
        }
        _ => "the connection broke",
    }
}

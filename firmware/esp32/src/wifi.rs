//! The Wi-Fi station: joins one network and joins it again whenever it is lost.

use defmt::{Str, error, info, intern, warn};
use embassy_time::{Duration, Timer, with_timeout};
use esp_hal::peripherals::WIFI;
use esp_radio::wifi::{
    AuthenticationMethodConfig, Config, ConnectionError, ControllerConfig, CountryInfo, DisconnectReason,
    WifiController, WifiError,
    sta::{ScanMethod, StationConfig},
};

use crate::settings::Network;

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

/// How often the driver is asked whether the network is still there, should its message have been lost.
const CHECK_INTERVAL: Duration = Duration::from_secs(10);

/// Starts the radio. From here on it uses the heap.
pub fn start(wifi: WIFI<'static>, network: Network) -> Result<WifiController<'static>, WifiError> {
    let authentication = match network.password {
        Some(password) => AuthenticationMethodConfig::Wpa2Personal(password.try_into()?),
        None => AuthenticationMethodConfig::Open,
    };
    let station = StationConfig::default()
        .with_ssid(network.name.try_into()?)
        .with_authentication(authentication)
        // A home can have several access points under one name: join the strongest, not the first one heard.
        .with_scan_method(ScanMethod::AllChannels);
    let config = ControllerConfig::default()
        .with_country_info(CountryInfo::from(COUNTRY))
        .with_initial_config(Config::Station(station));
    let mut controller = WifiController::new(wifi, config)?;
    controller.set_max_tx_power(TRANSMIT_POWER)?;
    Ok(controller)
}

/// Keeps the station joined, for ever.
#[embassy_executor::task]
pub async fn keep_joined(mut controller: WifiController<'static>, network: Network) {
    let mut wait = BACKOFF_FIRST;
    loop {
        info!("Wi-Fi: joining {=str}", network.name);
        match join(&mut controller).await {
            Ok(()) => {
                wait = BACKOFF_FIRST;
                info!("Wi-Fi: joined, signal {=i32} dBm", controller.rssi().unwrap_or_default());
                let why = until_lost(&controller).await;
                warn!("Wi-Fi: lost the network: {=istr}", why);
            }
            Err(why) => error!("Wi-Fi: cannot join {=str}: {=istr}", network.name, why),
        }
        Timer::after(wait).await;
        wait = (wait * 2).min(BACKOFF_SLOWEST);
    }
}

async fn join(controller: &mut WifiController<'static>) -> Result<(), Str> {
    match with_timeout(JOIN_TIMEOUT, controller.connect_async()).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(ConnectionError::Failed(info))) => Err(explain(info.reason)),
        Ok(Err(error)) => {
            warn!("Wi-Fi: {}", error);
            Err(intern!("the radio refused"))
        }
        Err(_) if controller.is_connected() => Ok(()),
        Err(_) => {
            // Ends the attempt in the driver, which would refuse the next one as long as it is busy.
            let _ = with_timeout(CHECK_INTERVAL, controller.disconnect_async()).await;
            Err(intern!("no answer from the access point"))
        }
    }
}

async fn until_lost(controller: &WifiController<'static>) -> Str {
    loop {
        match with_timeout(CHECK_INTERVAL, controller.wait_for_disconnect_async()).await {
            Ok(Ok(info)) => return explain(info.reason),
            Ok(Err(_)) => return intern!("unknown reason"),
            Err(_) => {}
        }
    }
}

/// The driver's reason as something a person can act on.
fn explain(reason: DisconnectReason) -> Str {
    use DisconnectReason as Reason;
    match reason {
        Reason::NoAccessPointFound => {
            intern!("no such network in range; check the name, and that it is on 2.4 GHz")
        }
        Reason::NoAccessPointFoundInRssiThreshold => intern!("the network is too weak here"),
        Reason::NoAccessPointFoundWithCompatibleSecurity | Reason::NoAccessPointFoundInAuthmodeThreshold => {
            intern!("the network's security does not fit; it has to be WPA2, or open if no password is set")
        }
        Reason::AuthenticationFailed
        | Reason::FourWayHandshakeTimeout
        | Reason::HandshakeTimeout
        | Reason::MicFailure => intern!("wrong password, most likely"),
        Reason::AuthenticationExpired => {
            intern!("no agreement on the password: it is wrong, or the signal weak")
        }
        Reason::AssociationTooMany => intern!("the access point is full"),
        Reason::BeaconTimeout => intern!("the access point is out of reach or off"),
        Reason::AuthenticationLeave
        | Reason::AssociationLeave
        | Reason::AccessPointInitiatedDisassociation
        | Reason::DisassociatedDueToInactivity => intern!("the access point sent the hub away"),
        Reason::AssociationFailed | Reason::ConnectionFailed => {
            intern!("the access point does not let the hub in; check its filters")
        }
        _ => intern!("the connection broke"),
    }
}

//! Keeps the hub's clock right: asks time servers, and takes what the broker brings (`request/time/set`).

use core::net::Ipv4Addr;

use embassy_futures::select::{Either, select};
use embassy_time::{Duration, Instant, Timer, with_timeout};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use crate::clock::{Clock, Source};
use crate::context::HubContext;
use crate::json::Value;
use crate::limits;
use crate::log::{debug, info, warn};
use crate::mqtt::Backoff;
use crate::platform::Network;
use crate::request::Refusal;
use crate::settings::TIME_SERVER;
use crate::sntp::{self, NoTime};
use crate::store::Store;
use crate::text;
use crate::zone::Date;

/// `{"unix_seconds"}`: sets the clock, unless a time server has set it recently.
pub(super) fn set(request: Value<'_>, clock: &Clock) -> Result<(), Refusal> {
    let seconds = request.get("unix_seconds").and_then(|seconds| seconds.as_integer());
    let milliseconds = seconds.and_then(|seconds| seconds.checked_mul(1000)).ok_or(Refusal::NotATime)?;
    clock.set(Source::Broker, milliseconds, Instant::now()).map_err(|_| Refusal::NotATime)
}

/// The time servers, in the order in which they are asked: the one that is set, the router, which often is one, and the
/// machine of the broker. (Which one DHCP names is not known: embassy-net does not hand it out.)
const SERVERS: usize = 3;

/// Between two looks whether the network is there.
const NETWORK_POLL: Duration = Duration::from_secs(1);

/// The host of a time server.
type Host = String<{ limits::HOST }>;

/// Rounds without an answer after which people are told. One datagram may get lost.
const ROUNDS_UNTIL_LOST: u32 = 2;

/// Asks time servers, for ever, unless the machine has a clock of its own.
pub(super) async fn keep<N: Network, F: MultiwriteNorFlash>(
    network: &N,
    hub: &HubContext<'_, Store<'_, F>>,
) -> ! {
    let HubContext { clock, platform, .. } = hub;
    if platform.wall_clock().is_some() {
        core::future::pending().await
    }
    let mut backoff = Backoff::between(limits::SNTP_RETRY_FIRST, limits::SNTP_RETRY_SLOWEST, platform.seed());
    // Servers are left alone until then.
    let mut closed = [Instant::MIN; SERVERS];
    let (mut failures, mut is_news) = (0u32, true);
    loop {
        while network.status().address.is_none() {
            Timer::after(NETWORK_POLL).await;
        }
        let setting = TIME_SERVER.value(&mut *hub.store.lock().await, hub.config).await;
        if setting.is_empty() {
            clock.wanted().await;
            continue;
        }
        // Nobody who has seen one question knows the next.
        let nonce = platform.seed() ^ backoff.random();
        let wait = match round(network, &setting, hub, &mut closed, nonce, clock).await {
            Some((host, seconds)) => {
                let (date, time) = (Date::new(seconds).day_text(), Date::new(seconds).time_text());
                if core::mem::take(&mut is_news) {
                    info!("time: it is {} {} in UTC, by {}", date.as_str(), time.as_str(), host.as_str());
                } else {
                    debug!("time: it is {} {} in UTC, by {}", date.as_str(), time.as_str(), host.as_str());
                }
                failures = 0;
                backoff.reset();
                backoff.shorten(limits::SNTP_INTERVAL, 8)
            }
            None => {
                failures += 1;
                if failures == ROUNDS_UNTIL_LOST {
                    is_news = true;
                    let is_known = hub.now().is_some();
                    let outcome =
                        if is_known { "the clock goes on by itself" } else { "the time is not known" };
                    warn!(
                        "time: no time server answers, neither {} nor the router nor the broker's machine; {}. Set time.server, or send request/time/set",
                        setting.as_str(),
                        outcome
                    );
                }
                backoff.next_wait()
            }
        };
        if let Either::Second(()) = select(Timer::after(wait), clock.wanted()).await {
            // Another server is set.
            backoff.reset();
            closed = [Instant::MIN; SERVERS];
            (failures, is_news) = (0, true);
        }
    }
}

/// Asks one server after the other, until one sets the clock. Returns which one, and the time.
async fn round<N: Network, S>(
    network: &N,
    setting: &str,
    hub: &HubContext<'_, S>,
    closed: &mut [Instant; SERVERS],
    nonce: u64,
    clock: &Clock,
) -> Option<(Host, i64)> {
    for (index, closed) in closed.iter_mut().enumerate() {
        let Some((host, port)) = server(index, setting, network, hub) else { continue };
        if Instant::now() < *closed {
            continue;
        }
        let why = match ask(network, &host, port, nonce, clock).await {
            Ok(seconds) => return Some((host, seconds)),
            Err(why) => why,
        };
        let pause = match why {
            Some(NoTime::TooOften) => limits::SNTP_TOO_OFTEN,
            Some(NoTime::Denied) => limits::SNTP_DENIED,
            _ => Duration::MIN,
        };
        *closed = Instant::now() + pause;
        let why = why.map_or("does not answer", NoTime::text);
        if pause > Duration::MIN {
            warn!(
                "time: the time server {} {}; it is left alone for {} hours",
                host.as_str(),
                why,
                pause.as_secs() / 3600
            );
        } else {
            debug!("time: the time server {} {}", host.as_str(), why);
        }
    }
    None
}

/// Host and port of the time server at this place in the order.
fn server<N: Network, S>(
    index: usize,
    setting: &str,
    network: &N,
    hub: &HubContext<'_, S>,
) -> Option<(Host, u16)> {
    let (host, port) = match index {
        0 => {
            let with_port =
                setting.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
            with_port.unwrap_or((setting, sntp::PORT))
        }
        1 => return Some((text::clip(&Ipv4Addr::from(network.gateway()?)), sntp::PORT)),
        _ => (hub.identity.address()?.host, sntp::PORT),
    };
    Some((Host::try_from(host).ok()?, port))
}

/// Sets the clock by this server. Returns the time in seconds since 1970, or why there is none: nothing if it does not
/// answer.
async fn ask<N: Network>(
    network: &N,
    host: &str,
    port: u16,
    nonce: u64,
    clock: &Clock,
) -> Result<i64, Option<NoTime>> {
    let question = sntp::question(nonce);
    let mut answer = [0; sntp::PACKET];
    let asked = Instant::now();
    let asking = network.ask(host, port, &question, &mut answer);
    let Ok(Ok(length)) = with_timeout(limits::SNTP_TIMEOUT, asking).await else { return Err(None) };
    let now = Instant::now();
    let answer = answer.get(..length).unwrap_or_default();
    let milliseconds = sntp::read(answer, nonce, (now - asked).as_millis())?;
    clock.set(Source::Sntp, milliseconds, now).map_err(|_| NoTime::Unsynchronised)?;
    Ok(milliseconds / 1000)
}

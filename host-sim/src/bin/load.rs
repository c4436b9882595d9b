//! `cargo load`: how many calls a hub answers in a second, and how many hubs live in one process, through mosquitto.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::rc::Rc;
use std::time::Duration;

use embedded_io_adapters::tokio_1::FromTokio;
use host_desktop::broker::BrokerUrl;
use host_desktop::logging;
use host_desktop::options::{environment, login};
use host_sim::caller::{connected, subscribe};
use host_sim::console;
use host_sim::flash::MemoryFlash;
use host_sim::hub::{self, Settings};
use host_sim::network::Network;
use hub_contract::ROOT;
use hub_core::Wired;
use lexopt::prelude::*;
use minimq::{Op, Property, Publication, QoS};
use rustix::process::{Resource, getrlimit, setrlimit};
use serde_json::Value;
use tokio::io::{duplex, sink};
use tokio::task::LocalSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};

const HELP: &str = "\
Measures how many calls a hub holds, and how many hubs fit in a process.

Usage: cargo load [--seconds N] [--rate N] [--hubs N] [--broker mqtt://HOST[:PORT]]

Starts hubs without a controller, waits until each has answered a call, then calls `echo` at an even
rate, one hub after the other. Starts its own mosquitto unless --broker names one, whose login
HEARTHWAVE_BROKER_USER and HEARTHWAVE_BROKER_PASSWORD can hold.

  --seconds N   duration of the calls (default: 60)
  --rate N      calls per second to all hubs together (default: 500)
  --hubs N      number of hubs (default: 1)

Exits with 0 if every call was answered at that rate and every hub stayed online. Latency counts from
the time a call was due.";

/// Connections that make calls, each with one at a time: as many as a hub works on at once.
const CALLERS: u32 = 4;
/// A call that takes longer is lost.
const LOST_AFTER: Duration = Duration::from_secs(10);
/// Of the last call: if it takes longer, the hubs did not hold the rate.
const LATE: Duration = Duration::from_secs(1);
/// For all hubs to come online.
const ONLINE_WITHIN: Duration = Duration::from_secs(300);

struct Options {
    seconds: u64,
    rate: u32,
    hubs: usize,
    broker: Option<BrokerUrl>,
}

fn options() -> Result<Options, lexopt::Error> {
    let mut options = Options { seconds: 60, rate: 500, hubs: 1, broker: None };
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Long("seconds") => options.seconds = parser.value()?.parse()?,
            Long("rate") => options.rate = parser.value()?.parse()?,
            Long("hubs") => options.hubs = parser.value()?.parse()?,
            Long("broker") => {
                // The error does not show the value: a password may be in it.
                let mut broker = BrokerUrl::parse(&parser.value()?.string()?)?;
                broker.login = broker.login.or_else(|| login(environment));
                options.broker = Some(broker);
            }
            Short('h') | Long("help") => {
                println!("{HELP}");
                std::process::exit(0);
            }
            other => return Err(other.unexpected()),
        }
    }
    match (options.seconds, options.rate, options.hubs) {
        (1.., 1.., 1..) => Ok(options),
        _ => Err("--seconds, --rate and --hubs are 1 at least".into()),
    }
}

/// A mosquitto on this machine, as long as this lives.
struct Mosquitto {
    process: Child,
    configuration: PathBuf,
}

impl Mosquitto {
    fn start() -> Result<(Self, BrokerUrl), String> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let port = port.map_err(|error| error.to_string())?.port();
        let configuration = std::env::temp_dir().join(format!("hearthwave-load-{}.conf", std::process::id()));
        let text = format!("listener {port} 127.0.0.1\nallow_anonymous true\nset_tcp_nodelay true\n");
        // Started by root, it becomes another user.
        fs::write(&configuration, text)
            .and_then(|()| fs::set_permissions(&configuration, Permissions::from_mode(0o644)))
            .map_err(|error| error.to_string())?;
        // Debian has it where an ordinary user's PATH does not look.
        let programs = ["mosquitto", "/usr/sbin/mosquitto"];
        let mut start = programs.iter().map(|program| {
            let mut command = Command::new(program);
            command.arg("-c").arg(&configuration).stdin(Stdio::null());
            command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
        });
        let process =
            start.find_map(Result::ok).ok_or("mosquitto is missing; install it, or use --broker")?;
        let mosquitto = Self { process, configuration };
        for _ in 0..500 {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Ok((mosquitto, BrokerUrl::parse(&format!("127.0.0.1:{port}"))?));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Err("mosquitto does not listen".into())
    }
}

impl Drop for Mosquitto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        let _ = fs::remove_file(&self.configuration);
    }
}

/// What has been seen of the hubs.
#[derive(Default)]
struct Seen {
    online: BTreeSet<String>,
    /// How often one was lost.
    offline: usize,
}

/// What became of the calls.
#[derive(Default)]
struct Calls {
    /// From when each was due to its reply.
    answered: Vec<Duration>,
    refused: usize,
    lost: usize,
    /// From when the first was due to the last reply.
    took: Duration,
}

fn main() -> ExitCode {
    let options = options().unwrap_or_else(|error| {
        eprintln!("load: {error}\n{HELP}");
        std::process::exit(2);
    });
    // Nobody is at the other end of the hubs' serial lines, which they say.
    logging::start_log("off", true, None);
    // A connection for each hub, here and at the broker.
    let files = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, rustix::process::Rlimit { current: files.maximum, ..files });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match runtime.block_on(LocalSet::new().run_until(run(&options))) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("load: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether everything was as it should be.
async fn run(options: &Options) -> Result<bool, String> {
    let (_mosquitto, broker) = match &options.broker {
        Some(broker) => (None, broker.clone()),
        None => Mosquitto::start().map(|(mosquitto, broker)| (Some(mosquitto), broker))?,
    };
    let all: Rc<[Settings]> = (0..options.hubs)
        .map(|number| Settings { broker: broker.clone(), ..Settings::in_memory(&format!("load-{number}")) })
        .collect();
    let seen = Rc::<RefCell<Seen>>::default();
    tokio::task::spawn_local(watch(all[0].clone(), seen.clone()));
    let begun = Instant::now();
    for (settings, seed) in all.iter().cloned().zip(0..) {
        tokio::task::spawn_local(async move { run_hub(&settings, seed).await });
    }
    while seen.borrow().online.len() < options.hubs {
        if begun.elapsed() > ONLINE_WITHIN {
            return Err(format!("only {} of {} hubs came online", seen.borrow().online.len(), options.hubs));
        }
        sleep(Duration::from_millis(20)).await;
    }
    println!("hubs     {} online after {:.1} s", options.hubs, begun.elapsed().as_secs_f64());
    let first = make_calls(&all, options.hubs as u32, Duration::ZERO).await?;
    println!("first    {}", describe(&first, None));
    let count =
        u32::try_from(options.seconds * u64::from(options.rate)).map_err(|error| error.to_string())?;
    let calls = make_calls(&all, count, Duration::from_secs(1) / options.rate).await?;
    println!("calls    {}", describe(&calls, Some(calls.took)));
    println!("latency  {}", percentiles(calls.answered.clone()));
    let seen = seen.borrow();
    println!("stayed   {} of {} online, {} losses", seen.online.len(), options.hubs, seen.offline);
    let is_good = |calls: &Calls| calls.lost + calls.refused == 0;
    let is_held = calls.took <= Duration::from_secs(options.seconds) + LATE;
    Ok(is_good(&first)
        && is_good(&calls)
        && is_held
        && seen.offline == 0
        && seen.online.len() == options.hubs)
}

/// A hub whose controller never says anything.
async fn run_hub(settings: &Settings, seed: u64) {
    let (silent, _kept) = duplex(1);
    let line = (FromTokio::new(silent), FromTokio::new(sink()));
    let (port, _nobody) = console::pair();
    hub::run(settings, line, port, Network::Tcp, Wired, MemoryFlash::default(), seed).await
}

/// Sees which hubs are online.
async fn watch(settings: Settings, seen: Rc<RefCell<Seen>>) {
    let watching = connected(Network::Tcp, &settings, Duration::MAX, async |connection, _| {
        subscribe(connection, &[&format!("{ROOT}+/availability")]).await?;
        while let Ok(message) = connection.recv().await {
            let mut seen = seen.borrow_mut();
            // What an earlier run left at a broker is of nobody who is here.
            if message.payload() == b"online" {
                seen.online.insert(message.topic().into());
            } else if seen.online.remove(message.topic()) {
                seen.offline += 1;
            }
        }
        Ok(())
    });
    eprintln!("load: the watch over the hubs ended: {:?}", watching.await);
}

/// Makes `count` calls, one each `pause`, to one hub after the other.
async fn make_calls(hubs: &Rc<[Settings]>, count: u32, pause: Duration) -> Result<Calls, String> {
    // A moment for all to connect.
    let start = Instant::now() + Duration::from_millis(500);
    let callers: Vec<_> = (0..CALLERS)
        .map(|caller| {
            let (hubs, calls) = (hubs.clone(), (caller..count).step_by(CALLERS as usize));
            tokio::task::spawn_local(async move { make_some(&hubs, calls, start, pause).await })
        })
        .collect();
    let mut all = Calls::default();
    for caller in callers {
        let calls = caller.await.map_err(|error| error.to_string())??;
        all.answered.extend(calls.answered);
        all.refused += calls.refused;
        all.lost += calls.lost;
    }
    all.took = start.elapsed();
    Ok(all)
}

/// Makes these calls, each when it is due, or as soon as the one before is answered.
async fn make_some(
    hubs: &[Settings],
    numbers: impl Iterator<Item = u32>,
    start: Instant,
    pause: Duration,
) -> Result<Calls, String> {
    let mut calls = Calls::default();
    let made = connected(Network::Tcp, &hubs[0], Duration::MAX, async |connection, client_id| {
        subscribe(connection, &[&format!("{ROOT}+/reply/{client_id}")]).await?;
        for number in numbers {
            let due = start + pause * number;
            sleep_until(due).await;
            let id = &hubs[number as usize % hubs.len()].hub_id;
            let (topic, reply) =
                (format!("{ROOT}{id}/request/tool/call"), format!("{ROOT}{id}/reply/{client_id}"));
            let correlation = number.to_be_bytes();
            let properties = [Property::ResponseTopic(&reply), Property::CorrelationData(&correlation)];
            let call = Publication::bytes(&topic, br#"{"name":"echo","arguments":{"text":"hello"}}"#);
            let call = call.qos(QoS::AtLeastOnce).properties(&properties);
            let _: Option<Op> = connection.publish(call).await.map_err(host_sim::caller::no_answer)?;
            let answer = timeout(LOST_AFTER, async {
                loop {
                    let message = connection.recv().await.map_err(host_sim::caller::broken)?;
                    if message.correlation_data() == Some(&correlation) {
                        return Ok(serde_json::from_slice::<Value>(message.payload()).unwrap_or_default());
                    }
                }
            });
            match answer.await {
                Err(_) => calls.lost += 1,
                Ok(Ok(reply)) if reply["result"]["echo"]["text"] == "hello" => {
                    // What is made at once is not late.
                    calls.answered.push(if pause.is_zero() { Duration::ZERO } else { due.elapsed() });
                }
                Ok(Ok(_)) => calls.refused += 1,
                Ok(Err(error)) => return Err(error),
            }
        }
        Ok(())
    });
    made.await.map_err(|error| error.to_string())?;
    Ok(calls)
}

fn describe(calls: &Calls, time: Option<Duration>) -> String {
    let Calls { answered, refused, lost, .. } = calls;
    let answered = answered.len();
    let rate = time.map_or(String::new(), |time| {
        let seconds = time.as_secs_f64();
        format!(" in {seconds:.1} s, {:.0} a second", answered as f64 / seconds)
    });
    format!("{answered} calls answered{rate}; {lost} lost, {refused} refused")
}

fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: f64| {
        let index = (times.len().saturating_sub(1) as f64 * share) as usize;
        times.get(index).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    format!(
        "50 % within {:.1} ms, 95 % {:.1} ms, 99 % {:.1} ms, all {:.1} ms",
        at(0.5),
        at(0.95),
        at(0.99),
        at(1.0)
    )
}

//! What time it is: a board has no clock of its own, and is told by time servers or through the broker.

use support::sntp::{TimeServer, kiss};
use world::Lan;
use world::prelude::*;

const POOL: &str = "pool.ntp.org:123";
const ROUTER: &str = "192.168.7.1:123";
const BROKER: &str = "in-memory:123";

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);
/// 2026-11-17 20:00:00 UTC, a Tuesday.
const NOW: i64 = 1_794_945_600;

/// A hub on a machine without a clock.
fn board() -> Setup {
    Setup::new().hub(|hub| hub.has_clock = false)
}

/// Starts the hub anew, in a network as it is prepared here.
async fn starts<T>(world: &World, prepare: impl FnOnce(&Lan) -> T) -> T {
    world.switches_off().await;
    world.lan.asked.borrow_mut().clear();
    let prepared = prepare(&world.lan);
    world.restarts_the_hub().await;
    prepared
}

fn opens(lan: &Lan, address: &str, unix_seconds: i64) -> TimeServer {
    let server = TimeServer::at(unix_seconds);
    lan.serves(address, move |question| Some(server.answer(question)));
    server
}

async fn datetime(person: &mut Client) -> Value {
    person.uses("datetime", json!({})).await
}

/// The hub's local time, as seconds of the day, and the day.
async fn clock(person: &mut Client) -> (String, i64) {
    let reply = datetime(person).await;
    let text = |name: &str| reply["result"][name].as_str().unwrap_or_else(|| panic!("{reply}")).to_owned();
    let seconds =
        text("time").split(':').fold(0, |sum, part| sum * 60 + part.parse::<i64>().expect("a number"));
    (text("date"), seconds)
}

/// Asserts that the hub's time is that of a server, within a second. In UTC.
async fn assert_right(person: &mut Client, server: &TimeServer) {
    let (date, seconds) = clock(person).await;
    let now = server.now();
    let expected = hub_core::zone::Date::new(now);
    assert_eq!(date, expected.day_text().as_str());
    assert!((seconds - i64::from(expected.second)).abs() <= 1, "{seconds} instead of {}", expected.second);
}

#[test]
fn before_the_time_is_known_the_hub_does_not_guess() {
    board().story(async |world| {
        let mut ann = world.person("ann").await;
        let reply = datetime(&mut ann).await;
        assert_refused(&reply, "unavailable", "The time is not known yet: no time server has answered");
        assert_contains(&reply["error"], "request/time/set");
        sleep(24 * HOUR).await;
        assert_refused(&datetime(&mut ann).await, "unavailable", "not known");
        assert_logged_times(1, "no time server answers, neither pool.ntp.org nor the router");
        assert_logged("the time is not known. Set time.server");
        // It still tries, and is polite to the pool.
        let asked = world.lan.times_asked(POOL);
        assert!((48..110).contains(&asked), "{asked} times a day");
        let server = opens(&world.lan, POOL, NOW);
        sleep(HOUR / 2).await;
        assert_right(&mut ann, &server).await;
    });
}

#[test]
fn a_time_server_sets_the_clock_and_keeps_it_right() {
    board().story(async |world| {
        let server = starts(world, |lan| opens(lan, POOL, NOW)).await;
        let mut ann = world.person("ann").await;
        ann.sets("time.zone", json!("utc")).await;
        sleep(MINUTE).await;
        assert_right(&mut ann, &server).await;
        let mut result = datetime(&mut ann).await["result"].take();
        assert!(result["time"].take().is_string());
        assert_eq!(
            result,
            json!({
                "date": "2026-11-17", "time": null, "weekday": "Tuesday", "utc_offset": "+00:00", "zone": "UTC",
                "source": "sntp",
            })
        );
        assert_eq!(ann.asks("health", json!({})).await["time"], "sntp");
        assert_logged_times(1, "time: it is 2026-11-17 20:00:00 in UTC, by pool.ntp.org");
        // The hub's crystal is wrong by five minutes in an hour; it would have been.
        let server = opens(&world.lan, POOL, server.now() + 300);
        sleep(HOUR).await;
        assert_right(&mut ann, &server).await;
        sleep(22 * HOUR).await;
        let asked = world.lan.times_asked(POOL);
        assert!((24..28).contains(&asked), "{asked} times a day");
        assert_eq!(world.lan.times_asked(ROUTER), 0, "nobody else is asked");
        assert_logged_times(1, "INFO time:");
        assert_not_logged("WARN time:");
    });
}

#[test]
fn a_time_server_that_is_lost_is_noticed_once_and_found_again() {
    board().story(async |world| {
        let server = opens(&world.lan, POOL, NOW);
        let mut ann = world.person("ann").await;
        sleep(MINUTE).await;
        world.lan.silences(POOL);
        sleep(24 * HOUR).await;
        assert_right(&mut ann, &server).await;
        assert_logged_times(1, "WARN time:");
        assert_logged("the clock goes on by itself");
        let server = opens(&world.lan, POOL, server.now() + 2);
        sleep(HOUR).await;
        assert_right(&mut ann, &server).await;
        assert_logged_times(2, "INFO time:");
        assert_logged_times(1, "WARN time:");
    });
}

#[test]
fn one_lost_datagram_is_no_news() {
    board().story(async |world| {
        let server = opens(&world.lan, POOL, NOW);
        let mut ann = world.person("ann").await;
        sleep(MINUTE).await;
        let asked = world.lan.times_asked(POOL);
        world.lan.silences(POOL);
        while world.lan.times_asked(POOL) == asked {
            sleep(Duration::from_secs(1)).await;
        }
        opens(&world.lan, POOL, server.now());
        sleep(HOUR).await;
        assert_right(&mut ann, &server).await;
        assert_not_logged("WARN time:");
        assert_logged_times(1, "INFO time:");
    });
}

#[test]
fn the_router_and_the_machine_of_the_broker_are_asked_if_the_pool_is_silent() {
    for address in [ROUTER, BROKER] {
        board().story(async |world| {
            let server = opens(&world.lan, address, NOW);
            let mut ann = world.person("ann").await;
            sleep(MINUTE).await;
            assert_right(&mut ann, &server).await;
            assert_eq!(world.lan.asked.borrow()[0], POOL, "which comes first");
        });
    }
}

#[test]
fn a_server_that_does_not_want_to_be_asked_is_left_alone() {
    for (code, hours) in [(b"DENY", 24), (b"RSTR", 24), (b"RATE", 4)] {
        board().story(async |world| {
            let prepare = |lan: &Lan| {
                lan.serves(POOL, |question| Some(kiss(question, code)));
                opens(lan, ROUTER, NOW)
            };
            let server = starts(world, prepare).await;
            let mut ann = world.person("ann").await;
            sleep((hours - 1) * HOUR).await;
            assert_right(&mut ann, &server).await;
            assert_eq!(world.lan.times_asked(POOL), 1);
            assert_logged("the time server pool.ntp.org");
            assert_logged("it is left alone for");
        });
    }
    board().story(async |world| {
        starts(world, |lan| lan.serves(POOL, |question| Some(kiss(question, b"RATE")))).await;
        world.person("ann").await;
        sleep(9 * HOUR).await;
        assert!((2..=3).contains(&world.lan.times_asked(POOL)), "after some hours it is asked again");
    });
}

#[test]
fn answers_that_are_forged_or_make_no_sense_set_nothing() {
    let server = |change: fn(&mut Vec<u8>)| {
        board().story(async move |world| {
            let server = TimeServer::at(NOW);
            world.lan.serves(POOL, move |question| {
                let mut answer = server.answer(question);
                change(&mut answer);
                Some(answer)
            });
            let mut ann = world.person("ann").await;
            sleep(HOUR).await;
            assert_refused(&datetime(&mut ann).await, "unavailable", "not known");
        });
    };
    server(|answer| answer[24] ^= 1);
    server(|answer| answer[0] |= 0xc0);
    server(|answer| answer.truncate(20));
    server(|answer| answer.fill(0));
    // In the year 2000.
    server(|answer| answer[40..44].copy_from_slice(&3_155_673_600_u32.to_be_bytes()));
}

#[test]
fn the_broker_brings_the_time_where_there_is_no_server() {
    board().story(async |world| {
        let mut ann = world.person("ann").await;
        ann.sets("time.zone", json!("Europe/Berlin")).await;
        assert_eq!(ann.asks("health", json!({})).await["time"], "none");
        let reply = ann.asks("time/set", json!({ "unix_seconds": NOW, "transaction": 5 })).await;
        assert_eq!(ann.asks("health", json!({})).await["time"], "broker");
        assert_eq!(
            reply,
            json!({
                "success": true, "date": "2026-11-17", "time": "21:00:00", "weekday": "Tuesday", "utc_offset": "+01:00",
                "zone": "Europe/Berlin", "source": "broker", "transaction": 5,
            })
        );
        sleep(10 * HOUR).await;
        assert_eq!(clock(&mut ann).await, ("2026-11-18".into(), 7 * 3600));

        // A time that cannot be changes nothing.
        for wrong in [json!(0), json!(-1), json!(1e300), json!("1794945600"), json!(null), json!(NOW as f64 + 0.5), json!(i64::MAX)] {
            let reply = ann.asks("time/set", json!({ "unix_seconds": wrong })).await;
            assert_refused(&reply, "invalid_request", "'unix_seconds' must be the time");
        }
        assert_refused(&ann.asks("time/set", json!({})).await, "invalid_request", "'unix_seconds'");
        assert_eq!(clock(&mut ann).await, ("2026-11-18".into(), 7 * 3600));

        // A time server knows it better.
        ann.sets("time.zone", json!("UTC")).await;
        let server = opens(&world.lan, POOL, NOW + 3);
        sleep(HOUR).await;
        assert_right(&mut ann, &server).await;
        let reply = ann.asks("time/set", json!({ "unix_seconds": NOW + 100_000 })).await;
        assert_eq!((&reply["success"], &reply["source"]), (&json!(true), &json!("sntp")), "and says so: {reply}");
        assert_right(&mut ann, &server).await;
    });
}

#[test]
fn another_time_server_is_asked_as_soon_as_it_is_set() {
    board().story(async |world| {
        let mut ann = world.person("ann").await;
        sleep(24 * HOUR).await;
        let server = opens(&world.lan, "time.lan:1123", NOW);
        ann.sets("time.server", json!("time.lan:1123")).await;
        sleep(Duration::from_secs(1)).await;
        assert_right(&mut ann, &server).await;
        let asked = world.lan.asked.borrow().len();
        ann.sets("time.server", json!("")).await;
        sleep(24 * HOUR).await;
        assert_eq!(world.lan.asked.borrow().len(), asked, "nobody is asked at all");
        ann.sets("time.server", json!(null)).await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.lan.asked.borrow()[asked], POOL);
        // From the console, too.
        sleep(MINUTE).await;
        let asked = world.lan.asked.borrow().len();
        let mut typist = world.console();
        typist.types("set time.server time.lan:1123").await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(world.lan.asked.borrow().get(asked).map(String::as_str), Some("time.lan:1123"));
    });
}

#[test]
fn summer_begins_and_ends_without_anybody_doing_anything() {
    board().story(async |world| {
        let mut ann = world.person("ann").await;
        ann.sets("time.zone", json!("berlin")).await;
        let get = ann.asks("config/get", json!({ "key": "time.zone" })).await;
        assert_eq!(get["settings"]["time.zone"], "Europe/Berlin", "as the database spells it");
        // 2027-03-28 00:59:50 UTC
        ann.asks("time/set", json!({ "unix_seconds": 1_806_195_590 })).await;
        let shown = async |ann: &mut Client| {
            let result = datetime(ann).await["result"].take();
            format!(
                "{} {}",
                result["time"].as_str().expect("a time"),
                result["utc_offset"].as_str().expect("an offset")
            )
        };
        assert_eq!(shown(&mut ann).await, "01:59:50 +01:00");
        sleep(Duration::from_secs(10)).await;
        assert_eq!(shown(&mut ann).await, "03:00:00 +02:00");
        // Another zone counts at once.
        for (zone, time) in [
            ("America/New_York", "21:00:00 -04:00"),
            ("Asia/Kathmandu", "06:45:00 +05:45"),
            ("Australia/Sydney", "12:00:00 +11:00"),
            ("<-03>3", "22:00:00 -03:00"),
        ] {
            assert_eq!(ann.sets("time.zone", json!(zone)).await, json!({ "success": true }));
            assert_eq!(shown(&mut ann).await, time, "{zone}");
        }
        ann.sets("time.zone", json!("CET-1CEST,M3.5.0,M10.5.0/3")).await;
        // 2027-10-31 00:59:59 UTC
        ann.asks("time/set", json!({ "unix_seconds": 1_824_944_399 })).await;
        assert_eq!(shown(&mut ann).await, "02:59:59 +02:00");
        sleep(Duration::from_secs(1)).await;
        assert_eq!(shown(&mut ann).await, "02:00:00 +01:00");
    });
}

#[test]
fn a_zone_that_does_not_exist_is_refused_with_the_nearest() {
    story(async |world| {
        let mut ann = world.person("ann").await;
        let refused = ann.sets("time.zone", json!("Europe/Berln")).await;
        assert_refused(
            &refused,
            "invalid_request",
            "'value' must be a time zone like Europe/Berlin, or a rule like",
        );
        assert_contains(&refused["error"], "; did you mean Europe/Berlin?");
        let refused = ann.sets("time.zone", json!("UTC+2")).await;
        assert_refused(&refused, "invalid_request", "must be a time zone");
        assert_refused(&ann.sets("time.zone", json!(7)).await, "invalid_request", "must be a time zone");
        // A desktop knows the time.
        assert_eq!(datetime(&mut ann).await["result"]["source"], "machine");
    });
}

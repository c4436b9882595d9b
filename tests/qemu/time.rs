//! The firmware's clock is set by a real time server, and the network knows the firmware by its name.

use std::fs;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::json;
use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, QCLASS, QTYPE, Question, TYPE};
use support::chrony::Chrony;
use support::{Folder, wait_for};

use crate::way::Way;
use crate::{calls, waits_for_info};

#[test]
#[ignore = "needs qemu, mosquitto, chrony and the firmware; ./tests/run runs it"]
fn a_real_time_server_sets_the_clock_of_a_machine_without_one() {
    Way::each(|way| {
        let (site, chrony) = (way.broker(), Chrony::start());
        let broker = &site.broker;
        let server = format!("time=10.0.2.2:{}", chrony.port);
        let machine = site.machine(&["net=open", "clock=off", &server]);
        machine.logs("in UTC, by 10.0.2.2");
        waits_for_info(broker, |_| true);
        let result = calls(broker, "datetime", json!({}));
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let time = result["time"].as_str().expect("a time");
        let shown = time.split(':').fold(0, |sum, part| sum * 60 + part.parse::<u64>().expect("a number"));
        let off = (now % 86_400).abs_diff(shown);
        assert!(off.min(86_400 - off) <= 3, "{result} is {off} seconds wrong");
        assert_eq!((&result["source"], &result["utc_offset"]), (&json!("sntp"), &json!("+00:00")));
    });
}

#[test]
#[ignore = "needs qemu, mosquitto and the firmware; ./tests/run runs it"]
fn the_network_knows_the_hub_by_its_name() {
    Way::each(|way| {
        let site = way.broker();
        let port = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|socket| socket.local_addr())
            .expect("a port")
            .port();
        let folder = Folder::new("hearthwave-pcap");
        let dump = folder.0.join("pcap");
        let words = [
            "net=open".into(),
            format!("mdns={port}"),
            format!("dump={}", dump.display()),
            "id=Pantry-3".into(),
        ];
        let machine = site.machine(&words.each_ref().map(String::as_str));
        machine.logs("connected to");

        // Asked as those do that know only DNS: nobody on this side of the emulator's network is in a multicast group.
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        socket.set_read_timeout(Some(Duration::from_secs(1))).expect("a timeout");
        let mut query = Packet::new_query(0x1234);
        let name = Name::new_unchecked("pantry-3.local");
        query.questions.push(Question::new(name, QTYPE::TYPE(TYPE::A), QCLASS::CLASS(CLASS::IN), false));
        let query = query.build_bytes_vec().expect("a packet");
        let mut bytes = [0; 512];
        let mut length = 0;
        wait_for("an answer", || {
            socket.send_to(&query, (Ipv4Addr::LOCALHOST, port)).expect("sent");
            length = socket.recv(&mut bytes).unwrap_or(0);
            length > 0
        });
        let answer = Packet::parse(&bytes[..length]).expect("an answer");
        assert_eq!(answer.id(), 0x1234);
        let RData::A(address) = &answer.answers[0].rdata else { panic!("{answer:?}") };
        assert_eq!(Ipv4Addr::from(address.address), Ipv4Addr::new(10, 0, 2, 15));

        // What it sent by itself: its name to the DHCP server (option 12), its membership, and its announcement to all.
        let has = |bytes: &[u8]| {
            let dump = fs::read(&dump).expect("a file");
            dump.windows(bytes.len()).any(|part| part == bytes)
        };
        wait_for("the name for the router", || has(b"\x0c\x08Pantry-3"));
        // An IGMP report, version 2, for the group.
        wait_for("the membership", || has(&[0x16, 0, 0x09, 0x04, 224, 0, 0, 251]));
        wait_for("the announcement", || {
            has(b"\0\0\x84\0\0\0\0\x01\0\0\0\0\x08Pantry-3\x05local\0\0\x01\x80\x01\0\0\0\x78\0\x04\x0a\0\x02\x0f")
        });
    });
}

//! Stories of one whole hub, or of many, in virtual time: a broker, a controller and people around it.

mod boot;
mod brokers;
mod calls;
mod chat;
mod discovery;
mod duplex;
mod endings;
mod erases;
mod example;
mod faults;
mod flood;
mod gate;
mod health;
mod home;
mod home_assistant;
mod hostile_model;
mod identity;
mod large_homes;
mod link;
mod long_lines;
mod losses;
mod memory;
mod mqtt;
mod pin;
mod questions;
mod relays;
mod requests;
mod rules;
mod search;
mod secrets;
mod settings;
mod speech;
mod time;
mod turns;
mod volume;
mod waiting;

/// Every story once more, with the TLS of a board between the hub and its broker. Not those that last for days, or for ten
/// thousand calls, of something else.
#[test]
fn the_stories_hold_over_tls() {
    world::tls::again(&["time::", "faults::ten_thousand", "hostile_model::ten_thousand"]);
}

#[test]
fn the_guide_shows_the_example_as_it_is() {
    assert!(include_str!("README.md").contains(include_str!("example.rs")));
}

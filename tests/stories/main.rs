//! Stories of one whole hub, or of many, in virtual time: a broker, a controller and people around it.

mod brokers;
mod calls;
mod chat;
mod discovery;
mod endings;
mod example;
mod faults;
mod identity;
mod link;
mod long_lines;
mod losses;
mod mqtt;
mod questions;
mod requests;
mod rules;
mod search;
mod settings;
mod speech;
mod time;
mod turns;
mod volume;

#[test]
fn the_guide_shows_the_example_as_it_is() {
    assert!(include_str!("README.md").contains(include_str!("example.rs")));
}

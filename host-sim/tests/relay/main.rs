//! Stories of the relay: hubs on one side, servers on the other, in virtual time where nothing real is needed.

mod client;
mod happy;
mod log;
mod mosquitto;
mod program;
mod retry;
mod search;
mod sharing;
mod trouble;
mod world;

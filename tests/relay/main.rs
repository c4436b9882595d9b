//! Stories of the relay: hubs on one side, servers on the other, in virtual time where nothing real is needed.

mod happy;
mod hub;
mod loss;
mod mosquitto;
mod retry;
mod scene;
mod search;
mod sharing;
mod shorten;
mod trouble;
mod voice;

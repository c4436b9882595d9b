//! The simulated controller as its clients see it.

mod client;
mod faults;
mod home;
mod resources;
mod sessions;

//! The controller as its clients see it, simulated and real.

mod client;
mod exact;
mod fake;
mod faults;
mod garage;
mod groups;
mod home;
mod hostile;
mod network;
mod resources;
mod sessions;

//! The hub's serial port of people: commands, Improv, the button and the lamp, in virtual time.

mod commands;
mod improv;
mod panel;
mod sdk;
mod setup;

use host_sim::wifi::Wifi;
use world::prelude::*;

/// A hub as it comes out of the box, with networks around it.
fn new_hub(wifi: &Wifi) -> Setup {
    Setup::new().wifi(wifi)
}

//! The Hearthwave hub on an emulated riscv32 machine (`qemu-system-riscv32 -M virt`).
//!
//! The core of the ESP32-C3 firmware, with the same instruction set and memory limit, on a machine that runs on any
//! desktop: network through a virtio card, the controller on the serial line, logs through semihosting. See `run`
//! for how to start it.
#![no_std]
#![no_main]

mod console;
mod dma;
mod executor;
mod flash;
mod net;
mod platform;
mod plic;
mod settings;
mod time;
mod uart;
mod usage;

use embassy_executor::Spawner;
use hub_core::{Config, Hub, Memory, NoConsole, Platform, Wired};
use hub_tcp::TcpDial;
use static_cell::ConstStaticCell;

use crate::console::Exit;
use crate::platform::Machine;
use crate::settings::Settings;

static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new());
static SOCKET: ConstStaticCell<hub_tcp::Memory> = ConstStaticCell::new(hub_tcp::Memory::new());

#[riscv_rt::entry]
fn main() -> ! {
    usage::paint_stack();
    let settings =
        Settings::read().unwrap_or_else(|error| console::fail(Exit::Settings, format_args!("{error}")));
    console::start(settings.log);
    time::start();
    plic::start();
    executor::run(|spawner| spawner.spawn(run(spawner, settings).expect("spawned once")))
}

#[embassy_executor::task]
async fn run(spawner: Spawner, settings: Settings) -> ! {
    let platform = Machine::new(settings.seed);
    let uart = uart::open();
    let dial = TcpDial::new(net::start(spawner, platform.seed()), SOCKET.take(), platform::random);
    if let Some(period) = settings.report {
        spawner.spawn(usage::report(period).expect("spawned once"));
    }

    let config = Config { id: settings.id, target: "qemu", broker: settings.broker, ..Config::DEFAULT };
    let mut flash = flash::open();
    let console = (NoConsole, NoConsole);
    Hub::new(config, MEMORY.take()).run(uart, console, dial, Wired, &mut flash, platform).await
}

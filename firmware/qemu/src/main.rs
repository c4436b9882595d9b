//! The Hearthwave hub on an emulated riscv32 machine (`qemu-system-riscv32 -M virt`).
//!
//! The core of the ESP32-C3 firmware, with the same instruction set and memory limit, on a machine that runs on any
//! desktop: network through a virtio card, the controller on the serial line, logs through semihosting. See `run`
//! for how to start it.
#![no_std]
#![no_main]

mod boot;
mod console;
mod dma;
mod executor;
mod flash;
mod net;
mod platform;
mod plic;
mod serial;
mod settings;
mod time;
mod uart;
mod usage;
mod virtio;
mod wifi;

use embassy_executor::Spawner;
use hub_core::{Config, Hub, HubId, Memory, Platform, Start};
use hub_tcp::TcpDial;
use static_cell::{ConstStaticCell, StaticCell};

use crate::console::Exit;
use crate::platform::Machine;
use crate::settings::Settings;
use crate::wifi::Wifi;

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
    static START: StaticCell<Start> = StaticCell::new();

    let platform = Machine::new(settings.seed, settings.has_clock);
    let uart = uart::open();
    if let Some(period) = settings.report {
        spawner.spawn(usage::report(period).expect("spawned once"));
    }

    let boot = boot::begin();
    boot::fail(settings.fail, &boot);
    let Settings { id, wifi, broker, time_server, .. } = settings;
    let config = Config { id, target: "qemu", boot, wifi, broker, time_server, ..Config::DEFAULT };
    let mut flash = flash::open(settings.has_slow_flash);
    let mut hub = Hub::new(config, MEMORY.take());
    let id = HubId::new(&START.init(hub.prepare(&mut flash).await).id).unwrap_or(id);
    let stack = net::start(spawner, platform.seed(), id);
    let (console, network) = (serial::open(), Wifi::new(stack));
    if boot.is_safe_mode() {
        hub.run_safe(console, network, &mut flash, platform).await
    } else {
        let dial = TcpDial::new(stack, SOCKET.take(), platform::random);
        hub.run(uart, console, dial, network, &mut flash, platform).await
    }
}

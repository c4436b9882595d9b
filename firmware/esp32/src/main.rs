//! The Hearthwave hub on ESP32-C3 and ESP32-C6: starts the chip, opens serial line, network and flash, runs the hub.
//!
//! ```text
//!   settings ─► Hub ◄─ uart ◄──► Z-Wave controller
//!                ▲
//!                ├── TcpDial ─► net ─► wifi ◄──► broker
//!                ├── flash
//!                └── platform
//! ```
//!
//! `cargo run --release` flashes an ESP32-C3 and shows its log; for an ESP32-C6 add
//! `--no-default-features --features esp32c6 --target riscv32imac-unknown-none-elf`. `settings` says how to
//! name the network and the broker, `uart` how to wire the controller.
#![no_std]
#![no_main]
#![deny(clippy::mem_forget)] // Drivers release their hardware when dropped.

mod flash;
mod net;
mod platform;
mod settings;
mod uart;
mod watchdog;
mod wifi;

use defmt::warn;
use embassy_executor::Spawner;
use esp_hal::{clock::CpuClock, timer::timg::TimerGroup};
use hub_core::{Hub, Memory, NoConsole, Platform, Wired};
use hub_tcp::TcpDial;
use static_cell::ConstStaticCell;
// Linked for what they provide, the panic handler and the logger.
use {esp_backtrace as _, esp_println as _};

use crate::platform::Chip;

/// For the radio alone. It lies in memory that the boot loader has done with, so it costs no static RAM.
const RADIO_HEAP: usize = 64 * 1024;

static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new());
static SOCKET: ConstStaticCell<hub_tcp::Memory> = ConstStaticCell::new(hub_tcp::Memory::new());

esp_bootloader_esp_idf::esp_app_desc!();

#[esp_rtos::main]
async fn main(spawner: Spawner) -> ! {
    let board = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::max()));
    esp_alloc::heap_allocator!(#[esp_hal::ram(reclaimed)] size: RADIO_HEAP);
    esp_rtos::start(TimerGroup::new(board.TIMG0).timer0, board.FROM_CPU_INTR0);
    spawner.spawn(watchdog::watch(board.TIMG1).expect("spawned once"));

    let line = uart::open(spawner, board.UART1, board.GPIO6, board.GPIO7, board.FROM_CPU_INTR1);
    let dial = match settings::NETWORK {
        Some(network) => {
            let stack = net::start(spawner, board.WIFI, network, Chip.seed());
            Some(TcpDial::new(stack, SOCKET.take(), platform::random))
        }
        None => {
            warn!("no network: build again with HEARTHWAVE_WIFI_SSID and HEARTHWAVE_WIFI_PASSWORD set");
            None
        }
    };

    let mut flash = flash::open(board.FLASH);
    let console = (NoConsole, NoConsole);
    Hub::new(settings::HUB, MEMORY.take()).run(line, console, dial, Wired, &mut flash, Chip).await
}

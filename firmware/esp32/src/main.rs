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

mod boot;
mod flash;
mod log;
mod net;
mod panic;
mod platform;
mod port;
mod ring;
mod settings;
mod uart;
mod watchdog;
mod wifi;

use defmt::{info, warn};
use embassy_executor::Spawner;
use esp_hal::{clock::CpuClock, timer::timg::TimerGroup};
use hub_core::{Hub, Memory, Platform};
use hub_tcp::TcpDial;
use static_cell::ConstStaticCell;

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
    watchdog::arm(spawner, board.TIMG1);
    let _report = boot::begin();
    let _console = port::open(spawner, board.USB_DEVICE, board.UART0, board.GPIO21, board.GPIO20);
    let pins = (board.GPIO6, board.GPIO7, board.GPIO10);
    let line = uart::open(spawner, board.UART1, pins, board.FROM_CPU_INTR1, 115_200);
    let dial = match settings::NETWORK {
        Some(network) => {
            info!("Wi-Fi: starting the radio");
            port::flush_log().await;
            let stack = net::start(spawner, board.WIFI, network, Chip.seed());
            Some(TcpDial::new(stack, SOCKET.take()))
        }
        None => {
            warn!("no network: build again with HEARTHWAVE_WIFI_SSID and HEARTHWAVE_WIFI_PASSWORD set");
            None
        }
    };

    Hub::new(settings::HUB, MEMORY.take()).run(line, dial, flash::open(board.FLASH), Chip).await
}

//! The Hearthwave hub on ESP32-C3 and ESP32-C6: starts the chip, opens serial lines, network and flash, runs the hub.
//!
//! ```text
//!   settings ─► Hub ◄─ uart ◄──► Z-Wave controller
//!                ▲
//!                ├── port ◄──► whoever sits at the USB port ◄── log
//!                ├── TcpDial ─► net ─► wifi ◄──► broker
//!                ├── flash
//!                └── platform ─► button, led
//!   boot, panic, watchdog: how a run ends, and how the next one knows
//! ```
//!
//! `cargo run --release` flashes an ESP32-C3 and shows its log; for an ESP32-C6 add
//! `--no-default-features --features esp32c6 --target riscv32imac-unknown-none-elf`. `./image` makes files to flash
//! without a compiler. `uart` says how to wire the controller.
#![no_std]
#![no_main]
#![deny(clippy::mem_forget)] // Drivers release their hardware when dropped.

extern crate alloc;

mod arbiter;
mod boot;
mod flash;
mod led;
mod log;
mod net;
mod panic;
mod platform;
mod port;
mod ring;
mod roam;
mod settings;
mod uart;
mod usage;
mod watchdog;
mod wifi;

use core::pin::{Pin, pin};

use embassy_executor::Spawner;
use esp_hal::{clock::CpuClock, gpio::Pin as _, timer::timg::TimerGroup};
use hub_core::{Config, Hub, HubId, Memory, Platform, Start};
use hub_tcp::TcpDial;
use static_cell::{ConstStaticCell, StaticCell};

use crate::platform::Chip;

/// For the radio alone. It lies in memory that the boot loader has done with, so it costs no static RAM.
const RADIO_HEAP: usize = 64 * 1024;

static MEMORY: ConstStaticCell<Memory> = ConstStaticCell::new(Memory::new());
static START: StaticCell<Start> = StaticCell::new();
static SOCKET: ConstStaticCell<hub_tcp::Memory> = ConstStaticCell::new(hub_tcp::Memory::new());

esp_bootloader_esp_idf::esp_app_desc!();

#[esp_rtos::main]
async fn main(spawner: Spawner) -> ! {
    usage::paint_stack();
    let report = boot::begin();
    if !report.reason.is_failure() {
        wifi::forget_start();
    }
    let board = esp_hal::init(esp_hal::Config::default().with_cpu_clock(CpuClock::max()));
    watchdog::arm(spawner, board.TIMG1);
    esp_alloc::heap_allocator!(#[esp_hal::ram(reclaimed)] size: RADIO_HEAP);
    esp_rtos::start(TimerGroup::new(board.TIMG0).timer0, board.FROM_CPU_INTR0);

    // The pins of UART0, and those that are free for a lamp.
    #[cfg(feature = "esp32c3")]
    let (tx, rx, free) = (
        board.GPIO21,
        board.GPIO20,
        [
            board.GPIO0.degrade(),
            board.GPIO1.degrade(),
            board.GPIO2.degrade(),
            board.GPIO3.degrade(),
            board.GPIO4.degrade(),
            board.GPIO5.degrade(),
            board.GPIO8.degrade(),
        ],
    );
    #[cfg(feature = "esp32c6")]
    let (tx, rx, free) = (
        board.GPIO16,
        board.GPIO17,
        [
            board.GPIO0.degrade(),
            board.GPIO1.degrade(),
            board.GPIO2.degrade(),
            board.GPIO3.degrade(),
            board.GPIO8.degrade(),
            board.GPIO11.degrade(),
            board.GPIO15.degrade(),
            board.GPIO18.degrade(),
            board.GPIO19.degrade(),
            board.GPIO20.degrade(),
            board.GPIO21.degrade(),
            board.GPIO22.degrade(),
            board.GPIO23.degrade(),
        ],
    );

    let console = port::open(spawner, board.USB_DEVICE, board.UART0, tx, rx);
    let chip = Chip::new(board.GPIO9);
    let mut flash = flash::open(board.FLASH);
    let mut hub = Hub::new(settings::config(report), MEMORY.take());
    let start = START.init(framed(pin!(hub.prepare(&mut flash))).await);
    if let Some(number) = start.led_pin {
        led::open(spawner, free, number);
    }
    let id = HubId::new(&start.id).unwrap_or(Config::DEFAULT.id);
    let net = net::start(spawner, board.WIFI, id, chip.seed());
    if report.is_safe_mode() {
        framed(pin!(hub.run_safe(console, net, &mut flash, chip))).await
    }

    let pins = (board.GPIO6, board.GPIO7, board.GPIO10);
    let line = uart::open(spawner, board.UART1, pins, board.FROM_CPU_INTR1, start.baud_rate);
    let dial = TcpDial::new(net.stack, SOCKET.take(), platform::random);
    framed(pin!(hub.run(line, console, dial, net, &mut flash, chip))).await
}

/// Gives a future a stack frame of its own. Without it, what it needs for a moment would stay on the stack for ever, in
/// the frame of [`main`].
fn framed<'a, R>(
    future: Pin<&'a mut (dyn Future<Output = R> + 'a)>,
) -> Pin<&'a mut (dyn Future<Output = R> + 'a)> {
    future
}

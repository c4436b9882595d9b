//! The console and the exit: logs through semihosting, and the emulator's exit status.

use core::fmt::Arguments;
use core::panic::PanicInfo;

use embassy_time::Instant;
use log::{Level, LevelFilter, Log, Metadata, Record};
use riscv::register::{mcause, mepc, mtval};
use riscv_rt::TrapFrame;

use crate::boot;

/// Why the machine stopped: the emulator's exit status.
#[derive(Clone, Copy)]
pub enum Exit {
    /// The command line is malformed.
    Settings = 2,
    /// The machine lacks a device.
    Machine = 3,
    /// The firmware panicked.
    Panic = 101,
    /// The CPU raised an exception.
    Exception = 102,
}

/// Shows logs of `level` and above from now on. Call once, before interrupts are on.
pub fn start(level: LevelFilter) {
    // SAFETY: no other code runs yet that could set them.
    unsafe {
        let _ = log::set_logger_racy(&Console);
        log::set_max_level_racy(level);
    }
}

/// Prints the reason and stops the machine.
pub fn fail(exit: Exit, why: Arguments) -> ! {
    print("FATAL", why);
    switch((exit as u32) << 16 | 0x3333)
}

/// Restarts the machine.
pub fn restart() -> ! {
    switch(0x7777)
}

fn switch(command: u32) -> ! {
    const POWER: *mut u32 = 0x10_0000 as *mut u32;
    // SAFETY: the machine's power switch; it stops there.
    unsafe { POWER.write_volatile(command) };
    loop {
        riscv::asm::wfi();
    }
}

struct Console;

impl Log for Console {
    /// Other crates are shown from `warn` on.
    fn enabled(&self, metadata: &Metadata) -> bool {
        let ours = ["hub_", env!("CARGO_CRATE_NAME")];
        metadata.level() <= Level::Warn || ours.iter().any(|name| metadata.target().starts_with(name))
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            print(record.level().as_str(), *record.args());
        }
    }

    fn flush(&self) {}
}

fn print(level: &str, text: Arguments) {
    let now = Instant::now().as_micros();
    semihosting::eprintln!("[{}.{:06}] {level:5} {text}", now / 1_000_000, now % 1_000_000);
}

#[panic_handler]
fn on_panic(info: &PanicInfo) -> ! {
    end(Exit::Panic, boot::panicked(format_args!("{info}")), format_args!("{info}"))
}

/// Prints the CPU exception and its addresses, for `addr2line`.
#[unsafe(export_name = "ExceptionHandler")]
extern "C" fn on_exception(frame: &TrapFrame) -> ! {
    let (cause, at, value) = (mcause::read().code(), mepc::read(), mtval::read());
    let restarts = boot::excepted(format_args!("exception {cause}, value {value:#010x}"), at);
    end(
        Exit::Exception,
        restarts,
        format_args!("exception {cause} at {at:#010x}, value {value:#010x}, called from {:#010x}", frame.ra),
    )
}

/// Prints the reason, and restarts or stops the machine.
fn end(exit: Exit, restarts: bool, why: Arguments) -> ! {
    if !restarts {
        fail(exit, why);
    }
    print("FATAL", why);
    restart()
}

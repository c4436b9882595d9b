//! What happens when the firmware itself fails: it writes down why, sends its log, and restarts.

use core::{
    arch::asm,
    panic::PanicInfo,
    sync::atomic::{AtomicBool, Ordering},
};

use defmt::{Display2Format, error};
use esp_hal::{delay::Delay, system};

use crate::{boot, log, port};

/// Between failure and restart. A start that fails at once is then not repeated as fast as the chip can.
const PAUSE_MILLISECONDS: u32 = 1000;

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    begin();
    boot::with(|record| match info.location() {
        Some(place) => {
            record.panicked(format_args!("{} ({}:{})", info.message(), place.file(), place.line()), 0)
        }
        None => record.panicked(format_args!("{}", info.message()), 0),
    });
    error!("{}", Display2Format(info));
    end()
}

/// Called by esp-hal's trap handler, in place of the one it brings, which prints every register and panics.
#[unsafe(no_mangle)]
extern "C" fn ExceptionHandler(_registers: *const u8) -> ! {
    let (cause, at, value): (u32, u32, u32);
    // SAFETY: reads registers.
    unsafe {
        asm!(
            "csrr {}, mcause", "csrr {}, mepc", "csrr {}, mtval",
            out(reg) cause, out(reg) at, out(reg) value, options(nomem, nostack)
        )
    };
    begin();
    let what = EXCEPTIONS.get(cause as usize & 0x1F).copied().unwrap_or("unknown exception");
    boot::with(|record| record.excepted(format_args!("{what}, value {value:#010x}"), at));
    error!("{=str} at {=u32:#010x}, value {=u32:#010x}", what, at, value);
    end()
}

/// By their number in `mcause`. Two of them are how a stack overflow shows: 3 through a watched word at its end, 14
/// through a check in the trap handler.
const EXCEPTIONS: [&str; 16] = [
    "misaligned jump",
    "jump to no memory",
    "illegal instruction",
    "breakpoint or stack overflow",
    "misaligned read",
    "read from no memory",
    "misaligned write",
    "write to no memory",
    "call from user mode",
    "call from supervisor mode",
    "reserved exception",
    "call from machine mode",
    "page fault of a jump",
    "page fault of a read",
    "stack overflow",
    "page fault of a write",
];

/// Nothing else runs from here on. A failure while a failure is written down just restarts.
fn begin() {
    static IS_FAILING: AtomicBool = AtomicBool::new(false);

    // SAFETY: interrupts stay off until the restart.
    let _ = unsafe { critical_section::acquire() };
    if IS_FAILING.load(Ordering::Relaxed) {
        system::software_reset()
    }
    IS_FAILING.store(true, Ordering::Relaxed);
    log::abandon_frame();
}

fn end() -> ! {
    port::send_log_now();
    Delay::new().delay_millis(PAUSE_MILLISECONDS);
    system::software_reset()
}

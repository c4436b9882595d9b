//! The boot record, in memory that a restart of the machine leaves alone, and failures on purpose.

use core::arch::asm;
use core::fmt::Arguments;
use core::sync::atomic::{AtomicBool, Ordering};

use hub_core::boot::{BootRecord, BootReport, Reset};

/// What outlives a restart.
#[repr(C)]
struct Kept {
    record: BootRecord,
    /// [`WARM`] once the firmware has run. The machine's memory is zeros when it is switched on.
    warmth: u32,
}

const WARM: u32 = 0x5741_524D;

/// Whether a failure restarts the machine, as it does a board, or ends the emulator.
static RESTARTS: AtomicBool = AtomicBool::new(false);

/// How the firmware is to fail, for tests.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// A panic, in the first start.
    Panic,
    /// An exception of the CPU, in the first start.
    Exception,
    /// A panic in every start but those in safe mode.
    Starts,
}

/// Runs something with what outlives a restart.
fn with<T>(run: impl FnOnce(&mut Kept) -> T) -> T {
    /// Behind the RAM in `memory.x`: what the program file knows of is zeros again after a restart.
    const KEPT: *mut Kept = 0x8047_0000 as *mut Kept;
    // SAFETY: nobody else uses that memory, any bits are a value, and nothing runs in between.
    critical_section::with(|_| run(unsafe { &mut *KEPT }))
}

/// A start begins. Call once.
pub fn begin() -> BootReport {
    with(|kept| {
        let is_warm = core::mem::replace(&mut kept.warmth, WARM) == WARM;
        kept.record.begin(if is_warm { Reset::Software } else { Reset::PowerOn })
    })
}

/// This start was a good one.
pub fn settled() {
    with(|kept| kept.record.settled());
}

/// The machine is told to restart.
pub fn restarting() {
    with(|kept| kept.record.restarting());
}

/// The firmware panicked. Returns whether the machine is to restart.
pub fn panicked(message: Arguments) -> bool {
    // The message has the place in the source; no address is known.
    with(|kept| kept.record.panicked(message, 0));
    RESTARTS.load(Ordering::Relaxed)
}

/// The CPU raised an exception at `address`. Returns whether the machine is to restart.
pub fn excepted(message: Arguments, address: usize) -> bool {
    with(|kept| kept.record.excepted(message, address as u32));
    RESTARTS.load(Ordering::Relaxed)
}

/// Fails, if this start is to.
pub fn fail(failure: Option<Failure>, boot: &BootReport) {
    let Some(failure) = failure else { return };
    RESTARTS.store(true, Ordering::Relaxed);
    let is_due = if failure == Failure::Starts { !boot.is_safe_mode() } else { boot.count == 1 };
    match failure {
        _ if !is_due => {}
        // SAFETY: the exception handler ends the firmware.
        Failure::Exception => unsafe { asm!("unimp") },
        Failure::Panic | Failure::Starts => panic!("told to fail"),
    }
}

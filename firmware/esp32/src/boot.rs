//! Why the chip started: the record of the run before, kept in memory that only a loss of power clears.

use core::cell::UnsafeCell;

use esp_hal::{rtc_cntl::SocResetReason, system};
use hub_core::boot::{BootRecord, BootReport, Reset};

#[esp_hal::ram(unstable(rtc_fast, persistent))]
static RECORD: Kept = Kept(UnsafeCell::new(BootRecord::new()));

struct Kept(UnsafeCell<BootRecord>);

// SAFETY: every bit pattern is a valid `BootRecord`.
unsafe impl esp_hal::Persistable for Kept {}

// SAFETY: `with` is the only access, in a critical section, and there is one core.
unsafe impl Sync for Kept {}

/// A start begins. Call once, first of all.
pub fn begin() -> BootReport {
    with(|record| record.begin(reset()))
}

/// Changes the record. Not from within itself.
pub fn with<R>(run: impl FnOnce(&mut BootRecord) -> R) -> R {
    // SAFETY: in a critical section, and no caller calls it again from within.
    critical_section::with(|_| run(unsafe { &mut *RECORD.0.get() }))
}

/// What the chip says about the reset.
fn reset() -> Reset {
    use SocResetReason as Chip;
    match system::reset_reason() {
        // The chip's reset pin counts as power-on.
        Some(Chip::ChipPowerOn) => Reset::PowerOn,
        Some(Chip::CoreSw | Chip::Cpu0Sw | Chip::CoreDeepSleep) => Reset::Software,
        Some(
            Chip::CoreMwdt0
            | Chip::CoreMwdt1
            | Chip::CoreRtcWdt
            | Chip::Cpu0Mwdt0
            | Chip::Cpu0Mwdt1
            | Chip::Cpu0RtcWdt
            | Chip::SysRtcWdt
            | Chip::SysSuperWdt,
        ) => Reset::Watchdog,
        Some(Chip::SysBrownOut) => Reset::Brownout,
        #[cfg(feature = "esp32c3")]
        Some(Chip::CorePwrGlitch | Chip::SysClkGlitch) => Reset::Brownout,
        Some(Chip::CoreUsbUart | Chip::CoreUsbJtag) => Reset::External,
        #[cfg(feature = "esp32c6")]
        Some(Chip::Cpu0JtagCpu) => Reset::External,
        _ => Reset::Other,
    }
}

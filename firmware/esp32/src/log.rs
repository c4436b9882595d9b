//! The log: `defmt` frames, which wait in a ring for [`port`](crate::port) to send them.
//!
//! Writing to a port right away would keep interrupts off for as long as the port takes, 87 µs a byte on a UART, while
//! the controller's bytes come in. Into the ring it is some microseconds a frame. A frame that does not fit is
//! dropped whole, and how many were is logged when there is room again.
//!
//! The ring wakes nobody, the port asks it: a logger may be called while the scheduler is locked.

use core::cell::UnsafeCell;

use critical_section::RestoreState;
use defmt::{Encoder, Logger, warn};

use crate::ring::Ring;

/// A start logs some 1.5 KB before the port is read for the first time.
const SIZE: usize = 2048;

/// What `espflash monitor` finds the frames by, among text.
const FRAME_START: [u8; 2] = [0xFF, 0x00];

/// Tells `espflash` how to read the log, in the ELF only.
#[used]
#[unsafe(link_section = ".espressif.metadata")]
#[unsafe(export_name = "espflash.LOG_FORMAT")]
static LOG_FORMAT: [u8; 14] = *b"defmt-espflash";

static LOG: Shared = Shared(UnsafeCell::new(Log {
    ring: Ring::new(),
    encoder: Encoder::new(),
    is_open: false,
    restore: RestoreState::invalid(),
}));

struct Log {
    ring: Ring<SIZE>,
    encoder: Encoder,
    /// A frame is being written.
    is_open: bool,
    /// For the end of the critical section that a frame is written in.
    restore: RestoreState,
}

struct Shared(UnsafeCell<Log>);

// SAFETY: `Shared::get` demands a critical section, and there is one core.
unsafe impl Sync for Shared {}

impl Shared {
    /// # Safety
    ///
    /// Interrupts are off, and no other reference is alive.
    #[expect(clippy::mut_from_ref, reason = "the caller upholds it")]
    unsafe fn get(&self) -> &mut Log {
        // SAFETY: the caller's.
        unsafe { &mut *self.0.get() }
    }

    fn with<R>(&self, run: impl FnOnce(&mut Log) -> R) -> R {
        // SAFETY: in a critical section, and `run` cannot get at it again but by logging, which this module's
        // functions do not do there.
        critical_section::with(|_| run(unsafe { self.get() }))
    }
}

#[defmt::global_logger]
struct Global;

// SAFETY: between `acquire` and `release` interrupts are off, so nobody else writes or logs.
unsafe impl Logger for Global {
    fn acquire() {
        // SAFETY: `release` restores it.
        let restore = unsafe { critical_section::acquire() };
        // SAFETY: interrupts are off.
        let log = unsafe { LOG.get() };
        assert!(!log.is_open, "a message is logged while another one is formatted");
        log.is_open = true;
        log.restore = restore;
        log.ring.push(&FRAME_START);
        log.encoder.start_frame(|bytes| log.ring.push(bytes));
    }

    unsafe fn flush() {}

    unsafe fn write(bytes: &[u8]) {
        // SAFETY: called between `acquire` and `release`.
        let log = unsafe { LOG.get() };
        log.encoder.write(bytes, |bytes| log.ring.push(bytes));
    }

    unsafe fn release() {
        // SAFETY: called after `acquire`.
        let log = unsafe { LOG.get() };
        log.encoder.end_frame(|bytes| log.ring.push(bytes));
        log.ring.commit();
        log.is_open = false;
        // SAFETY: the state is from `acquire`.
        unsafe { critical_section::release(log.restore) };
    }
}

/// The number of bytes that wait: whole frames, if all that [`take`] was ever asked for were.
pub fn waiting() -> usize {
    LOG.with(|log| log.ring.len())
}

/// Takes as many bytes as wait and fit into `to`.
pub fn take(to: &mut [u8]) -> usize {
    LOG.with(|log| log.ring.take(to))
}

/// Logs how many messages were lost, if any were.
pub fn report_dropped() {
    let dropped = LOG.with(|log| log.ring.take_dropped());
    if dropped > 0 {
        warn!("log: {=u32} messages are missing here, they came faster than the port takes them", dropped);
    }
}

/// Forgets a frame that was being written. For the end of the firmware: a panic may have come in the middle of one.
pub fn abandon_frame() {
    LOG.with(|log| {
        log.ring.abandon();
        log.encoder = Encoder::new();
        log.is_open = false;
    });
}

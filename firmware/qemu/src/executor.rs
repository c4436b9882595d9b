//! The executor: polls the tasks that are awake, and sleeps when none is.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};

use embassy_executor::{Spawner, raw};
use static_cell::StaticCell;

use crate::usage;

/// Whether a task woke since the last round.
static AWAKE: AtomicBool = AtomicBool::new(true);

/// Runs for ever what `start` spawns.
pub fn run(start: impl FnOnce(Spawner)) -> ! {
    static EXECUTOR: StaticCell<raw::Executor> = StaticCell::new();
    let executor = EXECUTOR.init(raw::Executor::new(null_mut()));
    start(executor.spawner());
    loop {
        // With interrupts off, no task can wake between the check and `wfi`; a pending interrupt still ends
        // `wfi`, and runs right after.
        critical_section::with(|_| {
            if !AWAKE.load(Ordering::SeqCst) {
                usage::uncounted(riscv::asm::wfi);
            }
        });
        AWAKE.store(false, Ordering::SeqCst);
        // SAFETY: this is the only call, and no task can reach it.
        usage::turn(|| unsafe { executor.poll() });
    }
}

/// Called by the executor when a task wakes, from interrupts too.
#[unsafe(export_name = "__pender")]
fn pend(_: *mut ()) {
    AWAKE.store(true, Ordering::SeqCst);
}

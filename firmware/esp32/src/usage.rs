//! How much of stack and heap was in use at the worst moment.

use core::arch::asm;

use hub_core::Usage;

/// The paint: a value that programs rarely leave on a stack.
const PAINT: u32 = 0xA5C3_5A3C;

/// Space for the frame of the painting function.
const MARGIN: usize = 256;

/// At the end of the stack lies a word that the processor watches, to find an overflow.
const GUARDED: usize = 128;

unsafe extern "C" {
    // From the linker: the stack's lowest address, and the highest, where it begins.
    static _stack_end_cpu0: u32;
    static _stack_start_cpu0: u32;
}

/// Paints the part of the stack that is not in use. Call once, as early as possible.
pub fn paint_stack() {
    let here: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mv {}, sp", out(reg) here, options(nomem, nostack)) };
    let mut word = lowest();
    while word.addr() < here - MARGIN {
        // SAFETY: between the end of the stack and the part in use there is unowned memory.
        unsafe { word.write_volatile(PAINT) };
        word = word.wrapping_add(1);
    }
}

/// The usage so far. The stack is the main task's, which also serves interrupts; the radio's tasks have their stacks
/// in the heap, which is the radio's alone.
pub fn usage() -> Usage {
    let heap = esp_alloc::HEAP.stats();
    let start = (&raw const _stack_start_cpu0).addr();
    Usage {
        stack_peak: start - deepest(),
        stack_size: start - (&raw const _stack_end_cpu0).addr(),
        heap_peak: heap.max_usage,
        heap_size: heap.size,
    }
}

/// The lowest address of the stack that was ever written to.
fn deepest() -> usize {
    let mut word = lowest();
    let start = &raw const _stack_start_cpu0;
    // SAFETY: up to its start the stack is memory, and volatile reads of it change nothing.
    while word.cast_const() < start && unsafe { word.read_volatile() } == PAINT {
        word = word.wrapping_add(1);
    }
    word.addr()
}

fn lowest() -> *mut u32 {
    (&raw const _stack_end_cpu0).cast_mut().wrapping_byte_add(GUARDED)
}

//! Resource usage: stack depth, instructions, and the longest turn.

use core::arch::asm;
use core::cell::Cell;
use core::ptr::addr_of;

use critical_section::Mutex;
use embassy_time::{Duration, Ticker};
use riscv::register::minstret;

/// The paint: a value that programs rarely leave on a stack.
const PAINT: u32 = 0xA5C3_5A3C;

/// Space for the frame of the painting function.
const MARGIN: usize = 256;

unsafe extern "C" {
    // From the linker: the lowest address of the stack, and its start.
    static __estack: u32;
    static __sstack: u32;
}

/// Instructions that do not count.
static UNCOUNTED: Mutex<Cell<u64>> = Mutex::new(Cell::new(0));

/// Paints the part of the stack that is not in use. Call once, as early as possible.
pub fn paint_stack() {
    let here: usize;
    // SAFETY: reads a register.
    unsafe { asm!("mv {}, sp", out(reg) here, options(nomem, nostack)) };
    let mut word = addr_of!(__estack).cast_mut();
    while word.addr() < here - MARGIN {
        // SAFETY: between the end of the stack and the part in use there is unowned memory.
        unsafe { word.write_volatile(PAINT) };
        word = word.wrapping_add(1);
    }
}

/// Bytes of stack in use at the deepest moment so far.
pub fn stack_used() -> usize {
    let mut word = addr_of!(__estack);
    // SAFETY: up to its start the stack is memory, and volatile reads of it change nothing.
    while word < addr_of!(__sstack) && unsafe { word.read_volatile() } == PAINT {
        word = word.wrapping_add(1);
    }
    addr_of!(__sstack).addr() - word.addr()
}

/// Bytes of stack that there are.
pub fn stack_size() -> usize {
    addr_of!(__sstack).addr() - addr_of!(__estack).addr()
}

/// Instructions executed so far, without the uncounted ones. Exact with `icount=1`, where sleeping counts too unless
/// it is [`uncounted`]; a rough figure otherwise.
pub fn instructions() -> u64 {
    critical_section::with(|cs| minstret::read64() - UNCOUNTED.borrow(cs).get())
}

/// Runs something without counting its instructions.
pub fn uncounted(run: impl FnOnce()) {
    let before = instructions();
    run();
    critical_section::with(|cs| UNCOUNTED.borrow(cs).set(minstret::read64() - before));
}

/// The longest turn so far.
static LONGEST: Mutex<Cell<u64>> = Mutex::new(Cell::new(0));

/// Runs one turn of the executor, in which every task that is awake is polled once: for so many instructions at most does
/// a task wait that has just become awake, such as the one that empties the ring of the serial line.
pub fn turn(run: impl FnOnce()) {
    let before = instructions();
    run();
    let length = instructions() - before;
    critical_section::with(|cs| LONGEST.borrow(cs).set(LONGEST.borrow(cs).get().max(length)));
}

/// Logs the usage every `period`, uncounted.
#[embassy_executor::task]
pub async fn report(period: Duration) -> ! {
    let mut ticker = Ticker::every(period);
    loop {
        ticker.next().await;
        uncounted(|| {
            let (used, size, count) = (stack_used(), stack_size(), instructions());
            let longest = critical_section::with(|cs| LONGEST.borrow(cs).get());
            log::info!("usage: stack {used} of {size} bytes, {count} instructions, longest turn {longest}");
        });
    }
}

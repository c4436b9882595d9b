//! The driver of `embassy-time` on the machine's 10 MHz counter, one tick a count.

use core::cell::RefCell;
use core::task::Waker;

use critical_section::Mutex;
use embassy_time_driver::Driver;
use embassy_time_queue_utils::Queue;
use riscv::interrupt::Interrupt;

// The counter and the alarm of the only hart, 64 bits each, low word first.
const ALARM: *mut u32 = 0x0200_4000 as *mut u32;
const COUNTER: *const u32 = 0x0200_BFF8 as *const u32;

struct Clock {
    timers: Mutex<RefCell<Queue>>,
}

embassy_time_driver::time_driver_impl!(static CLOCK: Clock = Clock {
    timers: Mutex::new(RefCell::new(Queue::new())),
});

/// Enables timer interrupts. Call once.
pub fn start() {
    set_alarm(u64::MAX);
    // SAFETY: the handler below exists, and all it needs are initialised statics.
    unsafe { riscv::register::mie::set_mtimer() };
}

impl Driver for Clock {
    fn now(&self) -> u64 {
        // SAFETY: both words are registers that may be read at any time.
        let word = |index| unsafe { COUNTER.add(index).read_volatile() };
        loop {
            let (high, low) = (word(1), word(0));
            if word(1) == high {
                return u64::from(high) << 32 | u64::from(low);
            }
        }
    }

    fn schedule_wake(&self, at: u64, waker: &Waker) {
        critical_section::with(|cs| {
            let mut timers = self.timers.borrow_ref_mut(cs);
            if timers.schedule_wake(at, waker) {
                set_alarm(timers.next_expiration(self.now()));
            }
        });
    }
}

#[riscv_rt::core_interrupt(Interrupt::MachineTimer)]
fn on_alarm() {
    critical_section::with(|cs| set_alarm(CLOCK.timers.borrow_ref_mut(cs).next_expiration(CLOCK.now())));
}

/// Interrupts when the counter reaches `at`: at once if it has.
fn set_alarm(at: u64) {
    let (high, low) = ((at >> 32) as u32, at as u32);
    // SAFETY: both words are registers that may be written at any time. The high one is set to the maximum
    // first, so that no half-written alarm fires.
    unsafe {
        ALARM.add(1).write_volatile(u32::MAX);
        ALARM.write_volatile(low);
        ALARM.add(1).write_volatile(high);
    }
}

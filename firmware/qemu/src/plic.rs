//! The interrupt controller: dispatches each device's interrupt to its driver.

use riscv::interrupt::Interrupt;

use crate::{uart, virtio};

// Registers of the first context: the only hart, in machine mode.
const PRIORITY: usize = 0x0C00_0000;
const ENABLE: usize = 0x0C00_2000;
const THRESHOLD: usize = 0x0C20_0000;
const CLAIM: usize = 0x0C20_0004;

/// Enables external interrupts, but no device yet. Call once.
pub fn start() {
    write(THRESHOLD, 0);
    // SAFETY: the handler below exists, and no device is enabled before its driver is ready.
    unsafe {
        riscv::register::mie::set_mext();
        riscv::interrupt::enable();
    }
}

/// Enables the interrupt `source`.
pub fn enable(source: u32) {
    let word = ENABLE + 4 * (source as usize / 32);
    critical_section::with(|_| {
        write(PRIORITY + 4 * source as usize, 1);
        write(word, read(word) | 1 << (source % 32));
    });
}

#[riscv_rt::core_interrupt(Interrupt::MachineExternal)]
fn on_interrupt() {
    loop {
        // Reading claims the most urgent source, writing it back completes it.
        let source = read(CLAIM);
        match source {
            0 => return,
            uart::SOURCE => uart::on_interrupt(),
            _ => virtio::on_interrupt(source),
        }
        write(CLAIM, source);
    }
}

fn read(register: usize) -> u32 {
    // SAFETY: the constants above are registers of this machine; a read changes no memory.
    unsafe { (register as *const u32).read_volatile() }
}

fn write(register: usize, value: u32) {
    // SAFETY: as for `read`.
    unsafe { (register as *mut u32).write_volatile(value) }
}

//! The machine's virtio slots: which device is where, and whom its interrupts wake.

use core::ops::Range;
use core::ptr::NonNull;

use embassy_sync::waitqueue::AtomicWaker;
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};

use crate::plic;

/// The nth slot interrupts as source n, counted from one.
const SLOTS: Range<u32> = 1..9;
const SLOT_SIZE: usize = 0x1000;
const DEVICE_ID: usize = 0x08;
const INTERRUPT_STATUS: usize = 0x60;
const INTERRUPT_ACKNOWLEDGE: usize = 0x64;

static WAKERS: [AtomicWaker; SLOTS.end as usize] = [const { AtomicWaker::new() }; SLOTS.end as usize];

/// A device in its slot.
pub struct Slot(u32);

impl Slot {
    /// The first device of this kind, and the way to it. Call once for each kind: dropping a transport resets its device.
    pub fn find(kind: DeviceType) -> Option<(Self, MmioTransport<'static>)> {
        let is_it = |source: &u32| read(*source, DEVICE_ID) == kind as u32;
        let source = SLOTS.into_iter().find(is_it)?;
        let header = NonNull::new(slot(source) as *mut VirtIOHeader)?;
        // SAFETY: the machine has a virtio slot there, in use, and it is opened once.
        let transport = unsafe { MmioTransport::new(header, SLOT_SIZE) }.ok()?;
        Some((Self(source), transport))
    }

    /// Its interrupts come from now on.
    pub fn enable(&self) {
        plic::enable(self.0);
    }

    /// Woken by its interrupts.
    pub fn waker(&self) -> &'static AtomicWaker {
        &WAKERS[self.0 as usize]
    }
}

/// Acknowledges the interrupt, which stays asserted until then, and wakes who waits for it.
pub fn on_interrupt(source: u32) {
    let status = read(source, INTERRUPT_STATUS);
    // SAFETY: a register of a device that exists, since it has interrupted. The drivers do not use it.
    unsafe { ((slot(source) + INTERRUPT_ACKNOWLEDGE) as *mut u32).write_volatile(status) };
    if let Some(waker) = WAKERS.get(source as usize) {
        waker.wake();
    }
}

fn slot(source: u32) -> usize {
    0x1000_0000 + source as usize * SLOT_SIZE
}

fn read(source: u32, register: usize) -> u32 {
    // SAFETY: every slot of the machine has these registers; a read changes no memory.
    unsafe { ((slot(source) + register) as *const u32).read_volatile() }
}

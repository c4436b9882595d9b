//! The serial line to the controller: a 16550 whose interrupts fill a ring ahead of the reader.
//!
//! A full ring stops the interrupts, and with them the sender: the line behaves like one with RTS and CTS
//! wired, and loses nothing. A sender may be faster here than any baud rate. Only while the machine is [`deaf`] does it lose
//! what a board would.

use core::convert::Infallible;
use core::future::poll_fn;
use core::task::Poll;

use embassy_futures::yield_now;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::pipe::Pipe;
use embassy_sync::waitqueue::AtomicWaker;
use embassy_time::{Duration, Instant};
use embedded_io_async::{ErrorType, Read, Write};

use crate::plic;

/// The line's interrupt, as the interrupt controller numbers it.
pub const SOURCE: u32 = 10;

const BASE: usize = 0x1000_0000;
const DATA: usize = 0;
const DIVISOR_LOW: usize = 0;
const DIVISOR_HIGH: usize = 1;
const INTERRUPTS: usize = 1;
const FIFO_CONTROL: usize = 2;
const LINE_CONTROL: usize = 3;
const MODEM_CONTROL: usize = 4;
const LINE_STATUS: usize = 5;

/// In `INTERRUPTS`.
const ON_RECEIVED: u8 = 1;
const ON_SENT: u8 = 2;
/// In `LINE_STATUS`.
const RECEIVED: u8 = 1;
const SENT: u8 = 0x20;

/// The chip's FIFO in each direction.
const FIFO: usize = 16;

/// A third of a second at 115200 baud, while the hub is busy with something else.
const RING: usize = 4096;

/// What an ESP32's receiver has room for while nobody empties it.
const RECEIVER: u64 = 128;

/// When nothing has come for so long, all that had waited was read: at 115200 baud, six bytes take as long.
const CAUGHT_UP: Duration = Duration::from_micros(500);

static RECEIVE: Pipe<CriticalSectionRawMutex, RING> = Pipe::new();
static TRANSMIT: AtomicWaker = AtomicWaker::new();

/// Sets the line up and starts to listen. Call once: there is one reader and one writer.
pub fn open() -> (Receiver, Transmitter) {
    write(LINE_CONTROL, 0x80); // the divisor's registers, for a moment
    write(DIVISOR_LOW, 3); // of 399193 Hz: the nearest to 115200 baud
    write(DIVISOR_HIGH, 0);
    write(LINE_CONTROL, 0x03); // 8 bits, no parity, 1 stop bit
    write(FIFO_CONTROL, 0xC7); // both FIFOs on and empty; interrupt at 14 bytes or a pause
    write(MODEM_CONTROL, 0x0B); // ready, and interrupts go out
    write(INTERRUPTS, ON_RECEIVED);
    plic::enable(SOURCE);
    (Receiver(()), Transmitter(()))
}

/// The receiving half. Dropping a pending read loses nothing.
pub struct Receiver(());

impl ErrorType for Receiver {
    type Error = Infallible;
}

impl Read for Receiver {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let count = RECEIVE.read(buffer).await;
        enable(ON_RECEIVED);
        Ok(count)
    }
}

/// The sending half. Dropping a pending write sends nothing.
pub struct Transmitter(());

impl ErrorType for Transmitter {
    type Error = Infallible;
}

impl Write for Transmitter {
    /// Sends at most one FIFO, after other tasks had a turn: this line can be faster than they are.
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        yield_now().await;
        self.sent().await;
        let burst = &bytes[..bytes.len().min(FIFO)];
        burst.iter().for_each(|byte| write(DATA, *byte));
        Ok(burst.len())
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        self.sent().await;
        Ok(())
    }
}

impl Transmitter {
    /// Waits until the chip has nothing left to send.
    async fn sent(&mut self) {
        poll_fn(|cx| {
            TRANSMIT.register(cx.waker());
            if read(LINE_STATUS) & SENT != 0 {
                return Poll::Ready(());
            }
            enable(ON_SENT);
            Poll::Pending
        })
        .await;
    }
}

/// Moves what arrived into the ring, and wakes a writer that waits for the chip.
pub fn on_interrupt() {
    let mut burst = [0; FIFO];
    let room = RECEIVE.free_capacity();
    let mut count = 0;
    for slot in burst.iter_mut().take(room) {
        if read(LINE_STATUS) & RECEIVED == 0 {
            break;
        }
        *slot = read(DATA);
        count += 1;
    }
    let mut rest = &burst[..count];
    // Twice where the ring wraps around.
    while !rest.is_empty()
        && let Ok(written) = RECEIVE.try_write(rest)
    {
        rest = &rest[written..];
    }
    if room == 0 {
        disable(ON_RECEIVED);
    }
    if read(INTERRUPTS) & ON_SENT != 0 && read(LINE_STATUS) & SENT != 0 {
        disable(ON_SENT);
        TRANSMIT.wake();
    }
}

/// Stops the machine for so long, interrupts included, as a board stops while it erases flash. Of what can have come in that
/// time at 115200 baud, only as much is kept as an ESP32's receiver has room for; that the rest waits at all is the
/// emulator's doing. What comes later, while a busy host catches up, is not lost on a board either.
pub fn deaf(pause: Duration) {
    // Ten bits a byte.
    let arrivals = pause.as_micros() * 115_200 / 10_000_000;
    let lost = critical_section::with(|_| {
        let start = Instant::now();
        while start.elapsed() < pause {}
        let (mut count, mut lost) = (0, 0);
        let mut last = Instant::now();
        while last.elapsed() < CAUGHT_UP {
            if read(LINE_STATUS) & RECEIVED != 0 {
                last = Instant::now();
                let byte = [read(DATA)];
                count += 1;
                let has_room = count <= RECEIVER || count > arrivals;
                let is_kept = has_room && RECEIVE.try_write(&byte).is_ok();
                lost += usize::from(!is_kept);
            }
        }
        lost
    });
    if lost > 0 {
        log::warn!("uart: {lost} bytes were lost while the flash was busy");
    }
}

fn enable(interrupt: u8) {
    critical_section::with(|_| write(INTERRUPTS, read(INTERRUPTS) | interrupt));
}

fn disable(interrupt: u8) {
    critical_section::with(|_| write(INTERRUPTS, read(INTERRUPTS) & !interrupt));
}

fn read(register: usize) -> u8 {
    // SAFETY: the constants above are registers of this machine; a read changes no memory.
    unsafe { ((BASE + register) as *const u8).read_volatile() }
}

fn write(register: usize, value: u8) {
    // SAFETY: as for `read`.
    unsafe { ((BASE + register) as *mut u8).write_volatile(value) }
}

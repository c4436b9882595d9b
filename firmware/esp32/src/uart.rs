//! The serial line to the Z-Wave controller: UART1, 8 data bits, no parity, 1 stop bit, 3.3 V; 115200 baud unless the
//! setting `controller.baud` says otherwise.
//!
//! | hub             | ESP32-C3 | ESP32-C6 | controller     |
//! | --------------- | -------- | -------- | -------------- |
//! | [`TxPin`], out  | GPIO6    | GPIO6    | RX             |
//! | [`RxPin`], in   | GPIO7    | GPIO7    | TX             |
//! | [`RtsPin`], out | GPIO10   | GPIO10   | CTS, if it has |
//! | ground          | GND      | GND      | GND            |
//!
//! These pins are free on both chips: they do not choose the boot mode and carry neither flash nor USB nor the console.
//!
//! The hardware keeps 128 received bytes, 11 ms of a busy line, and the hub can be busy for longer than
//! that. So a task that only a critical section can delay moves them into a ring, and the hub reads from
//! there:
//!
//! ```text
//!   RX pin ─► FIFO, 128 B ─► drain, on an interrupt executor ─► RING ─► the hub, in thread mode
//! ```
//!
//! What takes longer than the FIFO lasts, the erasing of a flash page above all, is bridged by RTS: while it is high, a
//! controller that looks at its CTS holds back. With the wire nothing is lost; without it the line works as before, since
//! the hub itself waits for no CTS.
//!
//! Faults of the line are counted and logged. The bytes they hit are lost: the hub sees a malformed line of text.

use core::sync::atomic::{AtomicU32, Ordering};

use defmt::warn;
use embassy_executor::{SendSpawner, Spawner};
use embassy_sync::{
    blocking_mutex::raw::CriticalSectionRawMutex,
    pipe::{Pipe, TryWriteError},
    signal::Signal,
};
use embassy_time::{Duration, Timer};
use esp_hal::{
    Async, Blocking,
    interrupt::Priority,
    peripherals::{FROM_CPU_INTR1, GPIO6, GPIO7, GPIO10, UART1},
    uart::{Config, CtsConfig, HwFlowControl, RtsConfig, RxConfig, RxError, Uart, UartRx, UartTx},
};
use esp_rtos::embassy::InterruptExecutor;
use static_cell::StaticCell;

/// The pin that sends to the controller.
pub type TxPin = GPIO6<'static>;
/// The pin that receives from the controller.
pub type RxPin = GPIO7<'static>;
/// The pin that tells the controller to hold back.
pub type RtsPin = GPIO10<'static>;

/// Received bytes that wait for the hub: 355 ms of a busy line.
const RING_SIZE: usize = 4096;

/// The FIFO is emptied when it holds this many bytes. The other 96 are 8 ms for the interrupt to come through.
const FIFO_THRESHOLD: u16 = 32;

/// The controller is told to hold back when the FIFO holds this many. The other 64 are for what it has already begun
/// to send: a USB adapter may have that much on its way.
const RTS_THRESHOLD: u8 = 64;

/// Or when the line has been silent for this many characters: the end of a message waits 0.2 ms.
const FIFO_TIMEOUT: u8 = 2;

/// Above the radio, the timer and the scheduler, which all run at the lowest.
const PRIORITY: Priority = Priority::Priority2;

/// The first fault is logged at once, the next ones together after this long.
const FAULT_LOG_INTERVAL: Duration = Duration::from_secs(5);

type Ring = Pipe<CriticalSectionRawMutex, RING_SIZE>;

static RING: Ring = Ring::new();
static FAULTS: Signal<CriticalSectionRawMutex, Faults> = Signal::new();
static OVERRUNS: AtomicU32 = AtomicU32::new(0);

/// How often bytes came in that nobody took in time, since the start.
pub fn overruns() -> u32 {
    OVERRUNS.load(Ordering::Relaxed)
}

/// What went wrong on the line since the start.
#[derive(Clone, Copy, Default)]
struct Faults {
    /// The FIFO was not emptied in time.
    overflows: u32,
    /// A character came in wrong.
    garbled: u32,
    /// The ring was full.
    stalls: u32,
}

impl Faults {
    fn since(self, earlier: Self) -> Self {
        Self {
            overflows: self.overflows.wrapping_sub(earlier.overflows),
            garbled: self.garbled.wrapping_sub(earlier.garbled),
            stalls: self.stalls.wrapping_sub(earlier.stalls),
        }
    }
}

/// Opens the line and returns its receiving and sending halves.
///
/// Dropping a pending read or write of either loses nothing.
#[inline(never)]
pub fn open(
    spawner: Spawner,
    uart: UART1<'static>,
    (tx, rx, rts): (TxPin, RxPin, RtsPin),
    interrupt: FROM_CPU_INTR1<'static>,
    baud_rate: u32,
) -> (&'static Ring, UartTx<'static, Async>) {
    static EXECUTOR: StaticCell<InterruptExecutor<1>> = StaticCell::new();

    let config = Config::default()
        .with_baudrate(baud_rate)
        .with_hw_flow_ctrl(HwFlowControl { cts: CtsConfig::Disabled, rts: RtsConfig::Enabled(RTS_THRESHOLD) })
        .with_rx(RxConfig::default().with_fifo_full_threshold(FIFO_THRESHOLD).with_timeout(FIFO_TIMEOUT));
    let uart = Uart::new(uart, config).expect("the setting takes only what the chip supports");
    let (receiver, sender) = uart.with_tx(tx).with_rx(rx).with_rts(rts).split();

    // The sender first: the first half to become asynchronous installs the interrupt handler of both.
    let sender = sender.into_async();
    let urgent: SendSpawner = EXECUTOR.init(InterruptExecutor::new(interrupt)).start(PRIORITY);
    urgent.spawn(drain(receiver).expect("spawned once"));
    spawner.spawn(log_faults(baud_rate).expect("spawned once"));
    (&RING, sender)
}

/// Moves bytes from the FIFO to the ring.
///
/// Does not log: it runs on the stack of whatever it interrupts, the radio's small ones included.
#[embassy_executor::task]
async fn drain(receiver: UartRx<'static, Blocking>) {
    // Only here, because an asynchronous half must not leave the executor it was made on.
    let mut receiver = receiver.into_async();
    let mut faults = Faults::default();
    let mut chunk = [0; FIFO_THRESHOLD as usize];
    loop {
        match receiver.read_async(&mut chunk).await {
            Ok(count) => {
                let mut rest = &chunk[..count];
                while !rest.is_empty() {
                    let written = match RING.try_write(rest) {
                        Ok(written) => written,
                        Err(TryWriteError::Full) => {
                            faults.stalls = faults.stalls.wrapping_add(1);
                            FAULTS.signal(faults);
                            // The FIFO is all that is left now. Without the RTS wire, what it cannot hold is lost.
                            // That hurts one message; overwriting the ring would hurt those that are complete.
                            RING.write(rest).await
                        }
                    };
                    rest = &rest[written..];
                }
            }
            Err(error) => {
                match error {
                    RxError::FifoOverflowed => {
                        faults.overflows = faults.overflows.wrapping_add(1);
                        OVERRUNS.store(faults.overflows, Ordering::Relaxed);
                    }
                    _ => faults.garbled = faults.garbled.wrapping_add(1),
                }
                FAULTS.signal(faults);
            }
        }
    }
}

/// Logs the faults of the line, without flooding the log.
#[embassy_executor::task]
async fn log_faults(baud_rate: u32) {
    let mut logged = Faults::default();
    loop {
        let total = FAULTS.wait().await;
        let new = total.since(logged);
        if new.garbled > 0 {
            warn!(
                "serial line: {=u32} garbled characters; check ground, wiring and that both ends run at {=u32} baud",
                new.garbled, baud_rate
            );
        }
        if new.overflows > 0 {
            warn!("serial line: input lost {=u32} times, interrupts were off for too long", new.overflows);
        }
        if new.stalls > 0 {
            warn!("serial line: the hub fell behind the controller {=u32} times", new.stalls);
        }
        logged = total;
        Timer::after(FAULT_LOG_INTERVAL).await;
    }
}

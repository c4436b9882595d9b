//! The serial port of people: the chip's own USB port, and UART0 on boards that have a USB bridge instead.
//!
//! It carries the console's text, Improv's packets and the log. One writer owns it and keeps them apart, as
//! [`PortArbiter`] says: log frames go out when the console has been silent for a moment, and text after them begins on a
//! new line.
//!
//! What is written goes to the USB port if a computer reads it, else to UART0. Both are read.

use defmt::info;
use embassy_executor::Spawner;
use embassy_futures::{
    join::join3,
    select::{Either, select},
};
use embassy_sync::{blocking_mutex::raw::CriticalSectionRawMutex, pipe::Pipe};
use embassy_time::{Duration, Timer, with_timeout};
use embedded_io_async::{Read, Write};
use esp_hal::{
    Async,
    delay::Delay,
    gpio::interconnect::{PeripheralInput, PeripheralOutput},
    peripherals::{UART0, USB_DEVICE},
    uart::{Config, Uart, UartTx},
    usb::usb_serial_jtag::{UsbSerialJtag, UsbSerialJtagTx},
};

use crate::{arbiter::PortArbiter, log};

/// Of each direction. The console writes a line at a time and waits; a person or a browser types less.
const PIPE_SIZE: usize = 256;

/// Less than a USB packet of 64 bytes: after a full one a computer waits for more before it shows anything.
const CHUNK: usize = 63;

/// How long the console is silent before the log has its turn, and how often the log is looked at.
const SILENCE: Duration = Duration::from_millis(20);

/// A computer whose port is open takes a packet in a millisecond.
const USB_TIMEOUT: Duration = Duration::from_millis(100);

/// Longest wait for the log to be sent before something that may hang.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(500);

type Buffer = Pipe<CriticalSectionRawMutex, PIPE_SIZE>;

static INPUT: Buffer = Buffer::new();
static OUTPUT: Buffer = Buffer::new();

/// Opens the port and returns its receiving and sending halves.
///
/// Dropping a pending read or write of either loses nothing.
#[inline(never)]
pub fn open(
    spawner: Spawner,
    usb: USB_DEVICE<'static>,
    uart: UART0<'static>,
    tx: impl PeripheralOutput<'static>,
    rx: impl PeripheralInput<'static>,
) -> (&'static Buffer, &'static Buffer) {
    let uart =
        Uart::new(uart, Config::default()).expect("the chip supports 115200 baud").with_tx(tx).with_rx(rx);
    spawner.spawn(serve(UsbSerialJtag::new(usb).into_async(), uart.into_async()).expect("spawned once"));
    (&INPUT, &OUTPUT)
}

/// Waits until the log is sent, but not for long. Before something that may never return.
pub async fn flush_log() {
    let sent = async {
        while log::waiting() > 0 {
            Timer::after(SILENCE).await;
        }
        // The last chunk is on its way.
        Timer::after(SILENCE).await;
    };
    let _ = with_timeout(FLUSH_TIMEOUT, sent).await;
}

#[embassy_executor::task]
async fn serve(usb: UsbSerialJtag<'static, Async>, uart: Uart<'static, Async>) {
    let (usb_in, usb_out) = usb.split();
    let (uart_in, uart_out) = uart.split();
    info!("console: the USB port and UART0 at 115200 baud; type help");
    join3(read(usb_in), read(uart_in), write(Output { usb: usb_out, uart: uart_out, frame: 0 })).await;
}

/// Moves what is typed to the console. Characters that come in wrong are left out.
async fn read(mut from: impl Read) {
    let mut chunk = [0; CHUNK];
    loop {
        if let Ok(count) = from.read(&mut chunk).await {
            INPUT.write_all(&chunk[..count]).await;
        }
    }
}

/// Sends text and log frames, each in its turn.
async fn write(mut output: Output) {
    let mut chunk = [0; CHUNK];
    let mut arbiter = PortArbiter::new();
    loop {
        match select(OUTPUT.read(&mut chunk), Timer::after(SILENCE)).await {
            Either::First(count) => {
                let text = &chunk[..count];
                if arbiter.text(text) {
                    output.send(b"\r\n").await;
                }
                output.send(text).await;
            }
            Either::Second(()) if arbiter.silence() => {
                // What waits now are whole frames. What comes meanwhile has its turn after the console.
                let mut left = log::waiting();
                if left > 0 {
                    arbiter.logged();
                }
                while left > 0 {
                    let most = left.min(CHUNK);
                    let count = log::take(&mut chunk[..most]);
                    output.send(&chunk[..count]).await;
                    left -= count;
                }
                log::report_dropped();
            }
            Either::Second(()) => {}
        }
    }
}

struct Output {
    usb: UsbSerialJtagTx<'static, Async>,
    uart: UartTx<'static, Async>,
    /// The number of the USB frame seen last.
    frame: u16,
}

impl Output {
    /// Sends at most [`CHUNK`] bytes to whoever reads.
    async fn send(&mut self, bytes: &[u8]) {
        if self.has_computer().await && usb_is_free() {
            // After the time-out the bytes wait in the hardware, until a program opens the port.
            let _ = with_timeout(USB_TIMEOUT, self.usb.write_all(bytes)).await;
        } else {
            // The only errors are those of a UART that is set up in another way.
            let _ = self.uart.write_all(bytes).await;
        }
    }

    /// Whether a computer is at the USB port: it counts frames, one a millisecond, whether or not a program has
    /// opened the port. A charger does not.
    async fn has_computer(&mut self) -> bool {
        if usb_frame() == self.frame {
            Timer::after_millis(2).await;
        }
        let before = core::mem::replace(&mut self.frame, usb_frame());
        before != self.frame
    }
}

fn usb_frame() -> u16 {
    USB_DEVICE::regs().fram_num().read().sof_frame_index().bits()
}

/// Whether the hardware takes a packet: the one before has been read.
fn usb_is_free() -> bool {
    USB_DEVICE::regs().ep1_conf().read().serial_in_ep_data_free().bit_is_set()
}

/// Sends what is left of the log, without interrupts and without an executor. For the end of the firmware.
pub fn send_log_now() {
    let delay = Delay::new();
    let before = usb_frame();
    delay.delay_millis(3);
    let has_computer = usb_frame() != before;
    let mut chunk = [0; CHUNK];
    loop {
        let count = log::take(&mut chunk);
        if count == 0 {
            break;
        }
        if has_computer && becomes_true(USB_TIMEOUT, usb_is_free) {
            let registers = USB_DEVICE::regs();
            for byte in &chunk[..count] {
                // SAFETY: the register takes any byte.
                registers.ep1().write(|register| unsafe { register.rdwr_byte().bits(*byte) });
            }
            registers.ep1_conf().modify(|_, register| register.wr_done().set_bit());
            // Right after that the hardware may still say that it is free.
            delay.delay_micros(10);
        } else {
            let registers = UART0::regs();
            for byte in &chunk[..count] {
                becomes_true(USB_TIMEOUT, || registers.status().read().txfifo_cnt().bits() < 100);
                // SAFETY: the register takes any byte.
                registers.fifo().write(|register| unsafe { register.rxfifo_rd_byte().bits(*byte) });
            }
        }
    }
    // The last bytes need some time, too.
    delay.delay_millis(20);
}

/// Waits for something without an executor; whether it came true in time.
fn becomes_true(timeout: Duration, condition: impl Fn() -> bool) -> bool {
    let delay = Delay::new();
    for _ in 0..timeout.as_millis() * 100 {
        if condition() {
            return true;
        }
        delay.delay_micros(10);
    }
    false
}

//! The serial port of people: a virtio console.
//!
//! On virtio-drivers' queues; its console driver needs a heap.

use core::cell::RefCell;
use core::convert::Infallible;
use core::future::poll_fn;
use core::task::Poll;

use bitflags::bitflags;
use embedded_io_async::{ErrorType, Read, Write};
use static_cell::{ConstStaticCell, StaticCell};
use virtio_drivers::queue::VirtQueue;
use virtio_drivers::transport::mmio::MmioTransport;
use virtio_drivers::transport::{DeviceType, Transport};

use crate::console::{self, Exit};
use crate::dma::Dma;
use crate::virtio::Slot;

/// Entries in a queue; one is in use.
const QUEUE: usize = 2;
/// Bytes at once, in each direction.
const BUFFER: usize = 256;
/// The queues of the first port.
const RECEIVE: u16 = 0;
const TRANSMIT: u16 = 1;

bitflags! {
    /// Of the device's features the driver uses that of today's interface alone.
    #[derive(Clone, Copy, Debug)]
    struct Features: u64 {
        const VERSION_1 = 1 << 32;
    }
}

/// A buffer that the device has while there is a token for it.
struct Channel {
    queue: VirtQueue<Dma, QUEUE>,
    buffer: &'static mut [u8; BUFFER],
    token: Option<u16>,
}

struct Device {
    slot: Slot,
    transport: MmioTransport<'static>,
    receive: Channel,
    /// What was received and not read yet is in this part of the buffer.
    received: core::ops::Range<usize>,
    transmit: Channel,
    sending: usize,
}

/// Opens the port. Call once: there is one reader and one writer, both in one task.
pub fn open() -> (Receiver, Transmitter) {
    static DEVICE: StaticCell<RefCell<Device>> = StaticCell::new();
    let device = Device::find().unwrap_or_else(|| {
        console::fail(Exit::Machine, format_args!("the machine has no virtio console"));
    });
    let device = DEVICE.init(RefCell::new(device));
    device.borrow().slot.enable();
    (Receiver(device), Transmitter(device))
}

impl Device {
    fn find() -> Option<Self> {
        static BUFFER_IN: ConstStaticCell<[u8; BUFFER]> = ConstStaticCell::new([0; BUFFER]);
        static BUFFER_OUT: ConstStaticCell<[u8; BUFFER]> = ConstStaticCell::new([0; BUFFER]);
        let (slot, mut transport) = Slot::find(DeviceType::Console)?;
        transport.begin_init(Features::all());
        let mut channel = |index, buffer| {
            let queue = VirtQueue::new(&mut transport, index, false, false).ok()?;
            Some(Channel { queue, buffer, token: None })
        };
        let receive = channel(RECEIVE, BUFFER_IN.take())?;
        let transmit = channel(TRANSMIT, BUFFER_OUT.take())?;
        transport.finish_init();
        let mut device = Self { slot, transport, receive, received: 0..0, transmit, sending: 0 };
        device.listen();
        Some(device)
    }

    /// Gives the device the buffer to receive into.
    fn listen(&mut self) {
        let Channel { queue, buffer, token } = &mut self.receive;
        // SAFETY: the buffer is static, and is not touched while there is a token for it.
        *token = unsafe { queue.add(&[], &mut [&mut buffer[..]]) }.ok();
        if queue.should_notify() {
            self.transport.notify(RECEIVE);
        }
    }

    /// Moves what has arrived into `to`. Nothing if there is none.
    fn take(&mut self, to: &mut [u8]) -> Option<usize> {
        let Channel { queue, buffer, token } = &mut self.receive;
        if let Some(done) = *token {
            if queue.peek_used() != Some(done) {
                return None;
            }
            // SAFETY: the same buffer as in `listen`.
            let length = unsafe { queue.pop_used(done, &[], &mut [&mut buffer[..]]) }.unwrap_or(0);
            *token = None;
            self.received = 0..(length as usize).min(BUFFER);
        }
        let count = to.len().min(self.received.len());
        let end = self.received.start + count;
        to[..count].copy_from_slice(&buffer[self.received.start..end]);
        self.received.start = end;
        if self.received.is_empty() {
            self.listen();
        }
        (count > 0).then_some(count)
    }

    /// Sends the beginning of these bytes. Nothing while the device has not done with those before.
    fn send(&mut self, bytes: &[u8]) -> Option<usize> {
        let Channel { queue, buffer, token } = &mut self.transmit;
        if let Some(done) = *token {
            if queue.peek_used() != Some(done) {
                return None;
            }
            // SAFETY: the same bytes as below.
            let _ = unsafe { queue.pop_used(done, &[&buffer[..self.sending]], &mut []) };
            *token = None;
        }
        self.sending = bytes.len().min(BUFFER);
        if self.sending > 0 {
            buffer[..self.sending].copy_from_slice(&bytes[..self.sending]);
            // SAFETY: the buffer is static, and is not touched while there is a token for it.
            *token = unsafe { queue.add(&[&buffer[..self.sending]], &mut []) }.ok();
            if queue.should_notify() {
                self.transport.notify(TRANSMIT);
            }
        }
        Some(self.sending)
    }
}

/// The receiving half. Dropping a pending read loses nothing.
pub struct Receiver(&'static RefCell<Device>);

impl ErrorType for Receiver {
    type Error = Infallible;
}

impl Read for Receiver {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Infallible> {
        let count = poll_fn(|cx| {
            let mut device = self.0.borrow_mut();
            device.slot.waker().register(cx.waker());
            device.take(buffer).map_or(Poll::Pending, Poll::Ready)
        });
        Ok(count.await)
    }
}

/// The sending half. Dropping a pending write sends nothing.
pub struct Transmitter(&'static RefCell<Device>);

impl ErrorType for Transmitter {
    type Error = Infallible;
}

impl Write for Transmitter {
    async fn write(&mut self, bytes: &[u8]) -> Result<usize, Infallible> {
        let count = poll_fn(|cx| {
            let mut device = self.0.borrow_mut();
            device.slot.waker().register(cx.waker());
            device.send(bytes).map_or(Poll::Pending, Poll::Ready)
        });
        Ok(count.await)
    }

    async fn flush(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

//! The network: an `embassy-net` stack on a virtio network card.
//!
//! A frame belongs to the device from when it is queued until the device returns its token. Each frame stores its token,
//! so the device may return frames in any order.

use core::cell::RefCell;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::Context;

use embassy_executor::Spawner;
use embassy_net::{Config, Runner, Stack, StackResources};
use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_sync::waitqueue::AtomicWaker;
use static_cell::{ConstStaticCell, StaticCell};
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::DeviceType;
use virtio_drivers::transport::mmio::MmioTransport;

use crate::console::{self, Exit};
use crate::dma::Dma;
use crate::virtio::Slot;

/// Entries in each of the device's two queues.
const QUEUE: usize = 8;
/// Receive frames. They hold two TCP windows; more wait in the emulator.
const RECEIVE: usize = QUEUE;
/// Send frames.
const TRANSMIT: usize = 4;
/// An Ethernet frame with its header, and virtio's own, rounded up. virtio-drivers asks for 1526 or more.
const FRAME: usize = 1536;
/// An Ethernet frame with its header.
const MTU: usize = 1514;
/// DHCP, DNS and the session with the broker.
const SOCKETS: usize = 3;

type Device = VirtIONetRaw<Dma, MmioTransport<'static>, QUEUE>;

/// Woken when the cable is plugged in or out.
static PLUGGED: AtomicWaker = AtomicWaker::new();

/// Whether the cable is plugged in.
static IS_PLUGGED: AtomicBool = AtomicBool::new(false);

/// Plugs the cable in, or out.
pub fn plug(is_in: bool) {
    IS_PLUGGED.store(is_in, Ordering::Relaxed);
    PLUGGED.wake();
}

/// Brings the network up, with an address from DHCP some time later. Call once.
pub fn start(spawner: Spawner, seed: u64) -> Stack<'static> {
    static CARD: StaticCell<Card> = StaticCell::new();
    static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();

    let card = CARD.init(Card::find());
    let resources = RESOURCES.init(StackResources::new());
    let (stack, runner) = embassy_net::new(card, Config::dhcpv4(Default::default()), resources, seed);
    spawner.spawn(run(runner).expect("spawned once"));
    stack
}

#[embassy_executor::task]
async fn run(mut runner: Runner<'static, &'static mut Card>) -> ! {
    runner.run().await
}

struct Frame {
    bytes: [u8; FRAME],
    /// How much of `bytes` is to be sent.
    length: usize,
    /// The device's name for this frame while it has it.
    token: Option<u16>,
}

impl Frame {
    const fn new() -> Self {
        Self { bytes: [0; FRAME], length: 0, token: None }
    }
}

/// The network card.
struct Card {
    slot: Slot,
    device: RefCell<Device>,
    /// Length of virtio's header, in front of every frame.
    header: usize,
    receive: &'static mut [Frame; RECEIVE],
    transmit: &'static mut [Frame; TRANSMIT],
}

impl Card {
    /// The first network card of the machine, ready to receive.
    fn find() -> Self {
        static FRAMES_IN: ConstStaticCell<[Frame; RECEIVE]> =
            ConstStaticCell::new([const { Frame::new() }; RECEIVE]);
        static FRAMES_OUT: ConstStaticCell<[Frame; TRANSMIT]> =
            ConstStaticCell::new([const { Frame::new() }; TRANSMIT]);

        let (slot, transport) = Slot::find(DeviceType::Network)
            .unwrap_or_else(|| console::fail(Exit::Machine, format_args!("the machine has no network card")));
        let mut device = Device::new(transport).unwrap_or_else(|error| {
            console::fail(Exit::Machine, format_args!("the network card does not start: {error}"))
        });

        let (receive, transmit) = (FRAMES_IN.take(), FRAMES_OUT.take());
        let mut header = 0;
        for frame in transmit.iter_mut() {
            header = device.fill_buffer_header(&mut frame.bytes).expect("a frame has room for it");
        }
        for frame in receive.iter_mut() {
            listen(&mut device, frame);
        }
        device.enable_interrupts();
        slot.enable();
        Self { slot, device: RefCell::new(device), header, receive, transmit }
    }

    /// A free send frame, after reclaiming those that were sent.
    fn free(&mut self) -> Option<usize> {
        let device = self.device.get_mut();
        while let Some(token) = device.poll_transmit() {
            let Some(frame) = self.transmit.iter_mut().find(|frame| frame.token == Some(token)) else {
                log::error!("network card: it returned an unknown token for a sent frame ({token})");
                return None;
            };
            // SAFETY: the same bytes as in `Outgoing::consume`: the frame carries their length and token.
            if let Err(error) = unsafe { device.transmit_complete(token, &frame.bytes[..frame.length]) } {
                log::error!("network card: a sent frame is not returned: {error}");
                return None;
            }
            frame.token = None;
        }
        self.transmit.iter().position(|frame| frame.token.is_none())
    }

    /// The next received frame, and the range of its payload.
    fn arrived(&mut self) -> Option<(usize, Range<usize>)> {
        let device = self.device.get_mut();
        loop {
            let token = device.poll_receive()?;
            let Some(index) = self.receive.iter().position(|frame| frame.token == Some(token)) else {
                log::error!("network card: it returned an unknown token for a received frame ({token})");
                return None;
            };
            let frame = &mut self.receive[index];
            frame.token = None;
            // SAFETY: the same bytes as in `listen`: the frame carried their token.
            match unsafe { device.receive_complete(token, &mut frame.bytes) } {
                Ok((header, length)) => return Some((index, header..header + length)),
                Err(error) => {
                    log::warn!("network card: a frame is lost: {error}");
                    listen(device, frame);
                }
            }
        }
    }
}

/// Gives `frame` to the device to receive into.
fn listen(device: &mut Device, frame: &mut Frame) {
    // SAFETY: frames are static, and one that carries a token is not touched before it comes back.
    match unsafe { device.receive_begin(&mut frame.bytes) } {
        Ok(token) => frame.token = Some(token),
        Err(error) => log::error!("network card: it rejects a receive frame: {error}"),
    }
}

impl Driver for Card {
    type RxToken<'a> = Incoming<'a>;
    type TxToken<'a> = Outgoing<'a>;

    fn receive(&mut self, cx: &mut Context) -> Option<(Incoming<'_>, Outgoing<'_>)> {
        self.slot.waker().register(cx.waker());
        // The send frame comes first: a received frame cannot be put back.
        let reply = self.free()?;
        let (arrived, payload) = self.arrived()?;
        let Self { device, header, receive, transmit, .. } = self;
        let incoming = Incoming { device, frame: &mut receive[arrived], payload };
        Some((incoming, Outgoing { device, frame: &mut transmit[reply], header: *header }))
    }

    fn transmit(&mut self, cx: &mut Context) -> Option<Outgoing<'_>> {
        self.slot.waker().register(cx.waker());
        let free = self.free()?;
        Some(Outgoing { device: &self.device, frame: &mut self.transmit[free], header: self.header })
    }

    fn link_state(&mut self, cx: &mut Context) -> LinkState {
        PLUGGED.register(cx.waker());
        if IS_PLUGGED.load(Ordering::Relaxed) { LinkState::Up } else { LinkState::Down }
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::default();
        capabilities.max_transmission_unit = MTU;
        capabilities
    }

    fn hardware_address(&self) -> HardwareAddress {
        HardwareAddress::Ethernet(self.device.borrow().mac_address())
    }
}

/// A received frame. Returned to the device when dropped.
struct Incoming<'a> {
    device: &'a RefCell<Device>,
    frame: &'a mut Frame,
    payload: Range<usize>,
}

impl RxToken for Incoming<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, read: F) -> R {
        read(self.frame.bytes.get_mut(self.payload.clone()).unwrap_or_default())
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        listen(&mut self.device.borrow_mut(), self.frame);
    }
}

/// Room for a frame to send.
struct Outgoing<'a> {
    device: &'a RefCell<Device>,
    frame: &'a mut Frame,
    header: usize,
}

impl TxToken for Outgoing<'_> {
    /// `length` is at most the MTU.
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, fill: F) -> R {
        let Self { device, frame, header } = self;
        frame.length = header + length;
        let result = fill(&mut frame.bytes[header..frame.length]);
        // SAFETY: frames are static, and one that carries a token is not touched before it comes back.
        match unsafe { device.borrow_mut().transmit_begin(&frame.bytes[..frame.length]) } {
            Ok(token) => frame.token = Some(token),
            Err(error) => log::warn!("network card: a frame is not sent: {error}"),
        }
        result
    }
}

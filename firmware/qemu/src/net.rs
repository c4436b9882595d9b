//! The network: an `embassy-net` stack on a virtio network card.
//!
//! A frame belongs to the device from when it is queued until the device returns its token. Each frame stores its token,
//! so the device may return frames in any order.

use core::cell::RefCell;
use core::ops::Range;
use core::ptr::NonNull;
use core::task::Context;

use embassy_executor::Spawner;
use embassy_net::{Ipv4Address, Runner, Stack, StackResources};
use embassy_net_driver::{Capabilities, Driver, HardwareAddress, LinkState, RxToken, TxToken};
use embassy_sync::waitqueue::AtomicWaker;
use hub_core::{AccessPoint, Credentials, DialError, HubId, Network, NetworkStatus, Wired};
use hub_tcp::{mdns, udp};
use static_cell::{ConstStaticCell, StaticCell};
use virtio_drivers::device::net::VirtIONetRaw;
use virtio_drivers::transport::mmio::{MmioTransport, VirtIOHeader};
use virtio_drivers::transport::{DeviceType, Transport};

use crate::console::{self, Exit};
use crate::dma::Dma;
use crate::plic;

/// The machine's virtio slots: the nth interrupts as source n, counted from one.
const SLOTS: Range<u32> = 1..9;
const SLOT_SIZE: usize = 0x1000;
const INTERRUPT_STATUS: usize = 0x60;
const INTERRUPT_ACKNOWLEDGE: usize = 0x64;

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
/// DHCP, DNS, the session with the broker, mDNS and a question to a time server.
const SOCKETS: usize = 5;

type Device = VirtIONetRaw<Dma, MmioTransport<'static>, QUEUE>;

static WAKER: AtomicWaker = AtomicWaker::new();

/// Brings the network up for a hub called `id`, with an address from DHCP some time later. Call once.
pub fn start(spawner: Spawner, seed: u64, id: HubId<'static>) -> Ethernet {
    static CARD: StaticCell<Card> = StaticCell::new();
    static RESOURCES: StaticCell<StackResources<SOCKETS>> = StaticCell::new();

    let card = CARD.init(Card::find());
    let resources = RESOURCES.init(StackResources::new());
    let (stack, runner) = embassy_net::new(card, hub_tcp::config(id), resources, seed);
    spawner.spawn(run(runner).expect("spawned once"));
    spawner.spawn(answer_for(stack, id).expect("spawned once"));
    Ethernet(stack)
}

/// Answers for the name `<id>.local`.
#[embassy_executor::task]
async fn answer_for(stack: Stack<'static>, id: HubId<'static>) -> ! {
    static MEMORY: ConstStaticCell<mdns::Memory> = ConstStaticCell::new(mdns::Memory::new());
    let on_conflict = |address| {
        let (id, address) = (id.as_str(), Ipv4Address::from(address));
        log::warn!("mdns: {address} is called {id}.local, too; give each hub its own hub.id");
    };
    mdns::respond(stack, id, MEMORY.take(), on_conflict).await
}

/// The network of a machine with a cable.
#[derive(Clone, Copy)]
pub struct Ethernet(pub Stack<'static>);

impl Network for Ethernet {
    fn join(&self, credentials: Option<Credentials<'_>>) {
        Wired.join(credentials);
    }

    fn status(&self) -> NetworkStatus {
        let address = self.0.config_v4().map(|config| config.address.address().octets());
        NetworkStatus { address, ..Wired.status() }
    }

    async fn scan(&self, found: &mut dyn FnMut(&AccessPoint<'_>)) -> Result<(), &'static str> {
        Wired.scan(found).await
    }

    async fn ask(
        &self,
        host: &str,
        port: u16,
        question: &[u8],
        answer: &mut [u8],
    ) -> Result<usize, DialError> {
        udp::ask(self.0, host, port, question, answer).await
    }

    fn gateway(&self) -> Option<[u8; 4]> {
        Some(self.0.config_v4()?.gateway?.octets())
    }
}

#[embassy_executor::task]
async fn run(mut runner: Runner<'static, &'static mut Card>) -> ! {
    runner.run().await
}

/// Acknowledges the interrupt, which stays asserted until then, and wakes the stack.
pub fn on_interrupt(source: u32) {
    let slot = slot(source);
    // SAFETY: registers of a device that exists, since it has interrupted. The driver does not use them.
    unsafe {
        let status = ((slot + INTERRUPT_STATUS) as *const u32).read_volatile();
        ((slot + INTERRUPT_ACKNOWLEDGE) as *mut u32).write_volatile(status);
    }
    WAKER.wake();
}

fn slot(source: u32) -> usize {
    0x1000_0000 + source as usize * SLOT_SIZE
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

        let (transport, source) = SLOTS
            .filter_map(|source| Some((transport(source)?, source)))
            .find(|(transport, _)| transport.device_type() == DeviceType::Network)
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
        plic::enable(source);
        Self { device: RefCell::new(device), header, receive, transmit }
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

fn transport(source: u32) -> Option<MmioTransport<'static>> {
    let header = NonNull::new(slot(source) as *mut VirtIOHeader)?;
    // SAFETY: the machine has a virtio slot there, used or empty, and each is opened once.
    unsafe { MmioTransport::new(header, SLOT_SIZE) }.ok()
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
        WAKER.register(cx.waker());
        // The send frame comes first: a received frame cannot be put back.
        let reply = self.free()?;
        let (arrived, payload) = self.arrived()?;
        let Self { device, header, receive, transmit } = self;
        let incoming = Incoming { device, frame: &mut receive[arrived], payload };
        Some((incoming, Outgoing { device, frame: &mut transmit[reply], header: *header }))
    }

    fn transmit(&mut self, cx: &mut Context) -> Option<Outgoing<'_>> {
        WAKER.register(cx.waker());
        let free = self.free()?;
        Some(Outgoing { device: &self.device, frame: &mut self.transmit[free], header: self.header })
    }

    fn link_state(&mut self, _: &mut Context) -> LinkState {
        LinkState::Up
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

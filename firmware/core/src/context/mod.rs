//! The running hub, as its tools, the console and the driver see it.

mod events;
mod identity;
mod write_setting;

use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use embassy_time::Instant;

pub(crate) use self::events::{Events, HubEvent};
pub(crate) use self::identity::Identity;
pub(crate) use self::write_setting::{NewValue, NotWritten};
use crate::approval::Approvals;
use crate::clock::{Clock, TimeOfDay};
use crate::config::Config;
use crate::conversations::Conversations;
use crate::discovery::Discovery;
use crate::home::Home;
use crate::link::Port;
use crate::mqtt::BrokerStatus;
use crate::notice::Notices;
use crate::platform::{NetworkStatus, Platform};
use crate::questions::Questions;
use crate::request::Slots;
use crate::speaker::Speaker;
use crate::tool::Registry;

/// The memory of a [`HubContext`]. All zeros when new.
pub(crate) struct SharedParts {
    pub(crate) port: Port,
    pub(crate) registry: Registry,
    pub(crate) home: Home,
    pub(crate) approvals: Approvals,
    pub(crate) discovery: Discovery,
    pub(crate) questions: Questions,
    pub(crate) conversations: Conversations,
    pub(crate) slots: Slots,
    pub(crate) events: Events,
    pub(crate) notices: Notices,
    pub(crate) identity: Identity,
}

impl SharedParts {
    /// Empty memory.
    pub(crate) const fn new() -> Self {
        Self {
            port: Port::new(),
            registry: Registry::new(),
            home: Home::new(),
            approvals: Approvals::new(),
            discovery: Discovery::new(),
            questions: Questions::new(),
            conversations: Conversations::new(),
            slots: Slots::new(),
            events: Events::new(),
            notices: Notices::new(),
            identity: Identity::new(),
        }
    }

    /// Discards the unfinished work of an earlier run.
    pub(crate) fn clear(&self, seed: u64) {
        self.slots.clear();
        self.questions.clear(seed);
        self.notices.clear();
        self.events.clear();
        self.conversations.clear();
        self.port.clear();
        self.home.clear();
        self.approvals.clear(seed);
    }
}

/// State that begins anew with each run.
pub(crate) struct RunState {
    pub(crate) speaker: Speaker,
    pub(crate) broker: BrokerStatus,
    pub(crate) clock: Clock,
    pub(crate) restart: Signal<NoopRawMutex, ()>,
}

impl RunState {
    pub(crate) const fn new() -> Self {
        Self {
            speaker: Speaker::new(),
            broker: BrokerStatus::new(),
            clock: Clock::new(),
            restart: Signal::new(),
        }
    }
}

/// References to every shared part of a running hub. `S` is a [`Store`](crate::store::Store).
///
/// Every module above this one in the list takes narrower views, such as [`Approver`](crate::approval::Approver) or
/// [`LinkContext`](crate::link::LinkContext). Those below take the whole context.
pub(crate) struct HubContext<'a, S> {
    /// What the hub was started with.
    pub(crate) config: &'a Config<'a>,
    /// The hub's id and name, and the broker's address.
    pub(crate) identity: &'a Identity,
    /// The machine.
    pub(crate) platform: &'a dyn Platform,
    /// The state of the machine's network.
    pub(crate) network: &'a dyn Fn() -> NetworkStatus,
    /// Settings, flags and documents.
    pub(crate) store: &'a Mutex<NoopRawMutex, S>,
    /// The time of day, on machines that do not know it themselves.
    pub(crate) clock: &'a Clock,
    /// The link to the controller.
    pub(crate) port: &'a Port,
    /// The state of the connection to the broker.
    pub(crate) broker: &'a BrokerStatus,
    /// Questions to models and services, through the broker.
    pub(crate) questions: &'a Questions,
    /// The volume.
    pub(crate) speaker: &'a Speaker,
    /// The tools.
    pub(crate) registry: &'a Registry,
    /// The devices.
    pub(crate) home: &'a Home,
    /// The pending approvals.
    pub(crate) approvals: &'a Approvals,
    /// Home Assistant's announcements.
    pub(crate) discovery: &'a Discovery,
    /// The conversations and their histories.
    pub(crate) conversations: &'a Conversations,
    /// The requests in progress.
    pub(crate) slots: &'a Slots,
    /// Events to be published.
    pub(crate) events: &'a Events,
    /// Notices for people.
    pub(crate) notices: &'a Notices,
    /// Signalled to restart the hub. The current reply is still sent.
    pub(crate) restart: &'a Signal<NoopRawMutex, ()>,
}

impl<'a, S> HubContext<'a, S> {
    /// The context of one run.
    pub(crate) const fn new(
        config: &'a Config<'a>,
        memory: &'a SharedParts,
        state: &'a RunState,
        platform: &'a dyn Platform,
        network: &'a dyn Fn() -> NetworkStatus,
        store: &'a Mutex<NoopRawMutex, S>,
    ) -> Self {
        Self {
            config,
            identity: &memory.identity,
            platform,
            network,
            store,
            clock: &state.clock,
            port: &memory.port,
            broker: &state.broker,
            questions: &memory.questions,
            speaker: &state.speaker,
            registry: &memory.registry,
            home: &memory.home,
            approvals: &memory.approvals,
            discovery: &memory.discovery,
            conversations: &memory.conversations,
            slots: &memory.slots,
            events: &memory.events,
            notices: &memory.notices,
            restart: &state.restart,
        }
    }

    /// The time of day and its source.
    pub(crate) fn now(&self) -> Option<TimeOfDay> {
        self.clock.read(self.platform.wall_clock(), Instant::now())
    }
}

//! The hub: joins the session with the broker, the jobs, the store and the link to the controller.
//!
//! ```text
//!   session ──► request::Intake ──► slots ──► dispatch ──┬──► tools::execute
//!      │                                                 ├──► turn ──► questions
//!      └──► outbox ◄── replies, questions,               ├──► config_requests
//!                      events, notices, states           └──► document_requests
//! ```

mod config_requests;
mod device_requests;
mod dispatch;
mod document_requests;
mod outbox;
mod self_report;
mod session;
mod start;
mod time;
mod turn;

use core::fmt::{self, Display};
use core::pin::{Pin, pin};

use embassy_futures::join::{join_array, join5};
use embassy_futures::select::{Either, select};
use embassy_sync::mutex::Mutex;
use embassy_time::Timer;
use embedded_io_async::{Read, Write};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use crate::config::{BAUD_PLACE, Config};
use crate::console;
use crate::context::{self, HubContext, RunState};
use crate::home;
use crate::limits;
use crate::link::{self, LinkContext, ResourceNews};
use crate::log::{info, warn};
use crate::mqtt;
use crate::panel;
use crate::platform::{Dial, Network, Platform};
use crate::request::Job;
use crate::settings::{self as rows, EXAMPLE_TOOLS, TOOL_PREFIX};
use crate::store::{self, InterlockedFlash, Store};
use crate::tool::{self, DeclaredTools};
use crate::tools;

pub use self::self_report::LIMITS;

/// All the memory one hub works in.
///
/// Large, and all zeros when new: keep it in a `static` (it then costs no flash) or in a box, and hand it
/// to one [`Hub`] for good.
pub struct Memory {
    context: context::SharedParts,
    mqtt: mqtt::SessionBuffers,
    store: store::StoreBuffers,
    console: console::ConsoleBuffers,
}

impl Memory {
    /// Empty memory.
    pub const fn new() -> Self {
        Self {
            context: context::SharedParts::new(),
            mqtt: mqtt::SessionBuffers::new(),
            store: store::StoreBuffers::new(),
            console: console::ConsoleBuffers::new(),
        }
    }
}

/// One hub. Holds no global state: a process can run as many as it has [`Memory`] for.
pub struct Hub<'a> {
    config: Config<'a>,
    memory: &'a mut Memory,
    declared: DeclaredTools,
}

impl<'a> Hub<'a> {
    /// A hub that works in `memory`.
    pub const fn new(config: Config<'a>, memory: &'a mut Memory) -> Self {
        Self { config, memory, declared: DeclaredTools::new(tools::TOOLS) }
    }

    /// The tools the hub brings, for whoever asks first: [`run`](Self::run) does, and registers them.
    pub fn take_declared_tools(&self) -> &'static [&'static tool::Tool<'static>] {
        self.declared.take()
    }

    /// Reads the settings that a board needs before it can open what [`run`](Self::run) takes. The flash is then as it was
    /// given: hand the same to `run`.
    pub async fn prepare<F: MultiwriteNorFlash>(&mut self, flash: &mut F) -> Start {
        let Self { config, memory, .. } = self;
        // Behind the gate as in `run`, so that the store's code is there once.
        let mut store = Store::new(
            InterlockedFlash::new(flash, memory.context.port.erase_interlock()),
            &mut memory.store,
        );
        let id = rows::HUB_ID.value(&mut store, config).await;
        Start {
            // Rows only take values that fit.
            id: heapless::String::try_from(&*id).unwrap_or_default(),
            baud_rate: rows::CONTROLLER_BAUD.get(&mut store, config).await,
            led_pin: rows::LED_PIN.get(&mut store, config).await,
        }
    }

    /// Runs the hub for ever: keeps a session with the broker and the link to the controller on `uart`
    /// (its receiving and sending halves), listens to whoever sits at `console`, and answers requests. No side waits for
    /// another. What it has to remember is in `flash`, which is its own from start to end.
    ///
    /// Dropping the future stops the hub; the broker then publishes its will.
    pub async fn run<R, W, CR, CW, D, N, F, P>(
        &mut self,
        uart: (R, W),
        console: (CR, CW),
        mut dial: D,
        network: N,
        flash: &mut F,
        platform: P,
    ) -> !
    where
        R: Read,
        W: Write,
        CR: Read,
        CW: Write,
        D: Dial,
        N: Network,
        F: MultiwriteNorFlash,
        P: Platform,
    {
        let declared = self.take_declared_tools();
        let Self { config, memory, .. } = self;
        let Memory { context, mqtt, store, console: console_memory } = &mut **memory;
        let seed = platform.seed();
        // Where it stays: moved later, the future would hold it twice.
        let mut shared =
            Mutex::new(Store::new(InterlockedFlash::new(flash, context.port.erase_interlock()), store));
        let store = shared.get_mut();
        open_store(store).await;
        context.identity.read(store, config, &mut mqtt.send).await;
        console::join_network(&network, store, config).await;
        // An earlier run may have left something half done.
        let context = &*context;
        context.clear(seed);
        let state = &RunState::new();
        let context::SharedParts { registry, notices, home, .. } = context;
        let id = context.identity.id();
        info!("hub {}: version {} on {}", id.as_str(), env!("CARGO_PKG_VERSION"), config.target);
        start::report(&config.boot, notices);
        registry.reset(&TOOL_PREFIX.value(store, config).await);
        {
            // Behind a pointer, for a stack frame of its own: this one stays below everything.
            let preferring: Pin<&mut dyn Future<Output = _>> =
                pin!(start::prefer_tools(registry, store, config));
            preferring.await;
        }
        let has_examples = EXAMPLE_TOOLS.get(store, config).await;
        let examples = if has_examples { tools::EXAMPLE_TOOLS } else { &[] };
        for tool in declared.iter().chain(examples) {
            // What does not fit has been logged; the rest works.
            let _ = registry.register(tool);
        }
        state.speaker.apply(&platform, store, config).await;
        context.discovery.start(store, config).await;
        let hint = &ControllerHint::read(store, config).await;
        let network_status = || network.status();
        let hub = &HubContext::new(config, context, state, &platform, &network_status, &shared);
        let (rx, tx) = uart;
        let retries = link::Retries::STANDARD;
        let watch = |news: ResourceNews<'_>| home.on_resource_event(news);
        let link_context =
            LinkContext { port: hub.port, registry, notices, watch: &watch, hint, retries, seed };
        let serve = |index| hub.slots.serve(index, async |job: &mut Job| dispatch::answer(job, hub).await);
        // Pinned one by one where they stay: moved, all of them would cross the stack. Behind pointers, each has a stack frame of
        // its own: the handshake of TLS does not stand on what the others need.
        let session: Pin<&mut dyn Future<Output = _>> = pin!(session::run(mqtt, &mut dial, seed, hub));
        let link: Pin<&mut dyn Future<Output = _>> = pin!(link::run(rx, tx, &link_context));
        let jobs: [Pin<&mut dyn Future<Output = _>>; limits::JOBS] =
            [pin!(serve(0)), pin!(serve(1)), pin!(serve(2)), pin!(serve(3)), pin!(serve(4))];
        let console = pin!(console::run(console, console_memory, hub, &network, hint));
        let time = pin!(time::keep(&network, hub));
        let panel = pin!(panel::run_panel(hub));
        let keeping = keep_and_restart(hub);
        let follow = pin!(home::follow(hub.port, home, notices));
        let upkeep = join5(console, panel, time, keeping, follow);
        join5(session, link, join_array(jobs), upkeep, start::settle(&platform)).await.0
    }
}

/// What a board needs to know before it opens its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The hub's id, which is its name at the router, too.
    pub id: heapless::String<{ limits::HUB_ID }>,
    /// The speed of the controller's serial line.
    pub baud_rate: u32,
    /// The pin of the lamp, if there is one.
    pub led_pin: Option<u8>,
}

/// What people should check if the controller cannot be reached: [`Config::controller_hint`] with the baud rate in use
/// since the start.
struct ControllerHint<'a> {
    text: &'a str,
    baud_rate: u32,
}

impl<'a> ControllerHint<'a> {
    async fn read<F: MultiwriteNorFlash>(store: &mut Store<'_, F>, config: &Config<'a>) -> Self {
        let baud_rate = rows::CONTROLLER_BAUD.get(store, config).await;
        Self { text: config.controller_hint, baud_rate }
    }
}

impl Display for ControllerHint<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.split_once(BAUD_PLACE) {
            Some((before, after)) => write!(f, "{before}{}{after}", self.baud_rate),
            None => f.write_str(self.text),
        }
    }
}

/// Opens the store. Without it the hub runs, too.
async fn open_store<F: MultiwriteNorFlash>(store: &mut Store<'_, F>) {
    if let Err(error) = store.open().await {
        let words = tool::Failure::from(error).error;
        warn!("store: {}; settings, flags and documents are not there now", words.as_str());
    }
}

/// Keeps changed volumes, and restarts when somebody asks for it. Both write to the store, which as two futures would have
/// its own in each.
async fn keep_and_restart<F: MultiwriteNorFlash>(hub: &HubContext<'_, Store<'_, F>>) -> ! {
    loop {
        let is_asked = matches!(select(hub.restart.wait(), hub.speaker.is_due()).await, Either::First(()));
        if is_asked {
            info!("hub: restarting");
            Timer::after(limits::RESTART_DELAY).await;
        }
        hub.speaker.keep_now(hub.store).await;
        if is_asked {
            hub.platform.restart();
        }
    }
}

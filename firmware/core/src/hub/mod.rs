//! The hub: joins the MQTT session, the job slots with the tools, the store, and the controller link.

mod answer;
mod begin;
mod chat;
mod content;
mod rules;
mod settings;
mod wake;

use core::pin::pin;

use embassy_futures::join::{join_array, join4};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::mutex::Mutex;
use embassy_sync::signal::Signal;
use embassy_time::Timer;
use embedded_io_async::{Read, Write};
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use self::chat::Room;
use crate::config::Config;
use crate::link::{self, Port};
use crate::log::{info, warn};
use crate::mqtt::{Inside, Job, Slots};
use crate::notice::Notices;
use crate::seam::{Dial, Platform};
use crate::service::Services;
use crate::store::{self, Store};
use crate::talk::Talks;
use crate::tool::{self, DeclaredTools, Registry};
use crate::tools::{self, Toolbox};
use crate::{limits, mqtt};

/// All the memory one hub works in.
///
/// Large, and all zeros when new: keep it in a `static` (it then costs no flash) or in a box, and hand it
/// to one [`Hub`] for good.
pub struct Memory {
    mqtt: mqtt::Memory,
    port: Port,
    notices: Notices,
    talks: Talks,
    store: store::Memory,
    slots: Slots,
    services: Services,
    registry: Registry,
}

impl Memory {
    /// Empty memory.
    pub const fn new() -> Self {
        Self {
            mqtt: mqtt::Memory::new(),
            port: Port::new(),
            notices: Notices::new(),
            talks: Talks::new(),
            store: store::Memory::new(),
            slots: Slots::new(),
            services: Services::new(),
            registry: Registry::new(),
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
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

    /// Runs the hub for ever: keeps a session with the broker and the link to the controller on `uart`
    /// (its receiving and sending halves), and answers requests. Neither side waits for the other. What it has to
    /// remember is in `flash`, which is its own from start to end.
    ///
    /// Dropping the future stops the hub; the broker then publishes its will.
    pub async fn run<R, W, D, F, P>(&mut self, uart: (R, W), mut dial: D, flash: F, platform: P) -> !
    where
        R: Read,
        W: Write,
        D: Dial,
        F: MultiwriteNorFlash,
        P: Platform,
    {
        let declared = self.take_declared_tools();
        let Self { config, memory, .. } = self;
        let Memory { mqtt, port, notices, talks, store, slots, services, registry } = &mut **memory;
        let (slots, services, port, notices, registry) = (&*slots, &*services, &*port, &*notices, &*registry);
        slots.clear();
        services.clear(platform.seed());
        port.clear();
        notices.clear();
        let talks = &*talks;
        talks.clear();
        info!("hub {}: version {} on {}", config.id.as_str(), env!("CARGO_PKG_VERSION"), config.target);
        registry.reset(config.tool_prefix);
        let examples = if config.example_tools { tools::EXAMPLE_TOOLS } else { &[] };
        for tool in declared.iter().chain(examples) {
            // What does not fit has been said; the rest works.
            let _ = registry.register(tool);
        }
        let restart = Signal::new();
        let mut store = Store::new(flash, store);
        if let Err(error) = store.open().await {
            warn!(
                "store: {}; flags and documents are not there now",
                tool::Failure::from(error).error.as_str()
            );
        }
        let store = Mutex::new(store);
        let toolbox = &Toolbox { platform: &platform, store: &store, port, services, restart: &restart };
        let (rx, tx) = uart;
        let inside = Inside { slots, services, talks, notices, link: port.status(), registry };
        let resources =
            link::Resources { port, registry, notices, hint: config.controller_hint, seed: platform.seed() };
        let room = &Room { talks, registry, toolbox, slots, notices, rule: config.rule, id: config.id };
        let serve = |index| slots.serve(index, async |job: &mut Job| answer::answer(job, room).await);
        // Pinned one by one where they stay: moved, all of them would cross the stack.
        let mqtt = pin!(mqtt::run(mqtt, config, &mut dial, &platform, &inside));
        let link = pin!(link::run(rx, tx, &resources));
        let jobs: [_; limits::JOBS] = [pin!(serve(0)), pin!(serve(1)), pin!(serve(2)), pin!(serve(3))];
        join4(mqtt, link, join_array(jobs), restart_when_told(&restart, &platform)).await.0
    }
}

async fn restart_when_told<P: Platform>(told: &Signal<NoopRawMutex, ()>, platform: &P) -> ! {
    loop {
        told.wait().await;
        info!("hub: restarting");
        Timer::after(limits::RESTART_DELAY).await;
        platform.restart();
    }
}

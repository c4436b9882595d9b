//! The hub: joins the MQTT session, the job slots with the tools, and the controller link.

use embassy_futures::join::{join_array, join4};
use embassy_sync::blocking_mutex::raw::NoopRawMutex;
use embassy_sync::signal::Signal;
use embassy_time::Timer;
use embedded_io_async::{Read, Write};

use crate::config::Config;
use crate::json::{Kind, Overflow, Value, Writer};
use crate::log::{error, info, warn};
use crate::mqtt::{Job, Refusal, Request, Slots};
use crate::seam::{Dial, Platform};
use crate::tool::{self, DeclaredTools, Format, Handlers, Name, Registry};
use crate::tools::{self, Toolbox};
use crate::{limits, link, mqtt};

/// All the memory one hub works in.
///
/// Large, and all zeros when new: keep it in a `static` (it then costs no flash) or in a box, and hand it
/// to one [`Hub`] for good.
pub struct Memory {
    mqtt: mqtt::Memory,
    link: link::Memory,
    slots: Slots,
    registry: Registry,
}

impl Memory {
    /// Empty memory.
    pub const fn new() -> Self {
        Self {
            mqtt: mqtt::Memory::new(),
            link: link::Memory::new(),
            slots: Slots::new(),
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
    pub fn take_declared_tools(&self) -> &'static [&'static tool::Tool] {
        self.declared.take()
    }

    /// Runs the hub for ever: keeps a session with the broker and the link to the controller on `uart`
    /// (its receiving and sending halves), and answers requests. Neither side waits for the other.
    ///
    /// Dropping the future stops the hub; the broker then publishes its will.
    pub async fn run<R, W, D, P>(&mut self, uart: (R, W), mut dial: D, platform: P) -> !
    where
        R: Read,
        W: Write,
        D: Dial,
        P: Platform,
    {
        let declared = self.take_declared_tools();
        let Self { config, memory, .. } = self;
        let Memory { mqtt, link, slots, registry } = &mut **memory;
        let slots = &*slots;
        slots.clear();
        info!("hub {}: version {} on {}", config.id.as_str(), env!("CARGO_PKG_VERSION"), config.target);
        registry.reset(config.tool_prefix);
        let examples = if config.example_tools { tools::EXAMPLE_TOOLS } else { &[] };
        for tool in declared.iter().chain(examples) {
            // What does not fit has been said; the rest works.
            let _ = registry.register(tool);
        }
        let registry = &*registry;
        let status = link::Status::new();
        let restart = Signal::new();
        let toolbox = &Toolbox { platform: &platform, restart: &restart };
        let (rx, tx) = uart;
        join4(
            mqtt::run(mqtt, config, &mut dial, &platform, registry.len(), slots, &status),
            link::run(link, rx, tx, &status),
            join_array::<_, { limits::JOBS }>(core::array::from_fn(|index| {
                slots.serve(index, async |job: &mut Job| answer(job, registry, toolbox, slots).await)
            })),
            restart_when_told(&restart, &platform),
        )
        .await
        .0
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

/// Writes the reply to a job.
async fn answer<H: Handlers>(job: &mut Job, registry: &Registry, handlers: &H, slots: &Slots) {
    let asked = job.request;
    let (payload, reply) = job.work();
    let written = match mqtt::read(payload) {
        Err(refusal) => refuse(refusal, None, reply),
        Ok((request, transaction)) => {
            let mut writer = Writer::new(reply);
            let opened = writer.open();
            let refused = match asked {
                Request::ToolCall => tool_call(request, registry, handlers, slots, &mut writer).await,
                Request::ToolList => tool_list(request, registry, &mut writer),
            };
            if let Some(transaction) = transaction {
                writer.field("transaction", transaction);
            }
            writer.close(opened);
            match (refused, writer.finish()) {
                (Ok(()), Ok(length)) => Ok(length),
                (Ok(()), Err(Overflow)) => refuse(Refusal::Unanswerable, transaction, reply),
                (Err(refusal), _) => refuse(refusal, transaction, reply),
            }
        }
    };
    match written {
        Ok(length) => job.replied(length),
        Err(Overflow) => error!("hub: a refusal does not fit into a reply; the caller gets an empty one"),
    }
}

fn refuse(refusal: Refusal, transaction: Option<Value<'_>>, reply: &mut [u8]) -> Result<usize, Overflow> {
    warn!("hub: a request was refused: {}", refusal.words().as_str());
    refusal.write(transaction, reply)
}

/// `{"name", "arguments"}` → the members of the result object.
async fn tool_call<H: Handlers>(
    request: Value<'_>,
    registry: &Registry,
    handlers: &H,
    slots: &Slots,
    reply: &mut Writer<'_>,
) -> Result<(), Refusal> {
    let name = request.get("name").and_then(|name| name.as_text());
    let name: Name = name.ok_or(Refusal::NoName)?.decode().ok_or(Refusal::LongName)?;
    let arguments = match request.get("arguments") {
        None => Value::EMPTY_OBJECT,
        Some(arguments) if arguments.kind() == Kind::Object => arguments,
        Some(_) => return Err(Refusal::WrongArguments),
    };
    let event = tool::execute(registry, handlers, &name, arguments, reply).await;
    slots.tell(event);
    Ok(())
}

/// `{"format"?, "allowed"?, "after"?}` → `{"tools": […], "next"?}`.
fn tool_list(request: Value<'_>, registry: &Registry, reply: &mut Writer<'_>) -> Result<(), Refusal> {
    let text = |name| request.get(name).and_then(|value| value.as_text()).and_then(|text| text.decode());
    let format = match request.get("format") {
        None => Format::default(),
        Some(_) => text("format").and_then(|name: Name| Format::named(&name)).ok_or(Refusal::WrongFormat)?,
    };
    let allowed = request.get("allowed");
    if allowed.is_some_and(|allowed| allowed.kind() != Kind::Array) {
        return Err(Refusal::WrongAllowed);
    }
    let after: Option<Name> = text("after");
    reply.field("success", true);
    reply.key("tools");
    let mut next = None;
    reply.array(|list| next = format.write_all(registry, allowed, after.as_deref(), list));
    if let Some(next) = next {
        reply.field("next", next);
    }
    Ok(())
}

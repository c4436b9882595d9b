//! The hub: joins the MQTT session, the job slots and the controller link.

use embassy_futures::join::{join_array, join3};
use embedded_io_async::{Read, Write};

use crate::config::Config;
use crate::json::{Kind, Overflow, Value, Writer};
use crate::log::{error, info, warn};
use crate::mqtt::{Job, Refusal, Request, Slots};
use crate::seam::{Dial, Platform};
use crate::{limits, link, mqtt, tool, tools};

/// All the memory one hub works in.
///
/// Large, and all zeros when new: keep it in a `static` (it then costs no flash) or in a box, and hand it
/// to one [`Hub`] for good.
pub struct Memory {
    mqtt: mqtt::Memory,
    link: link::Memory,
    slots: Slots,
}

impl Memory {
    /// Empty memory.
    pub const fn new() -> Self {
        Self { mqtt: mqtt::Memory::new(), link: link::Memory::new(), slots: Slots::new() }
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
}

impl<'a> Hub<'a> {
    /// A hub that works in `memory`.
    pub const fn new(config: Config<'a>, memory: &'a mut Memory) -> Self {
        Self { config, memory }
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
        let Self { config, memory } = self;
        let Memory { mqtt, link, slots } = &mut **memory;
        let slots = &*slots;
        slots.clear();
        let status = link::Status::new();
        let (rx, tx) = uart;
        info!("hub {}: version {} on {}", config.id.as_str(), env!("CARGO_PKG_VERSION"), config.target);
        join3(
            mqtt::run(mqtt, config, &mut dial, &platform, slots, &status),
            link::run(link, rx, tx, &status),
            join_array::<_, { limits::JOBS }>(core::array::from_fn(|index| {
                slots.serve(index, async |job: &mut Job| answer(job))
            })),
        )
        .await
        .0
    }
}

/// Writes the reply to a job.
fn answer(job: &mut Job) {
    let asked = job.request;
    let answered = job.answer(|payload, reply| {
        let (request, transaction) = match mqtt::read(payload) {
            Ok(request) => request,
            Err(refusal) => return refuse(refusal, None, reply),
        };
        let mut writer = Writer::new(reply);
        let mut refused = Ok(());
        writer.object(|members| {
            refused = match asked {
                Request::ToolCall => tool_call(request, members),
            };
            if let Some(transaction) = transaction {
                members.field("transaction", transaction);
            }
        });
        match (refused, writer.finish()) {
            (Ok(()), Ok(length)) => Ok(length),
            (Ok(()), Err(Overflow)) => refuse(Refusal::Unanswerable, transaction, reply),
            (Err(refusal), _) => refuse(refusal, transaction, reply),
        }
    });
    if answered.is_err() {
        error!("hub: a refusal does not fit into a reply; the caller gets an empty one");
    }
}

fn refuse(refusal: Refusal, transaction: Option<Value<'_>>, reply: &mut [u8]) -> Result<usize, Overflow> {
    warn!("hub: a request was refused: {}", refusal.words().as_str());
    refusal.write(transaction, reply)
}

/// `{"name", "arguments"}` → the members of the result object.
fn tool_call(request: Value<'_>, reply: &mut Writer<'_>) -> Result<(), Refusal> {
    let name = request.get("name").and_then(|name| name.as_text());
    let name = name.ok_or(Refusal::NoName)?;
    if name.escaped().len() > limits::TOOL_NAME {
        return Err(Refusal::LongName);
    }
    let arguments = match request.get("arguments") {
        None => Value::EMPTY_OBJECT,
        Some(arguments) if arguments.kind() == Kind::Object => arguments,
        Some(_) => return Err(Refusal::WrongArguments),
    };
    tool::call(&tools::TOOLS, name, arguments, reply);
    Ok(())
}

//! What the hub answers to each request.

use core::pin::{Pin, pin};

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::{content, settings};
use crate::json::{Kind, Overflow, Value, Writer};
use crate::log::{error, warn};
use crate::mqtt::{self, Job, Refusal, Request, Slots};
use crate::seam::Platform;
use crate::store::Store;
use crate::tool::{self, Format, Handlers, Name, Registry};
use crate::tools::Toolbox;

/// Writes the reply to a job.
pub(super) async fn answer<P: Platform, F: MultiwriteNorFlash>(
    job: &mut Job,
    registry: &Registry,
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    slots: &Slots,
) {
    let asked = job.request;
    let (payload, reply) = job.work();
    let written = match mqtt::read(payload) {
        Err(refusal) => refuse(refusal, None, reply),
        Ok((request, transaction)) => {
            // What changes something is done first, with the reply's room to work in.
            let done = match asked {
                Request::ContentPut => content::put(request, toolbox.store, reply).await,
                Request::ContentDelete => content::delete(request, toolbox.store).await,
                Request::ConfigSet => settings::set(request, toolbox.store).await,
                _ => Ok(()),
            };
            let mut writer = Writer::new(reply);
            let opened = writer.open();
            let refused = match (done, asked) {
                (Err(refusal), _) => Err(refusal),
                (Ok(()), Request::ToolCall) => {
                    // Behind a pointer, for a stack frame of its own.
                    let call: Pin<&mut dyn Future<Output = _>> =
                        pin!(tool_call(request, registry, toolbox, slots, &mut writer));
                    call.await
                }
                (Ok(()), Request::ToolList) => tool_list(request, registry, &mut writer),
                (Ok(()), Request::ContentList) => content::list(request, toolbox.store, &mut writer).await,
                (Ok(()), Request::ConfigGet) => settings::get(request, toolbox.store, &mut writer).await,
                (Ok(()), Request::ContentPut | Request::ContentDelete | Request::ConfigSet) => {
                    writer.field("success", true);
                    Ok(())
                }
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
    let after: Option<Name> = mqtt::text(request, "after")?;
    if after.as_deref().is_some_and(|after| registry.look(after, |_| ()).is_none()) {
        return Err(Refusal::GoneAfter);
    }
    reply.field("success", true);
    reply.key("tools");
    let mut next = None;
    reply.array(|list| next = format.write_all(registry, allowed, after.as_deref(), list));
    if let Some(next) = next {
        reply.field("next", next.as_str());
    }
    Ok(())
}

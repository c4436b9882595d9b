//! Answers each request: reads it, has it done by whoever it is for, and writes the reply.

use core::cell::Cell;
use core::pin::{Pin, pin};

use embassy_time::Duration;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use super::{config_requests, device_requests, document_requests, self_report, time, turn};
use crate::chat::prompts;
use crate::context::{HubContext, HubEvent};
use crate::conversations::ConversationId;
use crate::json::{Kind, Overflow, Value, Writer};
use crate::limits;
use crate::log::{error, warn};
use crate::mqtt::{ReplyTo, Topics};
use crate::request::{self, Job, Refusal, Request};
use crate::store::Store;
use crate::tool::{self, Caller, Format, Name, Registry};
use crate::tools::{ToolCall, write_now};

/// Writes the reply to a job.
pub(super) async fn answer<F: MultiwriteNorFlash>(job: &mut Job, hub: &HubContext<'_, Store<'_, F>>) {
    let (asked, has_response_topic) = (job.request, job.has_response_topic);
    let mut is_on_speech = false;
    let (payload, reply) = job.work();
    let (request, transaction) = match request::read(payload) {
        Ok(read) => read,
        Err(refusal) => {
            let written = refuse(refusal, None, reply);
            job.is_refused = true;
            return finish(job, written);
        }
    };
    // Behind pointers, for stack frames of their own.
    let written = if matches!(asked, Request::Chat | Request::Transcript) {
        let mut caller = turn::TurnRequest::new(request, transaction);
        let is_heard = asked == Request::Transcript;
        let written = {
            let saying: Pin<&mut dyn Future<Output = _>> =
                pin!(turn::answer(&mut caller, is_heard, hub, reply));
            saying.await
        };
        // Who knows that the hub was spoken to may want the answer for themselves.
        is_on_speech = caller.is_speech && !(caller.is_addressed && has_response_topic);
        written
    } else {
        let doing: Pin<&mut dyn Future<Output = _>> =
            pin!(handle_request(asked, request, transaction, hub, reply));
        doing.await
    };
    let is_refused = written.is_err();
    let written = written.map_or_else(|refusal| refuse(refusal, transaction, reply), Ok);
    job.is_refused = is_refused;
    finish(job, written);
    if is_on_speech {
        job.reply_to = ReplyTo::topic(Topics::new(hub.identity.id()).own("speech"));
    }
}

/// The reply to a job is written.
fn finish(job: &mut Job, written: Result<usize, Overflow>) {
    match written {
        Ok(length) => job.replied(length),
        Err(Overflow) => error!("hub: a refusal does not fit into a reply; the caller gets an empty one"),
    }
}

/// Answers everything but conversations. Returns the length of the reply.
async fn handle_request<F: MultiwriteNorFlash>(
    asked: Request,
    request: Value<'_>,
    transaction: Option<Value<'_>>,
    hub: &HubContext<'_, Store<'_, F>>,
    reply: &mut [u8],
) -> Result<usize, Refusal> {
    let store = hub.store;
    if asked == Request::DeviceSet {
        // Behind a pointer, for a stack frame of its own.
        let setting: Pin<&mut dyn Future<Output = _>> =
            pin!(device_requests::set(request, transaction, hub, reply));
        return setting.await;
    }
    // What changes something is done first, with the reply's buffer as scratch.
    let mut needs_restart = false;
    match asked {
        Request::ContentPut => document_requests::put(request, store, reply).await?,
        Request::ContentDelete => document_requests::delete(request, store).await?,
        Request::ConfigSet => {
            // Behind a pointer, for a stack frame of its own.
            let setting: Pin<&mut dyn Future<Output = _>> = pin!(config_requests::set(request, hub, reply));
            needs_restart = setting.await?.needs_restart;
        }
        Request::ConfigGet => hub.speaker.keep_now(store).await,
        Request::TimeSet => time::set(request, hub.clock)?,
        Request::Speak => turn::check_speech(request)?,
        _ => {}
    }
    let mut writer = Writer::new(reply);
    let opened = writer.open();
    if asked != Request::ToolCall {
        writer.field("success", true);
    }
    match asked {
        Request::ToolCall => {
            let call: Pin<&mut dyn Future<Output = _>> = pin!(tool_call(request, hub, &mut writer));
            call.await?;
        }
        Request::ToolList => tool_list(request, hub.registry, &mut writer)?,
        Request::Health => {
            let after: Option<Name> = request::text(request, "after")?;
            self_report::write_health(hub, after.as_deref(), &mut writer);
        }
        Request::PromptList => prompt_list(&mut writer),
        Request::ContentList => document_requests::list(request, store, &mut writer).await?,
        Request::ConfigGet => config_requests::get(request, hub.config, store, &mut writer).await?,
        Request::ConfigList => config_requests::list(request, hub.config, &mut writer)?,
        Request::ConfigSet if needs_restart => writer.field("restart_required", true),
        Request::Cancel => {
            let id: ConversationId =
                request::text(request, "conversation")?.ok_or(Refusal::NotText("conversation"))?;
            writer.field("cancelled", hub.conversations.cancel(&id));
        }
        Request::TimeSet => drop(write_now(hub, &mut writer).await),
        Request::DeviceList => device_requests::list(request, hub.home, &mut writer)?,
        // Answered elsewhere: a decision by the intake, the others above.
        Request::Approve | Request::Chat | Request::Transcript | Request::DeviceSet => {}
        Request::ContentPut | Request::ContentDelete | Request::ConfigSet | Request::Speak => {}
    }
    if let Some(transaction) = transaction {
        writer.field("transaction", transaction);
    }
    writer.close(opened);
    writer.finish().map_err(|Overflow| Refusal::Unanswerable)
}

fn refuse(refusal: Refusal, transaction: Option<Value<'_>>, reply: &mut [u8]) -> Result<usize, Overflow> {
    warn!("hub: a request was refused: {}", refusal.words().as_str());
    refusal.write(transaction, reply)
}

/// `{"name", "arguments"}` → the members of the result object.
async fn tool_call<F: MultiwriteNorFlash>(
    request: Value<'_>,
    hub: &HubContext<'_, Store<'_, F>>,
    reply: &mut Writer<'_>,
) -> Result<(), Refusal> {
    let name = request.get("name").and_then(|name| name.as_text());
    let name: Name = name.ok_or(Refusal::NoName)?.decode().ok_or(Refusal::LongName)?;
    let arguments = request.get("arguments").unwrap_or(Value::NULL);
    let decision_time = Cell::new(Duration::MIN);
    let call = &ToolCall { hub, caller: Caller::Person, decision_time: &decision_time };
    let event = call.execute(&name, arguments, reply).await;
    hub.events.has_room(hub.broker, limits::EVENT_WAIT).await;
    hub.events.push(HubEvent::Tool(event));
    Ok(())
}

/// `{}` → `{"prompts": [{"name", "documentation"}…]}`.
fn prompt_list(reply: &mut Writer<'_>) {
    reply.key("prompts");
    reply.array(|list| {
        for prompt in prompts::PROMPTS {
            list.object(|out| {
                out.field("name", prompt.name);
                out.key("documentation");
                out.string(|text| prompts::describe(prompt, text));
            });
        }
    });
}

/// `{"format"?, "allowed"?, "after"?}` → `{"tools": […], "next"?}`.
fn tool_list(request: Value<'_>, registry: &Registry, reply: &mut Writer<'_>) -> Result<(), Refusal> {
    let text = |name| request.get(name).and_then(|value| value.as_text()).and_then(|text| text.decode());
    let format = match request.get("format") {
        None => Format::default(),
        Some(_) => text("format")
            .and_then(|name: Name| Format::named(&name))
            .ok_or(Refusal::NotOneOf("format", "mcp, anthropic, openai, ollama, markdown"))?,
    };
    let allowed = request.get("allowed");
    if allowed.is_some_and(|allowed| allowed.kind() != Kind::Array) {
        return Err(Refusal::WrongAllowed);
    }
    let after: Option<Name> = request::text(request, "after")?;
    if after.as_deref().is_some_and(|after| !registry.offers(after)) {
        return Err(Refusal::GoneAfter);
    }
    reply.key("tools");
    let mut next = None;
    let is_allowed = |names: [&str; 2]| tool::is_listed(allowed, names);
    reply.array(|list| next = format.write_all(registry, &is_allowed, after.as_deref(), list));
    if let Some(next) = next {
        reply.field("next", next.as_str());
    }
    Ok(())
}

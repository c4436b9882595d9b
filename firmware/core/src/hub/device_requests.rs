//! `request/device/…`: the devices, for people and their programs.

use core::cell::Cell;
use core::fmt;
use core::pin::{Pin, pin};

use embassy_time::Duration;
use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use crate::approval::guarded_namesake;
use crate::context::{HubContext, HubEvent};
use crate::home::{DeclaredAction, DeviceId, Found, Home, Knowledge, Unread, find_unkept, read_actions};
use crate::json::{Kind, Overflow, Value, Writer};
use crate::limits;
use crate::mqtt::copy;
use crate::request::{self, Refusal};
use crate::schema::{self, Unknown};
use crate::store::Store;
use crate::text::{one_line, push_list, shorten};
use crate::tool::{Caller, Name};
use crate::tools::ToolCall;

/// Room for what follows a list.
const TAIL: usize = limits::TRANSACTION + limits::DEVICE_ID + 160;

/// The size of two action calls, each with the controller's arguments and a value.
const ARGUMENTS: usize = 768;

/// `{"room"?, "after"?}` → `{"devices": […], "left_out"?, "note"?, "next"?}`.
pub(super) fn list(request: Value<'_>, home: &Home, reply: &mut Writer<'_>) -> Result<(), Refusal> {
    let room: Option<String<{ limits::DEVICE_ROOM }>> = request::text(request, "room")?;
    let after: Option<DeviceId> = request::text(request, "after")?;
    if after.as_deref().is_some_and(|after| home.with(after, |_| ()).is_none()) {
        return Err(Refusal::GoneAfter);
    }
    reply.key("devices");
    let mut next = None;
    reply.array(|list| next = home.write_list(room.as_deref(), after.as_deref(), TAIL, list));
    let (_, left_out) = home.count();
    if left_out > 0 {
        reply.field("left_out", left_out);
    }
    let note = match home.knowledge() {
        Knowledge::NoController => Some("The controller is not connected"),
        Knowledge::Unlisted | Knowledge::Reading => Some("The devices are still being read"),
        Knowledge::ListFailed => Some("The controller could not list its devices; the hub keeps trying"),
        Knowledge::NoDevices | Knowledge::Incomplete | Knowledge::Complete => {
            (left_out > 0).then_some("There are more devices; device/set takes their exact name or id")
        }
    };
    if let Some(note) = note {
        reply.field("note", note);
    }
    if let Some(next) = next {
        reply.field("next", next.as_str());
    }
    Ok(())
}

/// The call of an action: its arguments, followed by the tool name, in the caller's buffer.
#[derive(Clone, Copy)]
struct ActionCall {
    start: usize,
    arguments: usize,
    tool: usize,
}

impl ActionCall {
    const fn end(&self) -> usize {
        self.start + self.arguments + self.tool
    }

    /// The tool and the arguments.
    fn read<'s>(&self, scratch: &'s [u8]) -> Option<(Name, Value<'s>)> {
        let written = scratch.get(self.start..self.end())?;
        let (arguments, tool) = written.split_at_checked(self.arguments)?;
        Some((core::str::from_utf8(tool).ok()?.try_into().ok()?, Value::parse(arguments).ok()?))
    }
}

/// Takes `{"device", "action", "value"?, "then"?: {"action", "value"?}}` and writes the members of the call's result
/// object. `then` follows if the first call succeeds; the reply is that of the last call. Returns the length of the
/// reply.
pub(super) async fn set<F: MultiwriteNorFlash>(
    request: Value<'_>,
    transaction: Option<Value<'_>>,
    hub: &HubContext<'_, Store<'_, F>>,
    reply: &mut [u8],
) -> Result<usize, Refusal> {
    let home = hub.home;
    let said: String<{ limits::DEVICE_NAME }> =
        request::text(request, "device")?.ok_or(Refusal::NotText("device"))?;
    let action: String<{ limits::DEVICE_ID }> =
        request::text(request, "action")?.ok_or(Refusal::NotText("action"))?;
    let mut found = home.find(&said);
    if found == Found::None {
        let finding: Pin<&mut dyn Future<Output = _>> = pin!(find_unkept(hub.port, home, &said));
        found = finding.await;
    }
    let id = match found {
        Found::One(id) => id,
        Found::None if home.is_unsupported() => return Err(Refusal::NoDevices),
        // It may have a device of this name: nobody has been able to ask it.
        Found::None if home.knowledge() == Knowledge::NoController && home.count().0 == 0 => {
            return Err(Refusal::NoController);
        }
        Found::None => return Err(unknown_device(home, &said)),
        Found::Several => {
            let mut names = String::new();
            push_list(&fmt::from_fn(|f| home.write_nearest(None, &said, f)), &mut names);
            return Err(Refusal::SeveralDevices(names));
        }
    };
    // The arguments are at the end of the reply's buffer; the reply does not reach so far.
    let end = reply.len().saturating_sub(ARGUMENTS);
    let (reply, scratch) = reply.split_at_mut_checked(end).unwrap_or_default();
    let then = request.get("then").filter(|then| then.kind() != Kind::Null);
    // Nothing is sent unless both actions are valid.
    let compose = |actions: Value<'_>| -> Result<(ActionCall, Option<ActionCall>), Refusal> {
        let first = compose(actions, &action, request.get("value"), 0, scratch)?;
        let Some(then) = then else { return Ok((first, None)) };
        let action: String<{ limits::DEVICE_ID }> =
            request::text(then, "action")?.ok_or(Refusal::NotText("action"))?;
        Ok((first, Some(compose(actions, &action, then.get("value"), first.end(), scratch)?)))
    };
    let (first, second) = match read_actions(hub.port, home, &id, compose).await {
        Ok(calls) => calls?,
        Err(Unread::Unasked) => return Err(Refusal::NoController),
        Err(Unread::Refused) => return Err(unknown_device(home, &said)),
    };
    for call in [Some(first), second].into_iter().flatten() {
        if let Some((tool, arguments)) = call.read(scratch)
            && let Some(names) = guarded_namesake(home, &id, &tool, arguments)
        {
            return Err(Refusal::SeveralDevices(names));
        }
    }
    let mut writer = Writer::new(reply);
    let opened = writer.open();
    let start = writer.mark();
    let decision_time = Cell::new(Duration::MIN);
    let tool_call = &ToolCall { hub, caller: Caller::Person, decision_time: &decision_time };
    let mut step = (first, second, None);
    loop {
        let (call, next, earlier) = step;
        // The call was just written to this buffer.
        let Some((tool, arguments)) = call.read(scratch) else { return Err(Refusal::Unanswerable) };
        decision_time.set(Duration::MIN);
        let event = tool_call.execute(&tool, arguments, &mut writer).await;
        let is_done = event.success;
        hub.events.has_room(hub.broker, limits::EVENT_WAIT).await;
        hub.events.push(HubEvent::Tool(event));
        if let Some(earlier) = earlier.filter(|_| is_done) {
            home.join_changes(earlier, &id);
        }
        match next {
            Some(next) if is_done => {
                writer.rewind(start);
                step = (next, None, home.last_change_of(&id));
            }
            Some(_) => {
                writer.field("action", action.as_str());
                break;
            }
            None => {
                if let Some(then) = then {
                    writer.field("action", then.get("action"));
                }
                if !is_done && second.is_some() {
                    writer.field("done", action.as_str());
                }
                break;
            }
        }
    }
    writer.field("device", id.as_str());
    if let Some(transaction) = transaction {
        writer.field("transaction", transaction);
    }
    writer.close(opened);
    writer.finish().map_err(|Overflow| Refusal::Unanswerable)
}

/// No device is called so. Names the nearest ones.
#[inline(never)]
fn unknown_device(home: &Home, said: &str) -> Refusal {
    let said: String<{ limits::UNKNOWN_REQUEST }> = one_line(&said);
    let mut names = shorten(&format_args!("'{said}'. The nearest names are: "));
    let start = names.len();
    push_list(&fmt::from_fn(|f| home.write_nearest(None, &said, f)), &mut names);
    if names.len() == start {
        names = shorten(&format_args!("'{said}'; device/list names them"));
    }
    Refusal::NoDevice(names)
}

/// Writes the call of an action from `start` on, if the device has the action and the value is valid.
fn compose(
    actions: Value<'_>,
    wanted: &str,
    value: Option<Value<'_>>,
    start: usize,
    scratch: &mut [u8],
) -> Result<ActionCall, Refusal> {
    let Some(action) = actions.get(wanted) else {
        let list = fmt::from_fn(|f| {
            actions
                .members()
                .enumerate()
                .try_for_each(|(at, (name, _))| write!(f, "{}{name}", if at > 0 { ", " } else { "" }))
        });
        let mut names = String::new();
        push_list(&list, &mut names);
        return Err(Refusal::NoAction(names));
    };
    let tool = DeclaredAction(action).tool().and_then(|tool| tool.decode());
    let tool: Name = tool.ok_or(Refusal::NoAction(String::new()))?;
    let value = value.filter(|value| value.kind() != Kind::Null);
    let value = match (action.get("value"), value) {
        (None, None) => Value::NULL,
        (Some(_), None) => return Err(Refusal::Value(shorten(&"is missing: the action needs one"))),
        (None, Some(_)) => return Err(Refusal::Value(shorten(&"is not taken by this action"))),
        (Some(schema), Some(value)) => {
            let fits = schema::validate(schema, value, Unknown::Ignore);
            fits.map_err(|invalid| {
                let mut words = shorten(&"does not suit: ");
                push_list(&invalid, &mut words);
                Refusal::Value(words)
            })?;
            value
        }
    };
    let out = scratch.get_mut(start..).unwrap_or_default();
    let mut writer = Writer::new(out);
    DeclaredAction(action).write_arguments(value, &mut writer);
    let too_long = || Refusal::LongText("value", ARGUMENTS);
    let arguments = writer.finish().map_err(|Overflow| too_long())?;
    copy(tool.as_bytes(), out.get_mut(arguments..).unwrap_or_default()).map_err(|Overflow| too_long())?;
    Ok(ActionCall { start, arguments, tool: tool.len() })
}

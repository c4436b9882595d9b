//! `request/device/…` and `request/approve`: the devices, for people and their programs.

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::Parts;
use super::events::Event;
use crate::home::{DeviceId, Found, Home, Unread, read_actions, write_arguments};
use crate::json::{Kind, Overflow, Value, Writer};
use crate::limits;
use crate::platform::Platform;
use crate::request::{self, Refusal};
use crate::schema::{self, Unknown};
use crate::store::Store;
use crate::text::{clip, one_line};
use crate::tool::{self, Name};
use crate::tools::Toolbox;

/// Room for what follows a list.
const TAIL: usize = limits::TRANSACTION + limits::DEVICE_ID + 64;

/// Room for the arguments of an action's call: those that the controller gave, and a value.
const ARGUMENTS: usize = 768;

/// `{"room"?, "after"?}` → `{"devices": […], "left_out"?, "next"?}`.
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
    if let Some(next) = next {
        reply.field("next", next.as_str());
    }
    Ok(())
}

/// `{"id", "allow"}`: a person decides about what waits for approval.
pub(super) fn approve(request: Value<'_>, home: &Home, reply: &mut Writer<'_>) -> Result<(), Refusal> {
    let number = request.get("id").and_then(|id| match id.as_text() {
        // Some programs have nothing but texts.
        Some(text) => text.plain()?.parse().ok(),
        None => id.as_integer()?.try_into().ok(),
    });
    let number: u32 = number.ok_or(Refusal::NoApproval)?;
    let is_allowed = match request.get("allow").map(|allow| allow.text()) {
        Some("true") => true,
        Some("false") => false,
        _ => return Err(Refusal::NotOneOf("allow", "true, false")),
    };
    if !home.approvals.decide(number, is_allowed) {
        return Err(Refusal::NoApproval);
    }
    reply.field("id", number);
    reply.field("allowed", is_allowed);
    Ok(())
}

/// A call that does an action.
struct ActionCall {
    tool: Name,
    /// Bytes of the arguments, in the buffer that was given.
    length: usize,
}

/// `{"device", "action", "value"?}` → the members of the result object of the call that does it. Returns the length of the
/// reply.
pub(super) async fn set<P: Platform, F: MultiwriteNorFlash>(
    request: Value<'_>,
    transaction: Option<Value<'_>>,
    parts: &Parts<'_>,
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    reply: &mut [u8],
) -> Result<usize, Refusal> {
    let home = parts.home;
    let said: String<{ limits::DEVICE_NAME }> =
        request::text(request, "device")?.ok_or(Refusal::NotText("device"))?;
    let action: String<{ limits::DEVICE_ID }> =
        request::text(request, "action")?.ok_or(Refusal::NotText("action"))?;
    let id = match home.find(&said) {
        Found::One(id) => id,
        Found::None if home.is_unsupported() => return Err(Refusal::NoDevices),
        Found::None => return Err(Refusal::NoDevice(one_line(&said))),
        Found::Several => {
            let mut names = String::new();
            // What does not fit is left out.
            let _ = home.write_candidates(&said, &mut names);
            return Err(Refusal::SeveralDevices(names));
        }
    };
    // The arguments are at the end of the reply's buffer; the reply does not reach so far.
    let end = reply.len().saturating_sub(ARGUMENTS);
    let (reply, scratch) = reply.split_at_mut_checked(end).unwrap_or_default();
    let compose = |actions: Value<'_>| compose(actions, &action, request.get("value"), scratch);
    let call = match read_actions(toolbox.port, home, &id, compose).await {
        Ok(call) => call?,
        Err(Unread::Unasked) => return Err(Refusal::NoController),
        Err(Unread::Refused) => return Err(Refusal::NoDevice(one_line(&said))),
    };
    let arguments = scratch.get(..call.length).and_then(|text| Value::parse(text).ok());
    let arguments = arguments.unwrap_or(Value::EMPTY_OBJECT);
    let mut writer = Writer::new(reply);
    let opened = writer.open();
    let event = tool::execute(parts.registry, toolbox, &call.tool, arguments, &mut writer).await;
    parts.events.push(Event::Tool(event));
    writer.field("device", id.as_str());
    if let Some(transaction) = transaction {
        writer.field("transaction", transaction);
    }
    writer.close(opened);
    writer.finish().map_err(|Overflow| Refusal::Unanswerable)
}

/// Writes the arguments of the call that does an action, if the device has it and the value suits.
fn compose(
    actions: Value<'_>,
    wanted: &str,
    value: Option<Value<'_>>,
    out: &mut [u8],
) -> Result<ActionCall, Refusal> {
    let Some(action) = actions.get(wanted) else {
        let mut names = String::new();
        for (name, _) in actions.members() {
            let separator = if names.is_empty() { "" } else { ", " };
            // What does not fit is left out.
            let _ = core::fmt::write(&mut names, format_args!("{separator}{name}"));
        }
        return Err(Refusal::NoAction(names));
    };
    let tool = action.get("tool").and_then(|tool| tool.as_text()?.decode());
    let tool: Name = tool.ok_or(Refusal::NoAction(String::new()))?;
    let value = value.filter(|value| value.kind() != Kind::Null);
    let value = match (action.get("value"), value) {
        (None, None) => Value::NULL,
        (Some(_), None) => return Err(Refusal::Value(clip(&"is missing: the action needs one"))),
        (None, Some(_)) => return Err(Refusal::Value(clip(&"is not taken by this action"))),
        (Some(schema), Some(value)) => {
            let fits = schema::validate(schema, value, Unknown::Ignore);
            fits.map_err(|invalid| Refusal::Value(clip(&format_args!("does not suit: {invalid}"))))?;
            value
        }
    };
    let mut writer = Writer::new(out);
    write_arguments(action, value, &mut writer);
    let length = writer.finish().map_err(|Overflow| Refusal::LongText("value", ARGUMENTS))?;
    Ok(ActionCall { tool, length })
}

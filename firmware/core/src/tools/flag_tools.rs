//! The six flag tools: set, get and list, for a project and for everybody. (Parts: see this folder's README.md.)

use core::ops::ControlFlow;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::ToolCall;
use crate::json::{Kind, Value, Writer};
use crate::limits;
use crate::store::{Key, NameFault, NamedPart, Scope, Section, Store, StoreError};
use crate::text::Measure;
use crate::tool::{EPILOGUE, Example, Failure, Success, Tool, ToolResult};

/// The schema of a verb's arguments.
macro_rules! schema {
    (set) => {
        r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":64,"description":"The name of the flag"},"value":{"description":"The new value: true, false, a number, a text or any other JSON; null removes the flag"}},"required":["name","value"]}"#
    };
    (get) => {
        r#"{"type":"object","properties":{"name":{"type":"string","minLength":1,"maxLength":64,"description":"The name of the flag"}},"required":["name"]}"#
    };
    (list) => {
        r#"{"type":"object","properties":{"after":{"type":"string","description":"Where to go on: what next was in the last answer; left out, the list begins at its start"}}}"#
    };
}

/// How a tool is called, by its verb.
macro_rules! usage {
    ($tool:ident set) => {
        concat!(stringify!($tool), r#"({"name": "...", "value": any JSON})"#)
    };
    ($tool:ident get) => {
        concat!(stringify!($tool), r#"({"name": "..."})"#)
    };
    ($tool:ident list) => {
        concat!(stringify!($tool), "({}) or ", stringify!($tool), r#"({"after": "..."})"#)
    };
}

/// Declares tools, one row each: its name, its verb, whose flags, its description, and examples (a call and its result,
/// without the tool's name, and what it shows). Each becomes a module, as if it had a file of its own.
macro_rules! flag_tools {
    ($($tool:ident: $verb:ident $owner:ident, $description:literal, [$($code:literal => $explanation:literal),+ $(,)?];)*) => { $(
        pub(super) mod $tool {
            use super::*;

            pub(in crate::tools) static TOOL: Tool<'static> = Tool {
                description: $description,
                schema: schema!($verb),
                usage: usage!($tool $verb),
                examples: &[$(Example { code: concat!(stringify!($tool), $code), explanation: $explanation }),+],
                on_request: true,
                ..Tool::builtin(stringify!($tool))
            };

            pub(in crate::tools) async fn run<F: MultiwriteNorFlash>(
                call: &ToolCall<'_, Store<'_, F>>,
                arguments: Value<'_>,
                result: &mut Writer<'_>,
            ) -> ToolResult {
                $verb(Owner::$owner, call, arguments, result).await
            }
        }
    )* };
}

flag_tools! {
    set_project_flag: set Project,
        "Sets a flag of the current project.\n\nThe project is the profile that the hub is set to, home at first. Its flags go \
         before those for everybody. The flag is kept when the hub restarts.",
        [
            r#"({"name": "guests", "value": true})  ->  {"project": "home", "name": "guests", "value": true}"#
                => "Guests are there, in the project home.",
            r#"({"name": "guests", "value": null})  ->  {"project": "home", "name": "guests", "value": null}"#
                => "The project has no such flag any more; what is set for everybody counts again.",
        ];
    get_project_flag: get Project,
        "Tells a flag as the current project sees it.\n\nThat is the flag of the project, or else the one for everybody. The \
         value is null if neither is set.",
        [
            r#"({"name": "guests"})  ->  {"name": "guests", "value": true, "set_for": "project"}"#
                => "Guests are there, and it is the project that says so.",
        ];
    list_project_flags: list Project,
        "Lists all flags as the current project sees them.\n\nThose of the project, and of those for everybody the ones that \
         the project does not set itself.",
        [
            r#"({})  ->  {"project": "home", "flags": {"guests": true, "holiday": false}}"#
                => "Two flags, wherever they are set.",
        ];
    set_feature_flag: set Everybody,
        "Sets a flag for everybody.\n\nIt counts in every project that does not set the same flag itself. The flag is kept \
         when the hub restarts.",
        [
            r#"({"name": "holiday", "value": "until Sunday"})  ->  {"name": "holiday", "value": "until Sunday"}"#
                => "A flag whose value is a text.",
        ];
    get_feature_flag: get Everybody,
        "Tells a flag that is set for everybody.\n\nFlags of projects are not looked at; get_project_flag does that. The \
         value is null if the flag is not set.",
        [
            r#"({"name": "holiday"})  ->  {"name": "holiday", "value": "until Sunday", "set_for": "everybody"}"#
                => "The flag is set.",
        ];
    list_feature_flags: list Everybody,
        "Lists all flags that are set for everybody.\n\nFlags of projects are not among them; list_project_flags shows both.",
        [
            r#"({})  ->  {"flags": {"holiday": "until Sunday"}}"#
                => "One flag is set for everybody.",
        ];
}

/// What follows a page of flags, without the name in it.
const ENDING: usize = r#"},"next":""}"#.len();

type FlagName = String<{ limits::NAME }>;

/// Whose flags a tool works with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The project that the hub is set to; reading falls back on everybody's.
    Project,
    /// Everybody; those of projects are not visible.
    Everybody,
}

/// Sets the flag `name` to `value`, or removes it if that is null.
///
/// Dropped in the middle, the flag has its old or its new value.
async fn set<F: MultiwriteNorFlash>(
    owner: Owner,
    call: &ToolCall<'_, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    let name = name(arguments, "name")?.unwrap_or_default();
    let value = arguments.get("value").unwrap_or(Value::NULL);
    let mut store = call.hub.store.lock().await;
    let project = store.project().await?;
    let scope = match owner {
        Owner::Project => Scope::Project(&project),
        Owner::Everybody => Scope::Global,
    };
    let key = Key::Flag(scope, &name);
    let removes = value.kind() == Kind::Null;
    if removes {
        store.delete(key).await?;
    } else {
        store.set(key, value.text()).await?;
    }
    result.object(|object| {
        if owner == Owner::Project {
            object.field("project", project.as_str());
        }
        object.field("name", name.as_str());
        object.field("value", value);
    });
    Ok(if removes {
        Success::saying(format_args!("The flag {name} is removed."))
    } else {
        Success::saying(format_args!("The flag {name} is set."))
    })
}

/// Returns the value of the flag `name`, null if it is not set.
async fn get<F: MultiwriteNorFlash>(
    owner: Owner,
    call: &ToolCall<'_, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    let name = name(arguments, "name")?.unwrap_or_default();
    let mut store = call.hub.store.lock().await;
    let project;
    let found = match owner {
        Owner::Project => {
            project = store.project().await?;
            store.flag(&project, &name).await?
        }
        Owner::Everybody => {
            let value = store.look(Key::Flag(Scope::Global, &name)).await?;
            value.map(|value| (Scope::Global, value))
        }
    };
    result.object(|object| {
        object.field("name", name.as_str());
        match found {
            Some((scope, value)) => {
                object.field("value", json(value));
                object.field("set_for", owner_of(scope));
            }
            None => object.field("value", Value::NULL),
        }
    });
    Ok(match found {
        Some((_, value)) => Success::saying(format_args!("The flag {name} is {value}.")),
        None => Success::saying(format_args!("The flag {name} is not set.")),
    })
}

/// Returns the flags by name, from after `after`, as many as fit; `next` is the `after` of the next call.
async fn list<F: MultiwriteNorFlash>(
    owner: Owner,
    call: &ToolCall<'_, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> ToolResult {
    let after = name(arguments, "after")?;
    let mut store = call.hub.store.lock().await;
    let project = store.project().await?;
    let object = result.open();
    if owner == Owner::Project {
        result.field("project", project.as_str());
    }
    result.key("flags");
    let flags = result.open();
    let mut last = FlagName::new();
    let mut is_cut = false;
    let mut show = |name: &str, value: &str| {
        if after.as_deref().is_some_and(|after| name <= after) {
            return ControlFlow::Continue(());
        }
        let before = result.mark();
        result.field(name, json(value));
        // Its name is what stands in `next` if no other flag fits.
        if result.room() < ENDING + Measure::Escaped.length(&name) + EPILOGUE {
            result.rewind(before);
            is_cut = true;
            return ControlFlow::Break(());
        }
        last.clear();
        // Names of flags fit.
        let _ = last.push_str(name);
        ControlFlow::Continue(())
    };
    match owner {
        Owner::Project => store.flags(&project, |name, value, _| show(name, value)).await?,
        Owner::Everybody => {
            let flags = Section::Flags(Scope::Global);
            let mut show = |key: Key<'_>, value: &str| match key {
                Key::Flag(_, name) => show(name, value),
                Key::Document { .. } | Key::Setting(_) => ControlFlow::Continue(()),
            };
            store.each(flags, &mut show).await?;
        }
    }
    result.close(flags);
    if is_cut {
        result.field("next", last.as_str());
    }
    result.close(object);
    Ok(Success::PLAIN)
}

/// A name among the arguments, where it is given.
fn name(arguments: Value<'_>, parameter: &str) -> Result<Option<FlagName>, Failure> {
    let Some(name) = arguments.get(parameter).and_then(|name| name.as_text()) else { return Ok(None) };
    let too_long = StoreError::Name(NamedPart::Flag, NameFault::TooLong(limits::NAME));
    name.decode().map(Some).ok_or_else(|| too_long.into())
}

/// The stored value of a flag, which is JSON.
fn json(value: &str) -> Value<'_> {
    Value::parse(value.as_bytes()).unwrap_or(Value::NULL)
}

const fn owner_of(scope: Scope<'_>) -> &'static str {
    match scope {
        Scope::Project(_) => "project",
        Scope::Global => "everybody",
    }
}

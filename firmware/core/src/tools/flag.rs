//! What the six flag tools have in common.

use core::ops::ControlFlow;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;
use heapless::String;

use super::Toolbox;
use crate::json::{Kind, Value, Writer};
use crate::limits;
use crate::store::{Key, NameFault, Part, Scope, Section, Store, StoreError};
use crate::tool::{EPILOGUE, Failure, Success};

type FlagName = String<{ limits::NAME }>;

/// Whose flags a tool works with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// The project that the hub is set to; reading falls back on everybody's.
    Project,
    /// Everybody, and no project.
    Everybody,
}

/// Sets the flag `name` to `value`, or removes it if that is null.
///
/// Dropped in the middle, the flag has its old or its new value.
pub(super) async fn set<P, F: MultiwriteNorFlash>(
    owner: Owner,
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    let name = name(arguments, "name")?.unwrap_or_default();
    let value = arguments.get("value").unwrap_or(Value::NULL);
    let mut store = toolbox.store.lock().await;
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

/// Tells the value of the flag `name`, null if it is not set.
pub(super) async fn get<P, F: MultiwriteNorFlash>(
    owner: Owner,
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    let name = name(arguments, "name")?.unwrap_or_default();
    let mut value = [0; limits::FLAG];
    let mut store = toolbox.store.lock().await;
    let project;
    let found = match owner {
        Owner::Project => {
            project = store.project().await?;
            store.flag(&project, &name, &mut value).await?
        }
        Owner::Everybody => {
            let value = store.get(Key::Flag(Scope::Global, &name), &mut value).await?;
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

/// Tells all flags by name, from after `after`, as many as fit; `next` is what to give as `after` for the rest.
pub(super) async fn list<P, F: MultiwriteNorFlash>(
    owner: Owner,
    toolbox: &Toolbox<'_, P, Store<'_, F>>,
    arguments: Value<'_>,
    result: &mut Writer<'_>,
) -> Result<Success, Failure> {
    let after = name(arguments, "after")?;
    let mut store = toolbox.store.lock().await;
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
        if result.room() < EPILOGUE + limits::NAME + 32 {
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
    let too_long = StoreError::Name(Part::Flag, NameFault::TooLong(limits::NAME));
    name.decode().map(Some).ok_or_else(|| too_long.into())
}

/// What is kept for a flag is JSON.
fn json(value: &str) -> Value<'_> {
    Value::parse(value.as_bytes()).unwrap_or(Value::NULL)
}

const fn owner_of(scope: Scope<'_>) -> &'static str {
    match scope {
        Scope::Project(_) => "project",
        Scope::Global => "everybody",
    }
}

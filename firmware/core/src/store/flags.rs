//! Flags of a project on top of those for all projects.
//!
//! A flag is set in one of two scopes. A lookup in a project finds the project's value, or else the global one. A global
//! lookup finds global values alone, as [`Store::get`] and [`Store::each`] do with [`Scope::Global`].

use core::ops::ControlFlow;

use embedded_storage_async::nor_flash::MultiwriteNorFlash;

use heapless::String;

use super::{Key, NameRecord, Scope, Section, Store, StoreError, read, readable};
use crate::limits;

/// The scopes in which a project looks for a flag; the first that has it decides.
pub const fn scopes(project: &str) -> [Scope<'_>; 2] {
    [Scope::Project(project), Scope::Global]
}

/// Joins the flags of a project and the global ones, both sorted by name: every name once, with the project's flag
/// where there are two.
pub fn resolve<T, N: Ord>(
    project: impl IntoIterator<Item = T>,
    global: impl IntoIterator<Item = T>,
    name: impl Fn(&T) -> N,
) -> impl Iterator<Item = T> {
    let mut project = project.into_iter().peekable();
    let mut global = global.into_iter().peekable();
    core::iter::from_fn(move || {
        let (Some(ours), Some(theirs)) = (project.peek(), global.peek()) else {
            return project.next().or_else(|| global.next());
        };
        match name(ours).cmp(&name(theirs)) {
            core::cmp::Ordering::Less => project.next(),
            core::cmp::Ordering::Greater => global.next(),
            core::cmp::Ordering::Equal => {
                global.next();
                project.next()
            }
        }
    })
}

/// The setting that names the project.
pub const PROJECT: &str = "project";

/// The project of a new hub.
pub const FIRST_PROJECT: &str = "home";

impl<F: MultiwriteNorFlash> Store<'_, F> {
    /// The project that the hub is set to.
    pub async fn project(&mut self) -> Result<String<{ limits::GROUP }>, StoreError> {
        let project = match self.look(Key::Setting(PROJECT)).await {
            // A damaged or overlong setting counts as none.
            Ok(Some(project)) => String::try_from(project).ok(),
            Ok(None) | Err(StoreError::Corrupt) => None,
            Err(error) => return Err(error),
        };
        // The first one fits.
        Ok(project.or_else(|| String::try_from(FIRST_PROJECT).ok()).unwrap_or_default())
    }

    /// The flag `name` as `project` sees it, in the store's own buffer, and the scope it is from.
    pub async fn flag<'p>(
        &mut self,
        project: &'p str,
        name: &str,
    ) -> Result<Option<(Scope<'p>, &str)>, StoreError> {
        let (map, memory) = self.ready().await?;
        let mut found = None;
        for scope in scopes(project) {
            let key = Key::Flag(scope, name).encode()?;
            found = found.or(memory.names.find(key.bytes()).map(|record| (scope, record)));
        }
        let Some((scope, record)) = found else { return Ok(None) };
        read(map, &mut memory.buffer, record).await.map(|value| Some((scope, value)))
    }

    /// Calls `visit` with name, value and scope of every flag as `project` sees it, sorted by name, until it breaks.
    pub async fn flags(
        &mut self,
        project: &str,
        mut visit: impl FnMut(&str, &str, Scope<'_>) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let [ours, theirs] = scopes(project).map(Section::Flags);
        ours.check()?;
        let (map, memory) = self.ready().await?;
        let names = &memory.names;
        let flags = |section| names.section(section).filter_map(Flag::of);
        for flag in resolve(flags(ours), flags(theirs), |flag| flag.name) {
            let Some(value) = readable(read(map, &mut memory.buffer, flag.record).await)? else { continue };
            if visit(flag.name, value, flag.scope).is_break() {
                break;
            }
        }
        Ok(())
    }
}

struct Flag<'a> {
    record: NameRecord<'a>,
    scope: Scope<'a>,
    name: &'a str,
}

impl<'a> Flag<'a> {
    fn of((record, key): (NameRecord<'a>, Key<'a>)) -> Option<Self> {
        match key {
            Key::Flag(scope, name) => Some(Self { record, scope, name }),
            Key::Setting(_) | Key::Document { .. } => None,
        }
    }
}

//! Settings, flags and documents, kept in flash.
//!
//! ```text
//!   Key ──► names (RAM) ──► id ──► sequential-storage map ──► journal ──► InterlockedFlash ──► NorFlash
//! ```
//!
//! The names of all entries are in RAM, sorted; the texts are in flash, in a `sequential-storage` map from a small
//! number, the id, to the key and its text. Finding a name thus costs no access to the flash, listing neither, and
//! reading or writing an entry does not grow with the number of others.
//!
//! **What is promised.** When power is lost, at any point of any write or erase, the entry that was being set or
//! deleted has its old or its new value, and all others are as they were. [`Store::erase_all`] is all or nothing.
//! This holds with what `MultiwriteNorFlash` promises and no more: of a write that is cut short, any of its bits
//! may have been cleared; a page whose erase is cut short may hold anything. The flash wears evenly, and setting a
//! value that an entry has already writes nothing.
//!
//! **Dropping a future** is like losing power, for that operation alone: a `set` or `delete` may or may not have
//! happened. The next operation then reads the names anew, and finishes or undoes what was begun.
//!
//! Flags and their two scopes are in [`flags`], expressions that select documents in [`documents`].

pub mod documents;
mod erase_interlock;
mod error;
pub mod flags;
mod journal;
mod key;
mod name_index;
mod pages;

#[cfg(test)]
mod tests;

use core::ops::ControlFlow;

use embedded_storage_async::nor_flash::{MultiwriteNorFlash, NorFlashError};
use sequential_storage::Error as MapError;
use sequential_storage::cache::key_pointers::ArrayKeyPointers;
use sequential_storage::cache::{Cache, Uncached};
use sequential_storage::map::{MapConfig, MapStorage};

pub use documents::{Builtin, Document, Expression};
pub use erase_interlock::{EraseCounts, EraseInterlock, InterlockedFlash};
pub use error::{Capacity, NameFault, NamedPart, StoreError};
use journal::{Fault, Journaled};
use key::{Encoded, Item};
pub use key::{Key, Scope, Section};
use name_index::{Id, NameIndex, NameRecord};

use crate::json;
use crate::limits;
use crate::log::{info, warn};

type Pointers = Cache<Uncached, Uncached, ArrayKeyPointers<Id, { limits::STORE_ENTRIES }>, Id>;
type Map<F> = MapStorage<Id, Journaled<F>, Pointers>;

/// The buffers of a [`Store`]. About 8 KiB, all zeros when new.
pub struct StoreBuffers {
    buffer: Buffer,
    names: NameIndex,
}

/// Flash drivers want whole words.
#[repr(align(4))]
struct Buffer([u8; limits::FLASH_PAGE]);

impl StoreBuffers {
    /// Empty memory.
    pub const fn new() -> Self {
        Self { buffer: Buffer([0; limits::FLASH_PAGE]), names: NameIndex::new() }
    }
}

/// How the flash was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// Erased: nothing was stored yet.
    Fresh,
    /// In order.
    Intact,
    /// A write or erase had been cut short, or a page could not be read. It was finished, undone or erased, and
    /// everything that could be read is still there.
    Repaired,
    /// With something else in it than a store, or one beyond repair. It was erased, and the store is empty.
    Formatted,
}

/// Settings, flags and documents on a flash, which is used from its start to its end.
///
/// Itself about 1 KiB; the rest is in [`StoreBuffers`].
pub struct Store<'m, F: MultiwriteNorFlash> {
    /// Nothing if the flash is not suitable.
    map: Option<Map<F>>,
    capacity: usize,
    memory: &'m mut StoreBuffers,
    /// RAM and flash agree: no operation was dropped or failed half-way.
    settled: bool,
    /// Entries of this size and more did not fit, and nothing has been deleted since. Finding that out again
    /// would wear the flash.
    full_from: usize,
}

impl<'m, F: MultiwriteNorFlash> Store<'m, F> {
    /// Pages that can be used: the first is the journal.
    const FIRST_PAGE: u32 = 1;

    /// The largest item that fits into a page: without its marks at both ends and the item's own head.
    const ITEM: usize = {
        let word = if F::WRITE_SIZE > F::READ_SIZE { F::WRITE_SIZE } else { F::READ_SIZE };
        F::ERASE_SIZE.saturating_sub(2 * word + Map::<F>::item_overhead_size() as usize)
    };

    /// A store on `flash`, which is not looked at yet.
    pub fn new(flash: F, memory: &'m mut StoreBuffers) -> Self {
        let capacity = flash.capacity();
        let map = if Self::suits() { new_map(Journaled::new(flash), capacity) } else { None };
        Self { map, capacity, memory, settled: false, full_from: usize::MAX }
    }

    /// Reads the flash, and repairs what is damaged.
    ///
    /// An error comes from the flash itself and may be temporary: every operation opens the store if it is not open. Calling
    /// this is optional; it returns how the flash was found.
    pub async fn open(&mut self) -> Result<Opened, StoreError> {
        self.load().await
    }

    /// How many entries there are, and how many bytes of flash.
    pub fn size(&self) -> (usize, usize) {
        (self.memory.names.iter().count(), self.capacity)
    }

    /// The text of an entry, in the store's own buffer.
    pub async fn look(&mut self, key: Key<'_>) -> Result<Option<&str>, StoreError> {
        let (map, memory) = self.ready().await?;
        // Only now, so that no future has to hold it.
        let Some(record) = memory.names.find(key.encode()?.bytes()) else { return Ok(None) };
        read(map, &mut memory.buffer, record).await.map(Some)
    }

    /// The text of an entry, in `out`.
    pub async fn get<'b>(&mut self, key: Key<'_>, out: &'b mut [u8]) -> Result<Option<&'b str>, StoreError> {
        let Some(text) = self.look(key).await? else { return Ok(None) };
        let out = out.get_mut(..text.len()).ok_or(StoreError::Buffer(text.len()))?;
        out.copy_from_slice(text.as_bytes());
        core::str::from_utf8(out).map(Some).map_err(|_| StoreError::Corrupt)
    }

    /// Whether there is an entry of that name. `false` if the flash cannot be read.
    pub async fn contains(&mut self, key: Key<'_>) -> bool {
        let Ok((_, memory)) = self.ready().await else { return false };
        key.encode().is_ok_and(|key| memory.names.find(key.bytes()).is_some())
    }

    /// Gives an entry a text, whether there is one of that name or not. The text of a flag is a JSON value.
    pub async fn set(&mut self, key: Key<'_>, text: &str) -> Result<(), StoreError> {
        let encoded = key.encode()?;
        let size = key::OVERHEAD + encoded.bytes().len() + text.len();
        let (part, limit) = key.value();
        let limit = limit.min(Self::ITEM.saturating_sub(size - text.len()));
        if text.len() > limit {
            return Err(StoreError::TooLarge { part, length: text.len(), limit });
        }
        if let Key::Flag(..) = key {
            json::Value::parse(text.as_bytes()).map_err(StoreError::NotJson)?;
        }
        let (map, memory) = self.ready().await?;
        let known = memory.names.find(encoded.bytes());
        let id = match known {
            Some(record) => match read(map, &mut memory.buffer, record).await {
                Ok(same) if same == text => return Ok(()),
                Ok(_) | Err(StoreError::Corrupt) => record.id,
                Err(error) => return Err(error),
            },
            None if !memory.names.has_room(encoded.bytes()) => return Err(StoreError::Full(Capacity::Names)),
            None => memory.names.free_id().ok_or(StoreError::Full(Capacity::Entries))?,
        };
        let replaces = known.is_some();
        self.write(id, &encoded, text, size, replaces).await
    }

    async fn write(
        &mut self,
        id: Id,
        key: &Encoded,
        text: &str,
        size: usize,
        replaces: bool,
    ) -> Result<(), StoreError> {
        if size >= self.full_from {
            return Err(StoreError::Full(Capacity::Flash));
        }
        let Self { map: Some(map), memory, settled, full_from, .. } = self else {
            return Err(StoreError::Unsuitable(self.capacity));
        };
        let record = NameRecord { id, key: key.bytes() };
        *settled = false;
        // What cannot be read back is written again, further on.
        for _ in 0..limits::FLASH_ATTEMPTS {
            let item = Item { key: record.key, text };
            let written = map.store_item(&mut memory.buffer.0, &id, &item).await;
            if let Err(MapError::FullStorage) = written {
                *settled = true;
                *full_from = size;
            }
            written.map_err(map_error)?;
            match read(map, &mut memory.buffer, record).await {
                Ok(kept) if kept == text => {
                    memory.names.insert(record);
                    *settled = true;
                    if replaces {
                        *full_from = usize::MAX;
                    }
                    return Ok(());
                }
                Ok(_) | Err(StoreError::Corrupt) => {}
                Err(error) => return Err(error),
            }
        }
        Err(StoreError::Worn)
    }

    /// Deletes an entry. `false` if there is none of that name. Works in a full store, too.
    pub async fn delete(&mut self, key: Key<'_>) -> Result<bool, StoreError> {
        self.ready().await?;
        let key = key.encode()?;
        let Self { map: Some(map), memory, settled, full_from, .. } = self else {
            return Err(StoreError::Unsuitable(self.capacity));
        };
        let Some(id) = memory.names.find(key.bytes()).map(|record| record.id) else { return Ok(false) };
        *settled = false;
        map.remove_item(&mut memory.buffer.0, &id).await.map_err(map_error)?;
        memory.names.remove(id);
        *settled = true;
        *full_from = usize::MAX;
        Ok(true)
    }

    /// Deletes everything, and leaves the flash erased. Power lost after this has begun, or its future dropped,
    /// and the rest is erased before anything is read again.
    pub async fn erase_all(&mut self) -> Result<(), StoreError> {
        self.settled = false;
        let map = self.map.as_mut().ok_or(StoreError::Unsuitable(self.capacity))?;
        map.flash().settle().await.map_err(StoreError::flash)?;
        map.erase_all().await.map_err(map_error)?;
        self.load().await.map(drop)
    }

    /// The names in a section, in order, each once.
    pub async fn names<'a>(
        &'a mut self,
        section: Section<'a>,
    ) -> Result<impl Iterator<Item = Key<'a>>, StoreError> {
        section.check()?;
        let (_, memory) = self.ready().await?;
        Ok(memory.names.section(section).map(|(_, key)| key))
    }

    /// Calls `visit` with each entry of a section and its text, in order, until it breaks. Damaged entries are skipped.
    pub async fn each(
        &mut self,
        section: Section<'_>,
        visit: &mut dyn FnMut(Key<'_>, &str) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        section.check()?;
        let (map, memory) = self.ready().await?;
        for (record, key) in memory.names.section(section) {
            let Some(text) = readable(read(map, &mut memory.buffer, record).await)? else { continue };
            if visit(key, text).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Gives the flash back.
    pub fn close(self) -> Option<F> {
        self.map.map(|map| map.destroy().0.flash)
    }

    const fn suits() -> bool {
        journal::fits::<F>() && F::ERASE_SIZE <= limits::FLASH_PAGE && Self::ITEM > key::OVERHEAD + key::KEY
    }

    /// Opens the store if it is not open.
    async fn ready(&mut self) -> Result<(&mut Map<F>, &mut StoreBuffers), StoreError> {
        let is_whole = self.map.as_mut().is_none_or(|map| map.flash().is_settled());
        if !self.settled || !is_whole {
            self.load().await?;
        }
        let map = self.map.as_mut().ok_or(StoreError::Unsuitable(self.capacity))?;
        Ok((map, self.memory))
    }

    async fn load(&mut self) -> Result<Opened, StoreError> {
        let Self { map, capacity, memory, .. } = self;
        self.settled = false;
        // The map's cache may be stale.
        if let Some(doubtful) = map.take() {
            *map = new_map(doubtful.destroy().0, *capacity);
        }
        let map = map.as_mut().ok_or(StoreError::Unsuitable(*capacity))?;
        let end = map.flash_range().end / F::ERASE_SIZE as u32;
        map.flash().settle().await.map_err(StoreError::flash)?;
        let pages = pages::tidy(map.flash(), Self::FIRST_PAGE, end).await.map_err(StoreError::flash)?;
        let journal = map.flash().take_repairs();
        let opened = match list(map, memory).await {
            Ok(()) if !pages.kept && (pages.lost || journal.void && pages.repaired) => Opened::Formatted,
            Ok(()) if journal.void || journal.pending || pages.repaired => Opened::Repaired,
            Ok(()) if !pages.kept => Opened::Fresh,
            Ok(()) => Opened::Intact,
            Err(MapError::Storage { value, .. }) => return Err(StoreError::flash(value)),
            Err(_) => {
                map.erase_all().await.map_err(map_error)?;
                memory.names.clear();
                Opened::Formatted
            }
        };
        match opened {
            Opened::Fresh | Opened::Intact => {}
            Opened::Repaired => info!("store: recovered from an interrupted write"),
            Opened::Formatted => warn!("store: the flash could not be read; it is formatted and empty now"),
        }
        self.full_from = usize::MAX;
        self.settled = true;
        Ok(opened)
    }
}

fn new_map<F: MultiwriteNorFlash>(flash: Journaled<F>, capacity: usize) -> Option<Map<F>> {
    let page = F::ERASE_SIZE as u32;
    let end = u32::try_from(capacity).ok()? / page * page;
    let first = Store::<F>::FIRST_PAGE * page;
    // The map wants two pages for itself, and counts from the start.
    let config = if end >= first + 2 * page { MapConfig::try_new(first..end).ok()? } else { return None };
    Some(MapStorage::new(flash, config, Cache::new(Uncached, Uncached, ArrayKeyPointers::new())))
}

/// Reads the names from flash. Items come oldest first, so the last of an id is the valid one.
async fn list<F: MultiwriteNorFlash>(
    map: &mut Map<F>,
    memory: &mut StoreBuffers,
) -> Result<(), MapError<Fault<F::Error>>> {
    let StoreBuffers { buffer: Buffer(buffer), names } = memory;
    names.clear();
    let mut items = map.fetch_all_items(buffer).await?;
    while let Some((id, bytes)) = items.next::<&[u8]>(buffer).await? {
        names.take(id);
        // What has no room or is malformed was written by another version. It keeps its id and is left alone.
        if !Item::read(bytes).is_some_and(|item| names.insert(NameRecord { id, key: item.key })) {
            names.forget(id);
        }
    }
    Ok(())
}

/// The text of the entry at `record`, in `buffer`.
async fn read<'b, F: MultiwriteNorFlash>(
    map: &mut Map<F>,
    buffer: &'b mut Buffer,
    record: NameRecord<'_>,
) -> Result<&'b str, StoreError> {
    let bytes = map.fetch_item::<&[u8]>(&mut buffer.0, &record.id).await.map_err(map_error)?;
    match bytes.and_then(Item::read) {
        Some(item) if item.key == record.key => Ok(item.text),
        _ => Err(StoreError::Corrupt),
    }
}

/// `None` for a damaged entry.
fn readable(text: Result<&str, StoreError>) -> Result<Option<&str>, StoreError> {
    match text {
        Ok(text) => Ok(Some(text)),
        Err(StoreError::Corrupt) => {
            warn!("store: an entry is damaged and left out");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn map_error<E: NorFlashError>(error: MapError<E>) -> StoreError {
    match error {
        MapError::Storage { value, .. } => StoreError::flash(value),
        MapError::FullStorage => StoreError::Full(Capacity::Flash),
        _ => StoreError::Corrupt,
    }
}

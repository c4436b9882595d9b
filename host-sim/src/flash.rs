//! The hub's flash on a desktop: a file, or memory.
//!
//! Both are like the flash of an ESP32: written in words of 4 bytes, which can only clear bits, and erased in pages
//! of 4096. Not one of the crates for this: a file is for one hub alone, and a write clears bits only, as on the chip.
//! Neither ever fails; the one that loses power, for tests, is in `tests/flash`.

use std::fmt;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Cursor, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use embedded_storage_async::nor_flash::{
    ErrorType, MultiwriteNorFlash, NorFlash, NorFlashError, NorFlashErrorKind, ReadNorFlash,
};

use crate::private;

/// What is erased at once.
pub const PAGE: usize = 4096;

/// What is read and written at once.
pub const WORD: usize = 4;

/// The size of the flash that a board sets aside for the store.
pub const SIZE: usize = 16 * PAGE;

/// A flash that keeps its bytes in `S`.
#[derive(Clone, Debug)]
pub struct Flash<S> {
    bytes: S,
    size: usize,
}

/// A flash in a file. Whatever an operation has done is in the file when it returns, so that a process that is
/// killed loses nothing.
///
/// The file is locked: two hubs cannot share one. Only its owner can read it, since passwords and the PIN are in it: a file
/// that others can read is [made private](private::restrict) when it is opened.
pub type FileFlash = Flash<File>;

/// A flash in memory, erased at first.
pub type MemoryFlash = Flash<Cursor<Vec<u8>>>;

/// Why a file cannot be a flash.
#[derive(Debug)]
pub enum OpenError {
    /// The file cannot be read or made.
    Io(PathBuf, io::Error),
    /// The file has another size: it is not a flash, or one of another board.
    WrongSize {
        /// Which file.
        path: PathBuf,
        /// How many bytes it has.
        found: u64,
        /// How many it should have.
        expected: usize,
    },
    /// The file is the flash of a hub that is running.
    InUse(PathBuf),
    /// No flash has this size: it is not one or more pages.
    Size(usize),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::WrongSize { path, found, expected } => write!(
                f,
                "{} has {found} bytes, but the hub's flash has {expected}: give another file, or delete this one",
                path.display()
            ),
            Self::InUse(path) => write!(f, "{} is in use by another hub", path.display()),
            Self::Size(size) => write!(f, "{size} bytes are not a number of pages of {PAGE}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl FileFlash {
    /// Opens the flash of `size` bytes in the file at `path`. If there is no such file, it is made, erased.
    pub fn open(path: impl AsRef<Path>, size: usize) -> Result<Self, OpenError> {
        let path = path.as_ref();
        let failed = |error| OpenError::Io(path.into(), error);
        if size == 0 || !size.is_multiple_of(PAGE) {
            return Err(OpenError::Size(size));
        }
        if !path.try_exists().map_err(failed)? {
            make(path, size).map_err(failed)?;
        }
        let bytes = OpenOptions::new().read(true).write(true).open(path).map_err(failed)?;
        match bytes.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::InUse(path.into())),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        private::restrict(&bytes, path);
        let found = bytes.metadata().map_err(failed)?.len();
        if found != size as u64 {
            return Err(OpenError::WrongSize { path: path.into(), found, expected: size });
        }
        Ok(Self { bytes, size })
    }
}

/// Makes a file all at once: under another name first, so that nobody finds half of one. If somebody else makes it
/// at the same time, theirs stays.
fn make(path: &Path, size: usize) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}", std::process::id()));
    let new = path.with_file_name(name);
    private::create(&new)?.write_all(&vec![0xFF; size])?;
    match fs::hard_link(&new, path) {
        // Not every file system has links.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => fs::rename(&new, path),
        _ => fs::remove_file(&new),
    }
}

/// A flash of the usual size.
impl Default for MemoryFlash {
    fn default() -> Self {
        Self { bytes: Cursor::new(vec![0xFF; SIZE]), size: SIZE }
    }
}

/// Why an operation failed.
#[derive(Debug)]
pub enum FlashError {
    /// The caller's offset or length is not a multiple of what it has to be.
    NotAligned,
    /// The caller is past the end.
    OutOfBounds,
    /// The file.
    Io(io::Error),
}

impl NorFlashError for FlashError {
    fn kind(&self) -> NorFlashErrorKind {
        match self {
            Self::NotAligned => NorFlashErrorKind::NotAligned,
            Self::OutOfBounds => NorFlashErrorKind::OutOfBounds,
            Self::Io(_) => NorFlashErrorKind::Other,
        }
    }
}

impl From<io::Error> for FlashError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl<S: Seek> Flash<S> {
    /// Goes to `offset` for an access of `length` bytes, both of which are multiples of `unit`.
    fn seek(&mut self, offset: u32, length: usize, unit: usize) -> Result<&mut S, FlashError> {
        let start = offset as usize;
        if !start.is_multiple_of(unit) || !length.is_multiple_of(unit) {
            return Err(FlashError::NotAligned);
        }
        if start.checked_add(length).is_none_or(|end| end > self.size) {
            return Err(FlashError::OutOfBounds);
        }
        self.bytes.seek(SeekFrom::Start(offset.into()))?;
        Ok(&mut self.bytes)
    }
}

impl<S> ErrorType for Flash<S> {
    type Error = FlashError;
}

impl<S: Read + Seek> ReadNorFlash for Flash<S> {
    const READ_SIZE: usize = WORD;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), FlashError> {
        Ok(self.seek(offset, bytes.len(), WORD)?.read_exact(bytes)?)
    }

    fn capacity(&self) -> usize {
        self.size
    }
}

impl<S: Read + Write + Seek> NorFlash for Flash<S> {
    const WRITE_SIZE: usize = WORD;
    const ERASE_SIZE: usize = PAGE;

    async fn erase(&mut self, from: u32, to: u32) -> Result<(), FlashError> {
        let length = to.checked_sub(from).ok_or(FlashError::OutOfBounds)? as usize;
        Ok(self.seek(from, length, PAGE)?.write_all(&vec![0xFF; length])?)
    }

    /// Only clears bits.
    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), FlashError> {
        let mut cells = vec![0; bytes.len()];
        self.read(offset, &mut cells).await?;
        cells.iter_mut().zip(bytes).for_each(|(cell, byte)| *cell &= byte);
        Ok(self.seek(offset, bytes.len(), WORD)?.write_all(&cells)?)
    }
}

impl<S: Read + Write + Seek> MultiwriteNorFlash for Flash<S> {}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::fs::PermissionsExt as _;
    use std::process::{Command, Stdio};

    use hub_core::store::{Key, Opened, Store, StoreBuffers};
    use support::Folder;

    use super::*;

    fn file(folder: &Folder) -> PathBuf {
        folder.0.join("flash")
    }

    /// What a NOR flash does, and what it refuses.
    async fn behaves(flash: &mut (impl MultiwriteNorFlash<Error = FlashError> + ReadNorFlash)) {
        let mut word = [0; 4];
        flash.read(8, &mut word).await.unwrap();
        assert_eq!(word, [0xFF; 4], "erased at first");
        flash.write(8, &[0xF0, 0x0F, 0xFF, 0x00]).await.unwrap();
        flash.write(8, &[0x3C, 0xFF, 0xFF, 0xFF]).await.unwrap();
        flash.read(8, &mut word).await.unwrap();
        assert_eq!(word, [0x30, 0x0F, 0xFF, 0x00], "bits are cleared, never set");
        flash.write(4096, &[0; 4]).await.unwrap();
        flash.erase(0, 4096).await.unwrap();
        flash.read(8, &mut word).await.unwrap();
        assert_eq!(word, [0xFF; 4]);
        flash.read(4096, &mut word).await.unwrap();
        assert_eq!(word, [0; 4], "its own page alone");

        let end = flash.capacity() as u32;
        let kind = |result: Result<(), FlashError>| result.unwrap_err().kind();
        assert_eq!(kind(flash.read(2, &mut word).await), NorFlashErrorKind::NotAligned);
        assert_eq!(kind(flash.read(end, &mut word).await), NorFlashErrorKind::OutOfBounds);
        assert_eq!(kind(flash.write(0, &[0; 3]).await), NorFlashErrorKind::NotAligned);
        assert_eq!(kind(flash.write(end - 4, &[0; 8]).await), NorFlashErrorKind::OutOfBounds);
        assert_eq!(kind(flash.erase(0, 4).await), NorFlashErrorKind::NotAligned);
        assert_eq!(kind(flash.erase(4096, 0).await), NorFlashErrorKind::OutOfBounds);
        assert_eq!(kind(flash.erase(0, end + 4096).await), NorFlashErrorKind::OutOfBounds);
    }

    #[tokio::test]
    async fn both_are_like_flash() {
        behaves(&mut MemoryFlash::default()).await;
        let folder = Folder::new("hearthwave-behaves");
        behaves(&mut FileFlash::open(file(&folder), 2 * PAGE).unwrap()).await;
        let names: Vec<_> = fs::read_dir(&folder.0).unwrap().collect();
        assert_eq!(names.len(), 1, "nothing else is left behind: {names:?}");
    }

    #[test]
    fn what_is_no_flash_is_explained() {
        let folder = Folder::new("hearthwave-explained");
        let said = |path: &Path, size| FileFlash::open(path, size).unwrap_err().to_string();
        fs::write(file(&folder), "a letter").unwrap();
        assert!(said(&file(&folder), SIZE).contains("has 8 bytes, but the hub's flash has 65536"));
        assert_eq!(fs::read(file(&folder)).unwrap(), b"a letter", "and left as it is");
        assert!(said(&folder.0.join("no/flash"), SIZE).contains("no/flash: "));
        assert_eq!(said(&folder.0.join("new"), 5000), "5000 bytes are not a number of pages of 4096");
        let new = folder.0.join("new");
        let _first = FileFlash::open(&new, SIZE).unwrap();
        assert!(said(&new, SIZE).ends_with("is in use by another hub"));
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn only_its_owner_can_read_a_flash() {
        let folder = Folder::new("hearthwave-private");
        drop(FileFlash::open(file(&folder), SIZE).unwrap());
        assert_eq!(mode(&file(&folder)), 0o600);
        // One of an earlier version.
        fs::set_permissions(file(&folder), fs::Permissions::from_mode(0o644)).unwrap();
        drop(FileFlash::open(file(&folder), SIZE).unwrap());
        assert_eq!(mode(&file(&folder)), 0o600);
    }

    const COUNTER: Key<'static> = Key::Setting("counter");

    /// Not a test by itself: the process that the next one kills.
    #[tokio::test]
    async fn a_process_that_counts() {
        let Some(path) = std::env::var_os("HEARTHWAVE_TEST_FLASH") else { return };
        let mut memory = Box::new(StoreBuffers::new());
        let mut store = Store::new(FileFlash::open(path, 4 * PAGE).unwrap(), &mut memory);
        let mut count = read(&mut store).await;
        loop {
            count += 1;
            // Of changing length, and large enough to need an erase every few times.
            let padding = "x".repeat(count as usize * 37 % 900);
            store.set(COUNTER, &format!("{count} {padding}")).await.unwrap();
            writeln!(io::stderr(), "count {count}").unwrap();
        }
    }

    async fn read(store: &mut Store<'_, FileFlash>) -> u32 {
        let mut text = [0; 1000];
        match store.get(COUNTER, &mut text).await.unwrap() {
            Some(text) => text.split(' ').next().unwrap().parse().unwrap(),
            None => 0,
        }
    }

    #[tokio::test]
    async fn a_process_is_killed_and_the_next_goes_on() {
        let folder = Folder::new("hearthwave-killed");
        let mut memory = Box::new(StoreBuffers::new());
        let mut last = 0;
        for round in 0..12 {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "flash::tests::a_process_that_counts", "--nocapture"])
                .env("HEARTHWAVE_TEST_FLASH", file(&folder))
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
            let mut said = last;
            for line in lines.by_ref().take(5 + 13 * round) {
                said = line.unwrap().strip_prefix("count ").expect("it counts").parse().unwrap();
            }
            child.kill().unwrap();
            child.wait().unwrap();
            // It may have said more before it ended.
            for line in lines.map_while(Result::ok) {
                said = line.strip_prefix("count ").and_then(|count| count.parse().ok()).unwrap_or(said);
            }
            let mut store = Store::new(FileFlash::open(file(&folder), 4 * PAGE).unwrap(), &mut memory);
            assert!(matches!(store.open().await, Ok(Opened::Intact | Opened::Repaired)));
            last = read(&mut store).await;
            assert!(last == said || last == said + 1, "it said {said}, and {last} is kept");
        }
        assert!(last > 800, "{last}");
    }
}

//! Files with secrets in them, which only their owner may read.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Creates a file that only its owner can read and write. Fails if it exists.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Takes the permissions of group and others from the open `file` at `path`. If that is not possible, because the file
/// belongs to somebody else or its file system has no permissions, the log says so.
pub fn restrict(file: &File, path: &Path) {
    let restricted = file.metadata().and_then(|metadata| {
        let mode = metadata.permissions().mode();
        let is_open = mode & 0o077 != 0;
        if is_open {
            file.set_permissions(Permissions::from_mode(mode & 0o700))?;
        }
        Ok(is_open)
    });
    let path = path.display();
    match restricted {
        Ok(false) => {}
        Ok(true) => log::warn!("sim: {path} could be read by others; only its owner can read it now"),
        Err(error) => log::warn!("sim: {path} can be read by others, and that cannot be changed: {error}"),
    }
}

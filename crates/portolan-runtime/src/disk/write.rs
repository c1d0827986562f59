//! Atomic writes, and private folders.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

use super::folder_of;

/// A temporary file beside another one, to replace it. It is readable by its owner alone from the start, and removed if
/// it is not put in place.
pub struct Fresh(NamedTempFile);

impl Fresh {
    /// Creates a file with these bytes, in the folder of `path`.
    pub fn beside(path: &Path, bytes: &[u8]) -> io::Result<Fresh> {
        let mut file = NamedTempFile::new_in(folder_of(path))?;
        file.write_all(bytes)?;
        Ok(Fresh(file))
    }

    /// Waits until the bytes are on the disk.
    pub fn synced(self) -> io::Result<Fresh> {
        self.0.as_file().sync_all()?;
        Ok(self)
    }

    /// Sets the permissions.
    pub(crate) fn with(self, permissions: Permissions) -> io::Result<Fresh> {
        self.0.as_file().set_permissions(permissions)?;
        Ok(self)
    }

    /// Moves it to `path`, replacing any existing file.
    pub fn replace(self, path: &Path) -> io::Result<()> {
        self.0.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Moves it to `path`. Fails if a file exists there.
    pub(crate) fn place(self, path: &Path) -> io::Result<()> {
        self.0.persist_noclobber(path).map(drop).map_err(|error| error.error)
    }

    /// Swaps it with the file at `path` and removes the old one, or else replaces it. Some file systems flush a file to
    /// the disk at once when it is renamed over another.
    pub fn exchange(self, path: &Path) -> io::Result<()> {
        if swap(self.0.path(), path) { Ok(()) } else { self.replace(path) }
    }
}

/// Swaps two files. Returns false if the file system cannot, or one of them does not exist.
#[cfg(any(target_os = "linux", target_os = "macos"))]
pub fn swap(one: &Path, other: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};

    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
pub fn swap(_one: &Path, _other: &Path) -> bool {
    false
}

/// Writes a file atomically, also with respect to a power failure. Creates its folder if it is missing.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    Fresh::beside(path, bytes)?.synced()?.replace(path)?;
    sync_folder(folder)
}

/// Creates a folder and its missing parents, for the owner alone.
pub fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Waits until the creations, renames and removals in a folder are on the disk.
#[cfg(unix)]
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// On other systems a folder cannot be opened, and its entries are durable by themselves.
#[cfg(not(unix))]
pub fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

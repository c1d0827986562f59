//! Files that are there as a whole or not at all, and folders that are their owner's alone.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// A file that is written beside another one, under a name of its own, to take its place. It is its owner's alone from
/// the first moment, and gone where it was not put in place.
pub(crate) struct Fresh(NamedTempFile);

impl Fresh {
    /// A file with these bytes, in the folder of `path`.
    pub(crate) fn beside(path: &Path, bytes: &[u8]) -> io::Result<Fresh> {
        let mut file = NamedTempFile::new_in(folder_of(path))?;
        file.write_all(bytes)?;
        Ok(Fresh(file))
    }

    /// Waits until its bytes are on the disk.
    pub(crate) fn synced(self) -> io::Result<Fresh> {
        self.0.as_file().sync_all()?;
        Ok(self)
    }

    /// Gives it these rights.
    pub(crate) fn with(self, permissions: Permissions) -> io::Result<Fresh> {
        self.0.as_file().set_permissions(permissions)?;
        Ok(self)
    }

    /// Puts it in place, over what is there.
    pub(crate) fn replace(self, path: &Path) -> io::Result<()> {
        self.0.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Puts it in place, where nothing is.
    pub(crate) fn place(self, path: &Path) -> io::Result<()> {
        self.0.persist_noclobber(path).map(drop).map_err(|error| error.error)
    }

    /// Has it and what is in its place change their names, and throws that away; or else replaces it. A file that is
    /// renamed over another is sent to the disk by some file systems there and then.
    pub(crate) fn exchange(self, path: &Path) -> io::Result<()> {
        if exchange(self.0.path(), path) { Ok(()) } else { self.replace(path) }
    }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(one: &Path, other: &Path) -> bool {
    use rustix::fs::{CWD, RenameFlags, renameat_with};

    renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE).is_ok()
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_one: &Path, _other: &Path) -> bool {
    false
}

/// Writes a file as a whole or not at all, also through a power cut. Its folder is made where it is missing.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    Fresh::beside(path, bytes)?.synced()?.replace(path)?;
    sync_folder(folder)
}

/// Makes a folder, with everything around it that is missing, for its owner alone.
pub(crate) fn private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Waits until what was made, renamed and removed in a folder is on the disk.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

/// Elsewhere a folder cannot be opened, and its entries last by themselves.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

//! Replaces a file as a whole: writes a temporary file beside it, then renames.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use super::{MAX_BYTES, Task, TaskFile, TaskFileError};
use crate::disk::swap;

/// The name of the temporary file. One name suffices, because only the holder of the folder's lock uses it. The next
/// write removes what a crash leaves behind.
const TEMPORARY: &str = ".portolan.tmp";

/// How much of a file is compared: more than a text that was read before may have.
const MAX_KNOWN_BYTES: u64 = 64 << 20;

/// The durability of a write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteDurability {
    /// It survives a crash of any process. After a power cut the file system has the old file or the new one.
    #[default]
    Rename,
    /// It survives a power cut as well: the write waits for the disk.
    Fsync,
}

/// Replaces `file` with `task`, with the permissions of `like`, and returns the metadata of the new file.
pub(super) fn replace(
    file: &TaskFile,
    task: &Task,
    like: Option<&Metadata>,
    durability: WriteDurability,
) -> Result<Metadata, TaskFileError> {
    let failed = |error| TaskFileError::unwritable(&file.given, error);
    let bytes = serde_json::to_vec_pretty(task).map_err(|error| failed(error.into()))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(TaskFileError::too_large(&file.given));
    }
    exchange(file.folder(), &file.target, &bytes, like, durability).map_err(failed)
}

/// Replaces the file at `target` in `folder` with these bytes, with the permissions of `like`. The caller holds the
/// folder's lock.
pub(crate) fn exchange(
    folder: &Path,
    target: &Path,
    bytes: &[u8],
    like: Option<&Metadata>,
    durability: WriteDurability,
) -> io::Result<Metadata> {
    let temporary = folder.join(TEMPORARY);
    let written = create(&temporary, like)
        .and_then(|fresh| fill(fresh, bytes, like, durability))
        .and_then(|meta| fs::rename(&temporary, target).map(|()| meta));
    let meta = written.inspect_err(|_| {
        // Best effort: the next write removes it too.
        let _ = fs::remove_file(&temporary);
    })?;
    if durability == WriteDurability::Fsync {
        // The new file is in place even if this fails: only a power cut could still undo it.
        let _ = sync_folder(folder);
    }
    Ok(meta)
}

/// Replaces the file at `target` if it has exactly the bytes `known` at that moment. Returns false if it does not, and
/// leaves it as it is. The caller holds the folder's lock, which other programs do not know.
pub(crate) fn exchange_known(
    folder: &Path,
    target: &Path,
    (known, bytes): (&[u8], &[u8]),
    like: Option<&Metadata>,
    durability: WriteDurability,
) -> io::Result<bool> {
    let temporary = folder.join(TEMPORARY);
    let written = create(&temporary, like)
        .and_then(|fresh| fill(fresh, bytes, like, durability))
        .and_then(|_| swap_known(&temporary, target, (known, bytes)));
    // Best effort: the next write removes it too.
    let _ = fs::remove_file(&temporary);
    if durability == WriteDurability::Fsync && matches!(written, Ok(true)) {
        let _ = sync_folder(folder);
    }
    written
}

/// The most versions of another writer that are put back, each of which came while the one before was put back. A writer
/// that never pauses must not hold the caller for ever.
const MOST_PUT_BACK: u32 = 1_000;

/// Swaps a file with `target`, and looks afterwards at what was there: a comparison before would miss a writer that
/// comes between. Where files cannot be swapped, it is compared before.
fn swap_known(ours: &Path, target: &Path, (known, bytes): (&[u8], &[u8])) -> io::Result<bool> {
    if !swap(ours, target) {
        return if has(target, known)? { fs::rename(ours, target).map(|()| true) } else { Ok(false) };
    }
    let taken = bytes_of(ours)?;
    if taken == known {
        return Ok(true);
    }
    put_back(ours, target, (taken, bytes.to_vec()), MOST_PUT_BACK).map(|()| false)
}

/// Puts back the `taken` version of another writer that is at `ours`, in exchange for what was `placed` at `target`.
pub(super) fn put_back(
    ours: &Path,
    target: &Path,
    (mut taken, mut placed): (Vec<u8>, Vec<u8>),
    most: u32,
) -> io::Result<()> {
    for _nth in 0..most {
        if !swap(ours, target) {
            return fs::rename(ours, target);
        }
        let now = bytes_of(ours)?;
        if now == placed {
            return Ok(());
        }
        // It is newer than what was put back just now.
        placed = std::mem::replace(&mut taken, now);
    }
    // What was taken last is newer than what is there now.
    fs::rename(ours, target)?;
    Err(io::Error::new(ErrorKind::ResourceBusy, "another program replaces it again and again"))
}

fn bytes_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_KNOWN_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn has(path: &Path, known: &[u8]) -> io::Result<bool> {
    match bytes_of(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        read => Ok(read? == known),
    }
}

/// Writes these bytes if nothing exists at `target`. Returns false if something does, even if it was just created. The
/// caller holds the folder's lock.
pub(crate) fn write_new(folder: &Path, target: &Path, bytes: &[u8], durability: WriteDurability) -> io::Result<bool> {
    let temporary = folder.join(TEMPORARY);
    let written = create(&temporary, None)
        .and_then(|fresh| fill(fresh, bytes, None, durability))
        .and_then(|_| without_replacing(&temporary, target));
    // Best effort: the next write removes it too.
    let _ = fs::remove_file(&temporary);
    if durability == WriteDurability::Fsync {
        let _ = sync_folder(folder);
    }
    written
}

/// Links a file to `target`, because a rename would replace an existing file. Without hard links, it is renamed.
fn without_replacing(file: &Path, target: &Path) -> io::Result<bool> {
    match fs::hard_link(file, target) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(_) if target.symlink_metadata().is_ok() => Ok(false),
        Err(_) => fs::rename(file, target).map(|()| true),
    }
}

/// Creates the temporary file anew: one that was left behind may be a planted link.
fn create(path: &Path, like: Option<&Metadata>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if let Some(like) = like {
        use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
        // The new file must never be more accessible than the old one.
        options.mode(like.mode() & 0o777);
    }
    match options.open(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            options.open(path)
        }
        other => other,
    }
}

pub(super) fn fill(
    mut fresh: File,
    bytes: &[u8],
    like: Option<&Metadata>,
    durability: WriteDurability,
) -> io::Result<Metadata> {
    if let Some(like) = like {
        take_over(&fresh, like)?;
    }
    fresh.write_all(bytes)?;
    if durability == WriteDurability::Fsync {
        fresh.sync_all()?;
    }
    fresh.metadata()
}

/// Gives the new file the permissions and, if this process may, the owner of the old one.
#[cfg(unix)]
fn take_over(fresh: &File, like: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    let own = rustix::process::geteuid().as_raw() == like.uid() && rustix::process::getegid().as_raw() == like.gid();
    if !own {
        // Before the mode, because a change of owner may clear bits of it.
        let _not_permitted = fchown(fresh, Some(like.uid()), Some(like.gid()));
    }
    fresh.set_permissions(like.permissions())
}

#[cfg(not(unix))]
fn take_over(_fresh: &File, _like: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Waits until the names in a folder are on the disk.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

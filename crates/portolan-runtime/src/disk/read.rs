//! Bounded reads. All functions but `beginning` read only regular files, and do not wait for the writer of a pipe.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use portolan_core::source::MAX_SOURCE_BYTES;

use crate::error::{ServiceError, plain};

/// How much larger the buffer is than the file. With spare room, one call reads the file and one finds its end.
const SPARE: usize = 64;

/// Opens a file for reading. Never blocks on a pipe without a writer.
#[cfg(unix)]
pub fn open(path: &Path) -> io::Result<File> {
    opened(path, rustix::fs::OFlags::NONBLOCK)
}

/// Opens a file for reading, through no symlink. Never blocks, even if the file was replaced by a pipe.
#[cfg(unix)]
pub fn open_itself(path: &Path) -> io::Result<File> {
    opened(path, rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK)
}

#[cfg(unix)]
fn opened(path: &Path, flags: rustix::fs::OFlags) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(not(unix))]
pub fn open_itself(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

/// Returns the text of a regular file of at most `max` bytes.
pub fn text(path: &Path, max: u64) -> Option<String> {
    let meta = fs::metadata(path).ok()?;
    String::from_utf8(whole(path, &meta, max).ok()??).ok()
}

/// Returns the bytes of a regular file of at most `max` bytes that is no symlink. Returns `None` for anything else that
/// exists.
pub fn bytes(path: &Path, max: u64) -> io::Result<Option<Vec<u8>>> {
    whole(path, &fs::symlink_metadata(path)?, max)
}

fn whole(path: &Path, meta: &Metadata, max: u64) -> io::Result<Option<Vec<u8>>> {
    // Checked before opening, because opening a pipe would wait for a writer.
    if !meta.is_file() || meta.len() > max {
        return Ok(None);
    }
    let mut bytes = Vec::with_capacity(usize::try_from(meta.len()).unwrap_or(0).saturating_add(SPARE));
    File::open(path)?.take(max).read_to_end(&mut bytes)?;
    Ok(Some(bytes))
}

/// Returns the first `max` bytes of one of our own files, as text. Returns `None` if it does not exist.
pub fn beginning(path: &Path, max: u64) -> io::Result<Option<String>> {
    let file = match open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a file"));
    }
    let mut text = String::new();
    file.take(max).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Returns the whole text of a definition, including a byte order mark.
pub fn source(path: &Path) -> Result<String, ServiceError> {
    let file = open(path).map_err(|error| unreadable(path, &error))?;
    let is_file = file.metadata().map_err(|error| unreadable(path, &error))?.is_file();
    if !is_file {
        let message = format!("`{}` is not a file", path.display());
        return Err(ServiceError::failed("unreadable", message, "name a JSON or YAML file, or a folder of them"));
    }
    let mut bytes = Vec::new();
    let limit = MAX_SOURCE_BYTES as u64 + 1;
    file.take(limit).read_to_end(&mut bytes).map_err(|error| unreadable(path, &error))?;
    if bytes.len() > MAX_SOURCE_BYTES {
        let message = format!("`{}` has more than {MAX_SOURCE_BYTES} bytes", path.display());
        return Err(ServiceError::failed("too_large", message, "split it: a subflow can be in a file of its own"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("`{}` is not UTF-8: invalid character at byte {at}", path.display());
        ServiceError::failed("not_utf8", message, "save it as UTF-8")
    })
}

/// Returns the error for a definition that cannot be read.
pub fn unreadable(path: &Path, error: &io::Error) -> ServiceError {
    let message = format!("`{}` cannot be read: {}", path.display(), plain(error));
    ServiceError::failed("unreadable", message, "check the path and its permissions")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A program of an agent may have put one there: whoever opens it waits for a writer that never comes.
    #[test]
    fn a_pipe_in_the_place_of_a_file_blocks_nobody() {
        let folder = tempfile::tempdir().expect("a folder");
        let pipe = folder.path().join("flow.json");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
        assert!(beginning(&pipe, 10).is_err());
        assert_eq!(text(&pipe, 10), None);
        assert_eq!(bytes(&pipe, 10).expect("it is looked at"), None);
        assert_eq!(beginning(&folder.path().join("none"), 10).expect("it is looked at"), None);
    }
}

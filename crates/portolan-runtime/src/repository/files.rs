//! Small text files of the project, read up to a maximum size.

use std::io::Read;
use std::path::Path;

use crate::disk;

const MOST_BYTES: u64 = 1024 * 1024;

/// Returns the text of a file inside `top`, cut at the maximum size. Returns `None` if there is no such text file.
pub(super) fn text(path: &Path, top: &Path) -> Option<String> {
    let found = path.canonicalize().ok().filter(|found| found.starts_with(top))?;
    let file = disk::open(&found).ok()?;
    let mut bytes = Vec::new();
    file.metadata().ok()?.is_file().then_some(())?;
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    match std::str::from_utf8(&bytes) {
        Ok(text) => Some(text.to_owned()),
        // The maximum size may have cut a character in two.
        Err(error) if bytes.len() as u64 == MOST_BYTES && error.error_len().is_none() => {
            std::str::from_utf8(&bytes[..error.valid_up_to()]).ok().map(str::to_owned)
        }
        Err(_) => None,
    }
}

//! Files for the user's own programs that must not be readable by other users.

use std::io::Write;
use std::path::Path;

use portolan_runtime::disk::folder_of;

/// Replaces a file by a new one that only this user could ever read.
pub(crate) fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    let mut file = tempfile::Builder::new().prefix(".private").tempfile_in(folder_of(path))?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

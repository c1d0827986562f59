//! Where Portolan keeps what belongs to the user and not to a project, and whether that place is safe.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::TrustError;

/// The user's data folder: `$PORTOLAN_DATA_DIR`, else the system's usual place (`$XDG_DATA_HOME/portolan`, else
/// `~/.local/share/portolan`; `~/Library/Application Support/portolan` on a Mac, `%LOCALAPPDATA%\portolan` on Windows).
pub fn data_dir() -> Result<PathBuf, TrustError> {
    data_dir_from(|name| std::env::var_os(name), std::env::home_dir())
}

pub(crate) fn data_dir_from(
    variable: impl Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
) -> Result<PathBuf, TrustError> {
    let folder = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(dir) = folder("PORTOLAN_DATA_DIR") {
        // A relative one would lie wherever the program was started, most likely in the project.
        return if dir.is_absolute() { Ok(dir) } else { Err(TrustError::relative(&dir)) };
    }
    let absolute = |name| folder(name).filter(|dir| dir.is_absolute());
    let usual = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("XDG_DATA_HOME").or(home.map(|home| home.join("Library/Application Support")))
    } else {
        absolute("XDG_DATA_HOME").or(home.map(|home| home.join(".local/share")))
    };
    usual.filter(|dir| dir.is_absolute()).map(|dir| dir.join("portolan")).ok_or_else(TrustError::no_home)
}

/// The same, by the account that this process runs under: whoever sets variables moves nothing of it.
#[cfg(unix)]
pub(crate) fn data_dir_of_account() -> Option<PathBuf> {
    let account = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten()?;
    data_dir_from(|_| None, Some(account.dir)).ok()
}

/// The system has no list of accounts that tells of homes without the environment.
#[cfg(not(unix))]
pub(crate) fn data_dir_of_account() -> Option<PathBuf> {
    None
}

/// Where `path` leads, every symlink followed as far as something exists.
pub(super) fn resolved(path: &Path) -> io::Result<PathBuf> {
    let path = std::path::absolute(path)?;
    match path.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // A dangling symlink would be followed when the folder is created.
            if fs::symlink_metadata(&path).is_ok() {
                return Err(error);
            }
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => Ok(resolved(parent)?.join(name)),
                _ => Err(error),
            }
        }
        other => other,
    }
}

/// The folder, if it exists, is the user's own, and nobody else may write it.
#[cfg(unix)]
pub(super) fn guarded(folder: &Path) -> Result<(), TrustError> {
    use std::os::unix::fs::MetadataExt;

    let meta = match fs::metadata(folder) {
        Ok(meta) => meta,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(TrustError::unreadable(folder, error)),
    };
    let is_own = meta.uid() == rustix::process::geteuid().as_raw();
    match meta.is_dir() && is_own && meta.mode() & 0o022 == 0 {
        true => Ok(()),
        false => Err(TrustError::unguarded(folder)),
    }
}

/// The user's profile is guarded by its access list.
#[cfg(not(unix))]
pub(super) fn guarded(_folder: &Path) -> Result<(), TrustError> {
    Ok(())
}

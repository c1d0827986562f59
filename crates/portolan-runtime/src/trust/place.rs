//! The user's data folder, which belongs to no project, and the check that it is safe.

use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::TrustError;

/// Returns the user's data folder: `$PORTOLAN_DATA_DIR`, or else the system's default (`$XDG_DATA_HOME/portolan` or
/// `~/.local/share/portolan`; `~/Library/Application Support/portolan` on a Mac, `%LOCALAPPDATA%\portolan` on Windows).
pub fn data_dir() -> Result<PathBuf, TrustError> {
    data_dir_from(|name| std::env::var_os(name), std::env::home_dir())
}

/// Returns the user's data folder for other variables and another home folder than those of this process.
///
/// # Errors
/// `$PORTOLAN_DATA_DIR` is no absolute path, or no folder is known.
pub fn data_dir_from(
    variable: impl Fn(&str) -> Option<OsString>,
    home: Option<PathBuf>,
) -> Result<PathBuf, TrustError> {
    let folder = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(dir) = folder("PORTOLAN_DATA_DIR") {
        // A relative path would depend on the current folder, most likely the project.
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

/// Returns the data folder of the account that this process runs as, independent of the environment.
#[cfg(unix)]
pub fn data_dir_of_account() -> Option<PathBuf> {
    let account = nix::unistd::User::from_uid(nix::unistd::geteuid()).ok().flatten()?;
    data_dir_from(|_| None, Some(account.dir)).ok()
}

/// Without the environment, this system does not report the account's home.
#[cfg(not(unix))]
pub fn data_dir_of_account() -> Option<PathBuf> {
    None
}

/// Resolves all symlinks of the existing part of `path`.
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

/// Checks that the folder, if it exists, is the user's own, and that no other user may write it.
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

/// The access list of the user's profile protects it.
#[cfg(not(unix))]
pub(super) fn guarded(_folder: &Path) -> Result<(), TrustError> {
    Ok(())
}

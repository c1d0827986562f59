//! The path by which hooks call this program. It is absolute, since git and a host may run with another search path
//! than the person who installs.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// Returns the program's path for hooks, and a note for the person.
pub(crate) fn program() -> anyhow::Result<(String, Option<String>)> {
    let this = this().context("the location of this program is unknown")?;
    let places = std::env::var_os("PATH").unwrap_or_default();
    // A package manager keeps the path on the search path stable, and changes the file that it links to.
    let path = found(&this, std::env::split_paths(&places)).unwrap_or_else(|| this.clone());
    let path = path.to_str().context("the path of this program is not UTF-8: install it elsewhere")?.to_owned();
    let passing = std::env::temp_dir().canonicalize().is_ok_and(|folder| this.starts_with(folder));
    let note = if passing {
        "is in a temporary folder: once it is gone, every call is refused"
    } else {
        "is called by its full path: after moving it, install again"
    };
    let note = format!("`{path}` {note}.");
    Ok((path, Some(note)))
}

/// Returns the path of this program, with all links resolved.
pub(crate) fn this() -> Option<PathBuf> {
    let this = std::env::current_exe().ok()?;
    Some(this.canonicalize().unwrap_or(this))
}

/// Finds the path on the search path that resolves to this file.
fn found(this: &Path, places: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    let name = format!("portolan{}", std::env::consts::EXE_SUFFIX);
    let mut files = places.filter(|folder| folder.is_absolute()).map(|folder| folder.join(&name));
    files.find(|file| file.canonicalize().is_ok_and(|file| file == this))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_stays_is_taken_before_one_that_moves() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("it is there");
        let at = |name: &str| root.join(name);
        for name in ["1.0", "bin", "other"] {
            std::fs::create_dir(at(name)).expect("a folder");
        }
        std::fs::write(at("1.0/portolan"), "").expect("a file");
        std::fs::write(at("other/portolan"), "").expect("a file");
        std::os::unix::fs::symlink("../1.0/portolan", at("bin/portolan")).expect("a link");
        let places = || [PathBuf::from("."), at("nowhere"), at("other"), at("bin"), at("1.0")].into_iter();
        assert_eq!(found(&at("1.0/portolan"), places()), Some(at("bin/portolan")));
        assert_eq!(found(&at("1.0/portolan"), places().take(3)), None);
    }
}

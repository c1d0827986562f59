//! By which name the hooks call this program.

use std::path::{Path, PathBuf};

use anyhow::Context;

/// The program as hooks are to call it, and what a person should know of that: `portolan` where the search path leads to
/// this very file, and else its absolute path.
pub(crate) fn program() -> anyhow::Result<(String, Option<String>)> {
    let this = std::env::current_exe().context("where this program is cannot be told")?;
    let this = this.canonicalize().unwrap_or(this);
    let places = std::env::var_os("PATH").unwrap_or_default();
    if let Some(name) = found(&this, std::env::split_paths(&places)) {
        return Ok((name, None));
    }
    let path = this.to_str().context("the path of this program is not UTF-8: install it elsewhere")?.to_owned();
    let passing = std::env::temp_dir().canonicalize().is_ok_and(|folder| this.starts_with(folder));
    let note = if passing {
        "lies in a temporary folder: once it is gone, every call is refused"
    } else {
        "is called by its whole path: after it has moved, install again"
    };
    let note = format!("`{path}` {note}.");
    Ok((path, Some(note)))
}

/// The first file of that name on the search path is the one that is run.
fn found(this: &Path, mut places: impl Iterator<Item = PathBuf>) -> Option<String> {
    let name = format!("portolan{}", std::env::consts::EXE_SUFFIX);
    let first = places.find_map(|folder| folder.join(&name).canonicalize().ok().filter(|path| path.is_file()))?;
    (first == this).then(|| "portolan".to_owned())
}

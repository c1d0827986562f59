//! The environment of a server's process: the few variables that programs need to run at all, and those of its entry.
//! Any other variable may be a secret that the server must not see.

use std::ffi::{OsStr, OsString};

/// The variables that every server gets, if they are set. Those after `USER` are for Windows.
const ESSENTIAL: [&str; 21] = [
    "HOME",
    "LANG",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "USER",
    "APPDATA",
    "COMSPEC",
    "HOMEDRIVE",
    "HOMEPATH",
    "LOCALAPPDATA",
    "PATHEXT",
    "PROGRAMFILES",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERPROFILE",
    "WINDIR",
];

/// Returns the variables of `all` that every server gets.
pub(super) fn essential(all: impl IntoIterator<Item = (OsString, OsString)>) -> Vec<(OsString, OsString)> {
    all.into_iter().filter(|(name, _)| is_essential(name)).collect()
}

fn is_essential(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else { return false };
    // The locale. Windows ignores the case of names.
    name.starts_with("LC_")
        || ESSENTIAL.contains(&name)
        || (cfg!(windows) && ESSENTIAL.contains(&&*name.to_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_here() {
        let all = ["PATH", "LC_ALL", "GITHUB_TOKEN", "LD_PRELOAD", "NODE_OPTIONS", "HOME", "PATHS", "LC"];
        let kept = essential(all.map(|name| (name.into(), "x".into())));
        assert_eq!(kept.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), ["PATH", "LC_ALL", "HOME"]);
    }
}

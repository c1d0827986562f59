//! Checks whether git may ignore a path, according to the files with ignore patterns. Only git knows whether it does,
//! but most paths resemble no pattern, so git need not be started.

use std::path::{Path, PathBuf};

use portolan_gates::guards::Worktree;

use super::config::Config;
use crate::disk;

/// The largest file that is read, in bytes. A larger one may contain any pattern.
const MAX_BYTES: u64 = 1024 * 1024;

/// Checks whether git may ignore a path, relative to the root of its worktree. If not, no pattern matches it.
pub(super) fn may_be(worktree: &Worktree, inside: &str) -> bool {
    let Some(named) = named(worktree) else { return true };
    let root = Path::new(&worktree.root);
    let folders = Path::new(inside).ancestors().skip(1).map(|folder| root.join(folder).join(".gitignore"));
    let exclude = Path::new(&worktree.common_dir).join("info/exclude");
    let path = format!("/{}/", inside.to_ascii_lowercase());
    folders.chain([exclude]).chain(named).any(|file| {
        let there = || std::fs::symlink_metadata(&file).is_ok();
        disk::text(&file, MAX_BYTES).map_or_else(there, |text| text.lines().any(|line| may_match(line, &path)))
    })
}

/// Returns the ignore files that configurations name, or the default one. `None` if they cannot be determined.
fn named(worktree: &Worktree) -> Option<Vec<PathBuf>> {
    let home = std::env::home_dir()?;
    let own = std::env::var_os("XDG_CONFIG_HOME").map_or_else(|| home.join(".config"), PathBuf::from).join("git");
    let configurations = [
        Path::new(&worktree.git_dir).join("config.worktree"),
        Path::new(&worktree.common_dir).join("config"),
        home.join(".gitconfig"),
        own.join("config"),
        PathBuf::from("/etc/gitconfig"),
    ];
    let mut found = vec![own.join("ignore")];
    for file in configurations {
        let Some(text) = disk::text(&file, MAX_BYTES) else { continue };
        let config = Config::parse(&text);
        if config.last("include.path").is_some() || config.each("includeif", "path").next().is_some() {
            return None;
        }
        let Some(named) = config.last("core.excludesfile").filter(|named| !named.is_empty()) else { continue };
        found.push(match named.strip_prefix("~/") {
            Some(rest) => home.join(rest),
            None if named.starts_with(['~', '%']) => return None,
            None => Path::new(&worktree.root).join(named),
        });
    }
    Some(found)
}

/// Checks whether a line of such a file may match a path, which has a `/` at both ends: its literal parts must occur.
fn may_match(line: &str, path: &str) -> bool {
    let line = line.trim_start_matches('\u{feff}').trim().to_ascii_lowercase();
    if line.is_empty() || line.starts_with(['#', '!']) {
        return false;
    }
    let pattern = line.trim_end_matches('/');
    if pattern.contains('\\') {
        return true;
    }
    if !pattern.contains(['*', '?', '[']) {
        return path.contains(&format!("/{}/", pattern.trim_start_matches('/')));
    }
    // The text after the first bracket depends on the bracket.
    let literal = pattern.split('[').next().unwrap_or_default();
    literal.split(['*', '?']).all(|piece| path.contains(piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_like_no_pattern_is_told_from_one_that_may_match() {
        let may = |line: &str, path: &str| may_match(line, &format!("/{path}/"));
        for line in ["", "# src", "!src", "out", "target/", "/docs", "*.log", "b/**/c", "src/*.py", "a?b", "*.py[cod]"]
        {
            assert!(!may(line, "src/router.rs"), "{line}");
        }
        for line in ["src", "/src/", "*.rs", "**/router.rs", "src/**", "ROUTER.rs", "r*r.rs", "*", "\\src", "[a-z]*"] {
            assert!(may(line, "src/router.rs"), "{line}");
        }
    }
}

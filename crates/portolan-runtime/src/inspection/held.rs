//! What is in a folder that is copied: whether it would take the place of what holds the gates. A folder that is large is
//! looked at in part, and that is said.

use std::fs;
use std::path::{Path, PathBuf};

use portolan_gates::guards::FolderContents;
use portolan_gates::is_protected;

/// How many files and folders are looked at, and how deep.
const MAX_ENTRIES: usize = 10_000;
const MAX_DEPTH: usize = 16;
/// More files of the gates than these are not told.
const MAX_FOUND: usize = 64;

/// What is in a folder, or a file without anything in it; nothing for what is not there.
pub(super) fn within(folder: &Path) -> Option<FolderContents> {
    let mut held = FolderContents { protected: Vec::new(), whole: true };
    if !fs::metadata(folder).ok()?.is_dir() {
        return Some(held);
    }
    let mut left = MAX_ENTRIES;
    let mut waiting = vec![PathBuf::new()];
    while let Some(inner) = waiting.pop() {
        let Ok(entries) = fs::read_dir(folder.join(&inner)) else {
            held.whole = false;
            continue;
        };
        for entry in entries {
            let (Ok(entry), true) = (entry, left > 0 && held.protected.len() < MAX_FOUND) else {
                held.whole = false;
                break;
            };
            left -= 1;
            let path = inner.join(entry.file_name());
            let Some(text) = path.to_str() else { continue };
            if is_protected(text) {
                held.protected.push(text.to_owned());
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if path.components().count() < MAX_DEPTH {
                    waiting.push(path);
                } else {
                    held.whole = false;
                }
            }
        }
    }
    held.protected.sort();
    Some(held)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_gates_are_found_up_to_a_bound() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |path: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
            fs::write(path, "").expect("writable");
        };
        for path in ["a.rs", "web/.mcp.json", ".claude/settings.json", ".claude/skills/x.md", "lib/.git/HEAD"] {
            write(path);
        }
        let held = within(folder.path()).expect("it is there");
        assert_eq!(
            (held.protected, held.whole),
            (vec![".claude/settings.json".to_owned(), "lib/.git".to_owned(), "web/.mcp.json".to_owned()], true)
        );
        write(&"d/".repeat(MAX_DEPTH + 1).as_str()[..2 * (MAX_DEPTH + 1) - 1]);
        assert!(!within(folder.path()).expect("it is there").whole, "it is too deep");
        assert_eq!(within(&folder.path().join("a.rs")), Some(FolderContents { protected: Vec::new(), whole: true }));
        assert_eq!(within(&folder.path().join("nothing")), None);
    }
}

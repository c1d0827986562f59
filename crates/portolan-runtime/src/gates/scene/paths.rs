//! Paths as the system takes them: symlinks are followed one by one, so that `..` means what it means there, and what does
//! not exist yet lies where it would be made.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::path::{Component, Path, PathBuf};

/// How many symlinks a path may lead through, as for the system.
const MAX_LINKS: usize = 40;

/// The path that an absolute path leads to; `last` says whether its last part is followed as well. Nothing for one that is
/// no path, or leads on and on.
pub(in crate::gates) fn resolve(path: &str, last: bool) -> Option<PathBuf> {
    if path.contains('\0') || !Path::new(path).is_absolute() {
        return None;
    }
    let mut waiting: VecDeque<OsString> = parts(Path::new(path));
    let mut found = PathBuf::from("/");
    let mut links = 0;
    while let Some(part) = waiting.pop_front() {
        if part == ".." {
            found.pop();
            continue;
        }
        let next = found.join(&part);
        let follows = last || !waiting.is_empty();
        match fs::read_link(&next) {
            Ok(target) if follows => {
                links += 1;
                if links > MAX_LINKS {
                    return None;
                }
                if target.is_absolute() {
                    found = PathBuf::from("/");
                }
                for part in parts(&target).into_iter().rev() {
                    waiting.push_front(part);
                }
            }
            // No link, or nothing that exists.
            Ok(_) | Err(_) => found = next,
        }
    }
    Some(found)
}

fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component: Component<'_>| match component {
        Component::ParentDir => Some(OsString::from("..")),
        Component::Normal(name) => Some(name.to_owned()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}

/// The text of a regular file that is not larger than `max` bytes.
pub(crate) fn text(path: &Path, max: u64) -> Option<String> {
    // Only a regular file is opened: opening a pipe would wait for its writer.
    let meta = fs::metadata(path).ok()?;
    if !meta.is_file() || meta.len() > max {
        return None;
    }
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.take(max).read_to_end(&mut bytes).ok()?;
    String::from_utf8(bytes).ok()
}

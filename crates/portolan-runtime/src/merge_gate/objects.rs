//! Reads the contents of any number of files with two queries: the lengths, then those files that are not too long.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use portolan_gates::merge::{Text, reads};

use super::git::Commits;
use crate::disk;
use crate::error::ServiceError;

/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// The maximum size of all files together, in bytes. The rest counts as unread.
const MAX_ALL: u64 = 32 << 20;

/// The request for one side of a change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum SideRequest {
    /// There is no file.
    #[default]
    Nothing,
    /// There is a file that is not read.
    Unread,
    /// This object.
    Blob(String),
    /// This file of the worktree.
    File(String),
}

impl SideRequest {
    /// Returns the request for a file with this mode.
    pub(super) fn of(mode: &str, id: &str, path: &str) -> SideRequest {
        match mode {
            "000000" => SideRequest::Nothing,
            // Git names no object if a file of the worktree differs from the index.
            "100644" | "100755" if reads(path) && id.bytes().all(|byte| byte == b'0') => {
                SideRequest::File(path.to_owned())
            }
            "100644" | "100755" if reads(path) => SideRequest::Blob(id.to_owned()),
            _ => SideRequest::Unread,
        }
    }

    /// Returns the text of this side.
    pub(super) fn text(&self, texts: &BTreeMap<String, String>, top: &Path) -> Text {
        match self {
            SideRequest::File(path) => text_of(&top.join(path), path),
            SideRequest::Nothing => Text::Absent,
            SideRequest::Unread => Text::Unread,
            SideRequest::Blob(id) => texts.get(id).cloned().map_or(Text::Unread, Text::Of),
        }
    }
}

/// Returns the text of a file of the worktree.
pub(super) fn text_of(file: &Path, path: &str) -> Text {
    if !reads(path) {
        return Text::Unread;
    }
    match disk::bytes(file, MAX_FILE) {
        Ok(Some(bytes)) => match String::from_utf8(bytes) {
            Ok(text) if !text.contains('\0') => Text::Of(text),
            _ => Text::Unread,
        },
        _ => Text::Unread,
    }
}

/// Returns the requested texts by their IDs. Leaves out binary, overlong and missing ones.
pub(super) async fn texts(
    repository: &Commits<'_>,
    wanted: &[&SideRequest],
) -> Result<BTreeMap<String, String>, ServiceError> {
    let ids: BTreeSet<&str> = wanted
        .iter()
        .filter_map(|wanted| match wanted {
            SideRequest::Blob(id) => Some(id.as_str()),
            SideRequest::Nothing | SideRequest::Unread | SideRequest::File(_) => None,
        })
        .collect();
    let list = |ids: &mut dyn Iterator<Item = &str>| ids.flat_map(|id| [id, "\n"]).collect::<String>().into_bytes();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let sizes = repository.git(&["cat-file", "--batch-check"], list(&mut ids.into_iter())).await?.stdout;
    let sizes = String::from_utf8_lossy(&sizes).into_owned();
    let mut all = 0;
    let small: Vec<&str> = sizes
        .lines()
        .filter_map(|line| {
            let (id, rest) = line.split_once(' ')?;
            let size: u64 = rest.strip_prefix("blob ")?.parse().ok()?;
            all += if size <= MAX_FILE { size } else { 0 };
            (size <= MAX_FILE && all <= MAX_ALL).then_some(id)
        })
        .collect();
    let output = repository.git(&["cat-file", "--batch"], list(&mut small.into_iter())).await?.stdout;
    Ok(split(&output))
}

/// Parses the output of `cat-file --batch`: a line with ID, type and length, the content, and a newline.
fn split(mut output: &[u8]) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    while let Some(end) = output.iter().position(|byte| *byte == b'\n') {
        let head = String::from_utf8_lossy(&output[..end]).into_owned();
        let words: Vec<&str> = head.split(' ').collect();
        let &[id, "blob", size] = words.as_slice() else { break };
        let Some(size) = size.parse::<usize>().ok().filter(|size| end + 1 + size < output.len()) else { break };
        let content = &output[end + 1..end + 1 + size];
        if let Ok(text) = std::str::from_utf8(content)
            && !text.contains('\0')
        {
            texts.insert(id.to_owned(), text.to_owned());
        }
        output = &output[end + 2 + size..];
    }
    texts
}

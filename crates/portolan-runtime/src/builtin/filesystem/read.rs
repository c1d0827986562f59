//! Reads text: a whole file or its beginning or end, up to a maximum size.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Filesystem, failed};
use crate::builtin::arguments;

/// The maximum size that is read, in bytes. A response contains it twice, and should stay below what clients accept.
const MAX_BYTES: usize = 4 << 20;

#[derive(Deserialize)]
struct ReadArguments {
    path: String,
    #[serde(default)]
    head: Option<usize>,
    #[serde(default)]
    tail: Option<usize>,
}

impl Filesystem {
    pub(super) fn read(&self, given: Map<String, Value>) -> Result<String, String> {
        let ReadArguments { path, head, tail } = arguments("read_text_file", given)?;
        if head.is_some() && tail.is_some() {
            return Err("`head` and `tail` cannot be used together".to_owned());
        }
        let found = self.find(&path)?;
        let data = found.metadata().map_err(|error| failed(&path, &error))?;
        if data.is_dir() {
            return Err(format!("`{path}` is a folder; list it instead"));
        }
        // A pipe or a device may block its reader for ever.
        if !data.is_file() {
            return Err(format!("`{path}` is not a regular file"));
        }
        let read = match (head, tail) {
            (Some(lines), _) => from_start(&found, lines),
            (None, Some(lines)) => from_end(&found, lines),
            (None, None) if data.len() > MAX_BYTES as u64 => {
                return Err(format!(
                    "`{path}` is larger than {MAX_BYTES} bytes; read a part of it with `head` or `tail`"
                ));
            }
            (None, None) => from_start(&found, usize::MAX),
        };
        text(&path, read.map_err(|error| failed(&path, &error))?)
    }
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    // The file may have been replaced meanwhile, by a symlink that leads outside or a pipe without a writer.
    let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

/// Returns the first `lines` lines, without the last newline unless the whole file is requested.
fn from_start(path: &Path, lines: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(MAX_BYTES as u64).read_to_end(&mut bytes)?;
    let mut ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    let end = match lines {
        0 => Some(0),
        usize::MAX => None,
        lines => ends.nth(lines - 1),
    };
    bytes.truncate(end.unwrap_or(bytes.len()));
    Ok(whole_characters(bytes))
}

/// Returns the last `lines` lines.
fn from_end(path: &Path, lines: usize) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    let start = length.saturating_sub(MAX_BYTES as u64);
    file.seek(SeekFrom::Start(start))?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64).read_to_end(&mut bytes)?;
    if start > 0 {
        // The first line may be cut.
        let first = bytes.iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |end| end + 1);
        bytes.drain(..first);
    }
    if bytes.last() == Some(&b'\n') {
        bytes.pop();
    }
    let ends = bytes.iter().enumerate().rev().filter(|(_, byte)| **byte == b'\n');
    let from = match lines {
        0 => bytes.len(),
        lines => ends.map(|(at, _)| at + 1).nth(lines - 1).unwrap_or(0),
    };
    Ok(bytes.split_off(from))
}

/// Removes a character that the maximum size has cut in two.
fn whole_characters(mut bytes: Vec<u8>) -> Vec<u8> {
    if bytes.len() == MAX_BYTES
        && let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    bytes
}

fn text(path: &str, bytes: Vec<u8>) -> Result<String, String> {
    let binary = || format!("`{path}` is not a text file");
    if bytes.contains(&0) {
        return Err(binary());
    }
    String::from_utf8(bytes)
        .map_err(|error| format!("{}: byte {} is not UTF-8", binary(), error.utf8_error().valid_up_to()))
}

//! Searches below a folder, within limits.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Filesystem, failed, shown};
use crate::builtin::arguments;
use crate::builtin::glob::Glob;

/// The maximum number of entries that are visited.
const MAX_VISITED: usize = 200_000;
/// The maximum number of matches.
const MAX_FOUND: usize = 10_000;
const MAX_DEPTH: usize = 64;
const MAX_EXCLUDED: usize = 100;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SearchArguments {
    path: String,
    pattern: String,
    #[serde(default)]
    exclude_patterns: Vec<String>,
}

/// A search under way.
struct Search<'a> {
    pattern: Glob,
    excluded: Vec<Glob>,
    stop: &'a AtomicBool,
    visited: usize,
    found: Vec<PathBuf>,
    /// Folders still to visit: their paths, and their names below the start.
    ahead: VecDeque<(PathBuf, Vec<String>)>,
}

impl Filesystem {
    pub(super) fn search(&self, given: Map<String, Value>, stop: &AtomicBool) -> Result<String, String> {
        let SearchArguments { path, pattern, exclude_patterns } = arguments("search_files", given)?;
        if exclude_patterns.len() > MAX_EXCLUDED {
            return Err(format!("at most {MAX_EXCLUDED} patterns can be excluded"));
        }
        let start = self.find(&path)?;
        if !start.is_dir() {
            return Err(format!("`{path}` is not a folder"));
        }
        let mut search = Search {
            pattern: Glob::new(&pattern)?,
            excluded: exclude_patterns.iter().map(|pattern| Glob::new(pattern)).collect::<Result<_, _>>()?,
            stop,
            visited: 0,
            found: Vec::new(),
            ahead: VecDeque::from([(start.clone(), Vec::new())]),
        };
        // The start must be readable. Unreadable entries below it are skipped.
        fs::read_dir(&start).map_err(|error| failed(&path, &error))?;
        let ended = search.run();
        search.found.sort();
        let mut lines: Vec<String> = search.found.iter().map(|path| shown(path.as_os_str())).collect();
        match ended {
            Ok(()) if lines.is_empty() => lines.push("No matches found".to_owned()),
            Ok(()) => {}
            Err(why) => lines.push(format!("[the search was stopped: {why}]")),
        }
        Ok(lines.join("\n"))
    }
}

impl Search<'_> {
    fn run(&mut self) -> Result<(), String> {
        while let Some((folder, names)) = self.ahead.pop_front() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries.flatten() {
                self.visited += 1;
                if self.visited > MAX_VISITED {
                    return Err(format!("more than {MAX_VISITED} entries; search in a folder further down"));
                }
                if self.stop.load(Ordering::Relaxed) {
                    return Err("the caller is no longer waiting for it".to_owned());
                }
                let mut below = names.clone();
                below.push(entry.file_name().to_string_lossy().into_owned());
                // A symlink can match, but is not entered: it may lead outside, or form a cycle.
                let enter = entry.file_type().is_ok_and(|kind| kind.is_dir()) && below.len() < MAX_DEPTH;
                self.visit(&entry.path(), below, enter)?;
            }
        }
        Ok(())
    }

    fn visit(&mut self, path: &Path, below: Vec<String>, enter: bool) -> Result<(), String> {
        let names: Vec<&str> = below.iter().map(String::as_str).collect();
        if self.excluded.iter().any(|excluded| excluded.fits(&names)) {
            return Ok(());
        }
        if self.pattern.fits(&names) {
            if self.found.len() == MAX_FOUND {
                return Err(format!("more than {MAX_FOUND} matches; use a narrower pattern"));
            }
            self.found.push(path.to_owned());
        }
        if enter {
            self.ahead.push_back((path.to_owned(), below));
        }
        Ok(())
    }
}

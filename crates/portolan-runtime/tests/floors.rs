//! The floors of this crate and of the one above, read from the paths that their sources name: a room knows those below
//! it, and no other. So there is no circle between rooms, and what a room needs can be read from where it stands.
//! `ARCHITECTURE.md` tells what is in them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The crates, each with its rooms from the ground up. A room may name those of its crate that stand before it.
const CRATES: &[(&str, &[&str])] = &[("portolan-runtime", RUNTIME), ("portolan-supervision", SUPERVISION)];

const RUNTIME: &[&str] = &[
    // The ground: what any program needs.
    "address",
    "view",
    "error",
    "conflict",
    "logging",
    "clock",
    "digest",
    "nesting",
    "trace",
    "disk",
    "process",
    "http",
    // What lies on disk beside a project or its user.
    "project_folder",
    "keys",
    "pins",
    "audit",
    "store",
    "trust",
    // Definitions, and where their runs live.
    "attachments",
    "proof",
    "definition",
    "catalog",
    "library",
    "copy",
    "carrier",
    "bindings",
    "tasks",
    // The world, asked.
    "program",
    "inspection",
    "rules",
    "installation",
    "runner",
    "typecheck",
    "project_checks",
    "repository",
    "merge_gate",
    "models",
    "gates",
    // Who works for runs: servers, functions.
    "builtin",
    "servers",
    "graphs",
    "control",
    "tools",
    "states",
    // What the supervisor has on record.
    "plugins",
    "supervisor_log",
    // Runs are driven, and followed.
    "drive",
    "telemetry",
    // The one API of runs.
    "service",
    // What a project does with its definitions.
    "author",
    "script",
    "ooda",
];

const SUPERVISION: &[&str] =
    &["drivers", "notifiers", "people", "supervisor", "autopilot", "findings", "sandbox", "hook", "gateway"];

/// A source file that is no test.
struct Source {
    /// Where it is, in `src`.
    path: String,
    /// How many modules it is deep; the crate itself is 0.
    depth: usize,
    /// Its code: without comments, and without the tests at its end.
    code: String,
}

impl Source {
    fn room(&self) -> &str {
        self.path.split('/').next().unwrap_or_default().trim_end_matches(".rs")
    }
}

fn sources(of: &str) -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name(of).join("src");
    let mut files = Vec::new();
    files_of(&root, &mut files);
    let named = files.iter().map(|file| (file, relative(file, &root)));
    let own = named.filter(|(_, path)| path != "lib.rs" && !path.contains("tests/") && !path.ends_with("tests.rs"));
    own.map(|(file, path)| {
        let depth = path.split('/').count() - usize::from(path.ends_with("/mod.rs"));
        Source { depth, code: code(file), path }
    })
    .collect()
}

fn files_of(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files_of(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

fn relative(file: &Path, root: &Path) -> String {
    file.strip_prefix(root).expect("inside").to_string_lossy().replace('\\', "/")
}

fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The first name of every path that begins at the crate: after `crate::`, and after as many `super::` as lead there.
fn named(source: &Source) -> BTreeSet<String> {
    let (own, inner) = modules(&source.code);
    let from_here = "super::".repeat(source.depth);
    let from_within = "super::".repeat(source.depth + 1);
    let paths = [(&own, "crate::"), (&inner, "crate::"), (&own, &from_here), (&inner, &from_within)];
    paths.into_iter().flat_map(|(code, root)| after(code, root)).collect()
}

/// The code of a file, and that of the modules within it.
fn modules(code: &str) -> (String, String) {
    let (mut own, mut inner, mut is_inner) = (String::new(), String::new(), false);
    for line in code.lines() {
        is_inner |= line.ends_with('{') && ["mod ", "pub mod "].iter().any(|word| line.starts_with(word));
        let into = if is_inner { &mut inner } else { &mut own };
        into.push_str(line);
        into.push('\n');
        is_inner &= line != "}";
    }
    (own, inner)
}

fn after(code: &str, root: &str) -> Vec<String> {
    let mut names = Vec::new();
    for (at, _) in code.match_indices(root) {
        let is_end = code[..at].ends_with(|before: char| before.is_alphanumeric() || "_:".contains(before));
        let rest = &code[at + root.len()..];
        match rest.strip_prefix('{') {
            _ if is_end => {}
            Some(several) => names.extend(parts(several).into_iter().map(word)),
            None => names.push(word(rest)),
        }
    }
    names
}

/// What stands in braces, at the commas of the outermost.
fn parts(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0_usize, 0);
    for (at, character) in text.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                parts.push(text[from..at].trim_start());
                from = at + 1;
                if character == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    parts.into_iter().filter(|part| !part.is_empty()).collect()
}

fn word(text: &str) -> String {
    text.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

/// Where a room stands; the ground is 0.
fn floor(rooms: &[&str], room: &str) -> Option<usize> {
    rooms.iter().position(|known| *known == room)
}

/// The names of rooms that are not below: the file, and the room.
fn upward(rooms: &[&str], sources: &[Source]) -> Vec<(String, String)> {
    let mut upward = Vec::new();
    for source in sources {
        let own = floor(rooms, source.room())
            .unwrap_or_else(|| panic!("`{}` stands on no floor: give it one", source.room()));
        let others = named(source).into_iter().filter(|room| room != source.room());
        let above = others.filter(|room| floor(rooms, room).is_none_or(|floor| floor > own));
        upward.extend(above.map(|room| (source.path.clone(), room)));
    }
    upward
}

#[test]
fn a_room_knows_those_below_it() {
    for (of, rooms) in CRATES {
        let upward = upward(rooms, &sources(of));
        assert!(upward.is_empty(), "{of}: these files name rooms above theirs, or no room: {upward:#?}");
    }
}

#[test]
fn every_room_of_the_list_is_there() {
    for (of, listed) in CRATES {
        let sources = sources(of);
        let rooms: BTreeSet<&str> = sources.iter().map(Source::room).collect();
        let gone: Vec<&&str> = listed.iter().filter(|room| !rooms.contains(**room)).collect();
        assert!(gone.is_empty() && rooms.len() == listed.len(), "{of}: {gone:?}");
    }
}

#[test]
fn a_name_of_a_room_above_is_seen_however_it_is_written() {
    let told = |path: &str, depth: usize, code: &str| {
        upward(RUNTIME, &[Source { path: path.to_owned(), depth, code: code.to_owned() }])
            .into_iter()
            .map(|(_, room)| room)
    };
    for code in [
        "use crate::service::Service;",
        "use crate::service;",
        "use crate::{disk, service::{A, B}, error::C};",
        "use crate::{\n    disk,\n    service,\n};",
        "fn f() { crate::service::go() }",
        "use super::super::service;",
        "use super::super::{error, service};",
        "mod unix {\n    use super::super::super::service;\n}",
    ] {
        assert_eq!(told("disk/read.rs", 2, code).collect::<Vec<_>>(), ["service"], "{code}");
    }
    for code in [
        "use crate::error::plain;",
        "use super::service;",
        "use crate::{error, disk::text};",
        "mycrate::service",
        "mod unix {\n    use super::super::service;\n}",
    ] {
        assert_eq!(told("disk/read.rs", 2, code).count(), 0, "{code}");
    }
    assert_eq!(told("disk.rs", 1, "use super::service;").collect::<Vec<_>>(), ["service"]);
    assert_eq!(told("disk/mod.rs", 1, "use crate::nowhere::A;").collect::<Vec<_>>(), ["nowhere"]);
}

/// A method of the service that another room adds can be called by the service without naming that room.
#[test]
fn no_other_room_adds_methods_to_the_service() {
    let sources = sources("portolan-runtime");
    let adds = |source: &&Source| source.room() != "service" && source.code.contains("\nimpl Service ");
    let rooms: Vec<&str> = sources.iter().filter(adds).map(|source| source.path.as_str()).collect();
    assert!(rooms.is_empty(), "{rooms:?}");
}

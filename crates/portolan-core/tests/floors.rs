//! The floors of the crate, read from its `use` lines: imports run downwards, and the four rooms on top are blind to
//! each other. `ARCHITECTURE.md` draws them.

#![expect(clippy::disallowed_methods, reason = "the test reads the sources; the crate reads nothing")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use portolan_core::dialect::DIALECTS;

/// What each module may import, besides itself.
const FLOORS: &[(&str, &[&str])] = &[
    ("value", &[]),
    ("diagnostic", &["source"]),
    ("source", &["diagnostic"]),
    ("expr", &["diagnostic", "source", "value"]),
    ("schema", &["diagnostic"]),
    ("graph", &["source", "value", "expr", "schema", "chat"]),
    ("run", &["graph", "value", "expr", "chat"]),
    ("engine", &["run", "graph", "value", "diagnostic", "expr", "schema", "chat"]),
    ("dialect", &["graph", "expr", "schema", "source", "diagnostic", "value", "chat"]),
    // How closely a definition is held to its format is the one word that reading and checking share.
    ("validate", &["graph", "expr", "source", "diagnostic", "value", "dialect::Strictness"]),
    ("present", &["run", "graph", "value", "diagnostic", "source", "chat"]),
    ("prove", &["run", "graph", "value", "expr", "engine", "schema", "source", "diagnostic"]),
    ("chat", &["source", "diagnostic"]),
    ("reply", &["diagnostic"]),
    ("evaluation", &["dialect", "engine", "expr", "graph", "present", "run", "source", "value"]),
    ("embed", &["diagnostic", "dialect", "engine", "graph", "run", "source", "validate", "value"]),
];

/// Words that would let the world in, wherever they stand in the crate.
const BANNED: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net",
    "std::process",
    "std::thread",
    "std::time",
    "HashMap",
    "HashSet",
    "tokio",
    "rand::",
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Every source file that is no test, with the module it belongs to.
fn modules() -> BTreeMap<PathBuf, String> {
    modules_of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"))
}

/// The same of any crate's sources.
fn modules_of(root: &Path) -> BTreeMap<PathBuf, String> {
    let mut found = Vec::new();
    sources(root, &mut found);
    let mut modules = BTreeMap::new();
    for path in found {
        let relative = path.strip_prefix(root).expect("inside").to_string_lossy().replace('\\', "/");
        let is_test = relative.contains("tests/") || relative.ends_with("tests.rs");
        let module = relative.split('/').next().expect("a name").trim_end_matches(".rs").to_owned();
        if !is_test && module != "lib" {
            modules.insert(path, module);
        }
    }
    modules
}

/// The code of a file: without comments, and without the tests at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("a source");
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
    text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn imports_run_downwards() {
    let mut wrong = Vec::new();
    for (path, module) in modules() {
        let allowed = FLOORS.iter().find(|(name, _)| *name == module).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("`{module}` stands on no floor: give it one here"));
        let code = code(&path);
        for (at, _) in code.match_indices("crate::") {
            let rest = &code[at + "crate::".len()..];
            let word = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
            let first = word(rest);
            let second = rest.strip_prefix(&format!("{first}::")).map(word).unwrap_or_default();
            let fits = first == module
                || allowed.contains(&first.as_str())
                || allowed.contains(&format!("{first}::{second}").as_str());
            if !fits {
                wrong.push(format!("{} imports {first}::{second}", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The rooms of the dialects that formats share. Every other room is a format.
const SHARED: &[&str] = &["nodes", "checks", "schemas", "servers", "editing"];

/// The rooms of the dialects that a file names; what stands in the room around them begins with a capital. `inside` is its
/// place in that room.
fn rooms_named(inside: &str, code: &str) -> BTreeSet<String> {
    let relative = "super::".repeat(inside.trim_end_matches("/mod.rs").split('/').count());
    let mut named = BTreeSet::new();
    let paths = code.match_indices("crate::dialect::").chain(code.match_indices(&relative));
    for (at, found) in paths {
        let rest = &code[at + found.len()..];
        let list = match rest.strip_prefix('{') {
            Some(rest) => parts(rest),
            None => vec![rest],
        };
        let word = |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let words = list.into_iter().map(word);
        named.extend(words.filter(|word: &String| word != "self" && word.starts_with(|c: char| c.is_lowercase())));
    }
    named
}

/// The parts of a list in braces, without those in further braces inside it.
fn parts(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, letter) in list.char_indices() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => {
                parts.push(&list[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts
}

/// A format borrows nothing from another one, and what they share knows none of them: one can be added, and one taken out,
/// without looking at the others.
#[test]
fn formats_do_not_know_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dialect");
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for path in modules().into_keys() {
        let Ok(relative) = path.strip_prefix(&root) else { continue };
        let inside = relative.to_string_lossy().replace('\\', "/");
        let room = inside.split('/').next().expect("a name").trim_end_matches(".rs").to_owned();
        if room != "mod" {
            imports.entry(room).or_default().extend(rooms_named(&inside, &code(&path)));
        }
    }
    assert!(imports["states"].contains("nodes") && imports["toolgraph"].contains("servers"), "{imports:?}");
    for (room, named) in &imports {
        let wrong: Vec<&String> = named.iter().filter(|one| *one != room && !SHARED.contains(&one.as_str())).collect();
        assert!(wrong.is_empty(), "`{room}` reaches into {wrong:?}: what formats share stands in `dialect/nodes`");
    }
    // Shared rooms: whoever is left when all that import nothing are taken away stands in a circle.
    let mut open: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for room in SHARED {
        open.insert(room, imports[*room].iter().map(String::as_str).filter(|one| one != room).collect());
    }
    while let Some(done) = open.iter().find(|(_, named)| named.is_empty()).map(|(room, _)| *room) {
        open.remove(done);
        open.values_mut().for_each(|named| named.retain(|one| *one != done));
    }
    assert!(open.is_empty(), "these rooms stand in a circle: {open:?}");
}

/// What a code means is told beside who raises it: in the folder of its format, which alone does.
#[test]
fn the_codes_of_a_format_stand_beside_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dialect");
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for path in modules().into_keys().filter(|path| !path.ends_with("codes.rs")) {
        let Ok(relative) = path.strip_prefix(&root) else { continue };
        let room = relative.components().next().expect("a name").as_os_str().to_string_lossy().into_owned();
        texts.entry(room).or_default().push_str(&code(&path));
    }
    // The folder of activities is read by who reads files.
    let reader = code(&root.join("../../../portolan-runtime/src/library/activities.rs"));
    texts.get_mut("activity").expect("a format").push_str(&reader);
    for dialect in DIALECTS {
        assert!(texts.contains_key(dialect.name), "`{}` has no folder", dialect.name);
        for code in dialect.codes {
            let word = format!("\"{}\"", code.code);
            let raising: Vec<&str> =
                texts.iter().filter(|(_, text)| text.contains(&word)).map(|(room, _)| room.as_str()).collect();
            assert_eq!(raising, [dialect.name], "who raises {word}");
        }
    }
}

#[test]
fn the_world_stays_outside() {
    let gates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../portolan-gates/src");
    let mut wrong = Vec::new();
    for path in modules().into_keys().chain(modules_of(&gates).into_keys()) {
        let code = code(&path);
        wrong.extend(
            BANNED.iter().filter(|word| code.contains(**word)).map(|word| format!("{}: {word}", path.display())),
        );
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What only faces say: the tools that agents call, and the commands that people type.
const FACES: &[&str] = &[
    "get_position",
    "complete_step",
    "respond_to_checkpoint",
    "raise_checkpoint",
    "end_workflow",
    "start_workflow",
    "list_workflows",
    "taskFilePath",
    "workflowType",
    "parentTaskId",
    "\"Next\"",
    "\"Init\"",
    "all Next",
    "all Start",
    "call Current",
    "`portolan ",
    "\"portolan ",
    "portolan runs",
];

/// What names a command all the same: remedies of faults in expressions, which stand in the reference of diagnostics as
/// they are.
const REMEDIES: &[&str] = &["dialect/activity/conditions.rs", "dialect/nodes/codes.rs", "dialect/nodes/expressions.rs"];

#[test]
fn the_words_of_faces_stay_outside() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let (mut wrong, mut remedies) = (Vec::new(), REMEDIES.to_vec());
    for path in modules().into_keys() {
        let code = code(&path);
        let Some(word) = FACES.iter().find(|word| code.contains(**word)) else { continue };
        let name = path.strip_prefix(&root).expect("inside").to_string_lossy().replace('\\', "/");
        match REMEDIES.iter().find(|known| name.starts_with(**known)) {
            Some(known) => remedies.retain(|left| left != known),
            None => wrong.push(format!("{name}: {word}")),
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(remedies.is_empty(), "these name none any more: {remedies:?}");
}

/// What the gates and the faces deal with: repositories, and the programs in which coding agents run.
const OUTSIDE: &[&str] = &["git", "gh", "claude", "codex", "gemini", "opencode"];

/// Where the core speaks of MCP: definitions name servers and their tools, and are told so in their own words.
const SPEAKS_MCP: &[&str] = &["dialect/", "graph/", "validate/servers.rs"];

#[test]
fn the_core_has_no_word_of_git_hosts_or_mcp() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for path in modules().into_keys() {
        let name = path.strip_prefix(&root).expect("inside").to_string_lossy().replace('\\', "/");
        let code = code(&path).to_lowercase();
        let words: BTreeSet<&str> = code.split(|letter: char| !letter.is_ascii_alphanumeric()).collect();
        let banned = OUTSIDE.iter().filter(|word| words.contains(**word));
        wrong.extend(banned.map(|word| format!("{name}: {word}")));
        if words.contains("mcp") && !SPEAKS_MCP.iter().any(|known| name.starts_with(known)) {
            wrong.push(format!("{name}: mcp"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_crate_below_knows_what_is_above() {
    let manifest = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("Cargo.toml");
        let text = fs::read_to_string(path).expect("a manifest");
        text.split("[dev-dependencies]").next().unwrap_or_default().to_owned()
    };
    for word in ["tokio", "rusqlite", "rmcp", "clap", "reqwest", "getrandom", "portolan-runtime"] {
        assert!(!manifest("portolan-core").contains(word), "portolan-core depends on {word}");
    }
    assert!(!manifest("portolan-core").contains("portolan-gates"), "portolan-core depends on portolan-gates");
    for word in ["tokio", "rusqlite", "rmcp", "clap", "reqwest", "getrandom", "portolan-runtime"] {
        assert!(!manifest("portolan-gates").contains(word), "portolan-gates depends on {word}");
    }
    for word in ["clap", "axum", "annotate-snippets", "portolan-supervision"] {
        assert!(!manifest("portolan-runtime").contains(word), "portolan-runtime depends on {word}");
    }
    // Its features would compile half of the program's dependencies twice.
    for name in CRATES.iter().filter(|name| **name != "portolan-restate") {
        assert!(!manifest(name).contains("restate-sdk"), "{name} depends on restate-sdk");
    }
    for word in ["clap", "axum", "annotate-snippets", "rusqlite"] {
        assert!(!manifest("portolan-supervision").contains(word), "portolan-supervision depends on {word}");
    }
}

/// Faces translate: what may be done is asked of the service.
#[test]
fn faces_decide_nothing() {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../portolan/src"), &mut found);
    let decides = |path: &&PathBuf| code(path).contains("portolan_core::engine");
    let wrong: Vec<&PathBuf> = found.iter().filter(decides).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The documents that name paths of this repository.
const DOCUMENTS: &[&str] = &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs"];

/// The crates, each of which tells in its README what stands where.
const CRATES: &[&str] = &[
    "portolan-core",
    "portolan-gates",
    "portolan-runtime",
    "portolan-supervision",
    "portolan",
    "portolan-restate",
    "portolan-restate-api",
];

#[test]
fn every_path_that_the_documents_name_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files = Vec::new();
    for document in DOCUMENTS {
        let path = root.join(document);
        if path.is_dir() {
            files.extend(fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry").path()));
        } else {
            files.push(path);
        }
    }
    let mut missing = Vec::new();
    for name in CRATES {
        let folder = root.join("crates").join(name);
        let text = fs::read_to_string(folder.join("README.md")).expect("a README");
        let gone = places(&text).into_iter().filter(|place| !folder.join(place).exists());
        missing.extend(gone.map(|place| format!("{name}/README.md: `{place}`")));
    }
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "md")) {
        let text = fs::read_to_string(file).expect("a document");
        let folder = file.parent().expect("a folder");
        for path in named(&text) {
            if !root.join(&path).exists() {
                missing.push(format!("{}: `{path}`", file.display()));
            }
        }
        for link in links(&text) {
            if !folder.join(&link).exists() {
                missing.push(format!("{}: ({link})", file.display()));
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Paths in backticks that begin with a folder of this repository, but for those with a placeholder.
fn named(text: &str) -> Vec<String> {
    let pieces = text.split('`').skip(1).step_by(2);
    let starts = ["crates/", "docs/", "examples/", "fuzz/", ".ci/"];
    pieces
        .filter(|piece| starts.iter().any(|start| piece.starts_with(start)))
        .filter(|piece| !piece.contains(['<', '*', ' ', '\n']))
        .map(str::to_owned)
        .collect()
}

/// The paths in backticks in the first column of a table of places.
fn places(text: &str) -> Vec<String> {
    let cells = text.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    cells.flat_map(|cell| cell.split("`, `")).map(|place| place.trim_end_matches('`').to_owned()).collect()
}

/// Relative targets of links, without their anchors.
fn links(text: &str) -> Vec<String> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets
        .filter(|target| !target.contains("://") && !target.starts_with('#') && !target.contains(['\n', ' ']))
        .map(|target| target.split('#').next().unwrap_or_default().to_owned())
        .filter(|target| !target.is_empty())
        .collect()
}

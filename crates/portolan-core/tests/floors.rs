//! The floors of the house, read from its `use` lines: which module may know which, and which crate what of the world.
//!
//! ARCHITECTURE.md draws them. A new module of the core is put on its floor here.
#![expect(clippy::disallowed_methods, reason = "the sources are files")]

use std::path::{Path, PathBuf};

/// The floors of the core, the ground first. A module may use those below; those of one floor are blind to each other.
const FLOORS: [&[&str]; 4] =
    [&["value", "source", "diagnostic"], &["graph"], &["run"], &["engine", "validate", "dialect", "present"]];

/// What is known across, and why.
const EXCEPTIONS: [(&str, &str, &str); 1] =
    // How closely a definition is held to its format is one question, asked of a text and then of its graph.
    [("validate", "dialect", "Strictness")];

#[test]
fn a_module_knows_only_the_floors_below() {
    let mut faults = Vec::new();
    for file in sources("portolan-core") {
        let module = module_of(&file);
        if module == "lib" {
            continue;
        }
        let own = floor(&module).unwrap_or_else(|| panic!("`{module}` stands on no floor: put it on one"));
        for (line, used) in uses(&file) {
            let Some(other) = floor(&used.module) else {
                faults.push(format!("{line}: `{}` is no module of the core", used.module));
                continue;
            };
            let within = used.module == module || own == 0 && other == 0;
            let allowed = EXCEPTIONS.contains(&(&module, &used.module, &used.item));
            if !within && other >= own && !allowed {
                faults.push(format!("{line}: `{module}` uses `{}`, which is not below it", used.module));
            }
        }
        let depth = depth(&file);
        for (line, text) in code(&file) {
            if text.contains(&"super::".repeat(depth + 1)) {
                faults.push(format!("{line}: `super` leads out of `{module}`: say `crate::`"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_exception_is_still_needed() {
    let mut needed = Vec::new();
    for file in sources("portolan-core") {
        let module = module_of(&file);
        needed.extend(uses(&file).into_iter().map(|(_, used)| (module.clone(), used.module, used.item)));
    }
    for (from, to, item) in EXCEPTIONS {
        assert!(needed.contains(&(from.into(), to.into(), item.into())), "`{from}` no longer uses `{to}::{item}`");
    }
}

#[test]
fn the_core_knows_nothing_of_the_world() {
    let strangers =
        ["tokio", "std::fs", "std::env", "std::net", "std::process", "std::thread", "SystemTime", "Instant::"];
    nobody_says("portolan-core", &strangers);
    nobody_says("portolan-core", &["HashMap", "HashSet"]);
}

#[test]
fn the_drive_knows_no_protocol_and_no_terminal() {
    nobody_says("portolan-runtime", &["rmcp", "clap", "annotate_snippets", "println!", "eprintln!"]);
}

#[test]
fn faces_decide_nothing() {
    nobody_says("portolan", &["portolan_core::engine", "portolan_core::validate"]);
}

fn nobody_says(krate: &str, words: &[&str]) {
    let mut faults = Vec::new();
    for file in sources(krate) {
        for (line, text) in code(&file) {
            faults.extend(words.iter().filter(|word| text.contains(**word)).map(|word| format!("{line}: `{word}`")));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

fn floor(module: &str) -> Option<usize> {
    FLOORS.iter().position(|floor| floor.contains(&module))
}

struct Used {
    module: String,
    item: String,
}

/// Every module of the crate that the code of a file names, and which of its items.
fn uses(file: &Path) -> Vec<(String, Used)> {
    let mut uses = Vec::new();
    for (line, text) in code(file) {
        for (at, found) in text.match_indices("crate::") {
            let path = &text[at + found.len()..];
            let (module, rest) = word(path);
            let rest = rest.strip_prefix("::").unwrap_or_default();
            let items: Vec<&str> = match rest.strip_prefix('{') {
                None => vec![word(rest).0],
                // A list that goes on below is of a module all the same.
                Some("") => vec![""],
                Some(list) => {
                    list.split([',', '}']).map(|item| word(item.trim()).0).filter(|item| !item.is_empty()).collect()
                }
            };
            uses.extend(items.iter().map(|item| (line.clone(), Used { module: module.into(), item: (*item).into() })));
        }
    }
    uses
}

fn word(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len()))
}

/// The code of a file, without comments and without what is only compiled for tests; each line with its place.
fn code(file: &Path) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(file).expect("a source is text");
    let lines = text.lines().enumerate().take_while(|(_, line)| line.trim() != "#[cfg(test)]" || !ends_file(&text));
    lines
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(at, line)| (format!("{}:{}", file.display(), at + 1), line.to_owned()))
        .collect()
}

/// Whether the tests of a file stand in it, at its end, rather than in a file of their own.
fn ends_file(text: &str) -> bool {
    text.contains("#[cfg(test)]\nmod tests {")
}

fn sources(krate: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(krate).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in folder.read_dir().expect("a folder of sources") {
            let path = entry.expect("it can be read").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            if name.contains("tests") {
                continue;
            }
            if path.is_dir() {
                folders.push(path);
            } else if name.ends_with(".rs") {
                files.push(path);
            }
        }
    }
    assert!(!files.is_empty());
    files.sort();
    files
}

/// The path of a file below `src`.
fn below_src(file: &Path) -> Vec<String> {
    let parts: Vec<String> = file.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let src = parts.iter().rposition(|part| part == "src").expect("sources stand in `src`");
    parts[src + 1..].to_vec()
}

fn module_of(file: &Path) -> String {
    below_src(file)[0].trim_end_matches(".rs").to_owned()
}

/// How many `super` stay inside the module that a file belongs to.
fn depth(file: &Path) -> usize {
    let parts = below_src(file);
    let is_mod = parts.last().is_some_and(|name| name == "mod.rs");
    parts.len() - 1 - usize::from(is_mod)
}

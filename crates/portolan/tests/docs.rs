//! The documents do what they say: every `sh` block runs, from the top of its page, in a fresh repository; every
//! piece of Rust is compiled where it was taken from; every example under `examples/` is sound.
#![cfg(unix)]

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The pages that people write, in order.
fn pages() -> Vec<PathBuf> {
    let mut pages = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    let docs = fs::read_dir(root().join("docs")).expect("a folder");
    pages.extend(
        docs.map(|entry| entry.expect("an entry").path()).filter(|path| path.extension().is_some_and(|e| e == "md")),
    );
    pages.sort();
    pages
}

/// The blocks of a page that are fenced as `language`, each with its first line's number.
fn blocks(page: &Path, language: &str) -> Vec<(usize, String)> {
    let text = fs::read_to_string(page).expect("a page");
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let mut inside = false;
    for (nth, line) in text.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(_), Some(_)) => {
                blocks.extend(open.take());
                inside = false;
            }
            (Some(_), None) if inside => inside = false,
            (Some(word), None) => {
                inside = true;
                open = (word.trim() == language).then(|| (nth + 2, String::new()));
            }
            (None, Some((_, block))) => {
                block.push_str(line);
                block.push('\n');
            }
            (None, None) => {}
        }
    }
    blocks
}

struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    fn new() -> Scratch {
        let scratch = Scratch { folder: tempfile::tempdir().expect("a folder") };
        fs::create_dir(scratch.project()).expect("a project");
        let done = scratch.sh("git init --quiet");
        assert!(done.status.success(), "{done:?}");
        scratch
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn sh(&self, script: &str) -> Output {
        let program = Path::new(env!("CARGO_BIN_EXE_portolan")).parent().expect("a folder").to_owned();
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(std::iter::once(program).chain(std::env::split_paths(&path))).expect("a path");
        Command::new("sh")
            .args(["-e", "-c", script])
            .current_dir(self.project())
            .env("PATH", path)
            .env("HOME", self.folder.path())
            .env("PORTOLAN_DATA_DIR", self.folder.path().join("person"))
            .env("NO_COLOR", "1")
            .output()
            .expect("a shell")
    }
}

#[test]
fn every_command_of_the_documents_runs() {
    let mut ran = 0;
    for page in pages() {
        let scratch = Scratch::new();
        for (line, block) in blocks(&page, "sh") {
            if let (true, Err(why)) = (block.contains("--sandbox"), portolan_supervision::sandbox::check_available()) {
                let said = format!("NOT CHECKED: {}:{line}: {why}\n", page.display());
                std::io::stderr().write_all(said.as_bytes()).expect("standard error is there");
                continue;
            }
            let done = scratch.sh(&block);
            assert!(
                done.status.success(),
                "{}:{line}\n{block}\nended with {}\n{}{}",
                page.display(),
                done.status,
                String::from_utf8_lossy(&done.stdout),
                String::from_utf8_lossy(&done.stderr)
            );
            ran += 1;
        }
    }
    assert!(ran > 0, "no page has a command");
}

/// The Rust of the documents is that of the front pages of the crates and of what is called most, where it is compiled
/// and run.
#[test]
fn every_piece_of_rust_in_the_documents_is_compiled() {
    let pages_in_code = [
        "portolan-core/src/lib.rs",
        "portolan-runtime/src/lib.rs",
        "portolan-runtime/src/drive/mod.rs",
        "portolan-runtime/src/graphs.rs",
        "portolan-runtime/src/states/assistant.rs",
        "portolan-runtime/src/store/contract/mod.rs",
    ];
    let fronts: String = pages_in_code
        .iter()
        .map(|page| fs::read_to_string(root().join("crates").join(page)).expect("a front page"))
        .collect();
    let shown: Vec<&str> = fronts.lines().filter_map(|line| line.strip_prefix("//!")).map(str::trim).collect();
    let mut checked = 0;
    for page in pages() {
        for (line, block) in blocks(&page, "rust") {
            for text in block.lines().map(str::trim).filter(|text| !text.is_empty()) {
                assert!(shown.contains(&text), "{}:{line}: no front page has `{text}`", page.display());
            }
            checked += 1;
        }
    }
    assert!(checked > 0, "no page has Rust");
}

#[test]
fn every_example_is_sound() {
    let examples = root().join("examples").join("navigator");
    let mut checked = 0;
    for entry in fs::read_dir(examples).expect("examples") {
        let folder = entry.expect("an entry").path();
        let scratch = Scratch::new();
        let done = scratch.sh(&format!("portolan check '{}'", folder.display()));
        let said = String::from_utf8_lossy(&done.stdout);
        assert!(done.status.success() && said.contains("0 errors, 0 warnings"), "{}\n{said}", folder.display());
        checked += 1;
    }
    assert!(checked > 0, "there are no examples");
}

/// The guides name the tests that show what they say.
#[test]
fn every_test_that_the_documents_name_is_there() {
    let mut named = 0;
    let sources = sources(&root().join("crates"));
    for page in pages() {
        let text = fs::read_to_string(&page).expect("a page");
        let words = text.split('`').skip(1).step_by(2);
        for name in words.filter(|word| is_sentence(word)) {
            assert!(sources.contains(&format!("fn {name}(")), "{}: there is no test `{name}`", page.display());
            named += 1;
        }
    }
    assert!(named > 20, "only {named} tests are named");
}

/// Nothing but a test is called by a whole sentence.
fn is_sentence(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    word.chars().all(plain) && word.matches('_').count() >= 3
}

/// All Rust sources below a folder, in one text.
fn sources(folder: &Path) -> String {
    let mut all = String::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.push_str(&sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push_str(&fs::read_to_string(path).expect("a source"));
        }
    }
    all
}

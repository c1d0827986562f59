//! Tests of files: a folder for each case, and random files with random changes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Author, Change};
use crate::definition::DefinitionError;
use crate::servers::PoolOptions;
use crate::service::{Options, Service, StoreAt};

/// A folder with a service, and an author of a file in it.
pub(super) struct Desk {
    _folder: tempfile::TempDir,
    pub(super) service: Service,
    pub(super) author: Arc<Author>,
    pub(super) file: PathBuf,
}

impl Desk {
    pub(super) fn of(name: &str, text: Option<&str>) -> Desk {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().join("project");
        fs::create_dir(&project).expect("a project");
        let file = project.join(name);
        if let Some(text) = text {
            fs::write(&file, text).expect("a file");
        }
        let trust = Some(folder.path().join("person"));
        let service =
            Service::new(Options { store: StoreAt::Memory, trust, ..Options::of(&project) }).expect("a service");
        let author = Author::new(file.clone(), None, PoolOptions::default()).expect("an author");
        Desk { _folder: folder, service, author: Arc::new(author), file }
    }

    pub(super) fn write(
        &self,
        change: Change,
        revision: Option<&str>,
    ) -> Result<super::AppliedChange, DefinitionError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(self.author.write(self.service.library(), change, revision))
    }

    pub(super) fn text(&self) -> Option<String> {
        fs::read_to_string(&self.file).ok()
    }
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/author")
}

#[test]
fn every_case_comes_out_as_it_is_written() {
    let mut ran = 0;
    let mut wrong = Vec::new();
    let mut folders: Vec<PathBuf> = fs::read_dir(cases())
        .expect("the cases")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir())
        .collect();
    folders.sort();
    for folder in folders {
        ran += 1;
        if let Some(difference) = differs(&folder) {
            wrong.push(difference);
        }
    }
    assert!(ran >= 25, "only {ran} cases");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns how a case differs from its expectation. Line ends count, so texts are compared as bytes.
fn differs(folder: &Path) -> Option<String> {
    let extension = ["yaml", "json"].into_iter().find(|extension| folder.join(format!("in.{extension}")).exists());
    let extension = extension.unwrap_or("yaml");
    let before = fs::read_to_string(folder.join(format!("in.{extension}"))).ok();
    let edit = fs::read_to_string(folder.join("edit.json")).expect("an edit");
    let edit: Value = serde_json::from_str(&edit).expect("the edit is JSON");
    let desk = Desk::of(&format!("in.{extension}"), before.as_deref());
    let (name, found) = match desk.write(change(&desk, &edit), edit["revision"].as_str()) {
        Ok(_) => (format!("out.{extension}"), desk.text().expect("it is there")),
        Err(refused) => {
            assert_eq!(desk.text(), before, "{}: a refusal changes nothing", folder.display());
            ("refused.txt".to_owned(), refusal_text(&desk, &refused))
        }
    };
    let expected = folder.join(&name);
    let stale = ["refused.txt".to_owned(), format!("out.{extension}")]
        .into_iter()
        .find(|other| *other != name && folder.join(other).exists());
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        if let Some(stale) = stale {
            fs::remove_file(folder.join(stale)).expect("it is removed");
        }
        fs::write(&expected, &found).expect("it is written");
        return None;
    }
    let wanted = fs::read_to_string(&expected).unwrap_or_default();
    (wanted != found || stale.is_some())
        .then(|| format!("{}\n--- wanted\n{wanted}\n+++ found\n{found}", expected.display()))
}

fn refusal_text(desk: &Desk, refused: &DefinitionError) -> String {
    let folder = format!("{}/", desk.file.parent().expect("a folder").display());
    let mut text = format!("{}: {}\nhelp: {}\n", refused.error.code, refused.error.message, refused.error.help);
    for (source, fault) in &refused.findings {
        let place = fault
            .span
            .map(|span| source.location(span.start))
            .map_or_else(String::new, |place| format!("{}:{} ", place.line, place.column));
        text.push_str(&format!("{place}{}: {}\n", fault.code, fault.message));
    }
    text.replace(&folder, "")
}

/// `{"add": tool}`, `{"delete": name}`, `{"update": name, "tool": tool}`. Instead of a whole tool: `set` and `remove`,
/// pointers into the present one, or into the one that `like` names.
fn change(desk: &Desk, edit: &Value) -> Change {
    if let Some(name) = edit["delete"].as_str() {
        return Change::Delete(name.to_owned());
    }
    if edit["add"].is_object() {
        return Change::Add(edit["add"].clone());
    }
    let name = edit["update"].as_str().or(edit["like"].as_str()).expect("an edit says what it does");
    let mut tool = edit["tool"].clone();
    if tool.is_null() {
        let present = desk.author.present().expect("it is read");
        tool = present.definition(&present.tool(name).expect("it is there"));
    }
    for (pointer, value) in edit["set"].as_object().into_iter().flatten() {
        set(&mut tool, pointer, value.clone());
    }
    for pointer in edit["remove"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        remove(&mut tool, pointer);
    }
    match edit["update"].as_str() {
        Some(name) => Change::Update(name.to_owned(), tool),
        None => Change::Add(tool),
    }
}

fn set(value: &mut Value, pointer: &str, wanted: Value) {
    let (parent, last) = pointer.rsplit_once('/').expect("a pointer");
    match value.pointer_mut(parent).expect("the parent is there") {
        Value::Object(members) => {
            members.insert(last.to_owned(), wanted);
        }
        Value::Array(items) if last.starts_with('+') => {
            items.insert(last[1..].parse().expect("a place"), wanted);
        }
        Value::Array(items) => items[last.parse::<usize>().expect("a place")] = wanted,
        _ => panic!("{pointer} leads into no collection"),
    }
}

fn remove(value: &mut Value, pointer: &str) {
    let (parent, last) = pointer.rsplit_once('/').expect("a pointer");
    match value.pointer_mut(parent).expect("the parent is there") {
        Value::Object(members) => drop(members.shift_remove(last)),
        Value::Array(items) => drop(items.remove(last.parse().expect("a place"))),
        _ => panic!("{pointer} leads into no collection"),
    }
}

fn tool(name: &str) -> Value {
    json!({
        "name": name,
        "description": "Does it",
        "inputSchema": { "type": "object" },
        "outputSchema": { "type": "object" },
        "nodes": [{ "id": "entry", "type": "entry", "next": "exit" }, { "id": "exit", "type": "exit" }],
    })
}

#[test]
fn what_is_written_is_what_was_sent() {
    let desk = Desk::of("g.yaml", None);
    desk.write(Change::Add(tool("one")), None).expect("it is written");
    let present = desk.author.present().expect("it is read");
    assert_eq!(present.definition(&present.tool("one").expect("it is there")), tool("one"));
    assert_eq!(present.face()["name"], "g");
}

/// The folder is the user's, and its files show in `git status`.
#[test]
fn nothing_but_the_file_is_left_where_it_is_written() {
    let desk = Desk::of("graphs.yaml", None);
    desk.write(Change::Add(tool("sum")), None).expect("it is written");
    let folder = desk.file.parent().expect("a folder");
    let names: Vec<_> =
        fs::read_dir(folder).expect("it can be read").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(names, ["graphs.yaml"]);
}

mod random;

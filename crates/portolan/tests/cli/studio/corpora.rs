//! What other projects have written is shown. It is no part of this repository: `WORKFLOW_CORPORA` says where it is, and
//! without it the test says that it checked nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use portolan_core::dialect::Strictness;
use portolan_core::present::{Drawing, DrawingInput, DrawnNode, Fold, NodeOffsets, drawing, svg};
use portolan_runtime::library::{Library, workflow_files};
use serde_json::{Value, json};

use super::Studio;
use crate::support::Project;

#[path = "../../../../portolan-core/src/present/drawing/tests/sound.rs"]
mod sound;

/// How high the head of a box is.
const HEAD: i64 = 36;

/// The folders of definitions of each project.
fn corpora() -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("WORKFLOW_CORPORA") else {
        #[expect(clippy::print_stderr, reason = "a check that is left out must be seen to be")]
        {
            eprintln!("NOT CHECKED: `WORKFLOW_CORPORA` names no folder");
        }
        return Vec::new();
    };
    let found = inside(Path::new(&folder));
    assert!(!found.is_empty(), "there is nothing in {}", folder.display());
    found.into_iter().filter(|path| path.is_dir()).collect()
}

fn inside(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    found.sort();
    found
}

/// All files of a folder that could hold a definition, however deep.
fn texts(folder: &Path) -> Vec<PathBuf> {
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = inside(folder).into_iter().partition(|path| path.is_dir());
    let is_text = |path: &PathBuf| {
        path.extension().is_some_and(|kind| ["json", "yaml", "yml", "md"].iter().any(|known| kind == *known))
    };
    files.into_iter().filter(is_text).chain(folders.iter().flat_map(|folder| texts(folder))).collect()
}

/// The items of a list, or the one value, each on a line.
fn items(part: &Value) -> String {
    let items = part.as_array().map_or(std::slice::from_ref(part), Vec::as_slice);
    items.iter().map(|item| format!("{item}\n")).collect()
}

/// Asserts that a definition is shown as a graph, or with what is wrong with it and what to do. Whether it is a graph.
fn assert_shown(name: &str, told: &Value) -> bool {
    let drawn = told["drawing"]["nodes"].as_array().map_or(0, Vec::len);
    let problems = told["problems"].as_array().unwrap_or_else(|| panic!("`{name}` is answered: {told}"));
    let errors: Vec<&Value> = problems.iter().filter(|problem| problem["severity"] == "error").collect();
    for error in &errors {
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "`{name}`: {error}");
    }
    assert!(drawn > 0 || !errors.is_empty(), "`{name}` is an empty sheet, and nothing says why");
    drawn > 0
}

#[test]
fn what_others_have_written_is_drawn_as_the_studio_shows_it() {
    for folder in corpora() {
        let project = Project::new();
        let wanted = folder.to_string_lossy().into_owned();
        let studio = Studio::of(&project, &[&wanted]);
        let given = std::slice::from_ref(&folder);
        let library = Library::new(&project.path(), given, Strictness::Strict).expect("it is read");
        let (mut graphs, mut faulty) = (0, BTreeMap::new());
        for id in workflow_files(&folder).expect("a folder").into_iter().map(|found| found.id) {
            let told = studio.get(&format!("/definitions/{id}")).json();
            if !assert_shown(&id, &told) {
                faulty.insert(id, told["problems"][0]["code"].clone());
                continue;
            }
            graphs += 1;
            let sketch = library.sketch(&id, None).expect("it is read");
            let name = sketch.roots.first().expect("a root");
            let (root, workflow) = (&sketch.graphs[name], sketch.workflows.get(name));
            let find = |name: &str| sketch.graphs.get(name);
            let all = |fold: Fold, drawing: &Drawing| {
                let nodes = drawing.nodes.iter().filter(move |node| node.container == Some(fold));
                nodes.map(|node| node.id.clone()).collect::<BTreeSet<String>>()
            };
            let draw = |folded: &BTreeSet<String>, opened: &BTreeSet<String>| {
                drawing(&DrawingInput {
                    graph: root,
                    workflow,
                    find: &find,
                    folded,
                    opened,
                    moved: &NodeOffsets::new(),
                })
            };
            let none = BTreeSet::new();
            let plain = draw(&none, &none);
            let (folded, opened) = (all(Fold::Open, &plain), all(Fold::Folded, &plain));
            for (folded, opened, is_whole) in [(&none, &none, true), (&folded, &none, false), (&none, &opened, false)] {
                let drawing = draw(folded, opened);
                sound::assert_sound(&drawing);
                assert!(svg(&drawing).starts_with("<svg"));
                let shown =
                    studio.post(&format!("/definitions/{id}/checks"), &json!({ "folded": folded, "opened": opened }));
                let shown = &shown.json()["drawing"];
                let wanted = serde_json::to_value(&drawing).expect("it is JSON");
                for part in ["width", "height", "nodes", "edges"] {
                    assert_eq!(items(&shown[part]), items(&wanted[part]), "the {part} of `{id}`");
                }
                let written: BTreeSet<usize> = drawing.edges.iter().filter_map(|edge| edge.number).collect();
                assert!(!is_whole || written.len() == root.edges.len(), "every edge of `{id}` is drawn");
            }
        }
        assert!(graphs > 0, "{} has definitions that are drawn; and not: {faulty:?}", folder.display());
    }
}

/// Parts of definitions, schemas, notes: whatever else lies there is opened by somebody, and no file may bring the page down.
#[test]
fn every_other_file_of_theirs_is_shown_with_what_is_wrong_with_it() {
    let project = Project::new();
    let files: Vec<PathBuf> = corpora().iter().flat_map(|folder| texts(folder)).collect();
    let named = |at: usize, path: &Path| match path.extension().is_some_and(|kind| kind == "json") {
        true => format!("other-{at}.json"),
        false => format!("other-{at}.yaml"),
    };
    for (at, path) in files.iter().enumerate() {
        project.write(&format!(".flow/workflows/{}", named(at, path)), std::fs::read(path).expect("a text"));
    }
    let studio = Studio::of(&project, &[]);
    for (at, path) in files.iter().enumerate() {
        let told = studio.get(&format!("/definitions/other-{at}")).json();
        assert_shown(&path.to_string_lossy(), &told);
    }
}

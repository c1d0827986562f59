//! The JSON forms of definitions and runs: `graph/1` as written, `workflow/1` as checked, `run/1`. `docs/situation.md` describes
//! them.
#![expect(clippy::disallowed_methods, reason = "the definitions are files")]

use std::fs;
use std::path::{Path, PathBuf};

use portolan_core::dialect::{self, Strictness};
use portolan_core::engine;
use portolan_core::graph::{Graph, Kind};
use portolan_core::run::{Opening, Run};
use portolan_core::source::Source;
use portolan_core::validate::validate;
use serde_json::{Value, json};

const ERRAND: &str = r#"{
  "id": "errand",
  "nodes": {
    "start": { "type": "start" },
    "fix": { "type": "task", "name": "Fix it", "accept": [{ "id": "notes", "file": "notes.md" }] },
    "done": { "type": "end", "result": "success" }
  },
  "edges": [{ "from": "start", "to": "fix" }, { "from": "fix", "to": "done" }]
}"#;

fn parsed(name: &str, text: String) -> Vec<Graph> {
    dialect::parse(&Source::new(name, text), Strictness::Lenient).graphs
}

/// Every definition among the cases and the examples, in all dialects.
fn definitions(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            definitions(&path, found);
        } else if path.extension().is_some_and(|extension| ["json", "yaml", "yml"].iter().any(|it| extension == *it)) {
            found.push(path);
        }
    }
}

#[test]
fn a_definition_has_a_form_as_written_and_a_form_as_checked() {
    let graph = parsed("errand.json", ERRAND.to_owned()).remove(0);
    let written = serde_json::to_value(&graph).expect("JSON");
    let fix = &written["nodes"][1];
    assert_eq!((&written["form"], &written["id"]["value"]), (&json!("graph/1"), &json!("errand")));
    assert_eq!((&fix["id"], &fix["name"], &fix["kind"]["is"]), (&json!("fix"), &json!("Fix it"), &json!("work")));
    assert_eq!(fix["accept"][0]["by"], json!({ "file": { "path": "notes.md" } }));
    // Where it stands, for an editor.
    let span = |of: &str| usize::try_from(fix["span"][of].as_u64().expect("a place")).expect("a place");
    assert!(ERRAND[span("start")..span("end")].contains("fix"));

    let workflow = validate(&graph, &|_| None, Strictness::Strict).0.expect("it is sound");
    let checked = serde_json::to_value(&workflow).expect("JSON");
    assert_eq!((&checked["form"], &checked["root"]), (&json!("workflow/1"), &json!("errand")));
    let exits = &checked["flows"]["errand"]["steps"]["fix"]["exits"];
    assert_eq!(exits["on"], json!([["passed", "done"]]));
    assert_eq!(exits["failing"]["retries"]["to"], json!("fix"));
}

#[test]
fn a_run_has_a_form_and_is_read_in_no_other() {
    let graph = parsed("errand.json", ERRAND.to_owned()).remove(0);
    let workflow = validate(&graph, &|_| None, Strictness::Strict).0.expect("it is sound");
    let run = Run::fold(&engine::open(&workflow, &Opening::of("errand")).expect("it opens")).expect("it is open");
    let told = serde_json::to_value(&run).expect("JSON");
    assert_eq!((&told["form"], &told["revision"]), (&json!("run/1"), &json!(1)));
    assert_eq!(told["root"]["place"], json!({ "ready": { "node": "start" } }));
    let read = |form: Option<&str>| {
        let mut told = told.clone();
        let members = told.as_object_mut().expect("an object");
        members.remove("form");
        members.extend(form.map(|form| ("form".to_owned(), json!(form))));
        serde_json::from_value::<Run>(told)
    };
    assert_eq!(read(Some("run/1")).expect("it is known"), run);
    assert_eq!(read(None).expect("earlier ones said nothing"), run);
    let refused = read(Some("run/2")).expect_err("it is not known");
    assert_eq!(refused.to_string(), "unknown variant `run/2`, expected `run/1`");
}

#[test]
fn every_definition_of_every_dialect_has_a_form() {
    let mut found = Vec::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    definitions(&root.join("tests/cases/check"), &mut found);
    definitions(&root.join("../../examples"), &mut found);
    let mut kinds = std::collections::BTreeSet::new();
    for path in found {
        let Ok(text) = fs::read_to_string(&path) else { continue };
        for graph in parsed(&path.to_string_lossy(), text) {
            let form = serde_json::to_value(&graph).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let nodes = form["nodes"].as_array().expect("its nodes");
            assert_eq!(nodes.len(), graph.nodes.len(), "{}", path.display());
            for (node, told) in graph.nodes.iter().zip(nodes) {
                kinds.insert(told["kind"]["is"].as_str().expect("a kind").to_owned());
                if let Kind::Call(call) = &node.kind {
                    assert_eq!(told["kind"]["tool"]["value"], json!(call.tool.value), "{}", path.display());
                }
            }
            let servers: Vec<&str> = graph.settings.servers.iter().map(|server| server.name.as_str()).collect();
            assert_eq!(form["settings"]["servers"], json!(servers), "how a server is reached may hold secrets");
            if let (Some(workflow), _) = validate(&graph, &|_| None, Strictness::Lenient) {
                let form: Value = serde_json::to_value(&workflow).expect("JSON");
                assert_eq!(form["form"], json!("workflow/1"));
            }
        }
    }
    assert!(kinds.len() > 12, "the definitions have all kinds of nodes: {kinds:?}");
}

//! Draws the definitions of the catalogue and the examples.
#![expect(clippy::disallowed_methods, reason = "the catalogue and the examples are files")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::{DrawingInput, Fold, NodeOffsets, drawing, svg};
use super::properties::assert_well_formed;
use super::sound::assert_sound;
use crate::graph::Graph;

/// Returns the files in the folders with definitions.
fn files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = [
        "crates/portolan-runtime/catalog/workflows",
        "crates/portolan-runtime/catalog/phases",
        "crates/portolan-runtime/catalog/states",
        "examples/activities",
        "examples/agent-states/ooda-loop",
        "examples/agent-states/quick-start",
        "examples/agent-states/research",
        "examples/agent-states/research-and-write",
        "examples/agent-states/simple-pipeline",
        "examples/navigator/audited-change",
        "examples/navigator/first-answer",
        "examples/navigator/release",
        "examples/tool-graphs",
    ];
    let entries = folders.iter().flat_map(|folder| std::fs::read_dir(root.join(folder)).expect("a folder"));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|path| path.extension().is_some_and(|kind| kind == "json" || kind == "yaml"));
    files.sort();
    files
}

#[test]
fn what_people_write_is_drawn() {
    let read = |path: &PathBuf| super::graphs(&path.to_string_lossy(), &std::fs::read_to_string(path).expect("a text"));
    let graphs: Vec<Graph> = files().iter().flat_map(read).collect();
    assert!(graphs.len() > 30, "only {}", graphs.len());
    let find = |id: &str| graphs.iter().find(|graph| graph.id.value == id);
    let (none, moved) = (BTreeSet::new(), NodeOffsets::new());
    let mut opened_some = false;
    for graph in &graphs {
        let what = DrawingInput { graph, workflow: None, find: &find, folded: &none, opened: &none, moved: &moved };
        let plain = drawing(&what);
        let with = |fold: Fold| {
            let nodes = plain.nodes.iter().filter(move |node| node.container == Some(fold));
            nodes.map(|node| node.id.clone()).collect::<BTreeSet<String>>()
        };
        let (folded, opened) = (with(Fold::Open), with(Fold::Folded));
        opened_some |= !opened.is_empty();
        let folded = drawing(&DrawingInput { folded: &folded, ..what });
        for drawing in [&plain, &folded, &drawing(&DrawingInput { opened: &opened, ..what })] {
            assert_sound(drawing);
            assert_well_formed(&svg(drawing));
        }
        let drawn = plain.edges.iter().filter_map(|edge| edge.number).count();
        assert_eq!(drawn, graph.edges.len(), "every edge of `{}` is drawn", graph.id.value);
    }
    assert!(opened_some, "some workflows run others");
}

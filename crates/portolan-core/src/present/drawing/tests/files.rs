//! Draws the definitions of the catalogue and the examples.
#![expect(clippy::disallowed_methods, reason = "the catalogue and the examples are files")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::super::{DrawingInput, Fold, NodeOffsets, drawing, svg};
use super::legible::assert_legible;
use super::properties::assert_well_formed;
use super::sound::assert_sound;
use crate::dialect::{self, Strictness};
use crate::graph::Graph;
use crate::source::{Piece, Source};
use crate::value::NodeId;

/// Returns the definitions in the folders of the repository that have some, each with the files that belong to it.
fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["crates/portolan-runtime/catalog", "crates/portolan-core/tests/cases", "examples"];
    folders.iter().flat_map(|folder| inside(&root.join(folder))).collect()
}

/// Returns the definitions in a folder and those below it. Files in a folder `activities` belong to the one above.
fn inside(folder: &Path) -> Vec<Source> {
    let entries = std::fs::read_dir(folder).expect("a folder");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) = paths.into_iter().partition(|path| path.is_dir());
    let (activities, folders): (Vec<PathBuf>, Vec<PathBuf>) =
        folders.into_iter().partition(|path| path.ends_with("activities") && folder.join("workflow.yaml").is_file());
    let pieces: Vec<Piece> = activities.iter().flat_map(|folder| inside(folder)).map(piece).collect();
    let is_text = |path: &&PathBuf| path.extension().is_some_and(|kind| kind == "json" || kind == "yaml");
    let read = |path: &PathBuf| Source::new(path.to_string_lossy(), std::fs::read_to_string(path).unwrap_or_default());
    let joined = |source: Source| match source.name.ends_with("workflow.yaml") && !pieces.is_empty() {
        true => source.joined(pieces.clone(), Vec::new()),
        false => source,
    };
    files.iter().filter(is_text).map(read).map(joined).chain(folders.iter().flat_map(|folder| inside(folder))).collect()
}

fn piece(source: Source) -> Piece {
    Piece { name: source.name.to_string(), text: Ok(source.text.to_string()) }
}

#[test]
fn what_people_write_is_drawn() {
    let sources = sources();
    let graphs: Vec<Graph> =
        sources.iter().flat_map(|source| dialect::parse(source, Strictness::Lenient).graphs).collect();
    assert!(graphs.len() > 300, "only {}", graphs.len());
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
            assert_legible(drawing);
        }
        let drawn = plain.edges.iter().filter_map(|edge| edge.number).count();
        let has = |id: &NodeId| graph.nodes.iter().any(|node| node.id == *id);
        let written = graph.edges.iter().filter(|edge| has(&edge.from.value) && has(&edge.to.value)).count();
        assert_eq!(drawn, written, "every edge of `{}` is drawn", graph.id.value);
    }
    assert!(opened_some, "some workflows run others");
}

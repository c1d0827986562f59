//! Definitions edited piece by piece: whatever is done, the text reads as what was meant, and everything else in it
//! stands, comments included.

use std::collections::BTreeSet;

use portolan_core::dialect::editing::{Edited, Forms, Operation, edit};
use portolan_core::dialect::{self, Strictness};
use portolan_core::graph::{Graph, Kind};
use portolan_core::source::{Piece, Source, Span};
use portolan_core::value::NodeId;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

/// A definition: what it is, the graph of it that is edited, where it has several, and its files by name.
type Definition = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// Definitions with comments, one or more of each format that can be edited.
const DEFINITIONS: &[Definition] = &[
    ("navigator, JSON", "", &[("flow.json", include_str!("cases/edit/navigator.json"))]),
    ("navigator, YAML", "", &[("flow.yaml", include_str!("cases/edit/navigator.yaml"))]),
    ("toolgraph, JSON", "survey", &[("tools.json", include_str!("cases/edit/toolgraph.json"))]),
    ("toolgraph, YAML", "survey", &[("tools.yaml", include_str!("cases/edit/toolgraph.yaml"))]),
    ("toolgraph, its second tool", "size_of", &[("tools.yaml", include_str!("cases/edit/toolgraph.yaml"))]),
    ("toolgraph, nodes beside the tools", "count", &[("tools.yaml", include_str!("cases/edit/toolgraph-beside.yaml"))]),
    ("states, JSON", "", &[("states.json", include_str!("cases/edit/states.json"))]),
    ("states, YAML", "", &[("states.yaml", include_str!("cases/edit/states.yaml"))]),
];

/// The names and the texts of a definition's files.
type Files = Vec<(String, String)>;

fn source(files: &[(String, String)]) -> Source {
    let main = Source::new(&*files[0].0, &files[0].1);
    match &files[1..] {
        [] => main,
        others => {
            let piece = |(name, text): &(String, String)| Piece { name: name.clone(), text: Ok(text.clone()) };
            main.joined(others.iter().map(piece).collect(), Vec::new())
        }
    }
}

/// The graph of this name; the first where none is named.
fn read(files: &[(String, String)], name: &str) -> Graph {
    let source = source(files);
    let dialect::File { graphs, faults } = dialect::parse(&source, Strictness::Strict);
    let graph = graphs.into_iter().find(|graph| name.is_empty() || graph.id.value.as_str() == name);
    graph.unwrap_or_else(|| panic!("it can be drawn: {faults:?}\n{}", source.text))
}

fn owned(files: &[(&str, &str)]) -> Files {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn done(files: &[(String, String)], name: &str, operation: &Value) -> Result<(Files, Option<String>), String> {
    let operation: Operation = serde_json::from_value(operation.clone()).expect("an operation");
    let (source, graph) = (source(files), read(files, name));
    let dialect = dialect::of(&source).expect("a format");
    let Edited { texts, select } = edit(dialect, &source, &graph, &operation).map_err(|refused| refused.message)?;
    assert_eq!(texts.len(), files.len());
    Ok((files.iter().map(|(name, _)| name.clone()).zip(texts).collect(), select))
}

/// The nodes that are written: what stands for the beginning, the end and choices that nodes make is not, in some formats.
fn ids(graph: &Graph) -> BTreeSet<String> {
    let written = graph.nodes.iter().filter(|node| node.span != Span::default());
    written.map(|node| node.id.to_string()).collect()
}

/// What stands in comments. Those of what is taken away go with it.
fn comments(files: &[(String, String)]) -> Vec<String> {
    let lines = files.iter().filter(|(name, _)| name.ends_with(".yaml")).flat_map(|(_, text)| text.lines());
    lines.filter_map(|line| line.split_once("# ").map(|(_, comment)| comment.to_owned())).collect()
}

/// How many lines of the one are not in the other, in order: what a difference of both would show.
fn lines_changed(before: &str, after: &str) -> usize {
    let (before, after): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let mut common = vec![vec![0_usize; after.len() + 1]; before.len() + 1];
    for (i, one) in before.iter().enumerate() {
        for (j, other) in after.iter().enumerate() {
            common[i + 1][j + 1] = if one == other { common[i][j] + 1 } else { common[i][j + 1].max(common[i + 1][j]) };
        }
    }
    before.len() - common[before.len()][after.len()]
}

/// An operation on what is there now.
fn operation(graph: &Graph, kinds: &[&str], what: u8, picks: &[Index; 3], word: &str) -> Value {
    let nodes: Vec<String> = ids(graph).into_iter().collect();
    let node = |nth: usize| nodes[picks[nth].index(nodes.len())].clone();
    let edge = || (!graph.edges.is_empty()).then(|| picks[0].index(graph.edges.len()));
    let on = [Value::Null, json!("failed"), json!(word)][picks[2].index(3)].clone();
    match (what % 11, edge()) {
        (0, _) => json!({ "is": "rename", "node": node(0), "to": word }),
        (1, _) => json!({ "is": "add", "kind": kinds[picks[1].index(kinds.len())], "after": node(0), "on": on }),
        (2, Some(edge)) => json!({ "is": "add", "kind": kinds[picks[1].index(kinds.len())], "edge": edge }),
        (3, _) => json!({ "is": "connect", "from": node(0), "to": node(1), "on": on }),
        (4, Some(edge)) => json!({ "is": "disconnect", "edge": edge }),
        (5, Some(edge)) => json!({ "is": "reconnect", "edge": edge, "to": node(1) }),
        (6, _) => json!({ "is": "duplicate", "node": node(0) }),
        (7, Some(edge)) => json!({ "is": "outcome", "edge": edge, "on": on }),
        (8, _) => json!({ "is": "delete", "nodes": [node(0)] }),
        (9, _) => json!({ "is": "add", "kind": kinds[picks[1].index(kinds.len())] }),
        _ => json!({ "is": "set", "node": node(0), "field": "description", "value": word }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Fifty edits, one after the other, in each definition.
    #[test]
    fn whatever_is_edited_reads_as_it_was_meant(
        plan in prop::collection::vec((any::<u8>(), any::<[Index; 3]>(), "[a-z]{3,8}"), 50),
    ) {
        for (what, name, files) in DEFINITIONS {
            let mut files = owned(files);
            for (kind, picks, word) in &plan {
                let before = read(&files, name);
                if before.nodes.is_empty() {
                    break;
                }
                let dialect = dialect::of(&source(&files)).expect("a format");
                let kinds: Vec<&str> = dialect.editing.expect("it can be edited").kinds.iter().map(|form| form.kind).collect();
                let wanted = operation(&before, &kinds, *kind, picks, word);
                // What cannot be done changes nothing: there is nothing to look at.
                let Ok((after, select)) = done(&files, name, &wanted) else { continue };
                let now = read(&after, name);
                let told = || format!("{what}\n{wanted}\n{}\n---\n{}", files[0].1, after[0].1);
                check(dialect.name == "states", &before, &now, &wanted, select.as_deref(), &told);
                // An edge with another outcome stands elsewhere where edges are fields of their nodes.
                let removals: &[&str] =
                    if dialect.name == "navigator" { &["delete", "disconnect"] } else { &["delete", "disconnect", "outcome"] };
                let is_removal = removals.contains(&wanted["is"].as_str().expect("a word"));
                if !is_removal {
                    let kept: Vec<String> = comments(&after);
                    for comment in comments(&files) {
                        prop_assert!(kept.contains(&comment), "`{comment}` is gone: {}", told());
                    }
                }
                if wanted["is"] == "set" {
                    let changed: usize = files.iter().zip(&after).map(|((_, one), (_, other))| lines_changed(one, other)).sum();
                    prop_assert!(changed <= 1, "{changed} lines have changed: {}", told());
                }
                files = after;
            }
        }
    }
}

/// What a node is called: by its name, or by what it stands for where none is written.
fn called(graph: &Graph, id: &NodeId) -> String {
    let node = graph.node(id).filter(|node| node.span == Span::default());
    match node.map(|node| &node.kind) {
        Some(Kind::Start) => "(start)".to_owned(),
        Some(Kind::End { .. }) => "(end)".to_owned(),
        // What chooses for another node goes by its name.
        Some(_) => id.as_str().split(':').next().unwrap_or_default().to_owned(),
        None => id.to_string(),
    }
}

/// How many edges lead from one node to another: those of what chooses for it are its own, and so are those of the join
/// that collects its branches.
fn leading(graph: &Graph, from: &str, to: &str) -> usize {
    let join = match graph.node(&from.into()).map(|node| &node.kind) {
        Some(Kind::Fork { join, .. }) => Some(&join.value),
        _ => None,
    };
    let leaves = |id: &NodeId| called(graph, id) == from || Some(id) == join;
    graph.edges.iter().filter(|edge| leaves(&edge.from.value) && edge.to.value.as_str() == to).count()
}

/// What an operation must have made of the graph.
fn check(states: bool, before: &Graph, now: &Graph, wanted: &Value, select: Option<&str>, told: &dyn Fn() -> String) {
    let (old, new) = (ids(before), ids(now));
    let text = |key: &str| wanted[key].as_str().expect("a text").to_owned();
    let number = || usize::try_from(wanted["edge"].as_u64().expect("a number")).expect("it is small");
    match wanted["is"].as_str().expect("a word") {
        "rename" => {
            let mut expected = old.clone();
            expected.remove(&text("node"));
            expected.insert(text("to"));
            assert_eq!(new, expected, "{}", told());
            assert_eq!(before.edges.len(), now.edges.len(), "{}", told());
            let renamed = |id: String| if id == text("node") { text("to") } else { id };
            for (one, other) in before.edges.iter().zip(&now.edges) {
                let was = (renamed(called(before, &one.from.value)), renamed(called(before, &one.to.value)));
                assert_eq!(was, (called(now, &other.from.value), called(now, &other.to.value)), "{}", told());
            }
        }
        "add" | "duplicate" => {
            let added: Vec<&String> = new.difference(&old).collect();
            assert!(old.is_subset(&new) && !added.is_empty(), "{}", told());
            assert!(select.is_some_and(|select| added.iter().any(|id| *id == select)), "{}", told());
        }
        "delete" => {
            let gone = wanted["nodes"][0].as_str().expect("a node");
            assert!(!new.contains(gone), "{}", told());
            assert!(
                now.edges.iter().all(|edge| edge.from.value.as_str() != gone && edge.to.value.as_str() != gone),
                "{}",
                told()
            );
        }
        // A state leads to the end where it leads nowhere else: the edge takes the place of that one. One that is no state
        // gets what chooses for it, with an edge, when it leads to more than one.
        "connect" if states => {
            assert!(leading(now, &text("from"), &text("to")) > 0, "{}", told());
            let more = now.edges.len().checked_sub(before.edges.len()).expect("no edge is lost");
            assert!(more <= 2, "{more} more edges: {}", told());
        }
        // The same the other way round; an answer goes on as all others do that have no branch.
        "disconnect" if states => {
            let edge = &before.edges[number()];
            let (from, to) = (called(before, &edge.from.value), edge.to.value.as_str());
            let asks =
                before.node(&from.as_str().into()).is_some_and(|node| matches!(node.kind, Kind::Checkpoint { .. }));
            if to != "end" && !asks {
                assert_eq!(leading(now, &from, to) + 1, leading(before, &from, to), "{}", told());
            }
        }
        "connect" => assert_eq!(now.edges.len(), before.edges.len() + 1, "{}", told()),
        "disconnect" => assert_eq!(now.edges.len() + 1, before.edges.len(), "{}", told()),
        "reconnect" => {
            assert_eq!(now.edges[number()].to.value.as_str(), text("to"), "{}", told());
        }
        "set" => {
            let source =
                |graph: &Graph| graph.node(&text("node").as_str().into()).map(|node| node.brief.description.clone());
            assert_eq!(source(now).flatten().as_deref(), wanted["value"].as_str(), "{}", told());
        }
        _ => assert_eq!(new, old, "{}", told()),
    }
}

#[test]
fn forms_show_what_the_text_says() {
    for (what, name, files) in DEFINITIONS {
        let files = owned(files);
        let (source, graph) = (source(&files), read(&files, name));
        let dialect = dialect::of(&source).expect("a format");
        let forms = Forms::of(dialect, &source, &graph).expect("it can be edited");
        assert!(!forms.own().is_empty(), "{what}");
        let shown = graph.nodes.iter().filter_map(|node| forms.node(node)).filter(|shown| shown.word.is_some()).count();
        assert!(shown > 2, "{what}: {shown} nodes have forms");
    }
}

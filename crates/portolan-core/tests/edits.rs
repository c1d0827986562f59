//! Definitions edited piece by piece: whatever is done, the text reads as what was meant, and everything else in it
//! stands, comments included.

use std::collections::BTreeSet;

use portolan_core::dialect::editing::{FieldKind, FormField, Forms, Operation, edit};
use portolan_core::dialect::{self, Strictness};
use portolan_core::graph::{CALL_RULES, Edge, Graph, Kind, Trigger};
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
    ("phases, JSON", "", &[("flow.json", include_str!("cases/edit/phases.json"))]),
    ("phases, YAML", "", &[("flow.yaml", include_str!("cases/edit/phases.yaml"))]),
    ("activity, YAML", "", &[("request.yaml", include_str!("cases/edit/activity.yaml"))]),
    ("activity, first generation", "", &[("release.json", include_str!("cases/edit/activity.json"))]),
    (
        "activity, in files",
        "",
        &[
            ("edit/workflow.yaml", include_str!("cases/edit/activity/workflow.yaml")),
            ("edit/activities/01-announce.yaml", include_str!("cases/edit/activity/01-announce.yaml")),
            ("edit/activities/02-build.yaml", include_str!("cases/edit/activity/02-build.yaml")),
        ],
    ),
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
    let edited = edit(dialect, &source, &graph, &operation).map_err(|refused| refused.message)?;
    let names = edited.files.iter().map(|(name, _)| name);
    assert!(names.zip(files).all(|(name, (before, _))| name == before), "none is left out");
    let there = edited.files.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let mut there: Files = there.collect();
    // As they are ordered on disk.
    there[1..].sort();
    Ok((there, edited.select))
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
    // Formats differ in what an edge may be taken on.
    let on = [Value::Null, json!("failed"), json!("yes"), json!(word)][picks[2].index(4)].clone();
    match (what % 12, edge()) {
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
        (10, _) => {
            let wrapping = kinds.iter().find(|kind| ["fork", "parallel", "loop"].contains(kind)).unwrap_or(&"none");
            json!({ "is": "wrap", "node": node(0), "kind": wrapping })
        }
        _ => json!({ "is": "set", "node": node(0), "field": "description", "value": word }),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, ..ProptestConfig::default() })]

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
                let texts = |files: &[(String, String)]| files.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>().join("\n");
                let told = || format!("{what}\n{wanted}\n{}\n---\n{}", texts(&files), texts(&after));
                match dialect.name {
                    "phases" => check_phases(&before, &now, &wanted, select.as_deref(), &told),
                    "activity" => check_activities(&before, &now, &wanted, select.as_deref(), &told),
                    name => check(name == "states", &before, &now, &wanted, select.as_deref(), &told),
                }
                // An edge with another outcome stands elsewhere where edges are fields of their nodes.
                let removals: &[&str] = match dialect.name {
                    "toolgraph" | "states" | "activity" => &["delete", "disconnect", "outcome"],
                    _ => &["delete", "disconnect"],
                };
                let is_removal = removals.contains(&wanted["is"].as_str().expect("a word"));
                if !is_removal {
                    let kept: Vec<String> = comments(&after);
                    // The phase that comes first follows none: its `after` goes, and the comment about it.
                    let is_moved = dialect.name == "phases" && ["connect", "reconnect"].contains(&wanted["is"].as_str().expect("a word"));
                    let of_after = |comment: &String| is_moved && comment == "before it is built";
                    for comment in comments(&files).into_iter().filter(|comment| !of_after(comment)) {
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
        "wrap" => {
            let (node, around) = (text("node"), select.expect("it is looked at"));
            assert!(old.is_subset(&new) && new.contains(around) && !old.contains(around), "{}", told());
            assert!(leading(now, around, &node) > 0, "{}", told());
            for edge in
                before.edges.iter().filter(|edge| edge.to.value.as_str() == node && edge.from.value.as_str() != node)
            {
                assert!(leading(now, &called(before, &edge.from.value), around) > 0, "{}", told());
            }
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

/// Phases stand in one row: two are connected onwards by one of them moving there, so that there is no edge more, and
/// others have their places in the list of edges.
fn check_phases(before: &Graph, now: &Graph, wanted: &Value, select: Option<&str>, told: &dyn Fn() -> String) {
    let text = |key: &str| wanted[key].as_str().expect("a text").to_owned();
    let leads = |from: &str, to: &str| {
        now.edges.iter().any(|edge| edge.from.value.as_str() == from && edge.to.value.as_str() == to)
    };
    let edge = || &before.edges[usize::try_from(wanted["edge"].as_u64().expect("a number")).expect("it is small")];
    let row = |graph: &Graph| graph.nodes.iter().filter(|node| node.phase.is_some()).count();
    match wanted["is"].as_str().expect("a word") {
        "connect" => assert!(leads(&text("from"), &text("to")), "{}", told()),
        "reconnect" => assert!(leads(edge().from.value.as_str(), &text("to")), "{}", told()),
        is => {
            check(false, before, now, wanted, select, told);
            let behind =
                wanted["after"].as_str().or_else(|| wanted["edge"].is_u64().then(|| edge().from.value.as_str()));
            if let ("add", Some(behind)) = (is, behind) {
                assert!(leads(behind, select.expect("it is looked at")), "{}", told());
            }
        }
    }
    // Whatever is moved, nothing is lost on the way.
    if ["connect", "reconnect", "disconnect"].contains(&wanted["is"].as_str().expect("a word")) {
        assert_eq!(row(before), row(now), "{}", told());
    }
}

/// Nodes in activities are made of what is written, some several times, and their identifiers begin with that of the
/// activity: a new name shows in more than one. Ways are those of activities: with the last condition on the ways out of
/// one, the switch goes as well that they stood behind, and an activity from which nothing leads on leads to the end.
fn check_activities(before: &Graph, now: &Graph, wanted: &Value, select: Option<&str>, told: &dyn Fn() -> String) {
    let text = |key: &str| wanted[key].as_str().expect("a text").to_owned();
    let owner = |id: &str| id.split('.').next().expect("a word").to_owned();
    let edge = || &before.edges[usize::try_from(wanted["edge"].as_u64().expect("a number")).expect("it is small")];
    let ways = |graph: &Graph, from: &str, to: &str| {
        let is_one = |id: &str| owner(id) == owner(from);
        graph.edges.iter().filter(|edge| is_one(edge.from.value.as_str()) && edge.to.value.as_str() == to).count()
    };
    match wanted["is"].as_str().expect("a word") {
        "rename" => {
            // The same graph, node by node and edge by edge, in which only names with the old word differ.
            assert_eq!(before.nodes.len(), now.nodes.len(), "{}", told());
            let node = text("node");
            let old = node.rsplit('.').next().expect("a word");
            let mut names = std::collections::BTreeMap::new();
            for (one, other) in before.nodes.iter().zip(&now.nodes) {
                let parts = |id: &str| id.split('.').map(str::to_owned).collect::<Vec<_>>();
                let (was, is) = (parts(one.id.as_str()), parts(other.id.as_str()));
                assert_eq!(was.len(), is.len(), "{}", told());
                for (was, is) in was.iter().zip(&is) {
                    assert!(was == is || (was == old && *is == text("to")), "{was} {is} {}", told());
                }
                names.insert(one.id.to_string(), other.id.to_string());
            }
            assert_eq!(Some(names[&node].as_str()), select, "{}", told());
            assert_eq!(before.edges.len(), now.edges.len(), "{}", told());
            for (one, other) in before.edges.iter().zip(&now.edges) {
                let was = (&names[one.from.value.as_str()], &names[one.to.value.as_str()]);
                assert_eq!(was, (&other.from.value.to_string(), &other.to.value.to_string()), "{}", told());
            }
        }
        // A step stands in the loop that is put around it, where its name is the same.
        "wrap" => {
            let (old, new, select) = (ids(before), ids(now), select.expect("it is looked at"));
            let own = |id: &str| id.rsplit('.').next().map(str::to_owned);
            assert!(new.contains(select) && !old.contains(select), "{select} {}", told());
            assert!(new.iter().any(|id| own(id) == own(&text("node"))), "{}", told());
        }
        "connect" => assert!(ways(now, &text("from"), &text("to")) > 0, "{}", told()),
        "reconnect" => assert!(ways(now, edge().from.value.as_str(), &text("to")) > 0, "{}", told()),
        // The switch behind the last step comes with the first condition, and goes with the last.
        "outcome" => {
            let (from, to, on) = (edge().from.value.as_str(), edge().to.value.as_str(), wanted["on"].as_str());
            let steps = |graph: &Graph| ids(graph).into_iter().filter(|id| !id.ends_with(".leave")).collect::<Vec<_>>();
            assert_eq!(steps(before), steps(now), "{}", told());
            let is_taken_on = |edge: &Edge| match &edge.on {
                Trigger::When(condition) => Some(condition.value.text()) == on.map(str::to_owned),
                // An activity that ends with a question is left by its answers.
                Trigger::Outcome(outcome) => on.is_none_or(|on| outcome.value.as_str() == on),
                Trigger::Done => on.is_none(),
            };
            let leads = |edge: &&Edge| owner(edge.from.value.as_str()) == owner(from) && edge.to.value.as_str() == to;
            assert!(now.edges.iter().filter(leads).any(is_taken_on), "{}", told());
            if let (Trigger::When(old), None) = (&edge().on, on) {
                let has_it =
                    |edge: &&Edge| matches!(&edge.on, Trigger::When(one) if one.value.text() == old.value.text());
                let count = |graph: &Graph| graph.edges.iter().filter(leads).filter(has_it).count();
                assert!(count(now) < count(before), "the condition is still there: {}", told());
            }
        }
        "disconnect" => {
            let (from, to) = (edge().from.value.as_str(), edge().to.value.as_str());
            let switch = portolan_core::value::NodeId::from(format!("{}.leave", owner(from)));
            let has_gone = before.node(&switch).is_some() && now.node(&switch).is_none();
            // An answer that leads nowhere of its own leads where the activity does, perhaps to the same one.
            let is_answer =
                matches!(before.node(&edge().from.value).map(|node| &node.kind), Some(Kind::Checkpoint { .. }));
            let follows = is_answer && ways(now, from, to) == ways(before, from, to);
            assert!(has_gone || follows || ways(now, from, to) < ways(before, from, to), "{}", told());
        }
        "set" if now.node(&text("node").as_str().into()).is_some_and(|node| node.kind == Kind::Activity) => {
            // What is told of an activity is told of all that is done in it.
            let told_of = now.activities.iter().find(|activity| activity.id == text("node"));
            let description = told_of.and_then(|activity| activity.description.as_deref());
            assert_eq!(description, wanted["value"].as_str(), "{}", told());
        }
        _ => check(false, before, now, wanted, select, told),
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

/// A value that a person might give to a field.
fn sample(field: &FormField) -> Value {
    match field.kind {
        FieldKind::Choice => json!(field.choices[0]),
        FieldKind::Number => json!(1),
        FieldKind::Boolean => json!(true),
        FieldKind::List => json!(["a"]),
        FieldKind::Text | FieldKind::Long | FieldKind::Expression => json!("a"),
        FieldKind::Json if field.columns.is_empty() => json!([]),
        FieldKind::Json => {
            let mut row = json!({});
            for column in field.columns {
                let parts = column.path.split('.');
                *parts.fold(&mut row, |at, part| &mut at[part]) = json!("a");
            }
            json!([row])
        }
    }
}

/// The faults that name a field without a meaning.
fn meaningless(files: &[(String, String)]) -> Vec<String> {
    let faults = dialect::parse(&source(files), Strictness::Strict).faults;
    faults.into_iter().filter(|fault| fault.code == "unknown-field").map(|fault| fault.message).collect()
}

#[test]
fn a_field_of_a_form_is_one_that_is_read() {
    for (what, name, files) in DEFINITIONS {
        let mut files = owned(files);
        let format = dialect::of(&source(&files)).expect("a format");
        let editing = format.editing.expect("it can be edited");
        // One node of each kind that can be added.
        for kind in editing.kinds.iter().filter(|form| form.addable) {
            let add = |after: Option<&NodeId>| json!({ "is": "add", "kind": kind.kind, "after": after });
            let graph = read(&files, name);
            let mut places = std::iter::once(None).chain(graph.nodes.iter().map(|node| Some(&node.id)));
            if let Some((with, _)) = places.find_map(|after| done(&files, name, &add(after)).ok()) {
                files = with;
            }
        }
        assert_eq!(meaningless(&files), [""; 0], "{what}");
        let (source, graph) = (source(&files), read(&files, name));
        let forms = Forms::of(format, &source, &graph).expect("it can be edited");
        let word = |node| Some((forms.node(node)?.word?, node.id.as_str()));
        let nodes: std::collections::BTreeMap<&str, &str> = graph.nodes.iter().filter_map(word).collect();
        let of_nodes = editing.kinds.iter().filter_map(|form| Some((Some(*nodes.get(form.kind)?), form.fields)));
        let mut set_count = 0;
        for (node, fields) in of_nodes.chain([(None, editing.own)]) {
            for field in fields {
                let set = json!({ "is": "set", "node": node, "field": field.path, "value": sample(field) });
                let Ok((after, _)) = done(&files, name, &set) else { continue };
                assert_eq!(meaningless(&after), [""; 0], "{what}: `{}` of {node:?}", field.path);
                set_count += 1;
            }
        }
        assert!(set_count > 12, "{what}: {set_count} fields could be set");
    }
}

#[test]
fn guards_have_a_field_in_the_form_of_what_may_carry_them() {
    let of = |name: &str| {
        dialect::DIALECTS
            .iter()
            .find(|dialect| dialect.name == name)
            .and_then(|dialect| dialect.editing)
            .expect("it can be edited")
    };
    let has = |fields: &[FormField]| CALL_RULES.iter().all(|rules| fields.iter().any(|field| field.path == *rules));
    for (name, kinds) in [
        ("navigator", &["task", "gate", "subflow"][..]),
        ("activity", &["step", "technique", "action"]),
        ("phases", &["phase"]),
    ] {
        let editing = of(name);
        assert!(has(editing.own), "{name}");
        let with: Vec<&str> = editing.kinds.iter().filter(|form| has(form.fields)).map(|form| form.kind).collect();
        assert_eq!(with, kinds, "{name}");
    }
}

//! Properties of every drawing.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::json;

use super::super::{Drawing, DrawingInput, DrawnNode, Fold, NodeOffsets, drawing, svg};
use super::legible::assert_legible;
use super::sound::{assert_ends, assert_inside, assert_sound};
use crate::expr::Expr;
use crate::graph::{
    self, Activity, AtLimit, EndResult, Graph, Kind, LoopKind, Node, StepPath, Strategy as Collects, Trigger,
};
use crate::present::pictures_tests::hostile::hostile;
use crate::source::{Span, Spanned};

fn spanned<T>(value: T) -> Spanned<T> {
    Spanned { value, span: Span::default() }
}

/// A node in three numbers: its kind, its container, and its name.
type Numbers = (usize, usize, usize);

fn kind(number: usize) -> Kind {
    let name = |name: &str| spanned(name.into());
    match number % 9 {
        0 => Kind::Start,
        1 => Kind::End { result: EndResult::Success, escalation: None },
        2 => Kind::Work { gate: true, outputs: Vec::new() },
        3 => Kind::Fork { join: name("n1"), max_concurrency: None },
        4 => Kind::Join { fork: name("n1"), strategy: Collects::AllPass },
        5 => Kind::Subflow { workflow: spanned("zero".to_owned()), args: None, context: Vec::new() },
        6 => Kind::Subflow { workflow: spanned("one".to_owned()), args: None, context: Vec::new() },
        7 => {
            let kind = LoopKind::While(Expr::Literal(json!(true).into()));
            Kind::Loop(Box::new(graph::Loop { kind, stop: None, most: 3, at_limit: AtLimit::Fails }))
        }
        _ => Kind::Work { gate: false, outputs: Vec::new() },
    }
}

/// Generates any graph: its seats, loops and edges may be invalid.
fn any_graph(id: &'static str) -> impl Strategy<Value = Graph> {
    let nodes = prop::collection::vec((0..9_usize, 0..12_usize, 0..60_usize), 0..24);
    let edges = prop::collection::vec((0..26_usize, 0..26_usize, 0..4_usize), 0..40);
    (nodes, edges).prop_map(move |(nodes, edges)| made(id, &nodes, &edges))
}

fn made(id: &str, nodes: &[Numbers], edges: &[(usize, usize, usize)]) -> Graph {
    let mut graph = Graph::new(spanned(id.to_owned()));
    let activity = |id: &str| Activity { id: id.to_owned(), name: format!("The {id}"), ..Activity::default() };
    graph.activities = ["first", "second", "third"].map(activity).into();
    let mut loops: Vec<Vec<_>> = vec![Vec::new()];
    for (at, (what, stands, name)) in nodes.iter().enumerate() {
        let mut node = Node::new(format!("n{at}"), Span { start: at + 1, end: at + 2 }, kind(*what));
        node.name = "name ".repeat(name % 12);
        let around = loops[stands % loops.len()].clone();
        if let Kind::Loop(_) = node.kind {
            let inside = around.iter().cloned().chain([node.id.clone()]).collect();
            loops.push(inside);
        }
        // Some seats may refer to missing activities.
        node.seat = (stands % 4 > 0).then(|| Box::new(seat(stands % 4, around)));
        graph.nodes.push(node);
    }
    graph.edges = edges.iter().map(|(from, to, on)| edge(*from, *to, *on)).collect();
    graph
}

fn seat(activity: usize, loops: Vec<crate::value::NodeId>) -> StepPath {
    let id = "step".to_owned();
    StepPath { activity, id, number: None, loops, effectivities: Vec::new(), gates: false, reports: None }
}

fn edge(from: usize, to: usize, on: usize) -> graph::Edge {
    let outcome = |on: &str| Trigger::Outcome(spanned(on.into()));
    let on = match on {
        0 => outcome("failed"),
        1 => outcome("an outcome with a long name"),
        2 => Trigger::When(spanned(Expr::Literal(json!(false).into()))),
        _ => Trigger::Done,
    };
    let name = |at: usize| spanned(format!("n{at}").into());
    graph::Edge { from: name(from), to: name(to), on, label: None, span: Span::default() }
}

/// Draws a flow that may run another one and itself, with some parts folded and some open.
fn draw(graphs: &[Graph; 2], choice: &[bool], moved: &NodeOffsets) -> Drawing {
    let find = |id: &str| graphs.iter().find(|graph| graph.id.value == id);
    let (mut folded, mut opened) = (BTreeSet::new(), BTreeSet::new());
    let mut drawn = None;
    // Opened parts show more parts that can be opened.
    for _ in 0..3 {
        let what =
            DrawingInput { graph: &graphs[0], workflow: None, find: &find, folded: &folded, opened: &opened, moved };
        let drawing = drawing(&what);
        let (mut fold, mut open) = (folded.clone(), opened.clone());
        for (at, node) in drawing.nodes.iter().enumerate() {
            if choice[at % choice.len()] {
                let set = if node.container == Some(Fold::Open) { &mut fold } else { &mut open };
                set.insert(node.id.clone());
            }
        }
        drawn = Some(drawing);
        (folded, opened) = (fold, open);
        if opened.len() > 12 {
            break;
        }
    }
    drawn.unwrap()
}

/// Returns the position of a node in its container.
fn within(drawing: &Drawing, node: &DrawnNode) -> (i64, i64) {
    let parent = node.parent.as_ref().and_then(|parent| drawing.nodes.iter().find(|node| node.id == *parent));
    let (x, y) = parent.map_or((0, 0), |parent| (parent.x, parent.y));
    (i64::from(node.x) - i64::from(x), i64::from(node.y) - i64::from(y))
}

proptest! {
    #[test]
    fn what_is_moved_stands_so_far_from_its_place_and_edges_follow(
        zero in any_graph("zero"), one in any_graph("one"), choice in prop::collection::vec(any::<bool>(), 1..9),
        by in prop::collection::vec((-300..300_i32, -300..300_i32), 1..5), which in 1..5_usize,
    ) {
        let graphs = [zero, one];
        let before = draw(&graphs, &choice, &NodeOffsets::new());
        let chosen = before.nodes.iter().step_by(which).zip(by.iter().cycle());
        let moved: NodeOffsets = chosen.map(|(node, by)| (node.id.clone(), *by)).collect();
        let after = draw(&graphs, &choice, &moved);
        let known: BTreeMap<&str, &DrawnNode> = after.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
        assert_inside(&after, &known);
        for edge in &after.edges {
            assert_ends(&after, &edge.points, known[edge.from.as_str()], known[edge.to.as_str()]);
        }
        // Two nodes of one container have each moved by their own distance, plus a common one.
        let mut common: BTreeMap<Option<&str>, (i64, i64)> = BTreeMap::new();
        for was in before.nodes.iter().filter(|was| was.container != Some(Fold::Open)) {
            let is = known[was.id.as_str()];
            if before.nodes.iter().any(|node| node.parent == was.parent && node.container == Some(Fold::Open)) {
                continue;
            }
            let ((x, y), (was_x, was_y)) = (within(&after, is), within(&before, was));
            let (right, down) = moved.get(&was.id).copied().unwrap_or_default();
            let rest = (x - was_x - i64::from(right), y - was_y - i64::from(down));
            prop_assert_eq!(*common.entry(was.parent.as_deref()).or_insert(rest), rest, "{:?}", is);
        }
    }

    #[test]
    fn nothing_covers_anything(
        zero in any_graph("zero"), one in any_graph("one"), choice in prop::collection::vec(any::<bool>(), 1..9),
    ) {
        let graphs = [zero, one];
        let drawing = draw(&graphs, &choice, &NodeOffsets::new());
        assert_sound(&drawing);
        assert_legible(&drawing);
        assert_well_formed(&svg(&drawing));
        prop_assert_eq!(drawing, draw(&graphs, &choice, &NodeOffsets::new()));
    }

    /// A tree has no crossings in any written order, so an added leaf has no reason to move anything.
    #[test]
    fn a_leaf_keeps_the_order_of_all_others(
        parents in prop::collection::vec(0..20_usize, 1..20), leaf in 0..20_usize,
    ) {
        let nodes: Vec<Numbers> = (0..=parents.len()).map(|at| (8, 0, at)).collect();
        let mut edges: Vec<_> = parents.iter().enumerate().map(|(at, parent)| (parent % (at + 1), at + 1, 3)).collect();
        let before = made("zero", &nodes, &edges);
        edges.push((leaf % nodes.len(), nodes.len(), 3));
        let nodes: Vec<Numbers> = nodes.into_iter().chain([(8, 0, 3)]).collect();
        let after = made("zero", &nodes, &edges);
        let other = Graph::new(spanned("one".to_owned()));
        let draw = |graph: Graph| draw(&[graph, other.clone()], &[false], &NodeOffsets::new());
        let (before, after) = (draw(before), draw(after));
        let added = format!("n{}", nodes.len() - 1);
        let rows: Vec<Vec<&str>> = super::order(&after);
        let kept = rows.into_iter().map(|row| row.into_iter().filter(|id| *id != added).collect::<Vec<_>>());
        prop_assert_eq!(super::order(&before), kept.filter(|row| !row.is_empty()).collect::<Vec<_>>());
    }

    #[test]
    fn nothing_an_author_writes_breaks_the_picture(
        id in hostile(), name in hostile(), label in hostile(), long in 1..3_usize,
    ) {
        let mut graph = made("zero", &[(7, 1, 0), (8, 2, 0), (1, 0, 0), (5, 0, 0)], &[(0, 1, 0), (1, 2, 1), (1, 0, 3)]);
        let name = name.repeat(if long == 1 { 1 } else { 10_000 / name.len().max(1) });
        for node in &mut graph.nodes {
            node.name.clone_from(&name);
            node.brief.agent = Some(label.clone());
        }
        graph.nodes.push(Node::new(id.as_str(), Span::default(), kind(8)));
        graph.activities.iter_mut().for_each(|activity| activity.name.clone_from(&name));
        graph.edges.iter_mut().for_each(|edge| edge.label = Some(label.clone()));
        let drawing = draw(&[graph, Graph::new(spanned("one".to_owned()))], &[true, false], &NodeOffsets::new());
        assert_sound(&drawing);
        assert_well_formed(&svg(&drawing));
    }
}

/// Asserts that a text is well-formed XML 1.0: valid characters, closed elements, quoted values and known entities.
pub(super) fn assert_well_formed(text: &str) {
    let is_letter = |c: char| matches!(c, '\n' | ' '..='\u{fffd}' | '\u{10000}'..);
    assert!(text.chars().all(is_letter), "{text:?}");
    let mut open = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        assert_text(&rest[..at], open.is_empty());
        let end = rest.find('>').unwrap_or_else(|| panic!("an element does not end: {rest}"));
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap();
        assert!(name.bytes().all(|c| c.is_ascii_lowercase()), "{tag}");
        assert!(
            ["svg", "defs", "marker", "path", "rect", "g", "title", "text", "polygon", "circle"].contains(&name),
            "{tag}"
        );
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        for value in tag.split('"').skip(1).step_by(2) {
            assert_text(value, false);
        }
        if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
}

fn assert_text(text: &str, is_outside: bool) {
    assert!(!is_outside || text.trim().is_empty(), "{text}");
    assert!(!text.contains(['<', '>']), "{text}");
    for entity in text.split('&').skip(1) {
        assert!(["amp;", "lt;", "gt;", "quot;", "#39;"].iter().any(|known| entity.starts_with(known)), "{text}");
    }
}

//! Tests the contents and positions of drawings.

mod files;
mod legible;
mod properties;
mod sound;

use std::collections::BTreeSet;
use std::fmt::Write;

use expect_test::{Expect, expect};

use super::size::HEAD;
use super::{Drawing, DrawingInput, DrawnEdge, DrawnNode, Fold, NodeOffsets, drawing, svg};
use crate::dialect::{self, Strictness};
use crate::graph::{Graph, MAX_DEPTH};
use crate::source::Source;
use crate::validate;

/// Parses the flows of a file.
fn graphs(name: &str, text: &str) -> Vec<Graph> {
    dialect::parse(&Source::new(name, text), Strictness::Lenient).graphs
}

/// Parses a flow of steps, in which nodes may run the flow itself by its name, `self`.
fn graph(nodes: &str, edges: &str) -> Graph {
    let text = format!(r#"{{ "id": "self", "nodes": {{ {nodes} }}, "edges": [ {edges} ] }}"#);
    graphs("self.json", &text).remove(0)
}

fn set(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

/// Draws a flow that its nodes may run again.
fn drawn(graph: &Graph, folded: &[&str], opened: &[&str]) -> Drawing {
    let find = |id: &str| (id == graph.id.value).then_some(graph);
    let (folded, opened, moved) = (set(folded), set(opened), NodeOffsets::new());
    drawing(&DrawingInput { graph, workflow: None, find: &find, folded: &folded, opened: &opened, moved: &moved })
}

/// Formats a drawing as text with all positions.
fn text(drawing: &Drawing) -> String {
    let mut text = format!("{}x{}\n", drawing.width, drawing.height);
    let depth = |id: &Option<String>| {
        let around = std::iter::successors(id.as_ref(), |id| {
            drawing.nodes.iter().find(|node| node.id == **id).and_then(|node| node.parent.as_ref())
        });
        around.count()
    };
    for node in &drawing.nodes {
        let indent = "  ".repeat(depth(&node.parent));
        let fold = match node.container {
            None => "",
            Some(Fold::Open) => " open",
            Some(Fold::Folded) => " folded",
        };
        let (x, y, width, height) = (node.x, node.y, node.width, node.height);
        writeln!(text, "{indent}{} {x},{y} {width}x{height} {}{fold}", node.id, node.kind).unwrap();
    }
    for edge in &drawing.edges {
        let label = match (&edge.text, edge.label_at) {
            (Some(text), Some((x, y))) => format!(" {text:?} at {x},{y}"),
            _ => String::new(),
        };
        let implied = if edge.implied { " implied" } else { "" };
        let back = if edge.back { " back" } else { "" };
        let points: Vec<String> = edge.points.iter().map(|(x, y)| format!("{x},{y}")).collect();
        writeln!(text, "{} {}{implied}{back}{label}: {}", edge.id, edge.kind, points.join(" ")).unwrap();
    }
    text
}

fn shows(drawing: &Drawing, expected: Expect) {
    expected.assert_eq(&text(drawing));
}

/// Returns the nodes by layer, from left to right.
fn order(drawing: &Drawing) -> Vec<Vec<&str>> {
    let mut nodes: Vec<_> =
        drawing.nodes.iter().map(|node| (node.y + node.height / 2, node.x, node.id.as_str())).collect();
    nodes.sort_unstable();
    nodes.chunk_by(|one, other| one.0 == other.0).map(|row| row.iter().map(|node| node.2).collect()).collect()
}

const RETRYING: (&str, &str) = (
    r#" "start": {"type": "start"}, "fix": {"type": "task", "agent": "Dev"},
        "check": {"type": "gate", "maxRetries": 2, "accept": [{"id": "tests", "run": ["cargo", "test"]}]},
        "done": {"type": "end", "result": "success"}, "stuck": {"type": "end", "result": "blocked"} "#,
    r#" {"from": "start", "to": "fix"}, {"from": "fix", "to": "check"},
        {"from": "check", "to": "done", "on": "passed", "label": "it is fine"},
        {"from": "check", "to": "fix", "on": "failed"}, {"from": "check", "to": "stuck", "on": "failed"} "#,
);

#[test]
fn a_gate_leads_on_and_back() {
    let drawing = drawn(&graph(RETRYING.0, RETRYING.1), &[], &[]);
    shows(
        &drawing,
        expect![[r#"
        348x416
        start 53,24 74x32 start
        fix 30,112 120x60 task
        check 30,228 120x60 gate
        done 24,360 132x32 end
        stuck 184,360 140x32 end
        start->fix done: 90,56 90,112
        fix->check done: 90,172 90,228
        check->done outcome "it is fine" at 90,338: 90,288 90,360
        check->fix failed back "failed" at 189,258: 136,288 136,296 189,296 189,102 122,102 122,112
        check->stuck failed "failed" at 254,338: 90,288 254,330 254,360
    "#]],
    );
    let check = &drawing.nodes[2];
    assert_eq!((check.budget, check.checks, check.node.as_deref()), (Some(2), 1, Some("check")));
    assert_eq!(drawing.nodes[3].result, Some("success"));
    assert_eq!(drawing.edges[2].number, Some(2));
    assert!(drawing.edges[2].span.is_some() && check.span.is_some());
}

#[test]
fn branches_stand_beside_each_other() {
    let graph = graph(
        r#" "start": {"type": "start"}, "split": {"type": "fork", "join": "meet"}, "left": {"type": "task"},
            "right": {"type": "task"}, "meet": {"type": "join", "fork": "split"},
            "done": {"type": "end", "result": "success"} "#,
        r#" {"from": "start", "to": "split"}, {"from": "split", "to": "left"}, {"from": "split", "to": "right"},
            {"from": "left", "to": "meet"}, {"from": "right", "to": "meet"}, {"from": "meet", "to": "done"} "#,
    );
    shows(
        &drawn(&graph, &[], &[]),
        expect![[r#"
        316x404
        start 121,24 74x32 start
        split 98,112 120x12 fork
        left 24,180 120x44 task
        right 172,180 120x44 task
        meet 98,280 120x12 join
        done 92,348 132x32 end
        start->split done: 158,56 158,112
        split->left done: 158,124 84,166 84,180
        split->right done: 158,124 232,166 232,180
        left->meet done: 84,224 146,266 146,280
        right->meet done: 232,224 170,266 170,280
        meet->done done: 158,292 158,348
    "#]],
    );
}

const RECURSIVE: (&str, &str) = (
    r#" "start": {"type": "start"}, "again": {"type": "subflow", "workflow": "self"},
        "done": {"type": "end", "result": "success"} "#,
    r#" {"from": "start", "to": "again"}, {"from": "again", "to": "done"} "#,
);

#[test]
fn a_flow_stands_inside_the_node_that_runs_it_where_that_is_open() {
    let graph = graph(RECURSIVE.0, RECURSIVE.1);
    shows(
        &drawn(&graph, &[], &["again"]),
        expect![[r#"
        212x512
        start 69,24 74x32 start
        again 24,112 164x288 subflow open
        done 40,456 132x32 end
          again/start 69,148 74x32 start
          again/again 46,236 120x60 subflow folded
          again/done 40,352 132x32 end
        start->again done: 106,56 106,112
        again->done done: 106,400 106,456
        again/start->again/again done: 106,180 106,236
        again/again->again/done done: 106,296 106,352
    "#]],
    );
}

/// A recursive flow is drawn no deeper than a run of it can go, whatever is opened.
#[test]
fn a_flow_that_runs_itself_comes_to_an_end() {
    let graph = graph(RECURSIVE.0, RECURSIVE.1);
    let ids: Vec<String> = (1..=40).map(|depth| vec!["again"; depth].join("/")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let drawing = drawn(&graph, &[], &ids);
    assert_eq!(drawing.nodes.len(), 3 * MAX_DEPTH);
    let deepest = drawing.nodes.iter().filter(|node| node.container.is_none()).map(|node| node.id.as_str());
    assert_eq!(deepest.filter(|id| id.ends_with("again")).count(), 1, "the innermost cannot be opened");
}

const ACTIVITIES: &str = r#"{
    "id": "release", "version": "1.0.0", "title": "Release", "initialActivity": "prepare",
    "variables": [{"name": "parts", "type": "array"}],
    "activities": [
        {"id": "prepare", "name": "Prepare", "version": "1.0.0",
         "steps": [{"id": "look", "name": "Look"},
                   {"kind": "loop", "id": "each", "name": "Each part", "type": "forEach", "variable": "part", "over": "parts",
                    "steps": [{"id": "build", "name": "Build"}]}],
         "transitions": [{"to": "ship", "isDefault": true}]},
        {"id": "ship", "name": "Ship", "version": "1.0.0", "steps": [{"id": "send", "name": "Send"}]}
    ]
}"#;

#[test]
fn activities_and_loops_are_boxes() {
    let graph = graphs("release.json", ACTIVITIES).remove(0);
    shows(
        &drawn(&graph, &[], &[]),
        expect![[r#"
            416x1224
            start 191,24 74x32 start
            activity:prepare 24,112 334x692 activity open
              prepare 168,176 120x44 activity
              prepare.look 168,276 120x44 task
              loop:prepare.each 40,376 302x384 loop open
                prepare.each 150,440 156x60 loop
                prepare.build 168,572 120x44 task
                prepare.each.next 168,672 120x44 repeat
            activity:ship 221,860 166x252 activity open
              ship 250,924 120x44 activity
              ship.send 250,1024 120x44 task
            done 229,1168 162x32 end
            start->prepare done: 228,56 228,176
            prepare->prepare.look done: 228,220 228,276
            prepare.look->prepare.each done: 228,320 228,440
            prepare.each->prepare.build outcome "pass" at 228,550: 228,500 228,572
            prepare.build->prepare.each.next done: 228,616 228,672
            prepare.each.next->prepare.each done back: 274,716 274,724 326,724 326,430 292,430 292,440
            prepare.each->ship done: 228,500 310,542 310,924
            ship->ship.send done: 310,968 310,1024
            ship.send->done done: 310,1068 310,1168
        "#]],
    );
}

#[test]
fn a_folded_foldedstands_for_what_is_in_it() {
    let graph = graphs("release.json", ACTIVITIES).remove(0);
    let drawing = drawn(&graph, &["activity:prepare"], &[]);
    shows(
        &drawing,
        expect![[r#"
            218x592
            start 76,24 74x32 start
            activity:prepare 53,112 120x60 activity folded
            activity:ship 24,228 166x252 activity open
              ship 53,292 120x44 activity
              ship.send 53,392 120x44 task
            done 32,536 162x32 end
            start->activity:prepare done: 113,56 113,112
            activity:prepare->ship done: 113,172 113,292
            ship->ship.send done: 113,336 113,392
            ship.send->done done: 113,436 113,536
        "#]],
    );
    let folded = drawing.nodes.iter().find(|node| node.id == "activity:prepare").unwrap();
    expect!["5 nodes | prepare prepare.look prepare.each prepare.build prepare.each.next"].assert_eq(&format!(
        "{} | {}",
        folded.detail,
        folded.hides.join(" ")
    ));
    let inner = drawn(&graph, &["loop:prepare.each"], &[]);
    let folded = inner.nodes.iter().find(|node| node.id == "loop:prepare.each").unwrap();
    assert_eq!((folded.container, folded.node.as_deref()), (Some(Fold::Folded), Some("prepare.each")));
    expect!["each part of `parts` · 3 nodes | prepare.each prepare.build prepare.each.next"].assert_eq(&format!(
        "{} | {}",
        folded.detail,
        folded.hides.join(" ")
    ));
}

/// An unfinished definition may have edges without targets, and duplicates.
#[test]
fn what_is_wrong_is_drawn_as_far_as_it_goes() {
    let mut wrong = graph(
        r#" "a": {"type": "task"}, "b": {"type": "task"}, "alone": {"type": "task"} "#,
        r#" {"from": "a", "to": "a", "on": "failed"}, {"from": "a", "to": "nowhere"}, {"from": "a", "to": "b"},
            {"from": "a", "to": "b", "on": "failed"}, {"from": "b", "to": "a"} "#,
    );
    wrong.nodes.extend(wrong.nodes.first().cloned());
    shows(
        &drawn(&wrong, &[], &[]),
        expect![[r#"
            324x334
            a 98,50 120x44 task
            b 112,166 120x44 task
            alone 24,266 120x44 task
            a#2 172,266 120x44 task
            a->a failed back "failed" at 261,72: 218,64 230,64 230,80 218,80
            a->b done: 158,94 158,166
            a->b#2 failed "failed" at 188,144: 158,94 188,136 188,166
            b->a done back: 218,210 218,218 300,218 300,40 204,40 204,50
        "#]],
    );
    let empty = Graph { nodes: Vec::new(), edges: Vec::new(), ..wrong };
    shows(
        &drawn(&empty, &[], &[]),
        expect![[r#"
        48x48
    "#]],
    );
}

#[test]
fn ways_that_are_taken_and_not_written_are_drawn_where_the_workflow_is_known() {
    let graph = graph(r#" "a": {"type": "task"}, "b": {"type": "task"} "#, r#" {"from": "a", "to": "b"} "#);
    let workflow = validate::validate(&graph, &|_| None, Strictness::Lenient).0.expect("it can be repaired");
    let none = BTreeSet::new();
    let what = DrawingInput {
        graph: &graph,
        workflow: Some(&workflow),
        find: &|_| None,
        folded: &none,
        opened: &none,
        moved: &NodeOffsets::new(),
    };
    let drawing = drawing(&what);
    let implied: Vec<&str> = drawing.edges.iter().filter(|edge| edge.implied).map(|edge| edge.id.as_str()).collect();
    expect!["start->a b->no_way_on"].assert_eq(&implied.join(" "));
}

#[test]
fn a_leaf_does_not_move_those_beside_it() {
    let nodes = |more: &str| {
        format!(
            r#" "r": {{"type": "task"}}, "a": {{"type": "task"}}, "b": {{"type": "task"}}, "c": {{"type": "task"}}, "d": {{"type": "task"}}{more} "#
        )
    };
    let edges = |more: &str| {
        format!(
            r#" {{"from": "r", "to": "a"}}, {{"from": "r", "to": "b"}}, {{"from": "r", "to": "c"}}, {{"from": "b", "to": "d"}}{more} "#
        )
    };
    let before = graph(&nodes(""), &edges(""));
    assert_eq!(order(&drawn(&before, &[], &[])), [vec!["r"], vec!["a", "b", "c"], vec!["d"]]);
    for (parent, expected) in [("a", ["leaf", "d"]), ("b", ["d", "leaf"]), ("c", ["d", "leaf"])] {
        let edge = format!(r#", {{"from": "{parent}", "to": "leaf"}}"#);
        let after = graph(&nodes(r#", "leaf": {"type": "task"}"#), &edges(&edge));
        assert_eq!(order(&drawn(&after, &[], &[])), [vec!["r"], vec!["a", "b", "c"], expected.to_vec()]);
    }
}

/// Back edges that overlap are side by side, and others are above each other.
#[test]
fn ways_back_take_no_more_room_than_they_need() {
    let nodes: Vec<String> = (0..30).map(|at| format!(r#""n{at}": {{"type": "task"}}"#)).collect();
    let edge = |from: usize, to: usize| format!(r#"{{"from": "n{from}", "to": "n{to}"}}"#);
    let edges: Vec<String> = (1..30).map(|at| edge(at - 1, at)).chain((2..30).map(|at| edge(at, at - 2))).collect();
    let drawing = drawn(&graph(&nodes.join(","), &edges.join(",")), &[], &[]);
    let lanes: BTreeSet<u32> = drawing.edges.iter().filter(|edge| edge.back).map(|edge| edge.points[2].0).collect();
    assert_eq!(lanes.len(), 3, "{lanes:?}");
}

/// A browser reads this form.
#[test]
fn it_serializes_with_its_form() {
    let graph = graph(r#" "a": {"type": "end", "result": "success"} "#, "");
    let json = serde_json::to_string_pretty(&drawn(&graph, &[], &[])).unwrap();
    expect![[r#"
        {
          "form": "drawing/1",
          "width": 168,
          "height": 80,
          "nodes": [
            {
              "id": "a",
              "parent": null,
              "node": "a",
              "flow": "self",
              "kind": "end",
              "name": "a",
              "detail": "",
              "x": 24,
              "y": 24,
              "width": 120,
              "height": 32,
              "container": null,
              "budget": null,
              "result": "success",
              "checks": 0,
              "span": {
                "start": 28,
                "end": 31
              }
            }
          ],
          "edges": []
        }"#]]
    .assert_eq(&json);
}

#[test]
fn a_picture_says_in_words_what_it_shows() {
    let drawing = drawn(&graph(RETRYING.0, RETRYING.1), &[], &[]);
    expect![[r##"
        <svg xmlns="http://www.w3.org/2000/svg" width="348" height="444" viewBox="0 0 348 444" role="graphics-document document" font-family="system-ui, sans-serif" font-size="13">
        <defs><marker id="arrow" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" fill="#4b5563"/></marker><marker id="arrow-failed" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L10 5L0 10z" fill="#b91c1c"/></marker></defs>
        <rect width="348" height="444" fill="#ffffff"/>
        <path d="M90 56L90 112" fill="none" stroke="#4b5563" stroke-width="1.4" marker-end="url(#arrow)"/>
        <path d="M90 172L90 228" fill="none" stroke="#4b5563" stroke-width="1.4" marker-end="url(#arrow)"/>
        <path d="M90 288L90 360" fill="none" stroke="#4b5563" stroke-width="1.4" marker-end="url(#arrow)"/>
        <path d="M136 288L136.0 292.0Q136 296 144.0 296.0L181.0 296.0Q189 296 189.0 288.0L189.0 110.0Q189 102 181.0 102.0L130.0 102.0Q122 102 122.0 107.0L122 112" fill="none" stroke="#b91c1c" stroke-width="1.4" stroke-dasharray="6 4" marker-end="url(#arrow-failed)"/>
        <path d="M90 288L246.3 328.0Q254 330 254.0 338.0L254 360" fill="none" stroke="#b91c1c" stroke-width="1.4" stroke-dasharray="6 4" marker-end="url(#arrow-failed)"/>
        <g role="graphics-symbol img"><title>start: start</title><rect x="53" y="24" width="74" height="32" rx="16" fill="#dcfce7" stroke="#15803d"/><text x="90" y="45" fill="#111827" text-anchor="middle" font-weight="600">start</text></g>
        <g role="graphics-symbol img"><title>task · believed: fix · Dev</title><rect x="30" y="112" width="120" height="60" rx="8" fill="#ffffff" stroke="#6b7280"/><text x="90" y="131" fill="#111827" text-anchor="middle" font-weight="600">fix</text><text x="90" y="147" fill="#4b5563" text-anchor="middle" font-size="11">task · believed</text><text x="90" y="163" fill="#4b5563" text-anchor="middle" font-size="11">Dev</text><circle cx="26" cy="142" r="7" fill="#ffffff" stroke="#4b5563" stroke-width="1.4" stroke-dasharray="2.5 2"/></g>
        <g role="graphics-symbol img"><title>gate · 1 check: check · ↻2 · checked by tests (cargo test)</title><polygon points="44,228 136,228 150,258 150,258 136,288 44,288 30,258 30,258" fill="#ede9fe" stroke="#6d28d9"/><text x="90" y="247" fill="#111827" text-anchor="middle" font-weight="600">check</text><text x="90" y="263" fill="#4b5563" text-anchor="middle" font-size="11">gate · 1 check</text><text x="90" y="279" fill="#4b5563" text-anchor="middle" font-size="11">↻2</text><circle cx="26" cy="258" r="7" fill="#ffffff" stroke="#15803d" stroke-width="1.4"/><path d="M23 258l2 3 4-6" fill="none" stroke="#15803d" stroke-width="1.8"/></g>
        <g role="graphics-symbol img"><title>end: done, success</title><rect x="24" y="360" width="132" height="32" rx="16" fill="#dbeafe" stroke="#1d4ed8"/><text x="90" y="381" fill="#111827" text-anchor="middle" font-weight="600">done · success</text></g>
        <g role="graphics-symbol img"><title>end: stuck, blocked</title><rect x="184" y="360" width="140" height="32" rx="16" fill="#fee2e2" stroke="#b91c1c"/><text x="254" y="381" fill="#111827" text-anchor="middle" font-weight="600">stuck · blocked</text></g>
        <text x="90" y="342" text-anchor="middle" font-size="11" fill="#4b5563" stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke">it is fine</text>
        <text x="189" y="262" text-anchor="middle" font-size="11" fill="#b91c1c" stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke">failed</text>
        <text x="254" y="342" text-anchor="middle" font-size="11" fill="#b91c1c" stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke">failed</text>
        <g><circle cx="31" cy="420" r="7" fill="#ffffff" stroke="#15803d" stroke-width="1.4"/><path d="M28 420l2 3 4-6" fill="none" stroke="#15803d" stroke-width="1.8"/><text x="44" y="424" fill="#4b5563" font-size="11">checked</text><circle cx="115" cy="420" r="7" fill="#ffffff" stroke="#4b5563" stroke-width="1.4" stroke-dasharray="2.5 2"/><text x="128" y="424" fill="#4b5563" font-size="11">believed, not checked</text></g>
        </svg>
    "##]].assert_eq(&svg(&drawing));
}

#[test]
fn a_node_that_was_moved_stands_there_and_its_edges_follow() {
    let graph = graph(RETRYING.0, RETRYING.1);
    let (none, moved) =
        (BTreeSet::new(), NodeOffsets::from([("fix".to_owned(), (200, 0)), ("stuck".to_owned(), (-300, -200))]));
    let what =
        DrawingInput { graph: &graph, workflow: None, find: &|_| None, folded: &none, opened: &none, moved: &moved };
    shows(
        &drawing(&what),
        expect![[r#"
            638x416
            start 255,24 74x32 start
            fix 432,112 120x60 task
            check 232,228 120x60 gate
            done 226,360 132x32 end
            stuck 86,160 140x32 end
            start->fix done: 292,56 492,98 492,112
            fix->check done: 492,172 292,214 292,228
            check->done outcome "it is fine" at 292,338: 292,288 292,360
            check->fix failed back "failed" at 591,199: 338,288 338,296 591,296 591,102 538,102 538,112
            check->stuck failed "failed" at 47,223: 246,288 246,296 47,296 47,150 100,150 100,160
        "#]],
    );
}

#[test]
fn lines_that_enter_one_box_have_room_for_their_texts() {
    let several = graph(
        r#""start": {"type": "start"}, "ask": {"type": "task", "outputs": ["stable", "beta", "nowhere"]},
            "go": {"type": "task"}, "end": {"type": "end", "result": "success"}"#,
        r#"{"from": "start", "to": "ask"}, {"from": "ask", "to": "go", "on": "stable"}, {"from": "ask", "to": "go", "on": "beta"},
            {"from": "ask", "to": "go", "on": "nowhere"}, {"from": "go", "to": "end"}"#,
    );
    let drawn = drawn(&several, &[], &[]);
    let entering: Vec<_> = drawn.edges.iter().filter(|edge| edge.to == "go").collect();
    assert_eq!(entering.len(), 3);
    for (one, other) in entering.iter().flat_map(|one| entering.iter().map(move |other| (one, other))) {
        let (text, (x, _)) = (one.text.as_deref().expect("it has one"), one.label_at.expect("it stands there"));
        let half = super::size::label(text) / 2;
        let apart = i64::from(x.abs_diff(other.points[other.points.len() - 1].0));
        assert!(one.id == other.id || apart > half, "{one:?} covers {other:?}");
    }
}

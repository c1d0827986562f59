//! The properties that make a drawing legible: no line crosses the title of a box, and no two lines look like one.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::super::size;
use super::{Drawing, DrawnEdge, DrawnNode, Fold, drawn, graph, graphs};

/// A point; positions are signed here, because differences are.
type Point = (i64, i64);

/// The longest stretch in pixels that two lines may share by chance. It is hidden in a rounded bend.
const SHARED: i64 = 3;

/// Asserts all of them.
pub(super) fn assert_legible(drawing: &Drawing) {
    let found = [struck(drawing), shared(drawing), joint(drawing)].concat();
    assert!(found.is_empty(), "{found}");
}

/// Returns the places where a line crosses the title of an open box, one on a line.
fn struck(drawing: &Drawing) -> String {
    let mut found = String::new();
    for node in drawing.nodes.iter().filter(|node| node.container == Some(Fold::Open)) {
        let (low, high) = title(node);
        for edge in &drawing.edges {
            if course(edge).windows(2).any(|pair| crosses(pair[0], pair[1], low, high)) {
                writeln!(found, "{} crosses the title of {}", edge.id, node.id).expect("a text takes it");
            }
        }
    }
    found
}

/// Returns the pairs of lines that share a stretch, one on a line. Lines from one node may leave it together, and lines
/// to one node may enter it together.
fn shared(drawing: &Drawing) -> String {
    let mut found = String::new();
    for (at, one) in drawing.edges.iter().enumerate() {
        for other in &drawing.edges[at + 1..] {
            let (mut first, mut second) = (course(one), course(other));
            if one.from == other.from {
                part(&mut first, &mut second);
            }
            first.reverse();
            second.reverse();
            if one.to == other.to {
                part(&mut first, &mut second);
            }
            let pairs = first.windows(2).flat_map(|pair| second.windows(2).map(move |other| (pair, other)));
            let longest = pairs.map(|(pair, other)| overlap([pair[0], pair[1]], [other[0], other[1]])).max();
            if longest.is_some_and(|longest| longest > SHARED) {
                let longest = longest.unwrap_or_default();
                writeln!(found, "{} and {} share {longest} pixels", one.id, other.id).expect("a text takes it");
            }
        }
    }
    found
}

/// Returns the pairs of lines from different nodes that lead up together, one on a line.
fn joint(drawing: &Drawing) -> String {
    let mut found = String::new();
    let up: Vec<(&DrawnEdge, [Point; 2])> = drawing.edges.iter().flat_map(rises).collect();
    for (at, (one, rise)) in up.iter().enumerate() {
        for (other, other_rise) in up[at + 1..].iter().filter(|(other, _)| other.from != one.from) {
            if overlap(*rise, *other_rise) > SHARED {
                writeln!(found, "{} and {} lead up together", one.id, other.id).expect("a text takes it");
            }
        }
    }
    found
}

/// Returns the stretches of a line that lead up.
fn rises(edge: &DrawnEdge) -> Vec<(&DrawnEdge, [Point; 2])> {
    let pairs = course(edge);
    pairs.windows(2).map(|pair| (edge, [pair[0], pair[1]])).filter(|(_, [start, end])| end.1 < start.1).collect()
}

/// The upper left and the lower right corner of the title, as pages and pictures show it.
fn title(node: &DrawnNode) -> (Point, Point) {
    let (x, y, width) = (i64::from(node.x), i64::from(node.y), i64::from(node.width));
    ((x + 8, y + 4), (x + size::title(node).min(width), y + size::HEAD - 4))
}

fn course(edge: &DrawnEdge) -> Vec<Point> {
    edge.points.iter().map(|(x, y)| (i64::from(*x), i64::from(*y))).collect()
}

/// Checks whether a line has a point inside a rectangle.
fn crosses(start: Point, end: Point, low: Point, high: Point) -> bool {
    // The part of the line, from 0 to 1, that is between both pairs of borders.
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    for (from, to, least, most) in [(start.0, end.0, low.0, high.0), (start.1, end.1, low.1, high.1)] {
        if from == to {
            if from <= least || from >= most {
                return false;
            }
            continue;
        }
        let part = |border: i64| (border - from) as f64 / (to - from) as f64;
        enter = enter.max(part(least).min(part(most)));
        leave = leave.min(part(least).max(part(most)));
    }
    leave - enter > 1e-6
}

/// Removes the beginning that two courses share.
fn part(one: &mut Vec<Point>, other: &mut Vec<Point>) {
    while let ([start, next, ..], [other_start, other_next, ..]) = (&one[..], &other[..]) {
        if start != other_start || !is_along(*start, *next, *other_next) {
            return;
        }
        let (length, other_length) = (size_of(*start, *next), size_of(*start, *other_next));
        let nearest = if length < other_length { *next } else { *other_next };
        for (course, length, most) in [(&mut *one, length, other_length), (&mut *other, other_length, length)] {
            if length <= most {
                course.remove(0);
            } else {
                course[0] = nearest;
            }
        }
    }
}

fn is_along(start: Point, one: Point, other: Point) -> bool {
    let (a, b) = ((one.0 - start.0, one.1 - start.1), (other.0 - start.0, other.1 - start.1));
    a.0 * b.1 == a.1 * b.0 && a.0 * b.0 + a.1 * b.1 > 0
}

fn size_of(start: Point, end: Point) -> i64 {
    (start.0 - end.0).abs() + (start.1 - end.1).abs()
}

/// Returns the length of the stretch that two lines share; 0 if they are not on one straight line.
fn overlap(one: [Point; 2], other: [Point; 2]) -> i64 {
    let by = (one[1].0 - one[0].0, one[1].1 - one[0].1);
    let is_on = |point: Point| by.0 * (point.1 - one[0].1) == by.1 * (point.0 - one[0].0);
    if !is_on(other[0]) || !is_on(other[1]) {
        return 0;
    }
    let along = |point: Point| if by.0.abs() > by.1.abs() { point.0 } else { point.1 };
    let ends = |line: [Point; 2]| (along(line[0]).min(along(line[1])), along(line[0]).max(along(line[1])));
    let ((start, end), (others, other_end)) = (ends(one), ends(other));
    end.min(other_end) - start.max(others)
}

/// Draws a chain whose nodes, except for the first, all lead back to the first.
fn returning(count: usize) -> Drawing {
    let nodes: Vec<String> = (0..count).map(|at| format!(r#""n{at}": {{"type": "task"}}"#)).collect();
    let edge = |from: usize, to: usize| format!(r#"{{"from": "n{from}", "to": "n{to}"}}"#);
    let edges: Vec<String> = (1..count).flat_map(|at| [edge(at - 1, at), edge(at, 0)]).collect();
    drawn(&graph(&nodes.join(","), &edges.join(",")), &[], &[])
}

#[test]
fn lines_back_to_one_node_have_lanes_of_their_own_as_far_as_there_is_room() {
    let lanes = |drawing: &Drawing| {
        let rises = drawing.edges.iter().filter(|edge| edge.back).flat_map(rises);
        rises.map(|(_, [start, _])| start.0).collect::<BTreeSet<i64>>().len()
    };
    let few = returning(9);
    assert_legible(&few);
    assert_eq!(lanes(&few), 8);
    let many = returning(100);
    assert_eq!(lanes(&many), 16);
    assert!(many.width < 600, "{}", many.width);
}

#[test]
fn lines_into_a_box_with_a_long_name_pass_beside_it() {
    let name = "The name of this activity is a long one";
    let text = format!(
        r#"{{ "id": "long", "version": "1.0.0", "initialActivity": "one", "activities": [
            {{ "id": "one", "name": "{name}", "version": "1.0.0", "steps": [{{"id": "look", "name": "Look"}}],
               "transitions": [{{"to": "one", "condition": {{"type": "simple", "variable": "a", "operator": "exists"}}}},
                               {{"to": "two", "isDefault": true}}] }},
            {{ "id": "two", "name": "{name}", "version": "1.0.0", "steps": [{{"id": "send", "name": "Send"}}] }} ] }}"#
    );
    let drawing = drawn(&graphs("long.json", &text)[0], &[], &[]);
    assert_eq!(drawing.nodes.iter().filter(|node| node.name == name).count(), 2);
    assert_legible(&drawing);
}

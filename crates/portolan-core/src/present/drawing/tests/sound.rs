//! The properties of drawings that pages and pictures rely on. Tests of this crate and of readers of definition files
//! use them: the including module provides `Drawing`, `DrawnNode`, `Fold` and `HEAD`.

use std::collections::{BTreeMap, BTreeSet};

use super::{Drawing, DrawnNode, Fold, HEAD};

/// Asserts all properties that pages and pictures rely on.
pub(crate) fn assert_sound(drawing: &Drawing) {
    let known: BTreeMap<&str, &DrawnNode> = drawing.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    assert_eq!(known.len(), drawing.nodes.len(), "each has an identifier of its own");
    let edges: BTreeSet<&str> = drawing.edges.iter().map(|edge| edge.id.as_str()).collect();
    assert_eq!(edges.len(), drawing.edges.len(), "so has each edge");
    assert_inside(drawing, &known);
    assert_apart(drawing);
    for edge in &drawing.edges {
        assert_ends(drawing, &edge.points, known[edge.from.as_str()], known[edge.to.as_str()]);
        assert_free(drawing, &edge.points);
        let (x, y) = edge.label_at.unwrap_or_default();
        assert!(x <= drawing.width && y <= drawing.height, "{edge:?}");
        assert_eq!(edge.text.is_some(), edge.label_at.is_some(), "{edge:?}");
    }
}

/// Asserts that each node is inside its container.
pub(crate) fn assert_inside(drawing: &Drawing, known: &BTreeMap<&str, &DrawnNode>) {
    for node in &drawing.nodes {
        assert!(node.x + node.width <= drawing.width && node.y + node.height <= drawing.height, "{node:?}");
        if let Some(parent) = node.parent.as_deref().map(|parent| known[parent]) {
            assert_eq!(parent.container, Some(Fold::Open));
            assert!(node.x > parent.x && node.x + node.width < parent.x + parent.width, "{node:?} in {parent:?}");
            let head = u32::try_from(HEAD).expect("it is small");
            assert!(node.y >= parent.y + head && node.y + node.height < parent.y + parent.height, "{node:?}");
        }
    }
}

fn assert_apart(drawing: &Drawing) {
    let mut beside: BTreeMap<Option<&str>, Vec<&DrawnNode>> = BTreeMap::new();
    for node in &drawing.nodes {
        beside.entry(node.parent.as_deref()).or_default().push(node);
    }
    for siblings in beside.into_values() {
        for (at, one) in siblings.iter().enumerate() {
            for other in &siblings[at + 1..] {
                let apart =
                    |start: u32, length: u32, other: u32, others: u32| start + length < other || other + others < start;
                let beside = apart(one.x, one.width, other.x, other.width);
                assert!(beside || apart(one.y, one.height, other.y, other.height), "{one:?} covers {other:?}");
            }
        }
    }
}

/// Asserts that an edge begins at the border of one node and ends at that of the other.
pub(crate) fn assert_ends(drawing: &Drawing, points: &[(u32, u32)], from: &DrawnNode, to: &DrawnNode) {
    let [first, .., last] = *points else { panic!("no course: {points:?}") };
    let across = |node: &DrawnNode, x: u32| (node.x..=node.x + node.width).contains(&x);
    let down = |node: &DrawnNode, y: u32| (node.y..=node.y + node.height).contains(&y);
    if from.id == to.id {
        let right = from.x + from.width;
        assert!(first.0 == right && last.0 == right && down(from, first.1) && down(from, last.1), "{points:?}");
    } else {
        assert!(first.1 == from.y + from.height && across(from, first.0), "{points:?} leaves {from:?}");
        assert!(last.1 == to.y && across(to, last.0), "{points:?} enters {to:?}");
    }
    assert!(points.iter().all(|(x, y)| *x <= drawing.width && *y <= drawing.height), "{points:?}");
}

fn assert_free(drawing: &Drawing, points: &[(u32, u32)]) {
    for pair in points.windows(2) {
        assert_ne!(pair[0], pair[1]);
        for node in drawing.nodes.iter().filter(|node| node.container != Some(Fold::Open)) {
            assert!(!crosses(pair[0], pair[1], node), "{points:?} crosses {node:?}");
        }
    }
}

/// Checks whether a line crosses the inside of a node.
fn crosses(start: (u32, u32), end: (u32, u32), node: &DrawnNode) -> bool {
    let point = |(x, y): (u32, u32)| (f64::from(x), f64::from(y));
    let ((x, y), (to_x, to_y)) = (point(start), point(end));
    let (left, top) = point((node.x, node.y));
    let (right, low) = point((node.x + node.width, node.y + node.height));
    // The part of the line, from 0 to 1, that is inside both pairs of borders.
    let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
    for (from, by, least, most) in [(x, to_x - x, left, right), (y, to_y - y, top, low)] {
        if by == 0.0 {
            if from <= least || from >= most {
                return false;
            }
            continue;
        }
        let (one, other) = ((least - from) / by, (most - from) / by);
        enter = enter.max(one.min(other));
        leave = leave.min(one.max(other));
    }
    leave - enter > 1e-6
}

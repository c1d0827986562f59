//! A drawing of a definition: the positions of nodes and edges, in CSS pixels, and the same as an SVG picture.
//!
//! It is drawn from a [`Graph`], which may be invalid while it is being edited: edges without a target are left out,
//! and the rest is drawn as usual. The same definition gives the same drawing, and additions to it move as little as
//! possible.
//!
//! The layout is our own: `rust-sugiyama` and `dagre` route no edge through the border of a container, and do not keep
//! the written order.

mod layered;
mod lines;
mod manual_moves;
mod marks;
mod nest;
mod order;
mod place;
mod route;
mod sheet;
mod sides;
mod size;
mod svg;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::graph::{Graph, Verification, Workflow};
use crate::source::Span;

pub use svg::svg;

/// The input of a drawing: a flow, and its open parts.
#[derive(Clone, Copy)]
pub struct DrawingInput<'d, 'g> {
    /// The flow.
    pub graph: &'g Graph,
    /// The workflow of the graph, if it could be built: nodes and edges that a repair added are then drawn too.
    pub workflow: Option<&'g Workflow>,
    /// Finds a flow by name, for nodes that run one.
    pub find: &'d dyn Fn(&str) -> Option<&'g Graph>,
    /// The activities and loops to draw as one box, by their drawn identifiers. All others are open.
    pub folded: &'d BTreeSet<String>,
    /// The nodes to draw with their workflow inside, by their drawn identifiers. All others are one box.
    pub opened: &'d BTreeSet<String>,
    /// Manual moves, by the drawn identifiers.
    pub moved: &'d NodeOffsets,
}

/// How far nodes are right of and below their place in the layout. The content of a box moves with it.
pub type NodeOffsets = BTreeMap<String, (i32, i32)>;

/// The maximum distance that a node can be moved.
pub const FARTHEST: i32 = 100_000;

/// The positions of everything. All measures are in CSS pixels from the upper left corner.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "form", rename = "drawing/1", rename_all = "camelCase")]
pub struct Drawing {
    /// Its width.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// The nodes; a container comes before its content.
    pub nodes: Vec<DrawnNode>,
    /// The edges, those of the flow itself first.
    pub edges: Vec<DrawnEdge>,
}

/// A node, or a box around nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DrawnNode {
    /// Its unique identifier in the drawing. Nodes in the workflow of `a` begin with `a/`, as frames of runs do; the
    /// box around an activity begins with `activity:`, the one around a loop with `loop:`.
    pub id: String,
    /// Its container.
    pub parent: Option<String>,
    /// The node that it represents, by its name in the flow. The box of a loop or an activity represents the same node
    /// as the drawn node at its beginning.
    pub node: Option<String>,
    /// Its flow.
    pub flow: String,
    /// Its kind, in the word of definitions.
    pub kind: &'static str,
    /// Its label on one line, cut if it is long.
    pub name: String,
    /// The small print under the label; empty if there is none.
    pub detail: String,
    /// Its left border.
    pub x: u32,
    /// Its upper border.
    pub y: u32,
    /// Its width.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// Whether its content is drawn; `None` if there is none to open.
    pub container: Option<Fold>,
    /// Its number of retries, if the definition has one.
    pub budget: Option<u32>,
    /// The result of a run that ends at it.
    pub result: Option<&'static str>,
    /// The number of checks that must hold before it is left.
    pub checks: usize,
    /// Whether its work is checked or believed; `None` if no work is reported there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// Its checks, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checked_by: Vec<DrawnCheck>,
    /// The nodes that a folded activity or loop represents, by the identifiers that they would be drawn with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hides: Vec<String>,
    /// The manual move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<(i32, i32)>,
    /// Its place in the source.
    pub span: Option<Span>,
}

/// A check of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DrawnCheck {
    /// Its name.
    pub id: String,
    /// Its subject on one line, cut if it is long.
    pub what: String,
    /// Whether the project attaches it by `.portolan/verify.yaml`, not the definition.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub attached: bool,
}

/// Whether the content of a box is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// It is drawn.
    Open,
    /// It is not.
    Folded,
}

/// An edge, or several that a folded box merges.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DrawnEdge {
    /// Its unique identifier in the drawing: its ends, and a number if several edges have the same.
    pub id: String,
    /// The drawn node that it leaves.
    pub from: String,
    /// The drawn node that it enters.
    pub to: String,
    /// Its text on one line, cut if it is long.
    pub text: Option<String>,
    /// Its outcome, if it has one.
    pub on: Option<String>,
    /// Its condition: an `outcome`, the end of the work (`done`), a `guard`, or a failure (`failed`).
    pub kind: &'static str,
    /// Whether it is not in the source.
    pub implied: bool,
    /// Whether it is a back edge.
    pub back: bool,
    /// Its course, from the border of one node to the border of the other.
    pub points: Vec<(u32, u32)>,
    /// The middle of its text.
    pub label_at: Option<(u32, u32)>,
    /// Its index among the edges of its flow; for merged edges, that of the first.
    pub number: Option<usize>,
    /// Its place in the source.
    pub span: Option<Span>,
}

/// Draws a definition.
///
/// ```
/// # use portolan_core::{dialect, present, source::Source};
/// # use std::collections::BTreeSet;
/// # let source = Source::new("hello.json", r#"{
/// #   "nodes": { "start": {"type": "start"}, "greet": {"type": "task"}, "done": {"type": "end", "result": "success"} },
/// #   "edges": [ {"from": "start", "to": "greet"}, {"from": "greet", "to": "done"} ]
/// # }"#);
/// # let graph = dialect::parse(&source, dialect::Strictness::Strict).first().0.unwrap();
/// let (find, none, moved) = (|_: &str| None, BTreeSet::new(), present::NodeOffsets::new());
/// let what =
///     present::DrawingInput { graph: &graph, workflow: None, find: &find, folded: &none, opened: &none, moved: &moved };
/// let drawing = present::drawing(&what);
/// assert!(drawing.nodes[0].y < drawing.nodes[1].y, "it reads from top to bottom");
/// assert!(present::svg(&drawing).starts_with("<svg "));
/// ```
pub fn drawing(what: &DrawingInput<'_, '_>) -> Drawing {
    nest::laid_out(sheet::sheet(what))
}

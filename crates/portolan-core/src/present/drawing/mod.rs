//! A definition drawn: where each node and each edge stands, in CSS pixels, and the same as an SVG picture.
//!
//! It is drawn from a [`Graph`], which may be wrong while somebody edits it: what leads nowhere is left out, and all else
//! stands where it would. The same definition gives the same drawing, and what is added to it moves as little as it can.
//!
//! The layout is our own: `rust-sugiyama` and `dagre` route no edge through the border of what is drawn inside something
//! else, and keep no order that was written.

mod layered;
mod lines;
mod marks;
mod moved;
mod nest;
mod order;
mod place;
mod route;
mod sheet;
mod size;
mod svg;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::graph::{Graph, Verification, Workflow};
use crate::source::Span;

pub use svg::svg;

/// What is drawn: a flow, and what is open in it.
#[derive(Clone, Copy)]
pub struct DrawingInput<'d, 'g> {
    /// The flow.
    pub graph: &'g Graph,
    /// What was made of it, where something could be: nodes and ways that a repair added are then drawn too.
    pub workflow: Option<&'g Workflow>,
    /// The flow of a name, for nodes that run one.
    pub find: &'d dyn Fn(&str) -> Option<&'g Graph>,
    /// The activities and loops that are one box, by the identifiers that they are drawn with. All others are open.
    pub folded: &'d BTreeSet<String>,
    /// The nodes whose workflow is drawn inside of them, by the identifiers that they are drawn with. All others are one
    /// box.
    pub opened: &'d BTreeSet<String>,
    /// What a person has moved by hand, by the identifiers that it is drawn with.
    pub moved: &'d NodeOffsets,
}

/// How far nodes stand right of where the layout puts them, and how far under it. What stands in a box goes along with it.
pub type NodeOffsets = BTreeMap<String, (i32, i32)>;

/// The farthest that a node can be moved.
pub const FARTHEST: i32 = 100_000;

/// Where everything stands. All measures are in CSS pixels, from the upper left corner.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "form", rename = "drawing/1", rename_all = "camelCase")]
pub struct Drawing {
    /// How wide it is.
    pub width: u32,
    /// How high it is.
    pub height: u32,
    /// The nodes; whatever stands in something else comes behind it.
    pub nodes: Vec<DrawnNode>,
    /// The edges, those of the flow itself first.
    pub edges: Vec<DrawnEdge>,
}

/// A node, or a box around nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DrawnNode {
    /// What it is known by in the drawing. A node that stands in the workflow of `a` begins with `a/`, as frames of runs
    /// do; the box around an activity begins with `activity:`, the one around a loop with `loop:`. No two are the same.
    pub id: String,
    /// What it stands in.
    pub parent: Option<String>,
    /// The node that it stands for, as its flow calls it. The box of a loop or an activity and the node in it that the loop
    /// or activity begins with stand for the same.
    pub node: Option<String>,
    /// The flow that it is in.
    pub flow: String,
    /// What it is, in the word of definitions.
    pub kind: &'static str,
    /// What it is called, on one line, cut where it is long.
    pub name: String,
    /// The small print under its name; empty where there is none.
    pub detail: String,
    /// Its left border.
    pub x: u32,
    /// Its upper border.
    pub y: u32,
    /// How wide it is.
    pub width: u32,
    /// How high it is.
    pub height: u32,
    /// Whether what is in it is drawn; nothing where there is nothing to open.
    pub container: Option<Fold>,
    /// How often a failure is tried again, where the definition says so.
    pub budget: Option<u32>,
    /// How a run ends at it, where one does.
    pub result: Option<&'static str>,
    /// How many checks must hold before it is left.
    pub checks: usize,
    /// Whether it is checked before it is left, or whoever works there is believed; nothing where nobody claims anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// The checks themselves, in the order in which they stand.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub checked_by: Vec<DrawnCheck>,
    /// The nodes that a folded activity or loop stands for, by the identifiers that they would be drawn with.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hides: Vec<String>,
    /// How far a person has moved it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved: Option<(i32, i32)>,
    /// Where it is written.
    pub span: Option<Span>,
}

/// A check of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DrawnCheck {
    /// What it is called.
    pub id: String,
    /// What it looks at, on one line, cut where it is long.
    pub what: String,
    /// Whether the project attaches it by `.portolan/verify.yaml`; the definition has all others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub attached: bool,
}

/// Whether what is in a box is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// It is drawn.
    Open,
    /// It is not.
    Folded,
}

/// An edge, or several that a folded box makes one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DrawnEdge {
    /// What it is known by in the drawing: its ends, and a number where several have the same.
    pub id: String,
    /// The drawn node that it leaves.
    pub from: String,
    /// The drawn node that it enters.
    pub to: String,
    /// What stands on it, on one line, cut where it is long.
    pub text: Option<String>,
    /// The outcome that it is taken on, where it names one.
    pub on: Option<String>,
    /// When it is taken: on an `outcome`, when it is `done`, when a `guard` holds, when it has `failed`.
    pub kind: &'static str,
    /// Whether it is not written.
    pub implied: bool,
    /// Whether it leads back to where a run has been.
    pub back: bool,
    /// Its course, from the border of the one node to the border of the other.
    pub points: Vec<(u32, u32)>,
    /// The middle of its text.
    pub label_at: Option<(u32, u32)>,
    /// Its place among the edges of its flow; of several that are drawn as one, the first one's.
    pub number: Option<usize>,
    /// Where it is written.
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

//! A drawing as a self-contained SVG picture, without scripts or external resources.
//!
//! The kind of a node is a word on it and visible in its shape; colours only repeat it.

use std::fmt::Write;

use super::{Drawing, DrawnCheck, DrawnEdge, DrawnNode, Fold, marks, size};
use crate::graph::{ATTACHMENTS, Verification};

/// Returns the picture as the text of an SVG file or of an element of a page.
///
/// It is well-formed XML with every text escaped, whatever identifiers and texts contain.
pub fn svg(drawing: &Drawing) -> String {
    let is_marked = drawing.nodes.iter().any(|node| node.verification.is_some());
    let (width, height) = match is_marked {
        true => (drawing.width.max(marks::WIDTH), drawing.height + marks::HEIGHT),
        false => (drawing.width, drawing.height),
    };
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"graphics-document document\" font-family=\"system-ui, sans-serif\" font-size=\"13\">\n\
         <defs>{}{}</defs>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
        marker("arrow", LINE),
        marker("arrow-failed", FAILED),
    );
    let is_open = |node: &&DrawnNode| node.container == Some(Fold::Open);
    drawing.nodes.iter().filter(is_open).for_each(|node| text += &framed(node));
    drawing.edges.iter().for_each(|edge| text += &line(edge));
    drawing.nodes.iter().filter(|node| !is_open(node)).for_each(|node| text += &shape(node));
    drawing.edges.iter().for_each(|edge| text += &label(edge));
    if is_marked {
        text += &marks::legend(drawing.height);
    }
    text += "</svg>\n";
    text
}

const LINE: &str = "#4b5563";
const FAILED: &str = "#b91c1c";
const INK: &str = "#111827";
pub(super) const QUIET: &str = "#4b5563";
/// The radius of rounded bends.
const BEND: f64 = 8.0;

fn marker(id: &str, colour: &str) -> String {
    format!(
        "<marker id=\"{id}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" markerHeight=\"7\" \
         orient=\"auto\"><path d=\"M0 0L10 5L0 10z\" fill=\"{colour}\"/></marker>"
    )
}

/// Draws an open box with its head.
fn framed(node: &DrawnNode) -> String {
    let DrawnNode { x, y, width, height, .. } = node;
    let name = size::fitting(&node.name, width.saturating_sub(40), false);
    // Edges pass right of the title, so that the small print ends there.
    let room = u32::try_from(size::title(node) - size::INDENT).unwrap_or(0);
    let below = size::fitting(&below(node), room.min(width.saturating_sub(24)), true);
    format!(
        "<g>{}<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"10\" fill=\"#6b7280\" \
         fill-opacity=\"0.06\" stroke=\"#9ca3af\"/>{}{}</g>\n",
        title(node),
        written(x + 12, y + 16, &format!("▾ {name}"), "font-weight=\"600\""),
        written(x + 12, y + 30, &below, "font-size=\"11\""),
    )
}

/// Returns the small print in the head of an open box.
pub(super) fn below(node: &DrawnNode) -> String {
    let detail = if node.detail.is_empty() { String::new() } else { format!(" · {}", node.detail) };
    format!("{}{detail}", node.kind)
}

fn shape(node: &DrawnNode) -> String {
    let DrawnNode { x, y, width, height, .. } = node;
    let (fill, stroke) = colours(node);
    let look = format!("fill=\"{fill}\" stroke=\"{stroke}\"");
    let rounded =
        |by: u32| format!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{by}\" {look}/>");
    let outline = match node.kind {
        "start" | "end" => rounded(height / 2),
        "fork" | "join" => rounded(3),
        "checkpoint" => polygon(node, 12, height / 4, &look),
        "gate" | "switch" => polygon(node, 14, height / 2, &look),
        _ if node.container == Some(Fold::Folded) => rounded(8) + &doubled(node, stroke),
        _ => rounded(8),
    };
    let mark = node.verification.map(|mark| marks::of(node, mark)).unwrap_or_default();
    format!("<g role=\"graphics-symbol img\">{}{outline}{}{mark}</g>\n", title(node), texts(node))
}

/// Returns the fill and the stroke. The words and shapes carry the same information.
fn colours(node: &DrawnNode) -> (&'static str, &'static str) {
    match (node.kind, node.result) {
        ("start", _) => ("#dcfce7", "#15803d"),
        ("end", Some("success")) => ("#dbeafe", "#1d4ed8"),
        ("end", _) => ("#fee2e2", "#b91c1c"),
        ("checkpoint", _) => ("#fce7f3", "#be185d"),
        ("gate" | "switch", _) => ("#ede9fe", "#6d28d9"),
        ("fork" | "join", _) => ("#374151", "#374151"),
        _ => ("#ffffff", "#6b7280"),
    }
}

/// Draws an outline with its corners cut off.
fn polygon(node: &DrawnNode, across: u32, down: u32, look: &str) -> String {
    let DrawnNode { x, y, width, height, .. } = *node;
    let (right, low) = (x + width, y + height);
    let corners = [
        (x + across, y),
        (right - across, y),
        (right, y + down),
        (right, low - down),
        (right - across, low),
        (x + across, low),
        (x, low - down),
        (x, y + down),
    ];
    let corners: Vec<String> = corners.iter().map(|(x, y)| format!("{x},{y}")).collect();
    format!("<polygon points=\"{}\" {look}/>", corners.join(" "))
}

/// Marks a node with content.
fn doubled(node: &DrawnNode, stroke: &str) -> String {
    let (left, right, low) = (node.x + 6, node.x + node.width - 6, node.y + node.height);
    let y = node.y;
    format!("<path d=\"M{left} {y}V{low}M{right} {y}V{low}\" stroke=\"{stroke}\"/>")
}

fn texts(node: &DrawnNode) -> String {
    let middle = node.x + node.width / 2;
    let centred = |y: u32, text: &str, more: &str| written(middle, y, text, &format!("text-anchor=\"middle\" {more}"));
    let room = node.width.saturating_sub(24);
    let name = size::fitting(&node.name, room, false);
    match node.kind {
        "start" => centred(node.y + 21, &name, "font-weight=\"600\""),
        "end" => {
            let result = node.result.map(|result| format!(" · {result}")).unwrap_or_default();
            let name = size::fitting(&format!("{}{result}", node.name), room, false);
            centred(node.y + 21, &name, "font-weight=\"600\"")
        }
        "fork" | "join" => {
            let text = size::fitting(&format!("{} · {}", node.kind, node.name), room * 6 / 5, true);
            centred(node.y + 9, &text, "font-size=\"9\" fill=\"#ffffff\"")
        }
        _ => {
            let sign = if node.container == Some(Fold::Folded) { "▸ " } else { "" };
            let mut text = centred(node.y + 19, &format!("{sign}{name}"), "font-weight=\"600\"");
            text += &centred(node.y + 35, &size::fitting(&what(node), room, true), "font-size=\"11\"");
            if !node.detail.is_empty() {
                text += &centred(node.y + 51, &size::fitting(&node.detail, room, true), "font-size=\"11\"");
            }
            text
        }
    }
}

/// Describes the kind of a node, and its checks.
pub(super) fn what(node: &DrawnNode) -> String {
    match (node.checks, node.verification) {
        (0, Some(Verification::Believed)) => format!("{} · believed", node.kind),
        (0, _) => node.kind.to_owned(),
        (1, _) => format!("{} · 1 check", node.kind),
        (checks, _) => format!("{} · {checks} checks", node.kind),
    }
}

fn title(node: &DrawnNode) -> String {
    let result = node.result.map(|result| format!(", {result}")).unwrap_or_default();
    let detail = if node.detail.is_empty() { String::new() } else { format!(" · {}", node.detail) };
    let by = |check: &DrawnCheck| {
        let attached = if check.attached { format!(", attached by {ATTACHMENTS}") } else { String::new() };
        format!("{} ({}{attached})", check.id, check.what)
    };
    let checks: Vec<String> = node.checked_by.iter().map(by).collect();
    let checks = if checks.is_empty() { String::new() } else { format!(" · checked by {}", checks.join(", ")) };
    format!("<title>{}</title>", escaped(&format!("{}: {}{result}{detail}{checks}", what(node), node.name)))
}

pub(super) fn written(x: u32, y: u32, text: &str, more: &str) -> String {
    let fill = if more.contains("fill=") {
        String::new()
    } else {
        format!(" fill=\"{}\"", if more.contains("font-weight") { INK } else { QUIET })
    };
    format!("<text x=\"{x}\" y=\"{y}\"{fill} {more}>{}</text>", escaped(text))
}

/// Draws a line, dashed for a failure and dotted if it is not in the source.
fn line(edge: &DrawnEdge) -> String {
    let (colour, arrow) = if edge.kind == "failed" { (FAILED, "arrow-failed") } else { (LINE, "arrow") };
    let dashes = match (edge.kind, edge.implied) {
        ("failed", _) => " stroke-dasharray=\"6 4\"",
        (_, true) => " stroke-dasharray=\"2 4\"",
        _ => "",
    };
    format!(
        "<path d=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.4\"{dashes} marker-end=\"url(#{arrow})\"/>\n",
        course(&edge.points)
    )
}

/// Returns the path through points with rounded bends.
fn course(points: &[(u32, u32)]) -> String {
    let mut path = String::new();
    let points: Vec<(f64, f64)> = points.iter().map(|(x, y)| (f64::from(*x), f64::from(*y))).collect();
    for (at, point) in points.iter().enumerate() {
        let piece = match (at.checked_sub(1).map(|before| points[before]), points.get(at + 1)) {
            (None, _) => write!(path, "M{} {}", point.0, point.1),
            (_, None) => write!(path, "L{} {}", point.0, point.1),
            (Some(before), Some(after)) => {
                let (start, end) = (towards(*point, before), towards(*point, *after));
                write!(path, "L{:.1} {:.1}Q{} {} {:.1} {:.1}", start.0, start.1, point.0, point.1, end.0, end.1)
            }
        };
        piece.expect("writing to a text does not fail");
    }
    path
}

/// Returns the point a little away from a bend, at most halfway.
fn towards(from: (f64, f64), to: (f64, f64)) -> (f64, f64) {
    let (across, down) = (to.0 - from.0, to.1 - from.1);
    let length = (across * across + down * down).sqrt();
    let part = if length > 2.0 * BEND { BEND / length } else { 0.5 };
    (from.0 + across * part, from.1 + down * part)
}

/// Draws the text of an edge. Its white border keeps the lines behind it from crossing it.
fn label(edge: &DrawnEdge) -> String {
    let (Some(text), Some((x, y))) = (&edge.text, edge.label_at) else { return String::new() };
    let colour = if edge.kind == "failed" { FAILED } else { QUIET };
    let more = format!(
        "text-anchor=\"middle\" font-size=\"11\" fill=\"{colour}\" stroke=\"#ffffff\" stroke-width=\"4\" \
         stroke-linejoin=\"round\" paint-order=\"stroke\""
    );
    written(x, y + 4, &size::fitting(text, size::LABEL_ROOM, true), &more) + "\n"
}

/// Escapes a text for XML. Characters that XML 1.0 lacks become the replacement character.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            '\t' | '\n' | '\r' => safe.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}

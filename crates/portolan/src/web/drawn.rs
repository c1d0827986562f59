//! Definitions as the page shows them: the drawing, the diagnostics with their places, and the details of each node.

use std::collections::{BTreeMap, BTreeSet};

use portolan_core::diagnostic::{Diagnostic, Severity};
use portolan_core::dialect::editing::{Forms, NodeValues};
use portolan_core::graph::{Graph, Kind, Node, Workflow};
use portolan_core::present::{Drawing, DrawingInput, DrawnNode, NodeOffsets, drawing};
use portolan_core::source::{Source, Span};
use portolan_core::value::{FAILED, PASSED};
use portolan_runtime::attachments::Origins;
use portolan_runtime::service::ServiceError;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::facts::{self, Fact, NodeChecks};

/// The folded and opened nodes of a drawing, by their names in the drawing.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Folds {
    pub(super) folded: BTreeSet<String>,
    pub(super) opened: BTreeSet<String>,
}

/// A place in one of the files of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Place {
    /// The index of the file, from 0.
    file: usize,
    /// The start, in UTF-16 units, as JavaScript strings count.
    from: usize,
    /// The end, exclusive, in UTF-16 units.
    to: usize,
    /// The line, from 1.
    line: usize,
    /// The column in characters, from 1.
    column: usize,
}

/// A problem of a definition.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    code: &'static str,
    severity: Severity,
    message: String,
    help: Option<String>,
    place: Option<Place>,
    /// The drawn node that the problem is at.
    node: Option<String>,
}

impl Problem {
    /// Returns a warning about something outside the definition. It hides nothing of the definition.
    pub(super) fn beside(error: ServiceError) -> Problem {
        let ServiceError { code, message, help, .. } = error;
        Problem { code, severity: Severity::Warning, message, help: Some(help), place: None, node: None }
    }
}

/// The details of a drawn node.
#[derive(Debug, Serialize)]
pub(super) struct NodeDetails {
    kind: &'static str,
    id: String,
    name: String,
    place: Option<Place>,
    /// All of its text, if it can be edited.
    extent: Option<Place>,
    facts: Vec<Fact>,
    /// Whether and by what the node is checked before a run leaves it.
    #[serde(flatten)]
    verified: NodeChecks,
    /// The node's form, if it can be edited.
    #[serde(flatten)]
    form: Option<Form>,
}

/// The form of a node.
#[derive(Debug, Serialize)]
struct Form {
    word: Option<&'static str>,
    values: Map<String, Value>,
    editable: bool,
    outcomes: Vec<String>,
}

/// Finds places in the text of a definition.
pub(super) struct Places<'s> {
    source: &'s Source,
    names: Vec<&'s str>,
    /// The start of each line but the first.
    lines: Vec<usize>,
    /// The counts before each chunk of `APART` bytes, so that finding a place does not read the whole text.
    counts: Vec<Count>,
}

/// The length of a text.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    /// In UTF-16 units.
    units: usize,
    characters: usize,
}

impl Count {
    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.units += units(*byte);
            self.characters += usize::from(!matches!(byte, 0x80..=0xbf));
        }
    }
}

/// The distance between two counts, in bytes.
const APART: usize = 256;

impl<'s> Places<'s> {
    /// Indexes a text. `names` are the names of its files, in the order of their numbers.
    pub(super) fn of(source: &'s Source, names: Vec<&'s str>) -> Places<'s> {
        let text = source.text.as_bytes();
        let mut before = Count::default();
        let counts = text.chunks(APART).map(|chunk| {
            let here = before;
            before.add(chunk);
            here
        });
        let counts = counts.collect();
        let ends = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
        Places { source, names, lines: ends.map(|(at, _)| at + 1).collect(), counts }
    }

    /// Returns the counts before an offset of the whole text.
    fn before(&self, offset: usize) -> Count {
        let text = self.source.text.as_bytes();
        let offset = offset.min(text.len());
        let chunk = (offset / APART).min(self.counts.len().saturating_sub(1));
        let mut count = self.counts.get(chunk).copied().unwrap_or_default();
        count.add(&text[chunk * APART..offset]);
        count
    }

    /// Returns the number of lines that begin at or before an offset, without the first line.
    fn line(&self, offset: usize) -> usize {
        self.lines.partition_point(|line| *line <= offset)
    }

    pub(super) fn place(&self, span: Span) -> Place {
        let (name, file_span) = self.source.file_at(span.start);
        let at = span.start.min(file_span.end.max(file_span.start));
        let (start, here) = (self.before(file_span.start), self.before(at));
        let (first, line) = (self.line(file_span.start), self.line(at));
        let begin = line.checked_sub(1).and_then(|line| self.lines.get(line)).map_or(0, |begin| *begin);
        let end = span.end.clamp(at, file_span.end.max(at));
        Place {
            file: self.names.iter().position(|known| *known == name).unwrap_or(0),
            from: here.units - start.units,
            to: self.before(end).units - start.units,
            line: line - first + 1,
            column: here.characters - self.before(begin.max(file_span.start)).characters + 1,
        }
    }

    pub(super) fn problem(&self, fault: &Diagnostic, drawing: Option<&Drawing>) -> Problem {
        let holder = fault.span.zip(drawing).and_then(|(span, drawing)| holder(span, drawing));
        Problem {
            code: fault.code,
            severity: fault.severity,
            message: fault.message.clone(),
            help: fault.help.clone(),
            place: fault.span.map(|span| self.place(span)),
            node: holder,
        }
    }
}

/// Returns the number of UTF-16 units that a byte begins: two for the first of four bytes, none for a continuation
/// byte.
fn units(byte: u8) -> usize {
    match byte {
        0x80..=0xbf => 0,
        0xf0..=0xff => 2,
        _ => 1,
    }
}

/// Returns the drawn node that a place belongs to: the source of the smallest edge that contains the place, or else the
/// node whose identifier is the last before it, since the fields of a node follow its name.
fn holder(span: Span, drawing: &Drawing) -> Option<String> {
    let holds = |edge: Span| edge.start <= span.start && span.end <= edge.end;
    let edges = drawing.edges.iter().filter(|edge| !edge.from.contains('/'));
    let written = edges.filter_map(|edge| Some((edge.span.filter(|edge| holds(*edge))?, &edge.from)));
    if let Some((_, from)) = written.min_by_key(|(edge, _)| edge.end - edge.start) {
        return Some(from.clone());
    }
    let named = drawing.nodes.iter().filter(|node| !node.id.contains('/'));
    let before = named.filter_map(|node| Some((node.span?.start, &node.id))).filter(|(at, _)| *at <= span.start);
    before.max_by_key(|(at, _)| *at).map(|(_, id)| id.clone())
}

/// Graphs by the names by which they are called.
pub(super) type Graphs = BTreeMap<String, Graph>;

/// Draws a flow of a definition.
pub(super) fn draw(
    root: &Graph,
    workflow: Option<&Workflow>,
    graphs: &Graphs,
    folds: &Folds,
    moved: &NodeOffsets,
) -> Drawing {
    drawing(&DrawingInput {
        graph: root,
        workflow,
        find: &|name| graphs.get(name),
        folded: &folds.folded,
        opened: &folds.opened,
        moved,
    })
}

/// Returns the details of the nodes of a drawing.
pub(super) fn about(
    drawing: &Drawing,
    graphs: &Graphs,
    root: &Graph,
    places: Option<&Places<'_>>,
    forms: Option<&Forms<'_>>,
    origins: &Origins,
) -> BTreeMap<String, NodeDetails> {
    let mut details = BTreeMap::new();
    let boxes: BTreeMap<&str, &DrawnNode> =
        drawing.nodes.iter().filter(|node| node.container.is_some()).map(|node| (node.id.as_str(), node)).collect();
    let mut index: BTreeMap<&str, BTreeMap<&str, &Node>> = BTreeMap::new();
    for drawn in &drawing.nodes {
        let is_root = !drawn.id.contains('/') || drawn.flow == root.id.value;
        let Some(graph) = (if is_root { Some(root) } else { graphs.get(&drawn.flow) }) else { continue };
        let nodes = index
            .entry(if is_root { "" } else { &drawn.flow })
            .or_insert_with(|| graph.nodes.iter().rev().map(|node| (node.id.as_str(), node)).collect());
        let node = drawn.node.as_deref().and_then(|id| nodes.get(id));
        let form = node.filter(|_| is_root).zip(forms).and_then(|(node, forms)| form(node, forms));
        let (form, span) = form.unzip();
        let boxed = drawn.id.rsplit_once("activity:").map(|(_, id)| id);
        let activity = boxed.and_then(|id| graph.activities.iter().find(|activity| activity.id == id));
        let facts = match (activity, node) {
            (Some(activity), _) => facts::of_activity(activity),
            (None, Some(node)) => facts::of_node(node),
            (None, None) => Vec::new(),
        };
        let verified = match (activity, node) {
            (None, Some(node)) => NodeChecks::of(&graph.id.value, node, origins),
            _ => NodeChecks::default(),
        };
        let place = drawn.span.filter(|_| is_root).zip(places).map(|(span, places)| places.place(span));
        let extent = span.zip(places).map(|(span, places)| places.place(span));
        let id = drawn.node.clone().unwrap_or_else(|| drawn.id.clone());
        // The node at the beginning of a box is called as the box, in sentences.
        let box_of = |drawn: &DrawnNode| boxes.get(drawn.parent.as_deref()?).copied();
        let around = box_of(drawn).filter(|around| around.node.is_some() && around.node == drawn.node);
        let name = around.unwrap_or(drawn).name.clone();
        details
            .insert(drawn.id.clone(), NodeDetails { kind: drawn.kind, id, name, place, extent, facts, verified, form });
    }
    details
}

/// Returns the form of a node, and the span of its text.
fn form(node: &Node, forms: &Forms<'_>) -> Option<(Form, Span)> {
    let NodeValues { span, word, values } = forms.node(node)?;
    Some((Form { word, values, editable: word.is_some(), outcomes: outcomes(node) }, span))
}

/// Returns the outcomes that an edge from a node may name.
fn outcomes(node: &Node) -> Vec<String> {
    let named: Vec<String> = match &node.kind {
        Kind::Work { outputs, .. } => outputs.iter().map(|outcome| outcome.value.to_string()).collect(),
        Kind::Checkpoint { question: Some(question), .. } => {
            return question.options.iter().map(|choice| choice.id.to_string()).collect();
        }
        _ => Vec::new(),
    };
    let usual = || vec![PASSED.to_owned(), FAILED.to_owned()];
    if named.is_empty() { usual() } else { named }
}

#[cfg(test)]
mod tests {
    use portolan_core::source::{Location, Piece, Source, Span};

    use super::Places;

    /// Checks that every place, in one file and in several, agrees with the source and with a page that counts UTF-16
    /// units.
    #[test]
    fn places_are_those_of_the_source() {
        let text = |nth: usize| format!("a: ä\n{}\n𝄞: \"\u{301}\"\r\n\n", "long 𝄞 ".repeat(nth * 400));
        let piece = |nth| Piece { name: format!("{nth}.yaml"), text: Ok(text(nth)) };
        let alone = Source::new("alone.yaml", text(2));
        let joined = Source::new("workflow.yaml", text(0)).joined(vec![piece(1), piece(2), piece(0)], Vec::new());
        for source in [alone, joined] {
            let places = Places::of(&source, source.names().collect());
            for (at, _) in source.text.char_indices() {
                let place = places.place(Span { start: at, end: at + 1 });
                let Location { line, column } = source.location(at);
                let (name, file) = source.file_at(at);
                // An offset between two files has no place.
                if at > file.end {
                    continue;
                }
                assert_eq!((place.line, place.column), (line, column), "{name} {at}");
                assert_eq!(place.from, source.text[file.start..at].encode_utf16().count(), "{name} {at}");
            }
        }
    }
}

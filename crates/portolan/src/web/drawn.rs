//! Definitions as the page shows them: the drawing, what was found and where, and what is told of each node.

use std::collections::{BTreeMap, BTreeSet};

use portolan_core::diagnostic::{Diagnostic, Severity};
use portolan_core::dialect::editing::{Forms, Shown};
use portolan_core::graph::{Graph, Kind, Node, Workflow};
use portolan_core::present::{Drawing, Drawn, drawing};
use portolan_core::source::{Source, Span};
use portolan_core::value::{FAILED, PASSED};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::facts::{self, Fact};

/// What is open in a drawing, by the names that it draws with.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Folds {
    pub(super) folded: BTreeSet<String>,
    pub(super) opened: BTreeSet<String>,
}

/// A place in one of the files of a definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Place {
    /// Which of the files, from 0.
    file: usize,
    /// The first unit of UTF-16, as the page's strings count.
    from: usize,
    /// The unit behind the last.
    to: usize,
    /// The line, from 1.
    line: usize,
    /// The column in characters, from 1.
    column: usize,
}

/// Something that was found in a definition.
#[derive(Debug, Serialize)]
pub(super) struct Problem {
    code: &'static str,
    severity: Severity,
    message: String,
    help: Option<String>,
    place: Option<Place>,
    /// The drawn node that it stands in.
    node: Option<String>,
}

/// What is told of a drawn node.
#[derive(Debug, Serialize)]
pub(super) struct About {
    kind: &'static str,
    id: String,
    name: String,
    place: Option<Place>,
    facts: Vec<Fact>,
    /// What a form shows of it, where it can be edited.
    #[serde(flatten)]
    form: Option<Form>,
}

/// What a form shows of a node.
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
    /// How many units of UTF-16 lie before every so many bytes, so that finding one does not read the whole text.
    units: Vec<usize>,
}

/// How many bytes lie between two counts.
const APART: usize = 4 << 10;

impl<'s> Places<'s> {
    pub(super) fn of(source: &'s Source) -> Places<'s> {
        let text = source.text.as_bytes();
        let mut before = 0;
        let units = text.chunks(APART).map(|chunk| {
            let here = before;
            before += chunk.iter().map(|byte| units(*byte)).sum::<usize>();
            here
        });
        Places { source, names: source.names().collect(), units: units.collect() }
    }

    /// How many units of UTF-16 lie before an offset in the whole text.
    fn before(&self, offset: usize) -> usize {
        let text = self.source.text.as_bytes();
        let offset = offset.min(text.len());
        let chunk = (offset / APART).min(self.units.len().saturating_sub(1));
        let counted = self.units.get(chunk).copied().unwrap_or(0);
        counted + text[chunk * APART..offset].iter().map(|byte| units(*byte)).sum::<usize>()
    }

    pub(super) fn place(&self, span: Span) -> Place {
        let (name, file_span) = self.source.file_at(span.start);
        let start = self.before(file_span.start);
        let at = self.source.location(span.start);
        let end = span.end.clamp(span.start, file_span.end.max(span.start));
        Place {
            file: self.names.iter().position(|known| *known == name).unwrap_or(0),
            from: self.before(span.start) - start,
            to: self.before(end) - start,
            line: at.line,
            column: at.column,
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

/// The units of UTF-16 that a byte begins: two for a character of four bytes, none for a byte within one.
fn units(byte: u8) -> usize {
    match byte {
        0x80..=0xbf => 0,
        0xf0..=0xff => 2,
        _ => 1,
    }
}

/// The drawn node whose identifier stands last before a place: what is said of a node stands behind its name.
fn holder(span: Span, drawing: &Drawing) -> Option<String> {
    let named = drawing.nodes.iter().filter(|node| !node.id.contains('/'));
    let before = named.filter_map(|node| Some((node.span?.start, &node.id))).filter(|(at, _)| *at <= span.start);
    before.max_by_key(|(at, _)| *at).map(|(_, id)| id.clone())
}

/// Graphs by the names that they are run by.
pub(super) type Graphs = BTreeMap<String, Graph>;

/// Draws a flow of a definition.
pub(super) fn draw(root: &Graph, workflow: Option<&Workflow>, graphs: &Graphs, folds: &Folds) -> Drawing {
    drawing(&Drawn {
        graph: root,
        workflow,
        find: &|name| graphs.get(name),
        folded: &folds.folded,
        opened: &folds.opened,
    })
}

/// What is told of the nodes of a drawing.
pub(super) fn about(
    drawing: &Drawing,
    graphs: &Graphs,
    root: &Graph,
    places: Option<&Places<'_>>,
    forms: Option<&Forms<'_>>,
) -> BTreeMap<String, About> {
    let mut told = BTreeMap::new();
    let mut index: BTreeMap<&str, BTreeMap<&str, &Node>> = BTreeMap::new();
    for drawn in &drawing.nodes {
        let is_root = !drawn.id.contains('/') || drawn.flow == root.id.value;
        let Some(graph) = (if is_root { Some(root) } else { graphs.get(&drawn.flow) }) else { continue };
        let nodes = index
            .entry(if is_root { "" } else { &drawn.flow })
            .or_insert_with(|| graph.nodes.iter().rev().map(|node| (node.id.as_str(), node)).collect());
        let node = drawn.node.as_deref().and_then(|id| nodes.get(id));
        let form = node.filter(|_| is_root).zip(forms).and_then(|(node, forms)| form(node, forms));
        let boxed = drawn.id.rsplit_once("activity:").map(|(_, id)| id);
        let activity = boxed.and_then(|id| graph.activities.iter().find(|activity| activity.id == id));
        let facts = match (activity, node) {
            (Some(activity), _) => facts::of_activity(activity),
            (None, Some(node)) => facts::of_node(node),
            (None, None) => Vec::new(),
        };
        let place = drawn.span.filter(|_| is_root).zip(places).map(|(span, places)| places.place(span));
        let id = drawn.node.clone().unwrap_or_else(|| drawn.id.clone());
        told.insert(drawn.id.clone(), About { kind: drawn.kind, id, name: drawn.name.clone(), place, facts, form });
    }
    told
}

fn form(node: &Node, forms: &Forms<'_>) -> Option<Form> {
    let Shown { word, values } = forms.node(node)?;
    Some(Form { word, values, editable: word.is_some(), outcomes: outcomes(node) })
}

/// The outcomes that an edge from a node may name.
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

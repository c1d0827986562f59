//! Which edges of functions were taken.
//!
//! An edge is identified by its two ends and by whether a failure takes it. Two cases of a switch that lead to the same
//! node cannot be distinguished by the trace, and count together.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::graph::{Edge, Flow, Kind, Trigger};
use portolan_core::source::Source;
use serde::Serialize;

use crate::drive::{ExecutionObserver, NodeEnd};
use crate::library::FunctionSet;

/// The edges of one function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Coverage {
    /// The function.
    pub tool: String,
    /// The edges, in the order written.
    pub edges: Vec<EdgeTaken>,
}

/// An edge, and whether it was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EdgeTaken {
    /// The node it leaves.
    pub from: String,
    /// The node it enters.
    pub to: String,
    /// When it is taken, unless that is always: a condition, `otherwise`, `error`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
    /// The line of the file that declares it.
    pub line: usize,
    /// Whether a test took it.
    pub taken: bool,
}

impl Coverage {
    /// Returns how many edges were taken.
    pub fn taken(&self) -> usize {
        self.edges.iter().filter(|edge| edge.taken).count()
    }
}

/// Records the edges that runs take. All clones share one record.
#[derive(Clone, Default)]
pub(super) struct Ways(Arc<Mutex<BTreeSet<Way>>>);

/// The flow, the node left, the node entered, and whether a failure led there.
type Way = (String, String, String, bool);

impl Ways {
    pub(super) fn watch(&self) -> ExecutionObserver {
        let ways = self.clone();
        ExecutionObserver::new(|_| {}, move |ended| ways.note(ended))
    }

    fn note(&self, ended: &NodeEnd<'_>) {
        let mut ways = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (flow, node) = (ended.flow.to_string(), ended.node.id.to_string());
        if let Some(next) = ended.next {
            ways.insert((flow.clone(), node.clone(), next.to_string(), ended.fault.is_some()));
        }
        // A branch is named after its first node, which is reached only by the edge of the fork.
        if ended.path.0.last().is_some_and(|branch| *branch == ended.node.id) {
            ways.insert((flow, String::new(), node, false));
        }
    }

    fn has(&self, way: &Way) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(way)
    }

    /// Returns the edges of every function of a file.
    pub(super) fn of(&self, functions: &FunctionSet) -> Vec<Coverage> {
        let coverage = functions.definitions.iter().map(|(name, definition)| {
            let flow = definition.workflow.root();
            let text = definition.bundle.workflows.get(name).map_or("", String::as_str);
            let source = Source::new(name.as_str(), text);
            let edges = flow.edges.iter().map(|edge| self.edge(name, flow, edge, &source)).collect();
            Coverage { tool: name.clone(), edges }
        });
        coverage.collect()
    }

    fn edge(&self, tool: &str, flow: &Flow, edge: &Edge, source: &Source) -> EdgeTaken {
        let (from, to) = (edge.from.value.to_string(), edge.to.value.to_string());
        let kind = flow.steps.get(&edge.from.value).map(|step| &step.node.kind);
        let failed = edge.on.outcome().is_some_and(|on| on.is_failed());
        let left = if matches!(kind, Some(Kind::Fork { .. })) && !failed { String::new() } else { from.clone() };
        let when = match &edge.on {
            Trigger::When(guard) => Some(guard.value.text()),
            Trigger::Outcome(_) if failed => Some("error".to_owned()),
            Trigger::Done if matches!(kind, Some(Kind::Switch)) => Some("otherwise".to_owned()),
            Trigger::Outcome(_) | Trigger::Done => None,
        };
        let line = source.location(edge.to.span.start).line;
        let taken = self.has(&(tool.to_owned(), left, to.clone(), failed));
        EdgeTaken { from, to, when, line, taken }
    }
}

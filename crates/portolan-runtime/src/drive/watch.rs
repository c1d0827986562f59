//! Observers of a run: notified of each long-running node that begins, and of each node that ends.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portolan_core::graph::Node;
use portolan_core::present::Redaction;
use portolan_core::run::{Fault, FramePath, ModelStateChange, Spend};
use portolan_core::value::{NodeId, Timestamp, WorkflowId};
use serde_json::Value;

use super::spans::CallSpan;
use crate::trace::SpanId;

/// An observer. It is called in the middle of a run, and must not block.
#[derive(Clone)]
pub struct ExecutionObserver {
    began: Arc<dyn Fn(&Began<'_>) + Send + Sync>,
    ended: Arc<dyn Fn(&NodeEnd<'_>) + Send + Sync>,
    dropped: Arc<dyn Fn(SpanId) + Send + Sync>,
    answered: Arc<dyn Fn(&Value) + Send + Sync>,
    talked: Arc<dyn Fn(&WorkingStateChange<'_>) + Send + Sync>,
}

impl ExecutionObserver {
    /// Returns an observer of nodes that begin and of nodes that end.
    pub fn new(
        began: impl Fn(&Began<'_>) + Send + Sync + 'static,
        ended: impl Fn(&NodeEnd<'_>) + Send + Sync + 'static,
    ) -> ExecutionObserver {
        ExecutionObserver {
            began: Arc::new(began),
            ended: Arc::new(ended),
            dropped: Arc::new(|_| {}),
            answered: Arc::new(|_| {}),
            talked: Arc::new(|_| {}),
        }
    }

    /// Returns an observer that teaches `hidden` the values of the run that must not be shown. `None` if it marks no
    /// field. Observers that show values must come after it.
    pub fn learning(hidden: &Redaction) -> Option<ExecutionObserver> {
        let (begins, ends, answers) = (hidden.clone(), hidden.clone(), hidden.clone());
        let watch = ExecutionObserver::new(
            move |began| began.arguments.iter().for_each(|arguments| begins.learn(arguments)),
            move |ended| ended.output.iter().for_each(|output| ends.learn(output)),
        );
        hidden.marks().then(|| ExecutionObserver { answered: Arc::new(move |answer| answers.learn(answer)), ..watch })
    }

    /// Adds a callback for nodes that began and are no longer needed: they never end.
    #[must_use]
    pub fn dropping(self, dropped: impl Fn(SpanId) + Send + Sync + 'static) -> ExecutionObserver {
        ExecutionObserver { dropped: Arc::new(dropped), ..self }
    }

    /// Adds a callback for every change of a working state.
    #[must_use]
    pub fn talking(self, talked: impl Fn(&WorkingStateChange<'_>) + Send + Sync + 'static) -> ExecutionObserver {
        ExecutionObserver { talked: Arc::new(talked), ..self }
    }

    /// Combines two observers.
    #[must_use]
    pub fn and(self, other: ExecutionObserver) -> ExecutionObserver {
        let both = Arc::new((self, other));
        let (begins, ends, answers, talks) = (both.clone(), both.clone(), both.clone(), both.clone());
        let watch = ExecutionObserver::new(
            move |began| {
                begins.0.began(began);
                begins.1.began(began);
            },
            move |ended| {
                ends.0.ended(ended);
                ends.1.ended(ended);
            },
        )
        .dropping(move |span| {
            both.0.dropped(span);
            both.1.dropped(span);
        });
        let answered = move |answer: &Value| {
            answers.0.answered(answer);
            answers.1.answered(answer);
        };
        let talked = move |change: &WorkingStateChange<'_>| {
            talks.0.talked(change);
            talks.1.talked(change);
        };
        ExecutionObserver { answered: Arc::new(answered), talked: Arc::new(talked), ..watch }
    }

    pub(super) fn began(&self, began: &Began<'_>) {
        (self.began)(began);
    }

    pub(super) fn ended(&self, ended: &NodeEnd<'_>) {
        (self.ended)(ended);
    }

    /// Notifies of a tool's answer, before it is processed.
    pub(super) fn answered(&self, answer: &Value) {
        (self.answered)(answer);
    }

    pub(super) fn talked(&self, talked: &WorkingStateChange<'_>) {
        (self.talked)(talked);
    }

    pub(super) fn dropped(&self, span: SpanId) {
        (self.dropped)(span);
    }
}

/// The start of a long-running node: a call, a `forEach`, another workflow.
#[derive(Clone, Copy, Debug)]
pub struct Began<'a> {
    /// The frame.
    pub path: &'a FramePath,
    /// The flow of the node.
    pub flow: &'a WorkflowId,
    /// The node.
    pub node: &'a NodeId,
    /// The word for its kind.
    pub kind: &'static str,
    /// The number of earlier attempts of a call, on this visit.
    pub retries: u32,
    /// The arguments of a call.
    pub arguments: Option<&'a Value>,
    /// The start of the node: before its first call, if it makes several.
    pub since: Instant,
    /// The span of the node.
    pub span: SpanId,
    /// The parent span.
    pub parent: SpanId,
    /// The span of the call.
    pub call: Option<SpanId>,
}

/// A change of a working state.
#[derive(Clone, Copy, Debug)]
pub struct WorkingStateChange<'a> {
    /// The frame.
    pub path: &'a FramePath,
    /// The state.
    pub node: &'a NodeId,
    /// The change.
    pub change: &'a ModelStateChange,
    /// The run's usage before the change.
    pub spent: Spend,
}

/// The end of a node.
#[derive(Clone, Copy, Debug)]
pub struct NodeEnd<'a> {
    /// Its number among the executed nodes of the run, from 0.
    pub index: u64,
    /// The frame.
    pub path: &'a FramePath,
    /// The flow of the node.
    pub flow: &'a WorkflowId,
    /// The node.
    pub node: &'a Node,
    /// The time of the event.
    pub at: Timestamp,
    /// The duration.
    pub took: Duration,
    /// The arguments of a call.
    pub input: Option<&'a Value>,
    /// The result.
    pub output: Option<&'a Value>,
    /// The reason of its failure.
    pub fault: Option<&'a Fault>,
    /// The next node, if there is one.
    pub next: Option<&'a NodeId>,
    /// The span of the node.
    pub span: SpanId,
    /// The parent span.
    pub parent: SpanId,
    /// The calls that it made, including retries.
    pub calls: &'a [CallSpan],
}

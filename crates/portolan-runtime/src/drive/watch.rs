//! What whoever watches a run is told: of every node, when it begins and takes its time, and when it is done.

use std::sync::Arc;
use std::time::{Duration, Instant};

use portolan_core::graph::Node;
use portolan_core::present::Redaction;
use portolan_core::run::{Fault, FramePath, ModelStateChange, Spend};
use portolan_core::value::{NodeId, Timestamp, WorkflowId};
use serde_json::Value;

use super::spans::CallSpan;
use crate::trace::SpanId;

/// A watcher. It is called in the middle of a run, and must not keep it.
#[derive(Clone)]
pub struct ExecutionObserver {
    began: Arc<dyn Fn(&Began<'_>) + Send + Sync>,
    ended: Arc<dyn Fn(&NodeEnd<'_>) + Send + Sync>,
    dropped: Arc<dyn Fn(SpanId) + Send + Sync>,
    answered: Arc<dyn Fn(&Value) + Send + Sync>,
    talked: Arc<dyn Fn(&Talked<'_>) + Send + Sync>,
}

impl ExecutionObserver {
    /// A watcher that is told of nodes that begin, and of nodes that are done.
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

    /// A watcher that teaches `hidden` what must not be shown of what the run meets; nothing where it marks no field.
    /// Watchers that show what they are told come after it.
    pub fn learning(hidden: &Redaction) -> Option<ExecutionObserver> {
        let (begins, ends, answers) = (hidden.clone(), hidden.clone(), hidden.clone());
        let watch = ExecutionObserver::new(
            move |began| began.arguments.iter().for_each(|arguments| begins.learn(arguments)),
            move |ended| ended.output.iter().for_each(|output| ends.learn(output)),
        );
        hidden.marks().then(|| ExecutionObserver { answered: Arc::new(move |answer| answers.learn(answer)), ..watch })
    }

    /// The same, told also of nodes that began and that nobody waits for any more: they are never done.
    #[must_use]
    pub fn dropping(self, dropped: impl Fn(SpanId) + Send + Sync + 'static) -> ExecutionObserver {
        ExecutionObserver { dropped: Arc::new(dropped), ..self }
    }

    /// The same, told also of everything that becomes true of states at work.
    #[must_use]
    pub fn talking(self, talked: impl Fn(&Talked<'_>) + Send + Sync + 'static) -> ExecutionObserver {
        ExecutionObserver { talked: Arc::new(talked), ..self }
    }

    /// Both of two watchers.
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
        let talked = move |told: &Talked<'_>| {
            talks.0.talked(told);
            talks.1.talked(told);
        };
        ExecutionObserver { answered: Arc::new(answered), talked: Arc::new(talked), ..watch }
    }

    pub(super) fn began(&self, began: &Began<'_>) {
        (self.began)(began);
    }

    pub(super) fn ended(&self, ended: &NodeEnd<'_>) {
        (self.ended)(ended);
    }

    /// A tool answered, before anything is made of it.
    pub(super) fn answered(&self, answer: &Value) {
        (self.answered)(answer);
    }

    pub(super) fn talked(&self, talked: &Talked<'_>) {
        (self.talked)(talked);
    }

    pub(super) fn dropped(&self, span: SpanId) {
        (self.dropped)(span);
    }
}

/// A node that takes its time has begun: a call, a `forEach`, another workflow.
#[derive(Clone, Copy, Debug)]
pub struct Began<'a> {
    /// In which frame.
    pub path: &'a FramePath,
    /// The flow whose node it is.
    pub flow: &'a WorkflowId,
    /// The node.
    pub node: &'a NodeId,
    /// The word for its kind.
    pub kind: &'static str,
    /// How many times a call was made before, on this visit.
    pub retries: u32,
    /// The arguments of a call.
    pub arguments: Option<&'a Value>,
    /// When the node began; before its first call, where it makes several.
    pub since: Instant,
    /// The span of the node.
    pub span: SpanId,
    /// The span that it stands in.
    pub parent: SpanId,
    /// The span of the call.
    pub call: Option<SpanId>,
}

/// Something became true of a state at work.
#[derive(Clone, Copy, Debug)]
pub struct Talked<'a> {
    /// In which frame.
    pub path: &'a FramePath,
    /// The state.
    pub node: &'a NodeId,
    /// What.
    pub said: &'a ModelStateChange,
    /// What the run had used up before.
    pub spent: Spend,
}

/// A node is done.
#[derive(Clone, Copy, Debug)]
pub struct NodeEnd<'a> {
    /// Its number among the nodes that the run executed, from 0.
    pub index: u64,
    /// In which frame.
    pub path: &'a FramePath,
    /// The flow whose node it is.
    pub flow: &'a WorkflowId,
    /// The node.
    pub node: &'a Node,
    /// When.
    pub at: Timestamp,
    /// How long it took.
    pub took: Duration,
    /// The arguments of a call.
    pub input: Option<&'a Value>,
    /// What it came to.
    pub output: Option<&'a Value>,
    /// Why it failed.
    pub fault: Option<&'a Fault>,
    /// The node that it led to, where it led to one.
    pub next: Option<&'a NodeId>,
    /// The span of the node.
    pub span: SpanId,
    /// The span that it stands in.
    pub parent: SpanId,
    /// The calls that it made, retries included.
    pub calls: &'a [CallSpan],
}

//! The trace spans of a run. Their ids are created here, because a call sends its own to the server before the node has
//! ended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use portolan_core::engine::ToolCall;
use portolan_core::run::{FramePath, Reply};
use serde_json::{Map, Value};

use crate::trace::{SpanId, TraceContext};

/// A tool call that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallSpan {
    /// The span of the call.
    pub span: SpanId,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The time from the start of the node to the call. A retry waits first.
    pub after: Duration,
    /// The duration of the call.
    pub took: Duration,
    /// The code of its failure.
    pub error: Option<String>,
}

/// A node that has begun and is not done.
pub(super) struct OpenNode {
    pub(super) span: SpanId,
    pub(super) began: Instant,
    pub(super) calls: Vec<CallSpan>,
    calling: Option<OpenCall>,
}

/// A call that has begun and is not answered.
struct OpenCall {
    span: SpanId,
    began: Instant,
    server: String,
    tool: String,
}

impl OpenNode {
    fn new() -> OpenNode {
        OpenNode { span: SpanId::fresh(), began: Instant::now(), calls: Vec::new(), calling: None }
    }
}

/// The open spans, one for each frame.
pub(super) struct Spans {
    context: TraceContext,
    open: BTreeMap<FramePath, OpenNode>,
}

impl Spans {
    pub(super) fn new(context: &TraceContext) -> Spans {
        Spans { context: context.clone(), open: BTreeMap::new() }
    }

    pub(super) fn begin(&mut self, path: &FramePath) {
        self.open.insert(path.clone(), OpenNode::new());
    }

    /// Ends the span of a frame's node and returns it. A join is left by its last branch, and its span begins then.
    pub(super) fn end(&mut self, path: &FramePath) -> OpenNode {
        self.open.remove(path).unwrap_or_else(OpenNode::new)
    }

    /// Returns the span around a frame: the node that opened it, or the run.
    pub(super) fn parent(&self, path: &FramePath) -> SpanId {
        let around = (0..path.0.len()).rev().map(|depth| FramePath(path.0[..depth].to_vec()));
        around.filter_map(|outer| self.open.get(&outer)).map(|open| open.span).next().unwrap_or(self.context.root)
    }

    /// Begins a call. Returns its trace metadata for the server.
    pub(super) fn meta(&mut self, path: &FramePath, call: &ToolCall) -> Map<String, Value> {
        let span = SpanId::fresh();
        let (server, tool) = (call.server.clone(), call.tool.clone());
        let calling = OpenCall { span, began: Instant::now(), server, tool };
        self.open.entry(path.clone()).or_insert_with(OpenNode::new).calling = Some(calling);
        self.context.meta(span)
    }

    /// Returns the open node of a frame: its span, its start, and the span of its call.
    pub(super) fn begun(&self, path: &FramePath) -> Option<(SpanId, Instant, Option<SpanId>)> {
        self.open.get(path).map(|open| (open.span, open.began, open.calling.as_ref().map(|calling| calling.span)))
    }

    /// Ends a call with its reply. `waited` is the delay before the call was made.
    pub(super) fn answered(&mut self, path: &FramePath, waited: Duration, reply: &Reply) {
        let Some(open) = self.open.get_mut(path) else { return };
        let Some(OpenCall { span, began, server, tool }) = open.calling.take() else { return };
        let error = match reply {
            Reply::Output(_) => None,
            Reply::Failed(fault) => Some(fault.code.clone()),
        };
        let after = began.duration_since(open.began) + waited;
        let took = began.elapsed().saturating_sub(waited);
        open.calls.push(CallSpan { span, server, tool, after, took, error });
    }
}

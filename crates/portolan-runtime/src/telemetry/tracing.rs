//! A run as spans. Each node becomes a span when it ends. Nodes that are still under way when the run ends or is
//! dropped count as cancelled.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use portolan_core::graph::{Kind, Workflow};
use portolan_core::value::{NodeId, WorkflowId};

use super::Telemetry;
use super::span::{
    JSONRPC_ID, MCP_METHOD, MCP_PROTOCOL, MCP_SESSION, OPERATION, Span, SpanKind, TOOL, TOOLS_CALL, TRANSPORT, WORKFLOW,
};
use crate::drive::{Began, CallSpan, ExecutionObserver, NodeEnd, Outcome};
use crate::error::ServiceError;
use crate::store::RunId;
use crate::trace::{SpanId, TraceContext};

/// The code of nodes that did not end.
pub(super) const CANCELLED: &str = "cancelled";

/// A traced run. If it is dropped before `finish`, it counts as cancelled.
pub(crate) struct Tracing {
    trace: Arc<Trace>,
    run: Option<RunId>,
    /// Whether the run has a span of its own, from its journal: then this is only a part of it.
    is_part: bool,
    finished: bool,
}

struct Trace {
    telemetry: Telemetry,
    workflow: Arc<Workflow>,
    context: TraceContext,
    /// The same moment on the wall clock and on the monotonic clock.
    began: (Duration, Instant),
    open: Mutex<BTreeMap<[u8; 8], OpenNode>>,
}

/// A node that has begun and not ended.
struct OpenNode {
    flow: WorkflowId,
    node: NodeId,
    path: String,
    parent: SpanId,
    began: Instant,
    /// The call that the node makes.
    call: Option<(SpanId, Instant)>,
}

impl Telemetry {
    /// Begins a run. Sets in `context` whether it is recorded, and returns `None` if it is not.
    pub(crate) fn begin(
        &self,
        workflow: &Arc<Workflow>,
        context: &mut TraceContext,
        run: Option<RunId>,
    ) -> Option<Tracing> {
        context.sampled = self.0.shared.config.sampler.takes(context);
        context.collected = true;
        if !context.sampled {
            return None;
        }
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let trace = Trace {
            telemetry: self.clone(),
            workflow: workflow.clone(),
            context: context.clone(),
            began: (since, Instant::now()),
            open: Mutex::default(),
        };
        Some(Tracing { trace: Arc::new(trace), run, is_part: false, finished: false })
    }
}

impl Tracing {
    /// Leaves the span of the run to its journal.
    pub(crate) fn part_of_run(mut self) -> Tracing {
        self.is_part = true;
        self
    }

    /// Returns the observer of the run's nodes.
    pub(crate) fn watch(&self) -> ExecutionObserver {
        let (began, ended, dropped) = (self.trace.clone(), self.trace.clone(), self.trace.clone());
        ExecutionObserver::new(move |node| began.begin(node), move |node| ended.end(node))
            .dropping(move |span| dropped.abandon(span))
    }

    /// Ends the run, or records that it waits.
    pub(crate) fn finish(mut self, outcome: &Result<Outcome, ServiceError>, executed: u64) {
        self.finished = true;
        let (word, error, at) = match outcome {
            Ok(Outcome::Done(_)) => ("done", None, None),
            Ok(Outcome::Failed(fault)) => ("failed", Some(fault.code.as_str()), Some(fault.node.as_str())),
            Ok(Outcome::Cancelled) => (CANCELLED, Some(CANCELLED), None),
            Ok(Outcome::Waiting { node, .. }) => ("waiting", None, Some(node.as_str())),
            Err(error) => ("failed", Some(error.code), None),
        };
        let root = self.root(word, error).number("portolan.nodes", executed);
        self.end(match at {
            Some(node) => root.text("portolan.node", node),
            None => root,
        });
    }

    fn root(&self, word: &str, error: Option<&str>) -> Span {
        let Trace { context, workflow, .. } = &*self.trace;
        let name = workflow.id().as_str();
        let times = (self.trace.time(self.trace.began.1), self.trace.time(Instant::now()));
        let mut span = match &context.request {
            None => {
                let span =
                    Span::of(context, context.root, format!("invoke_workflow {name}"), SpanKind::Internal, times);
                span.text(OPERATION, "invoke_workflow")
            }
            Some(request) => {
                let called = format!("{TOOLS_CALL} {name}");
                let mut span = Span::of(context, context.root, called, SpanKind::Server, times)
                    .text(MCP_METHOD, TOOLS_CALL)
                    .text(OPERATION, "execute_tool")
                    .text(TOOL, name)
                    .text(JSONRPC_ID, request.id.as_str())
                    .text(TRANSPORT, request.transport.word());
                if let Some(protocol) = &request.protocol {
                    span = span.text(MCP_PROTOCOL, protocol.as_str());
                }
                if let Some(session) = &request.session {
                    span = span.text(MCP_SESSION, session.as_str());
                }
                span
            }
        };
        span.parent = context.parent;
        span.remote = context.parent.is_some();
        if let Some(run) = &self.run {
            span = span.text("portolan.run", run.to_string());
        }
        span.text(WORKFLOW, name).text("portolan.outcome", word).error(error)
    }

    fn end(&self, root: Span) {
        let open = std::mem::take(&mut *self.trace.open());
        let cut = open.into_iter().flat_map(|(id, node)| self.trace.cut_off(SpanId(id), node));
        let root = Some(root).filter(|_| !self.is_part);
        self.trace.telemetry.send(cut.chain(root));
    }
}

impl Drop for Tracing {
    fn drop(&mut self) {
        if !self.finished {
            self.end(self.root(CANCELLED, Some(CANCELLED)));
        }
    }
}

impl Trace {
    fn begin(&self, node: &Began<'_>) {
        let mut open = self.open();
        let open = open.entry(node.span.0).or_insert_with(|| OpenNode {
            flow: node.flow.clone(),
            node: node.node.clone(),
            path: node.path.text(),
            parent: node.parent,
            began: node.since,
            call: None,
        });
        open.call = node.call.map(|call| (call, Instant::now()));
    }

    fn end(&self, node: &NodeEnd<'_>) {
        self.open().remove(&node.span.0);
        let end = Instant::now();
        let begin = end.checked_sub(node.took).unwrap_or(end);
        let code = node.fault.map(|fault| fault.code.as_str());
        let at = At { flow: node.flow, node: &node.node.id, path: &node.path.text(), parent: node.parent };
        let mut span = self.node(node.span, &at, (begin, end)).number("portolan.node.index", node.index).error(code);
        if node.calls.len() > 1 {
            span = span.number("portolan.node.retries", node.calls.len() as u64 - 1);
        }
        let calls = (0..).zip(node.calls).map(|(retry, call)| self.call(node.span, begin, retry, call));
        self.telemetry.send(calls.chain([span]));
    }

    fn abandon(&self, span: SpanId) {
        let open = self.open().remove(&span.0);
        self.telemetry.send(open.into_iter().flat_map(|open| self.cut_off(span, open)));
    }

    /// Returns the span of a node, without its outcome.
    fn node(&self, id: SpanId, at: &At<'_>, (begin, end): (Instant, Instant)) -> Span {
        let kind = self.workflow.flow(at.flow).step(at.node).node.kind.word();
        let times = (self.time(begin), self.time(end));
        let span = Span::of(&self.context, id, at.node.to_string(), SpanKind::Internal, times)
            .within(at.parent)
            .text("portolan.node.kind", kind)
            .text("portolan.flow", at.flow.as_str());
        if at.path.is_empty() { span } else { span.text("portolan.path", at.path) }
    }

    fn call(&self, node: SpanId, began: Instant, retry: u64, call: &CallSpan) -> Span {
        let begin = began + call.after;
        let made = CallRecord { server: &call.server, tool: &call.tool, times: (begin, begin + call.took) };
        let span = self.made(call.span, node, &made).error(call.error.as_deref());
        if retry == 0 { span } else { span.number("portolan.retry", retry) }
    }

    fn made(&self, id: SpanId, node: SpanId, made: &CallRecord<'_>) -> Span {
        let times = (self.time(made.times.0), self.time(made.times.1));
        let name = format!("{TOOLS_CALL} {}", made.tool);
        Span::of(&self.context, id, name, SpanKind::Client, times)
            .within(node)
            .text(MCP_METHOD, TOOLS_CALL)
            .text(OPERATION, "execute_tool")
            .text(TOOL, made.tool)
            .text("portolan.server", made.server)
    }

    /// Returns the spans of a node that was under way when the run ended.
    fn cut_off(&self, id: SpanId, open: OpenNode) -> impl Iterator<Item = Span> {
        let now = Instant::now();
        let at = At { flow: &open.flow, node: &open.node, path: &open.path, parent: open.parent };
        let node = self.node(id, &at, (open.began, now)).error(Some(CANCELLED));
        let call = match (&self.workflow.flow(&open.flow).step(&open.node).node.kind, open.call) {
            (Kind::Call(call), Some((span, began))) => {
                let made = CallRecord { server: &call.server.value, tool: &call.tool.value, times: (began, now) };
                Some(self.made(span, id, &made).error(Some(CANCELLED)))
            }
            _ => None,
        };
        call.into_iter().chain([node])
    }

    /// Converts a moment to nanoseconds since 1970.
    fn time(&self, moment: Instant) -> u64 {
        let (since, began) = self.began;
        let time = match moment.checked_duration_since(began) {
            Some(after) => since + after,
            None => since.saturating_sub(began.duration_since(moment)),
        };
        u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<[u8; 8], OpenNode>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A node and its context.
struct At<'a> {
    flow: &'a WorkflowId,
    node: &'a NodeId,
    path: &'a str,
    parent: SpanId,
}

/// A call that was made.
struct CallRecord<'a> {
    server: &'a str,
    tool: &'a str,
    times: (Instant, Instant),
}

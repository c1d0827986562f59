//! A span as it is kept until it is sent, and the names that the semantic conventions give to what it says.
//!
//! The conventions for MCP and for generative AI are young and move: their names stand here and nowhere else. What they
//! have no name for is ours, under `portolan.`.

use std::sync::Arc;

use crate::trace::{SpanId, TraceContext, TraceId};

/// `mcp.method.name`: what an MCP request asks for.
pub(super) const MCP_METHOD: &str = "mcp.method.name";
/// `mcp.protocol.version`: the revision of MCP that both sides speak.
pub(super) const MCP_PROTOCOL: &str = "mcp.protocol.version";
/// `mcp.session.id`: the session of a client over HTTP.
pub(super) const MCP_SESSION: &str = "mcp.session.id";
/// `jsonrpc.request.id`: the number or text that a request is answered under.
pub(super) const JSONRPC_ID: &str = "jsonrpc.request.id";
/// `network.transport`: what the messages travel over.
pub(super) const TRANSPORT: &str = "network.transport";
/// `gen_ai.operation.name`: what is done.
pub(super) const OPERATION: &str = "gen_ai.operation.name";
/// `gen_ai.workflow.name`: the function.
pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
/// `gen_ai.tool.name`: the tool that is called.
pub(super) const TOOL: &str = "gen_ai.tool.name";
/// `error.type`: the code of a failure. Its message may quote data, and is not sent.
pub(super) const ERROR: &str = "error.type";
/// The method of all calls of tools.
pub(super) const TOOLS_CALL: &str = "tools/call";

/// Where a span stands between its parent and its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal,
    Server,
    Client,
}

/// What an attribute says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    Text(String),
    Number(i64),
}

/// A span that is over.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    /// The parent is another process's.
    pub(super) remote: bool,
    /// The caller's `tracestate`.
    pub(super) state: Option<Arc<str>>,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    /// In nanoseconds since 1970.
    pub(super) begin: u64,
    pub(super) end: u64,
    pub(super) attributes: Vec<(&'static str, Attribute)>,
    pub(super) failed: bool,
}

impl Span {
    /// A span of the trace `context`, from `begin` to `end`.
    pub(super) fn of(
        context: &TraceContext,
        id: SpanId,
        name: String,
        kind: SpanKind,
        (begin, end): (u64, u64),
    ) -> Span {
        Span {
            trace: context.trace,
            id,
            parent: None,
            remote: false,
            state: context.state.clone(),
            name,
            kind,
            begin,
            end,
            attributes: Vec::new(),
            failed: false,
        }
    }

    pub(super) fn within(mut self, parent: SpanId) -> Span {
        self.parent = Some(parent);
        self
    }

    pub(super) fn text(mut self, name: &'static str, value: impl Into<String>) -> Span {
        self.attributes.push((name, Attribute::Text(value.into())));
        self
    }

    pub(super) fn number(mut self, name: &'static str, value: u64) -> Span {
        self.attributes.push((name, Attribute::Number(i64::try_from(value).unwrap_or(i64::MAX))));
        self
    }

    /// It failed, with this code.
    pub(super) fn error(mut self, code: Option<&str>) -> Span {
        let Some(code) = code else { return self };
        self.failed = true;
        // The conventions' word for an answer with `isError`.
        let code = if code == "tool-error" { "tool_error" } else { code };
        self.text(ERROR, code)
    }
}

//! A span that waits to be sent, and the attribute names of the semantic conventions.
//!
//! The conventions for MCP and for generative AI still change: their names are only here. Attributes without a
//! conventional name are ours, under `portolan.`.

use std::sync::Arc;

use crate::trace::{SpanId, TraceContext, TraceId};

/// `mcp.method.name`: the method of an MCP request.
pub(super) const MCP_METHOD: &str = "mcp.method.name";
/// `mcp.protocol.version`: the MCP revision of both sides.
pub(super) const MCP_PROTOCOL: &str = "mcp.protocol.version";
/// `mcp.session.id`: the session of a client over HTTP.
pub(super) const MCP_SESSION: &str = "mcp.session.id";
/// `jsonrpc.request.id`: the ID of a request, a number or text.
pub(super) const JSONRPC_ID: &str = "jsonrpc.request.id";
/// `network.transport`: the transport of the messages.
pub(super) const TRANSPORT: &str = "network.transport";
/// `gen_ai.operation.name`: the operation.
pub(super) const OPERATION: &str = "gen_ai.operation.name";
/// `gen_ai.workflow.name`: the function.
pub(super) const WORKFLOW: &str = "gen_ai.workflow.name";
/// `gen_ai.tool.name`: the tool that is called.
pub(super) const TOOL: &str = "gen_ai.tool.name";
/// `error.type`: the code of a failure. Its message may quote data, and is not sent.
pub(super) const ERROR: &str = "error.type";
/// The method of all calls of tools.
pub(super) const TOOLS_CALL: &str = "tools/call";

/// The role of a span between its parent and its children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpanKind {
    Internal,
    Server,
    Client,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Attribute {
    Text(String),
    Number(i64),
}

/// A span that has ended.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    /// Whether the parent belongs to another process.
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
    /// Creates a span of the trace `context`, from `begin` to `end`.
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

    /// Marks the span as failed with this code.
    pub(super) fn error(mut self, code: Option<&str>) -> Span {
        let Some(code) = code else { return self };
        self.failed = true;
        // The conventions' name for a result with `isError`.
        let code = if code == "tool-error" { "tool_error" } else { code };
        self.text(ERROR, code)
    }
}

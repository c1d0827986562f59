//! The position of a run in a trace, according to W3C Trace Context: received from callers, and sent to servers.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::digest::Digest;

/// The maximum length of a `tracestate` that is passed on. The standard requires no more.
const MAX_STATE: usize = 512;

/// The identifier of a trace: 16 bytes, not all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceId(pub [u8; 16]);

/// The identifier of a span: 8 bytes, not all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanId(pub [u8; 8]);

/// The position of a run in a trace (W3C Trace Context).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The trace.
    pub trace: TraceId,
    /// The caller's span, if it sent one.
    pub parent: Option<SpanId>,
    /// The span of the run itself.
    pub root: SpanId,
    /// Whether the trace is recorded: as the caller decided, until the local sampler decides.
    pub sampled: bool,
    /// Whether spans are collected here. If so, servers receive our span as parent, and otherwise the caller's, if
    /// there is one.
    pub collected: bool,
    /// The caller's `tracestate`, which is passed on unchanged.
    pub state: Option<Arc<str>>,
    /// The MCP request that the run answers.
    pub request: Option<Arc<TracedRequest>>,
}

/// An MCP request, as traces describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedRequest {
    /// The ID of the request.
    pub id: String,
    /// The client's session, over HTTP.
    pub session: Option<String>,
    /// The revision of the protocol.
    pub protocol: Option<String>,
    /// The transport of the request.
    pub transport: Over,
}

/// The transport of MCP messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Over {
    /// Standard input and output.
    Pipe,
    /// HTTP.
    Tcp,
}

impl Over {
    /// Returns its name in the conventions.
    pub fn word(self) -> &'static str {
        match self {
            Over::Pipe => "pipe",
            Over::Tcp => "tcp",
        }
    }
}

impl SpanId {
    /// Creates a new span ID.
    pub(crate) fn fresh() -> SpanId {
        SpanId(chance().to_be_bytes())
    }

    /// Returns the ID of the span with these names, the same in every process.
    pub(crate) fn named(names: &[&str]) -> SpanId {
        SpanId((number(names) as u64).max(1).to_be_bytes())
    }
}

impl TraceContext {
    /// Creates a new trace.
    pub fn fresh() -> TraceContext {
        let (high, low) = (chance(), chance());
        let trace = TraceId(((u128::from(high) << 64) | u128::from(low)).to_be_bytes());
        let root = SpanId::fresh();
        TraceContext { trace, parent: None, root, sampled: true, collected: false, state: None, request: None }
    }

    /// Returns the trace of a run that agents are led through, the same in every process.
    pub(crate) fn of_run(name: &str) -> TraceContext {
        let (trace, root) = (TraceId(number(&["trace", name]).max(1).to_be_bytes()), SpanId::named(&["run", name]));
        TraceContext { trace, root, ..TraceContext::fresh() }
    }

    /// Returns the trace that a `traceparent` names (`00-<trace>-<span>-<flags>`), or `None` if it is malformed.
    ///
    /// ```
    /// use portolan_runtime::trace::TraceContext;
    /// let caller = TraceContext::within("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    /// assert_eq!(caller.trace.to_string(), "0af7651916cd43dd8448eb211c80319c");
    /// assert!(caller.sampled);
    /// assert!(TraceContext::within("00-0-0-01").is_none());
    /// ```
    pub fn within(traceparent: &str) -> Option<TraceContext> {
        let mut parts = traceparent.split('-');
        let version = parts.next()?;
        let (trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?);
        // Later versions may have more than the four parts of the first.
        let known = version.len() == 2 && version != "ff" && (version != "00" || parts.next().is_none());
        let lengths = trace.len() == 32 && span.len() == 16 && flags.len() == 2;
        if !known || !lengths || ![version, trace, span, flags].into_iter().all(is_lower_hex) {
            return None;
        }
        let trace = u128::from_str_radix(trace, 16).ok().filter(|id| *id != 0)?;
        let span = u64::from_str_radix(span, 16).ok().filter(|id| *id != 0)?;
        let sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        let (trace, parent) = (TraceId(trace.to_be_bytes()), Some(SpanId(span.to_be_bytes())));
        Some(TraceContext { trace, parent, sampled, ..TraceContext::fresh() })
    }

    /// Returns the trace of a run that answers an MCP request: its caller's, if its `_meta` names one, or else a new
    /// one.
    pub fn answering(request: TracedRequest, meta: Option<&Map<String, Value>>) -> TraceContext {
        let text = |name: &str| meta.and_then(|meta| meta.get(name)).and_then(Value::as_str);
        let mut context = text("traceparent").and_then(TraceContext::within).unwrap_or_else(TraceContext::fresh);
        if context.parent.is_some() {
            let state = text("tracestate").filter(|state| state.len() <= MAX_STATE && state.is_ascii());
            context.state = state.filter(|state| !state.is_empty()).map(Arc::from);
        }
        context.request = Some(Arc::new(request));
        context
    }

    /// Returns the trace context for a server that is called under `span`.
    pub(crate) fn meta(&self, span: SpanId) -> Map<String, Value> {
        let mut meta = Map::new();
        let parent_span = if self.collected { Some(span) } else { self.parent };
        let Some(parent_span) = parent_span else { return meta };
        let flags = u8::from(self.sampled);
        meta.insert("traceparent".to_owned(), format!("00-{}-{parent_span}-{flags:02x}", self.trace).into());
        if let Some(state) = &self.state {
            meta.insert("tracestate".to_owned(), (&**state).into());
        }
        meta
    }
}

/// Returns the first half of the digest of names.
fn number(names: &[&str]) -> u128 {
    let digest = Digest::of_parts(names.iter().map(|name| name.as_bytes()));
    u128::from_str_radix(&digest.as_str()[..32], 16).expect("a digest has hexadecimal digits")
}

fn is_lower_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// Returns a random ID. It is no secret, so the operating system is not asked for each of a call's ten.
fn chance() -> u64 {
    fastrand::u64(1..)
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", u64::from_be_bytes(self.0))
    }
}

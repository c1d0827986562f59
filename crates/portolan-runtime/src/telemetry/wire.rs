//! Encodes spans for OTLP, as protocol buffers written by hand. The messages have a dozen relevant fields, and no crate
//! for them is worth its weight. The tests read them back with the one that the OTLP project publishes.

use super::span::{Attribute, Span, SpanKind};

/// Trace flag: the trace is recorded.
const SAMPLED: u32 = 0x01;
/// Span flag: it is known whether the parent is remote.
const HAS_IS_REMOTE: u32 = 0x100;
/// Span flag: the parent is remote.
const IS_REMOTE: u32 = 0x200;
const STATUS_ERROR: u64 = 2;

/// Returns an `ExportTraceServiceRequest` with these spans.
pub(super) fn request(resource: &[(String, String)], spans: &[Span]) -> Vec<u8> {
    let mut request = Message::default();
    // ResourceSpans
    request.message(1, |all| {
        all.message(1, |message| {
            for (name, value) in resource {
                message.message(1, |pair| key_value(pair, name, &Attribute::Text(value.clone())));
            }
        });
        // ScopeSpans
        all.message(2, |scope| {
            scope.message(1, |message| {
                message.text(1, "portolan");
                message.text(2, env!("CARGO_PKG_VERSION"));
            });
            for one in spans {
                scope.message(2, |message| span(message, one));
            }
        });
    });
    request.0
}

fn span(message: &mut Message, span: &Span) {
    message.bytes(1, &span.trace.0);
    message.bytes(2, &span.id.0);
    if let Some(state) = &span.state {
        message.text(3, state);
    }
    if let Some(parent) = &span.parent {
        message.bytes(4, &parent.0);
    }
    message.text(5, &span.name);
    message.number(
        6,
        match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Server => 2,
            SpanKind::Client => 3,
        },
    );
    message.fixed64(7, span.begin);
    message.fixed64(8, span.end);
    for (name, value) in &span.attributes {
        message.message(9, |pair| key_value(pair, name, value));
    }
    if span.failed {
        message.message(15, |status| status.number(3, STATUS_ERROR));
    }
    message.fixed32(16, SAMPLED | HAS_IS_REMOTE | if span.remote { IS_REMOTE } else { 0 });
}

fn key_value(pair: &mut Message, name: &str, value: &Attribute) {
    pair.text(1, name);
    pair.message(2, |any| match value {
        Attribute::Text(text) => any.text(1, text),
        Attribute::Number(number) => any.number(3, number.cast_unsigned()),
    });
}

/// A message under construction. Its fields are written in any order, each with its number and wire type.
#[derive(Default)]
struct Message(Vec<u8>);

/// The wire types: a variable-length number, eight or four bytes, or a length followed by bytes.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Length = 2,
    Fixed32 = 5,
}

impl Message {
    fn field(&mut self, number: u64, wire: Wire) {
        self.varint(number << 3 | wire as u64);
    }

    fn varint(&mut self, mut value: u64) {
        while value > 0x7F {
            self.0.push((value & 0x7F) as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn number(&mut self, field: u64, value: u64) {
        self.field(field, Wire::Varint);
        self.varint(value);
    }

    fn fixed64(&mut self, field: u64, value: u64) {
        self.field(field, Wire::Fixed64);
        self.0.extend(value.to_le_bytes());
    }

    fn fixed32(&mut self, field: u64, value: u32) {
        self.field(field, Wire::Fixed32);
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.field(field, Wire::Length);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
    }

    fn text(&mut self, field: u64, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u64, fill: impl FnOnce(&mut Message)) {
        let mut inner = Message::default();
        fill(&mut inner);
        self.bytes(field, &inner.0);
    }
}

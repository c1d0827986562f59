//! JSON-RPC messages, one per line, over any two byte streams.
//!
//! rmcp's own transport drops an unreadable line, so that the client waits for ever for its answer. This one answers
//! every such line with an error, with the request's id if one can be found. Lines are limited in size, so that no
//! client can exhaust the machine's memory.

use std::io;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequest, ClientRequest, ErrorData, JsonRpcMessage, JsonRpcRequest, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinHandle;

/// The limits of a message. They exceed the longest call that the tools accept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// The most bytes.
    pub(super) line: usize,
    /// The most JSON values. A parsed value takes up to a hundred times the two bytes of its text.
    pub(super) values: usize,
}

/// The most bytes that the line's buffer keeps after a line.
const KEPT_BYTES: usize = 64 << 10;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

type Message = RxJsonRpcMessage<RoleServer>;

pub(super) struct Lines<R, W> {
    reader: BufReader<R>,
    line: Vec<u8>,
    bounds: Bounds,
    /// Skips the rest of the present line, which was too long.
    skipping: bool,
    /// Whether a request has arrived. Other messages before the first one are dropped.
    begun: bool,
    writer: Arc<Mutex<Option<W>>>,
    /// The pending answer to an unreadable line. It is a separate task: `receive` may be dropped at any time, which
    /// must not cut the answer off.
    refusing: Option<JoinHandle<()>>,
    /// Dropped at the end of the input.
    open: Option<oneshot::Sender<()>>,
}

/// The result of reading a line.
enum LineRead {
    Line,
    TooLong,
    End,
}

impl<R, W> Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    /// Reads messages within `bounds`. The receiver resolves when the other side has closed.
    pub(super) fn new(reader: R, writer: W, bounds: Bounds) -> (Lines<R, W>, oneshot::Receiver<()>) {
        let (open, closed) = oneshot::channel();
        let lines = Lines {
            reader: BufReader::new(reader),
            line: Vec::new(),
            bounds,
            skipping: false,
            begun: false,
            writer: Arc::new(Mutex::new(Some(writer))),
            refusing: None,
            open: Some(open),
        };
        (lines, closed)
    }

    /// Reads a complete line. It is cancel safe: what was read is kept in `self`.
    async fn read(&mut self) -> LineRead {
        loop {
            let Ok(available) = self.reader.fill_buf().await else { return LineRead::End };
            if available.is_empty() {
                // The last line may lack its line break.
                return if self.line.is_empty() || self.skipping { LineRead::End } else { LineRead::Line };
            }
            let end = available.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(available.len(), |end| end + 1);
            let too_long = !self.skipping && self.line.len() + taken > self.bounds.line;
            if !self.skipping && !too_long {
                self.line.extend_from_slice(&available[..taken]);
            }
            self.reader.consume(taken);
            if too_long {
                self.skipping = end.is_none();
                return LineRead::TooLong;
            }
            if end.is_some() && !std::mem::take(&mut self.skipping) {
                return LineRead::Line;
            }
        }
    }

    fn refuse(&mut self, error: ErrorData, id: Option<RequestId>) {
        let writer = Arc::clone(&self.writer);
        self.refusing = Some(tokio::spawn(async move {
            // The next read detects a client that has gone.
            let _gone = write(&writer, &ServerJsonRpcMessage::error(error, id)).await;
        }));
    }

    async fn refused(&mut self) {
        if let Some(refusing) = &mut self.refusing {
            let _ended = refusing.await;
            self.refusing = None;
        }
    }

    /// Returns the message of the present line. `None` if it was answered here, or needs no answer.
    fn message(&mut self) -> Option<Message> {
        let parsed = parse(&self.line, self.bounds.values);
        self.line.clear();
        self.line.shrink_to(KEPT_BYTES);
        match parsed {
            Ok(message) => {
                self.begun |= matches!(message, JsonRpcMessage::Request(_));
                Some(message).filter(|_| self.begun)
            }
            Err(MessageError::Ignored) => None,
            Err(MessageError::Refused(error, id)) => {
                self.refuse(*error, id);
                None
            }
        }
    }
}

impl<R, W> Transport<RoleServer> for Lines<R, W>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    type Error = io::Error;

    fn send(&mut self, message: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let writer = Arc::clone(&self.writer);
        async move { write(&writer, &message).await }
    }

    async fn receive(&mut self) -> Option<Message> {
        loop {
            self.refused().await;
            match self.read().await {
                LineRead::End => {
                    self.open = None;
                    return None;
                }
                LineRead::TooLong => {
                    self.line = Vec::new();
                    let message =
                        format!("a message is at most {} bytes long: this one was not read", self.bounds.line);
                    self.refuse(ErrorData::invalid_request(message, None), None);
                }
                LineRead::Line => {
                    if let Some(message) = self.message() {
                        return Some(message);
                    }
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.refused().await;
        self.writer.lock().await.take();
        Ok(())
    }
}

async fn write<W: AsyncWrite + Unpin>(writer: &Mutex<Option<W>>, message: &ServerJsonRpcMessage) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut writer = writer.lock().await;
    let writer = writer.as_mut().ok_or(io::ErrorKind::NotConnected)?;
    writer.write_all(&line).await?;
    writer.flush().await
}

/// Why a line is not a message.
enum MessageError {
    Ignored,
    Refused(Box<ErrorData>, Option<RequestId>),
}

/// The part of a line that identifies its request. Everything else is skipped, at any nesting.
#[derive(Deserialize)]
struct Envelope {
    #[serde(default)]
    id: Value,
    method: Option<Value>,
}

fn parse(line: &[u8], most: usize) -> Result<Message, MessageError> {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Err(MessageError::Ignored);
    }
    if line.len() > most && values(line) > most {
        let message = format!("a message holds at most {most} values: this one was not read");
        return Err(invalid(message, id(line)));
    }
    match call(line) {
        Some(call) => Ok(call),
        None => serde_json::from_slice(line).map_err(|error| unread(line, &error)),
    }
}

/// Parses a tool call, which most lines are. rmcp tries one kind of message after the other, which takes longer than
/// all other work of a small call.
fn call(line: &[u8]) -> Option<Message> {
    let text = std::str::from_utf8(line).ok().filter(|text| text.contains("\"tools/call\""))?;
    // A message that is also an answer is left to rmcp, which refuses it.
    if text.contains("\"result\"") || text.contains("\"error\"") {
        return None;
    }
    let JsonRpcRequest { jsonrpc, id, request } = serde_json::from_str::<JsonRpcRequest<CallToolRequest>>(text).ok()?;
    Some(JsonRpcMessage::Request(JsonRpcRequest { jsonrpc, id, request: ClientRequest::CallToolRequest(request) }))
}

/// Returns the approximate number of values in a JSON text. It does not parse, since that is what takes the memory.
pub(super) fn values(line: &[u8]) -> usize {
    let (mut count, mut quoted, mut escaped) = (0, false, false);
    for byte in line {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = quoted,
            b'"' => quoted = !quoted,
            b',' | b'[' | b'{' if !quoted => count += 1,
            _ => {}
        }
    }
    count
}

fn id(line: &[u8]) -> Option<RequestId> {
    let envelope: Envelope = serde_json::from_slice(line).ok()?;
    serde_json::from_value(envelope.id).ok()
}

fn unread(line: &[u8], error: &serde_json::Error) -> MessageError {
    if line.starts_with(b"[") {
        return invalid("batches are not supported: send one message per line".to_owned(), None);
    }
    let Ok(envelope) = serde_json::from_slice::<Envelope>(line) else {
        let message = format!("the line is not a JSON message: {error}");
        return MessageError::Refused(Box::new(ErrorData::parse_error(message, None)), None);
    };
    match (serde_json::from_value::<RequestId>(envelope.id.clone()), envelope.method) {
        (Ok(id), Some(_)) if error.to_string().starts_with("recursion limit") => {
            invalid("the message is nested too deeply".to_owned(), Some(id))
        }
        (Ok(id), Some(_)) => invalid(format!("the request cannot be read: {error}"), Some(id)),
        (Err(_), Some(_)) if envelope.id.is_null() => MessageError::Ignored,
        (Err(_), Some(_)) => invalid("the `id` of a request must be a string or a whole number".to_owned(), None),
        (_, None) => invalid("the message has no `method` and does not answer a request".to_owned(), None),
    }
}

fn invalid(message: String, id: Option<RequestId>) -> MessageError {
    MessageError::Refused(Box::new(ErrorData::invalid_request(message, None)), id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_as_any_other_message_is() {
        let calls = [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"id":"x","params":{"arguments":{"v":[1,{"w":null}]},"name":"a"},"method":"tools/call","jsonrpc":"2.0"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":7,"traceparent":"00-1"}}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","more":1},"other":2}"#,
        ];
        for line in calls {
            let read = call(line.as_bytes()).unwrap_or_else(|| panic!("it is a call: {line}"));
            let general: Message = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert_eq!(format!("{read:?}"), format!("{general:?}"), "{line}");
        }
        let others = [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","result":{},"params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"a"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"name":"\"tools/call\""}}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"tools/call","params":{"name":"a"}}"#,
            r#"[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a"}}]"#,
        ];
        for line in others {
            assert!(call(line.as_bytes()).is_none(), "{line}");
        }
    }

    #[test]
    fn values_are_counted_outside_of_strings_only() {
        assert_eq!(values(br#"{"a":[1,2,{"b":null}],"c":"x,[{\\\",["}"#), 6);
    }
}

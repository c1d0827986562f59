//! Parses one line of JSON-RPC from a server.
//!
//! Only the answers of the handshake are parsed into their types. All others are passed on unchanged: a tool's reply is
//! data for the caller, and a type guessed from its shape could be wrong.

use rmcp::RoleClient;
use rmcp::model::{
    CustomResult, ErrorCode, ErrorData, JsonRpcMessage, RequestId, ServerNotification, ServerResult,
    ToolListChangedNotification,
};
use rmcp::service::RxJsonRpcMessage;
use serde::Deserialize;
use serde_json::Value;

use crate::http::ByteObserver;

pub(super) type Message = RxJsonRpcMessage<RoleClient>;

/// The code of the error that replaces a reply that was too large to be read. No server sends it: it is outside the
/// range that JSON-RPC reserves.
pub(super) const TOO_LARGE: ErrorCode = ErrorCode(-1_600_001);

/// The code of the error that replaces a reply that could not be read.
pub(super) const UNREADABLE: ErrorCode = ErrorCode(-1_600_002);

/// The maximum number of values in a message. A parsed value takes up to a hundred times its two bytes of text.
const MAX_VALUES: usize = 2_000_000;

/// The notifications that a list has changed.
const LISTS_CHANGED: [&str; 3] =
    ["notifications/tools/list_changed", "notifications/resources/list_changed", "notifications/prompts/list_changed"];

/// The other notifications that are used: what happens during calls, and what belongs to subscriptions.
const USED: [&str; 5] = [
    "notifications/progress",
    "notifications/message",
    "notifications/resources/updated",
    "notifications/subscriptions/acknowledged",
    "notifications/cancelled",
];

/// The content of a line.
pub(super) enum Line {
    Message(Box<Message>),
    /// A message that no caller waits for.
    Unasked,
    /// No message, and the reason.
    Malformed(String),
}

#[derive(Deserialize)]
struct Envelope {
    id: Option<Value>,
    method: Option<String>,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<Value>,
}

/// Distinguishes a present `null` from an absent field.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

pub(super) fn read(line: &[u8]) -> Line {
    if line.len() > MAX_VALUES && values(line) > MAX_VALUES {
        return too_large(line, &format!("it has more than {MAX_VALUES} values"));
    }
    let envelope: Envelope = match serde_json::from_slice(line) {
        Ok(envelope) => envelope,
        Err(error) => return unread(line, &error),
    };
    match (envelope.method.as_deref(), envelope.id) {
        (Some(method), None) if LISTS_CHANGED.contains(&method) => {
            // Which list has changed makes no difference.
            let changed = ToolListChangedNotification { method: Default::default(), extensions: Default::default() };
            message(JsonRpcMessage::notification(ServerNotification::ToolListChangedNotification(changed)))
        }
        (Some(method), None) if USED.contains(&method) => serde_json::from_slice(line).map_or(Line::Unasked, message),
        // Others are not used, so they are dropped.
        (Some(_), None) => Line::Unasked,
        (Some(_), Some(_)) => match serde_json::from_slice(line) {
            Ok(request) => message(request),
            Err(error) => Line::Malformed(error.to_string()),
        },
        (None, id) => answer(id, envelope.result, envelope.error),
    }
}

fn answer(id: Option<Value>, result: Option<Value>, error: Option<Value>) -> Line {
    let Some(id) = id.and_then(|id| serde_json::from_value::<RequestId>(id).ok()) else {
        return match error {
            Some(error) => Line::Malformed(format!("an error without the `id` of a request: {error}")),
            None => Line::Malformed("neither a `method` nor the `id` of a request".to_owned()),
        };
    };
    match (result, error) {
        (_, Some(error)) => {
            message(JsonRpcMessage::error(serde_json::from_value(error).unwrap_or_else(odd_error), Some(id)))
        }
        (Some(result), None) => message(JsonRpcMessage::response(typed(result), id)),
        (None, None) => message(unreadable(id, "it has neither `result` nor `error`")),
    }
}

fn message(message: Message) -> Line {
    Line::Message(Box::new(message))
}

fn odd_error(error: serde_json::Error) -> ErrorData {
    ErrorData::new(ErrorCode::INTERNAL_ERROR, format!("an error that cannot be read ({error})"), None)
}

fn typed(result: Value) -> ServerResult {
    let handshake = result.get("protocolVersion").is_some() || result.get("supportedVersions").is_some();
    if handshake
        && let Ok(typed @ (ServerResult::InitializeResult(_) | ServerResult::DiscoverResult(_))) =
            serde_json::from_value(result.clone())
    {
        return typed;
    }
    ServerResult::CustomResult(CustomResult(result))
}

/// Returns a result as it arrived.
pub(super) fn untyped(result: ServerResult) -> Result<Value, serde_json::Error> {
    match result {
        ServerResult::CustomResult(CustomResult(value)) => Ok(value),
        other => serde_json::to_value(other),
    }
}

/// Returns the replacement for an answer that is too large, if the id of its request can be found.
fn too_large(line: &[u8], why: &str) -> Line {
    let mut scan = IdScan::default();
    scan.feed(line);
    match scan.id() {
        Some(id) => message(dropped(id, why)),
        None => Line::Malformed(format!("a message that is too large: {why}")),
    }
}

/// Returns the replacement for a line that cannot be parsed: an answer, if the id of its request can be found.
fn unread(line: &[u8], error: &serde_json::Error) -> Line {
    let mut scan = IdScan::default();
    scan.feed(line);
    match scan.id() {
        Some(id) => message(unreadable(id, &error.to_string())),
        None => Line::Malformed(error.to_string()),
    }
}

/// Returns the answer that replaces one that could not be read.
fn unreadable(id: RequestId, why: &str) -> Message {
    JsonRpcMessage::error(ErrorData::new(UNREADABLE, why.to_owned(), None), Some(id))
}

/// Returns the answer that replaces one that was too large.
pub(super) fn dropped(id: RequestId, why: &str) -> Message {
    JsonRpcMessage::error(ErrorData::new(TOO_LARGE, why.to_owned(), None), Some(id))
}

/// Returns the approximate number of values in `line`, even if it is invalid.
fn values(line: &[u8]) -> usize {
    let mut outline = Outline::default();
    line.iter().filter(|byte| outline.step(**byte) && matches!(**byte, b',' | b'[' | b'{')).count() + 1
}

/// The state of a scan of a JSON text.
#[derive(Default)]
struct Outline {
    in_string: bool,
    escaped: bool,
}

impl Outline {
    /// Takes in `byte`, and returns whether it is outside of strings.
    fn step(&mut self, byte: u8) -> bool {
        if !self.in_string {
            self.in_string = byte == b'"';
            return !self.in_string;
        }
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' => self.escaped = true,
            b'"' => self.in_string = false,
            _ => {}
        }
        false
    }
}

/// The maximum length of an `"id": …` member that is parsed.
const MAX_ID_BYTES: usize = 256;

/// Finds the `id` of a message that is not kept.
#[derive(Default)]
pub(super) struct IdScan {
    outline: Outline,
    depth: usize,
    /// The present member of the message itself, up to its end or up to the limit.
    member: Vec<u8>,
    found: Option<RequestId>,
    /// Whether the message is itself a request.
    asks: bool,
}

impl ByteObserver for IdScan {
    fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            let structure = self.outline.step(*byte);
            match byte {
                b'{' | b'[' if structure => self.depth += 1,
                b'}' | b']' if structure => {
                    self.depth = self.depth.saturating_sub(1);
                    if self.depth == 0 {
                        self.end_of_member();
                    }
                }
                b',' if structure && self.depth == 1 => self.end_of_member(),
                _ if self.depth == 1 && self.member.len() < MAX_ID_BYTES => self.member.push(*byte),
                _ => {}
            }
        }
    }
}

impl IdScan {
    fn end_of_member(&mut self) {
        #[derive(Deserialize)]
        struct Member {
            id: RequestId,
        }
        let object = [b"{".as_slice(), &self.member, b"}"].concat();
        self.asks |= self.member.trim_ascii_start().starts_with(b"\"method\"");
        self.member.clear();
        if let Ok(Member { id }) = serde_json::from_slice(&object) {
            self.found = Some(id);
        }
    }

    /// Returns the id of the request that the message answers.
    pub(super) fn id(&self) -> Option<RequestId> {
        self.found.clone().filter(|_| !self.asks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message_text(line: &str) -> String {
        match read(line.as_bytes()) {
            Line::Message(message) => serde_json::to_string(&message).expect("messages can be written"),
            Line::Unasked => "unasked".to_owned(),
            Line::Malformed(why) => format!("malformed: {why}"),
        }
    }

    #[test]
    fn a_result_is_passed_on_as_it_stands() {
        for result in [r#"{"content":"not a list","x":[1.50,null]}"#, "null", "7", r#"{"tools":[{}]}"#, "{}"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#);
            assert_eq!(message_text(&line).replace("1.50", "1.5"), line.replace("1.50", "1.5"));
        }
    }

    #[test]
    fn what_is_no_message_is_said() {
        for (line, expected) in [
            ("npm notice", "malformed: expected ident"),
            ("[]", "malformed: "),
            ("{}", "malformed: neither a `method` nor the `id`"),
            (r#"{"id":1}"#, r#""id":1,"error":{"code":-1600002,"message":"it has neither `result` nor `error`"}"#),
            (r#"{"id":{},"result":1}"#, "malformed: neither"),
            (r#"{"error":{"code":-32700,"message":"no"}}"#, "malformed: an error without the `id` of a request"),
            (r#"{"method":"notifications/progress","params":{}}"#, "unasked"),
            (
                &format!(r#"{{"id":1,"result":{}}}"#, "[".repeat(100_000)),
                r#""code":-1600002,"message":"recursion limit"#,
            ),
            (r#"{"id":1,"method":"x","params":}"#, "malformed: expected value"),
            (r#"{"id":1,"result":"#, r#""id":1,"error":{"code":-1600002"#),
            (r#"{"result":{"id":1}"#, "malformed: EOF"),
        ] {
            let told = message_text(line);
            assert!(told.starts_with(expected) || told.contains(expected), "{line:.80}: {told}");
        }
    }

    #[test]
    fn an_error_keeps_its_code_and_a_broken_one_gets_one() {
        assert!(message_text(r#"{"id":"7","error":{"code":-32602,"message":"no"}}"#).contains("-32602"));
        assert!(message_text(r#"{"id":7,"error":"boom"}"#).contains("-32603"));
    }

    #[test]
    fn too_many_values_are_not_parsed() {
        let line = format!(r#"{{"result":[{}0],"id":5}}"#, "0,".repeat(MAX_VALUES));
        assert!(message_text(&line).contains(r#""id":5,"error":{"code":-1600001"#), "{:.200}", message_text(&line));
    }

    #[test]
    fn the_id_is_found_wherever_it_stands() {
        for (line, id) in [
            (r#"{"jsonrpc":"2.0","id":12,"result":{"id":3,"x":"\"id\":4,"}}"#, Some("12")),
            (r#"{"result":{"a":[{"id":3}],"t":"},{\\"},"id":"a,b"}"#, Some("a,b")),
            (r#"{"result":{"id":3}}"#, None),
            (r#"{"id":3,"method":"ping"}"#, None),
        ] {
            let mut scan = IdScan::default();
            for piece in line.as_bytes().chunks(3) {
                scan.feed(piece);
            }
            assert_eq!(scan.id().map(|id| id.to_string()).as_deref(), id, "{line}");
        }
    }
}

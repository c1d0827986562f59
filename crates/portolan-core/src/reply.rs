//! Converts a tool's reply, a `tools/call` result, to the one value that a workflow continues with.

use serde_json::Value;

/// The part of a reply that counts if it has both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prefer {
    /// `structuredContent`; without it the content, with a text parsed as JSON if it is JSON.
    Structured,
    /// The content, with a text parsed only if it is a JSON object or array; without it `structuredContent`.
    Text,
}

/// A failure of the tool, or an unusable reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyError {
    /// `tool-error` if the tool reported a failure, `malformed-reply` if the reply is unusable.
    pub code: &'static str,
    /// The tool's message, or the problem of the reply.
    pub message: String,
}

/// The maximum length of a tool's message.
const MAX_MESSAGE_CHARS: usize = 2_000;

/// Returns the value of `reply`; `None` if the reply is empty.
///
/// One text item becomes its text, or the JSON in it. One item of another kind (an image, a link) becomes the item as
/// it is. Several items become an array of these. A reply with `isError` is an error whatever else it contains.
///
/// ```
/// use portolan_core::reply::{Prefer, output};
/// use serde_json::json;
///
/// let reply = json!({"content": [{"type": "text", "text": "{\"count\": 7}"}]});
/// assert_eq!(output(&reply, Prefer::Structured), Ok(Some(json!({"count": 7}))));
///
/// let reply = json!({"isError": true, "content": [{"type": "text", "text": "no such file"}]});
/// assert_eq!(output(&reply, Prefer::Structured).unwrap_err().message, "no such file");
/// ```
pub fn output(reply: &Value, prefer: Prefer) -> Result<Option<Value>, ReplyError> {
    let Value::Object(fields) = reply else {
        return Err(malformed("the reply is not an object"));
    };
    let content = match fields.get("content") {
        None | Some(Value::Null) => [].as_slice(),
        Some(Value::Array(items)) => items,
        Some(_) => return Err(malformed("the `content` of the reply is not a list")),
    };
    if fields.get("isError") == Some(&Value::Bool(true)) {
        return Err(ReplyError { code: "tool-error", message: complaint(content) });
    }
    let structured = fields.get("structuredContent");
    Ok(match prefer {
        Prefer::Structured => structured.cloned().or_else(|| value(content, prefer)),
        Prefer::Text => value(content, prefer).or_else(|| structured.cloned()),
    })
}

fn malformed(message: &str) -> ReplyError {
    ReplyError { code: "malformed-reply", message: message.to_owned() }
}

fn value(content: &[Value], prefer: Prefer) -> Option<Value> {
    match content {
        [] => None,
        [item] => Some(item_value(item, prefer)),
        items => Some(items.iter().map(|item| item_value(item, prefer)).collect()),
    }
}

fn item_value(item: &Value, prefer: Prefer) -> Value {
    let Some(text) = text(item) else { return item.clone() };
    let parsed = serde_json::from_str(text).ok();
    let wanted = |value: &Value| prefer == Prefer::Structured || value.is_object() || value.is_array();
    parsed.filter(wanted).unwrap_or_else(|| Value::from(text))
}

fn text(item: &Value) -> Option<&str> {
    if item.get("type")? != "text" {
        return None;
    }
    item.get("text")?.as_str()
}

/// Returns the message of a failed tool.
fn complaint(content: &[Value]) -> String {
    let texts: Vec<&str> = content.iter().filter_map(text).collect();
    let joined = texts.join("\n");
    let joined = joined.trim();
    match joined.char_indices().nth(MAX_MESSAGE_CHARS) {
        _ if joined.is_empty() => "the tool failed without a message".to_owned(),
        Some((end, _)) => format!("{}…", &joined[..end]),
        None => joined.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Formats the value of a reply with both preferences.
    fn format_output(reply: Value) -> String {
        let told = |prefer| match output(&reply, prefer) {
            Ok(Some(value)) => value.to_string(),
            Ok(None) => "nothing".to_owned(),
            Err(error) => format!("{}: {}", error.code, error.message),
        };
        let (structured, text) = (told(Prefer::Structured), told(Prefer::Text));
        if structured == text { structured } else { format!("{structured} | {text}") }
    }

    fn text_item(text: &str) -> Value {
        json!({"type": "text", "text": text})
    }

    fn of_text(text: &str) -> String {
        format_output(json!({ "content": [text_item(text)] }))
    }

    #[test]
    fn one_text_is_its_text_or_the_json_in_it() {
        assert_eq!(of_text("[FILE] a\n[DIR] b"), r#""[FILE] a\n[DIR] b""#);
        assert_eq!(of_text(r#" {"a":1} "#), r#"{"a":1}"#);
        assert_eq!(of_text("[1,2]"), "[1,2]");
        assert_eq!(of_text("42"), r#"42 | "42""#);
        assert_eq!(of_text("null"), r#"null | "null""#);
        assert_eq!(of_text("\"x\""), r#""x" | "\"x\"""#);
        assert_eq!(of_text(""), r#""""#);
        assert_eq!(of_text("{broken"), r#""{broken""#);
        let deep = "[".repeat(10_000);
        assert_eq!(of_text(&deep), format!("{deep:?}"));
    }

    #[test]
    fn structure_or_text_comes_first_as_asked() {
        let both = json!({"content": [text_item("hello")], "structuredContent": {"content": "hello"}});
        assert_eq!(format_output(both), r#"{"content":"hello"} | "hello""#);
        assert_eq!(format_output(json!({"structuredContent": {"a": 1}})), r#"{"a":1}"#);
        assert_eq!(format_output(json!({"content": [], "structuredContent": [1]})), "[1]");
        assert_eq!(format_output(json!({"content": [text_item("x")], "structuredContent": null})), r#"null | "x""#);
    }

    #[test]
    fn other_items_stand_as_they_are() {
        let image = json!({"type": "image", "data": "AA==", "mimeType": "image/png"});
        assert_eq!(format_output(json!({ "content": [image] })), image.to_string());
        for odd in [json!({"type": "text", "text": 7}), json!({"text": "untyped"}), json!("bare"), json!(null)] {
            assert_eq!(format_output(json!({ "content": [odd] })), odd.to_string());
        }
    }

    #[test]
    fn several_items_are_an_array() {
        let link = json!({"type": "resource_link", "uri": "file:///a"});
        let reply = json!({"content": [text_item("7"), link, text_item("b")]});
        assert_eq!(format_output(reply), format!(r#"[7,{link},"b"] | ["7",{link},"b"]"#));
    }

    #[test]
    fn an_empty_reply_is_nothing() {
        for reply in [json!({}), json!({"content": []}), json!({"content": null}), json!({"isError": false})] {
            assert_eq!(format_output(reply), "nothing");
        }
    }

    #[test]
    fn an_error_is_one_whatever_else_the_reply_holds() {
        let texts = [text_item("no such file"), json!({"type": "image"}), text_item("try another")];
        let reply = json!({"isError": true, "content": texts, "structuredContent": {"a": 1}});
        assert_eq!(format_output(reply), "tool-error: no such file\ntry another");
        assert_eq!(format_output(json!({"isError": true})), "tool-error: the tool failed without a message");
        assert_eq!(
            format_output(json!({"isError": true, "content": [text_item(" ")]})),
            "tool-error: the tool failed without a message"
        );
        let long = format_output(json!({"isError": true, "content": [text_item(&"é".repeat(5_000))]}));
        assert_eq!(long.chars().count(), "tool-error: ".len() + MAX_MESSAGE_CHARS + 1);
        assert_eq!(format_output(json!({"isError": "yes", "content": [text_item("a")]})), r#""a""#);
    }

    #[test]
    fn what_is_no_reply_is_an_error() {
        assert_eq!(format_output(json!(null)), "malformed-reply: the reply is not an object");
        assert_eq!(
            format_output(json!({"content": "hello"})),
            "malformed-reply: the `content` of the reply is not a list"
        );
    }
}

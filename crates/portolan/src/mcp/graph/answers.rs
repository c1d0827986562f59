//! Results of calls in MCP's form: content for models, structured content for programs, and failures as results.

use std::sync::Arc;

use portolan_core::run::Fault;
use portolan_runtime::drive::Outcome;
use portolan_runtime::service::ServiceError;
use rmcp::model::{CallToolResult, ContentBlock, MetaObject};
use serde_json::{Value, json};

use super::listing::{RESULT, Shape};

/// The key of a failure's metadata, if structured content would violate the output schema of the tool.
const ERROR_META: &str = "portolan/error";
/// The kinds of content items besides text.
const ITEMS: [&str; 4] = ["image", "audio", "resource", "resource_link"];

pub(super) fn of(outcome: Outcome, shape: &Shape) -> CallToolResult {
    match outcome {
        Outcome::Done(output) => done(output.map_or(Value::Null, Arc::unwrap_or_clone), shape),
        Outcome::Failed(fault) => failed(&fault, shape),
        Outcome::Cancelled => failed(&fault("", "cancelled", "the run was cancelled", ""), shape),
        Outcome::Waiting { node, why: Some(why) } => {
            let message = format!("`{node}` stopped: {why}, and a tool call cannot wait");
            failure(
                &fault(&node, "waiting", &message, "run it with `portolan run`, which keeps the waiting run"),
                &message,
                shape,
            )
        }
        Outcome::Waiting { node, why: None } => {
            let message = format!("`{node}` waits for an agent or a person, which a tool call cannot do");
            let help = "run it with `portolan run --durable`, or serve its file with `--toolset tasks`";
            failure(&fault(&node, "waiting", &message, help), &message, shape)
        }
    }
}

/// Returns the result of a call that did not begin, or whose run was lost.
pub(super) fn refused(error: &ServiceError, shape: &Shape) -> CallToolResult {
    // The code that a graph receives when it calls another.
    let code = if error.code == "bad_input" { "bad-input" } else { error.code };
    failed(&fault("", code, &error.message, &error.help), shape)
}

fn fault(node: &str, code: &str, message: &str, detail: &str) -> Fault {
    Fault { node: node.to_owned(), code: code.to_owned(), message: message.to_owned(), detail: detail.to_owned() }
}

fn done(output: Value, shape: &Shape) -> CallToolResult {
    let mut result = CallToolResult::success(content(&output));
    result.structured_content = Some(match (shape, &output) {
        (Shape::Object(_), _) | (Shape::Open, Value::Object(_)) => output,
        (Shape::Open | Shape::Wrapped, _) => json!({ RESULT: output }),
    });
    result
}

/// Returns the output as JSON, with content items as items.
fn content(output: &Value) -> Vec<ContentBlock> {
    let items = match output {
        Value::Array(items) => items.as_slice(),
        one => std::slice::from_ref(one),
    };
    let blocks: Vec<Option<ContentBlock>> = items.iter().map(item).collect();
    if blocks.iter().all(Option::is_none) {
        return vec![ContentBlock::text(output.to_string())];
    }
    blocks.into_iter().zip(items).map(|(block, item)| block.unwrap_or_else(|| text(item))).collect()
}

/// Returns a value as a content item, or `None` if it is not one.
fn item(value: &Value) -> Option<ContentBlock> {
    let kind = value.get("type")?.as_str()?;
    if !ITEMS.contains(&kind) {
        return None;
    }
    serde_json::from_value(value.clone()).ok()
}

/// Returns a value among content items: a text as it is, anything else as JSON.
fn text(value: &Value) -> ContentBlock {
    let plain = match value {
        Value::String(text) => Some(text.as_str()),
        Value::Object(fields) if fields.get("type") == Some(&json!("text")) => {
            fields.get("text").and_then(Value::as_str)
        }
        _ => None,
    };
    ContentBlock::text(plain.map_or_else(|| value.to_string(), str::to_owned))
}

/// Returns a failure as a result, so that the model reads it, never as an error of the protocol.
pub(super) fn failed(fault: &Fault, shape: &Shape) -> CallToolResult {
    let Fault { node, code, message, .. } = fault;
    match node.as_str() {
        "" => failure(fault, message, shape),
        node => failure(fault, &format!("`{node}` failed ({code}): {message}"), shape),
    }
}

fn failure(fault: &Fault, description: &str, shape: &Shape) -> CallToolResult {
    let Fault { node, code, message, detail } = fault;
    let description = if detail.is_empty() { description.to_owned() } else { format!("{description}\n\n{detail}") };
    let mut result = CallToolResult::error(vec![ContentBlock::text(description)]);
    let error = json!({ "code": code, "message": message, "node": node, "detail": detail });
    let structured = json!({ "error": error });
    // Some clients validate the structured content of an error, too, and would show their own error instead of this
    // one.
    let fits = match shape {
        Shape::Open => true,
        Shape::Object(schema) => schema.check(&structured).is_empty(),
        Shape::Wrapped => false,
    };
    if fits {
        result.structured_content = Some(structured);
    } else {
        let mut meta = MetaObject::new();
        meta.insert(ERROR_META.to_owned(), error);
        result.meta = Some(meta);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the content and the structured content of an output without a schema.
    fn result_text(output: Value) -> String {
        let result = done(output, &Shape::Open);
        let content = serde_json::to_value(&result.content).expect("content is JSON");
        format!("{content} {}", result.structured_content.expect("there is some"))
    }

    #[test]
    fn an_output_is_json_in_text_and_an_object_in_structure() {
        assert_eq!(result_text(json!({ "a": 1 })), r#"[{"type":"text","text":"{\"a\":1}"}] {"a":1}"#);
        assert_eq!(result_text(json!("x")), r#"[{"type":"text","text":"\"x\""}] {"result":"x"}"#);
        assert_eq!(result_text(json!([1, 2])), r#"[{"type":"text","text":"[1,2]"}] {"result":[1,2]}"#);
        assert_eq!(result_text(json!(null)), r#"[{"type":"text","text":"null"}] {"result":null}"#);
        assert_eq!(result_text(json!(false)), r#"[{"type":"text","text":"false"}] {"result":false}"#);
        assert_eq!(result_text(json!([])), r#"[{"type":"text","text":"[]"}] {"result":[]}"#);
    }

    #[test]
    fn content_items_stay_what_they_are() {
        let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
        assert_eq!(result_text(image.clone()), format!("[{image}] {image}"));
        let link = json!({ "type": "resource_link", "uri": "file:///a", "name": "a" });
        let mixed = json!(["seen:", image, { "n": 1 }, { "type": "text", "text": "end" }, link]);
        let said = result_text(mixed.clone());
        let expected = format!(
            r#"[{{"type":"text","text":"seen:"}},{image},{{"type":"text","text":"{{\"n\":1}}"}},{{"type":"text","text":"end"}},{link}]"#
        );
        assert_eq!(said, format!("{expected} {}", json!({ "result": mixed })));
    }

    #[test]
    fn what_only_looks_like_an_item_is_data() {
        for odd in [json!({ "type": "image" }), json!({ "type": "text", "text": "x" }), json!({ "type": 7 })] {
            let text = json!([{ "type": "text", "text": odd.to_string() }]);
            assert_eq!(result_text(odd.clone()), format!("{text} {odd}"));
        }
    }

    #[test]
    fn a_failure_says_the_same_to_models_and_programs() {
        let fault = fault("list", "tool-error", "no such folder", "files wrote:\nENOENT");
        let result = failed(&fault, &Shape::Open);
        assert_eq!(result.is_error, Some(true));
        assert_eq!(
            result.content,
            [ContentBlock::text("`list` failed (tool-error): no such folder\n\nfiles wrote:\nENOENT")]
        );
        let told = json!({ "code": "tool-error", "message": "no such folder", "node": "list", "detail": "files wrote:\nENOENT" });
        assert_eq!(result.structured_content, Some(json!({ "error": told })));
        let result = failed(&fault, &Shape::Wrapped);
        assert_eq!(result.structured_content, None);
        assert_eq!(result.meta.expect("it stands there")[ERROR_META], told);
    }
}

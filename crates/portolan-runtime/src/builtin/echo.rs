//! A server for experiments: it returns its input, and fails, waits and floods on request.

use std::time::Duration;

use rmcp::model::{CallToolResult, ContentBlock, Tool};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Answer, arguments, object, read_only};

const MAX_SLEEP_MS: u64 = 600_000;
/// More than any client should accept.
const MAX_BIG_BYTES: usize = 200_000_000;

pub(super) fn tools() -> Vec<Tool> {
    let any = json!({ "type": "object", "additionalProperties": true });
    let sum = object(json!({ "sum": { "type": "number" } }), &["sum"]);
    let slept = object(json!({ "slept": { "type": "integer" } }), &["slept"]);
    let numbers = object(json!({ "a": { "type": "number" }, "b": { "type": "number" } }), &["a", "b"]);
    let message = object(json!({ "message": { "type": "string" } }), &["message"]);
    let ms = json!({ "ms": { "type": "integer", "minimum": 0, "maximum": MAX_SLEEP_MS } });
    let bytes = json!({ "bytes": { "type": "integer", "minimum": 0, "maximum": MAX_BIG_BYTES } });
    let mut big = read_only("big", "Answers with a text of that many bytes.", object(bytes, &["bytes"]), Value::Null);
    big.output_schema = None;
    let mut fail = read_only("fail", "Fails with that message.", message, Value::Null);
    fail.output_schema = None;
    vec![
        read_only("echo", "Answers with its arguments.", any.clone(), any),
        read_only("add", "Adds two numbers.", numbers, sum),
        fail,
        read_only("sleep", "Answers after that many milliseconds.", object(ms, &["ms"]), slept),
        big,
    ]
}

/// Calls a tool. Returns `None` if there is no such tool.
pub(super) async fn call(tool: &str, given: Map<String, Value>) -> Option<Answer> {
    Some(match tool {
        "echo" => Ok(CallToolResult::structured(Value::Object(given))),
        "add" => add(given),
        "fail" => fail(given),
        "sleep" => sleep(given).await,
        "big" => big(given),
        _ => return None,
    })
}

fn add(given: Map<String, Value>) -> Answer {
    #[derive(Deserialize)]
    struct Numbers {
        a: serde_json::Number,
        b: serde_json::Number,
    }
    let Numbers { a, b } = arguments("add", given)?;
    let whole = a.as_i64().zip(b.as_i64()).and_then(|(a, b)| a.checked_add(b)).map(Value::from);
    let broken = || Value::from(a.as_f64().unwrap_or(f64::NAN) + b.as_f64().unwrap_or(f64::NAN));
    match whole.unwrap_or_else(broken) {
        Value::Null => Err("the sum is not a number that JSON can hold".to_owned()),
        sum => Ok(CallToolResult::structured(json!({ "sum": sum }))),
    }
}

fn fail(given: Map<String, Value>) -> Answer {
    #[derive(Deserialize)]
    struct Message {
        message: String,
    }
    let Message { message } = arguments("fail", given)?;
    Err(message)
}

async fn sleep(given: Map<String, Value>) -> Answer {
    #[derive(Deserialize)]
    struct Length {
        ms: u64,
    }
    let Length { ms } = arguments("sleep", given)?;
    if ms > MAX_SLEEP_MS {
        return Err(format!("`ms` is more than {MAX_SLEEP_MS}"));
    }
    tokio::time::sleep(Duration::from_millis(ms)).await;
    Ok(CallToolResult::structured(json!({ "slept": ms })))
}

fn big(given: Map<String, Value>) -> Answer {
    #[derive(Deserialize)]
    struct Size {
        bytes: usize,
    }
    let Size { bytes } = arguments("big", given)?;
    if bytes > MAX_BIG_BYTES {
        return Err(format!("`bytes` is more than {MAX_BIG_BYTES}"));
    }
    Ok(CallToolResult::success(vec![ContentBlock::text("x".repeat(bytes))]))
}

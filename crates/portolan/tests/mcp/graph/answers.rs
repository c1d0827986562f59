//! What a call is answered with.

use serde_json::{Value, json};

use super::{call, call_output, client, project, tool};
use crate::support::Project;

fn transform(expr: &str) -> String {
    format!("id: a, type: transform, transform: {{ expr: '{expr}' }}, next: exit")
}

fn shaping(name: &str, more: &str, expr: &str) -> String {
    tool(name, more, &[&transform(expr)])
}

#[test]
fn an_object_is_structured_content_and_json_in_text() {
    let project = project(&[shaping("sum", "", r#"{"sum": $.entry.a + $.entry.b, "of": "é"}"#)]);
    let (text, structured) = call_output(&mut client(&project), "sum", json!({ "a": 1, "b": 2 }));
    assert_eq!(structured, json!({ "sum": 3, "of": "é" }));
    assert_eq!(text, r#"{"sum":3,"of":"é"}"#);
}

#[test]
fn anything_else_is_wrapped_and_its_text_is_not() {
    let any = "outputSchema: { type: [array, string, number, boolean, 'null', object] }";
    let project = project(&[shaping("any", any, "$.entry.v")]);
    let mut wire = client(&project);
    for value in [json!([1, { "a": [] }]), json!("x"), json!(7), json!(0), json!(false), json!(""), json!(null)] {
        let (text, structured) = call_output(&mut wire, "any", json!({ "v": value }));
        assert_eq!((text, structured), (value.to_string(), json!({ "result": value })));
    }
    // An object is wrapped too, since the schema that was announced says so.
    assert_eq!(call_output(&mut wire, "any", json!({ "v": { "a": 1 } })).1, json!({ "result": { "a": 1 } }));
}

#[test]
fn pictures_arrive_as_pictures() {
    let image = json!({ "type": "image", "data": "AA==", "mimeType": "image/png" });
    let open = "outputSchema: { type: [object, array] }";
    let project = project(&[shaping("show", open, "$.entry.v")]);
    let mut wire = client(&project);
    let result = call(&mut wire, "show", json!({ "v": image }));
    assert_eq!(result["content"], json!([image]));
    assert_eq!(result["structuredContent"], json!({ "result": image }));
    let result = call(&mut wire, "show", json!({ "v": ["a caption", image] }));
    assert_eq!(result["content"], json!([{ "type": "text", "text": "a caption" }, image]));
    assert_eq!(result["structuredContent"], json!({ "result": ["a caption", image] }));
}

/// The text, and the error for programs, of a call that must fail.
fn failure(result: &Value) -> (String, Value) {
    assert_eq!(result["isError"], true, "{result}");
    (result["content"][0]["text"].as_str().expect("a text").to_owned(), result["structuredContent"]["error"].clone())
}

fn failing() -> Project {
    let fail = "id: list, type: mcp, server: echo, tool: fail, args: { message: no such folder }, next: exit";
    let strict = "outputSchema: { type: object, required: [count], properties: { count: { type: integer } } }";
    let input =
        "inputSchema: { type: object, required: [n], properties: { n: { type: integer }, s: { type: string } } }";
    project(&[
        tool("fails", "", &[fail]),
        tool("strict", strict, &[fail]),
        shaping("broken", "", r#"$error("custom boom")"#),
        shaping("takes", input, "$.entry"),
        shaping("gives", strict, r#"{"count": "many"}"#),
    ])
}

#[test]
fn a_failure_is_a_result_that_names_its_node() {
    let project = failing();
    let mut wire = client(&project);
    let (text, error) = failure(&call(&mut wire, "fails", json!({})));
    assert_eq!(text, "`list` failed (tool-error): no such folder");
    assert_eq!(error, json!({ "code": "tool-error", "message": "no such folder", "node": "list", "detail": "" }));
    let (text, error) = failure(&call(&mut wire, "broken", json!({})));
    assert!(text.contains("custom boom") && text.contains("\n\n") && text.contains("$error("), "{text}");
    assert_eq!(error["node"], "a");
    let (text, error) = failure(&call(&mut wire, "gives", json!({})));
    assert!(text.contains("outputSchema") && text.contains("count"), "{text}");
    assert_eq!(error, Value::Null, "structured content would contradict the schema");
}

#[test]
fn a_failure_does_not_contradict_the_schema_of_the_output() {
    let project = failing();
    let result = call(&mut client(&project), "strict", json!({}));
    assert_eq!(result["isError"], true);
    assert_eq!(result.get("structuredContent"), None, "{result}");
    assert_eq!(result["_meta"]["portolan/error"]["node"], "list");
}

#[test]
fn input_that_is_not_taken_is_told_with_all_its_faults() {
    let project = failing();
    let mut wire = client(&project);
    let (text, error) = failure(&call(&mut wire, "takes", json!({ "n": "one", "s": 2 })));
    assert!(text.contains("/n") && text.contains("/s"), "{text}");
    assert_eq!(error["code"], "bad-input", "{error}");
    let without = wire.request("tools/call", json!({ "name": "takes" }));
    assert!(failure(&without["result"]).0.contains('n'), "{without}");
}

#[test]
fn an_unknown_tool_is_an_error_of_the_protocol() {
    let project = failing();
    let mut wire = client(&project);
    let error = wire.request("tools/call", json!({ "name": "fail", "arguments": {} }))["error"].clone();
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!(-32602), &json!("there is no tool `fail`; did you mean `fails`?"))
    );
    let error = wire.request("tools/call", json!({ "name": "zzz", "arguments": {} }))["error"].clone();
    assert_eq!(error["message"], "there is no tool `zzz`; tools/list returns them all");
    assert_eq!(wire.request("tools/call", json!({ "arguments": {} }))["error"]["code"], -32602);
}

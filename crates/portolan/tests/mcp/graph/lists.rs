//! What is said of the tools before any of them is called.

use serde_json::{Value, json};

use super::{client, project, server, tool};

#[test]
fn the_server_is_what_its_file_says() {
    let project = project(&[tool("one", "", &[])]);
    for version in ["2024-11-05", "2025-06-18", "2025-11-25"] {
        let hello = server(&project).shake_hands(version, &json!({}));
        assert_eq!(hello["protocolVersion"], version);
        assert_eq!(hello["serverInfo"], json!({ "name": "toolbox", "title": "Tool box", "version": "1.2.3" }));
        assert_eq!(hello["instructions"], "Use it with care.");
        assert_eq!(hello["capabilities"], json!({ "tools": { "listChanged": true } }));
    }
}

fn listed(more: &str) -> Value {
    let project = project(&[tool("one", more, &["id: a, type: transform, transform: { expr: $.entry }, next: exit"])]);
    let list = client(&project).request("tools/list", json!({}));
    assert_eq!(list["result"]["tools"].as_array().map(Vec::len), Some(1), "{list}");
    list["result"]["tools"][0].clone()
}

#[test]
fn schemas_are_listed_as_they_are_written() {
    let schema = json!({
        "type": "object",
        "$defs": { "size": { "type": ["integer", "null"], "minimum": 0, "default": 3 } },
        "properties": {
            "kind": { "enum": ["a", 1, null] },
            "sizes": { "type": "array", "items": { "$ref": "#/$defs/size" }, "uniqueItems": true },
            "either": { "anyOf": [{ "type": "string", "format": "uri" }, { "type": "object", "properties": { "x": true } }] },
        },
        "additionalProperties": false,
        "required": ["kind"],
        "if": { "properties": { "kind": { "const": "a" } } },
        "then": { "required": ["sizes"] },
    });
    let annotations = json!({ "readOnlyHint": true, "idempotentHint": true });
    let more = format!("title: The first\nannotations: {annotations}\ninputSchema: {schema}\noutputSchema: {schema}");
    assert_eq!(
        listed(&more),
        json!({
            "name": "one",
            "title": "The first",
            "description": "Does one",
            "inputSchema": schema,
            "outputSchema": schema,
            "annotations": annotations,
        })
    );
}

#[test]
fn an_output_that_need_not_be_an_object_is_announced_wrapped() {
    let listed =
        listed("outputSchema: { type: array, items: { $ref: '#/$defs/item' }, $defs: { item: { type: string } } }");
    let items = json!({ "$ref": "#/properties/result/$defs/item" });
    let inner = json!({ "type": "array", "items": items, "$defs": { "item": { "type": "string" } } });
    let wrapped = json!({ "type": "object", "properties": { "result": inner }, "required": ["result"] });
    assert_eq!(listed["outputSchema"], wrapped);
}

#[test]
fn what_is_not_announced_is_not_there() {
    let project = project(&[tool("one", "", &[])]);
    let mut wire = client(&project);
    for method in ["resources/list", "prompts/list", "logging/setLevel", "no/such"] {
        assert!(wire.request(method, json!({}))["error"]["code"].is_number(), "{method}");
    }
    assert_eq!(wire.request("ping", json!({}))["result"], json!({}));
}

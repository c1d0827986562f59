//! The names, inputs and outputs of the tools of the `author` set. Their texts are for models, which read every word.
//!
//! Names and members of all but two are those of mcpGraph's toolkit. Schemas state where any JSON is allowed, since
//! clients validate answers against them.

mod pieces;

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

/// The names of the tools, in the order in which they are listed.
pub(crate) const NAMES: [&str; 15] = [
    "getGraphServer",
    "listGraphTools",
    "getGraphTool",
    "listMcpServers",
    "listMcpServerTools",
    "getMcpServerTool",
    "addGraphTool",
    "updateGraphTool",
    "deleteGraphTool",
    "runGraphTool",
    "testJSONata",
    "testJSONLogic",
    "testMcpTool",
    "getDefinition",
    "editDefinition",
];

/// Returns all tools.
pub(crate) fn tools() -> Vec<Tool> {
    [looking(), discovering(), writing(), trying(), pieces::tools()].concat()
}

/// Returns the tools for a file: all of them for graphs of tool calls, or else those for any format.
pub(super) fn listed(is_of_graphs: bool) -> Vec<Tool> {
    if is_of_graphs { tools() } else { pieces::tools() }
}

fn looking() -> Vec<Tool> {
    vec![
        tool(
            NAMES[0],
            "How the graph file introduces itself to MCP clients, and which file it is.",
            takes(json!({}), &[]),
            gives(
                json!({
                    "name": text("Its name."),
                    "version": text("Its version."),
                    "title": text("Its display name."),
                    "instructions": text("The instructions for clients."),
                    "file": text("The file that changes are written to."),
                    "exists": flag("Whether this file exists yet."),
                }),
                &["name", "version", "title", "file", "exists"],
            ),
            LOOKS,
        ),
        tool(
            NAMES[1],
            "The tools of the graph file.",
            takes(json!({}), &[]),
            gives(
                json!({ "items": items(json!({ "name": text(""), "description": text("") }), &["name"]) }),
                &["items"],
            ),
            LOOKS,
        ),
        tool(
            NAMES[2],
            "The whole definition of a tool of the graph file, with its nodes.",
            takes(json!({ "toolName": text("The name of the tool.") }), &["toolName"]),
            gives(
                json!({
                    "name": text("Its name."),
                    "description": text("What it does."),
                    "inputSchema": any("The JSON Schema of its arguments."),
                    "outputSchema": any("The JSON Schema of its result."),
                    "nodes": { "type": "array", "items": { "type": "object" }, "description": "Its nodes." },
                    "revision": text("The revision of its text. Send it back with a change, so a change by \
                        somebody else is not lost."),
                }),
                &["name", "revision"],
            ),
            LOOKS,
        ),
    ]
}

fn discovering() -> Vec<Tool> {
    vec![
        tool(
            NAMES[3],
            "The MCP servers that graphs can call: those of the graph file, the person's own, and `filesystem` \
            and `echo`, which are built in. Each is started; one that cannot start is listed with its error.",
            takes(json!({}), &[]),
            gives(
                json!({ "items": items(json!({
                    "name": text("The name that `server` of a node uses for it."),
                    "title": text("Its display name."),
                    "instructions": text("Its instructions for use."),
                    "version": text("Its version."),
                    "definedIn": { "type": "string", "enum": ["graph", "person", "builtin"], "description": "Where \
                        it is defined: in the graph file, by the person, or in Portolan itself." },
                    "error": failure(),
                }), &["name"]) }),
                &["items"],
            ),
            ASKS,
        ),
        tool(
            NAMES[4],
            "The tools that MCP servers offer.",
            takes(json!({ "serverName": text("Only those of this server.") }), &[]),
            gives(
                json!({
                    "items": items(json!({ "name": text(""), "description": text(""), "server": text("") }), &["name", "description", "server"]),
                    "errors": items(failed_members(json!({ "server": text("") })), &["server", "code", "message"]),
                }),
                &["items"],
            ),
            ASKS,
        ),
        tool(
            NAMES[5],
            "The input and output of a tool of an MCP server.",
            takes(
                json!({ "serverName": text("The server."), "toolName": text("Its tool.") }),
                &["serverName", "toolName"],
            ),
            gives(
                json!({
                    "name": text("Its name."),
                    "description": text("What it does."),
                    "inputSchema": any("The JSON Schema of its arguments."),
                    "outputSchema": any("The JSON Schema of its structured answer."),
                    "annotations": any("Hints about its behaviour."),
                }),
                &["name", "description", "inputSchema"],
            ),
            ASKS,
        ),
    ]
}

fn writing() -> Vec<Tool> {
    vec![
        tool(
            NAMES[6],
            "Add a tool to the graph file. It is checked first, and nothing is written if it has faults. Before \
            that, try it with runGraphTool.",
            takes(json!({ "tool": definition() }), &["tool"]),
            written(),
            Hints { read_only: false, destructive: false, idempotent: false, open_world: false },
        ),
        tool(
            NAMES[7],
            "Replace a tool of the graph file with another definition, which can have another name. Unchanged \
            parts keep their comments and layout. It is checked first, and nothing is written if it has faults.",
            takes(
                json!({ "toolName": text("The current name of the tool."), "tool": definition(), "revision": revision() }),
                &["toolName", "tool"],
            ),
            written(),
            Hints { read_only: false, destructive: true, idempotent: true, open_world: false },
        ),
        tool(
            NAMES[8],
            "Delete a tool from the graph file. Refused if another tool calls it, or if it is the last one.",
            takes(json!({ "toolName": text("The tool."), "revision": revision() }), &["toolName"]),
            written(),
            Hints { read_only: false, destructive: true, idempotent: false, open_world: false },
        ),
    ]
}

fn trying() -> Vec<Tool> {
    vec![
        tool(
            NAMES[9],
            "Run a tool of the graph file, or a draft that is not in it, and return its result and what each \
            node did. A draft is run as given, beside the file's other tools and with its servers, and is never \
            written. Give either `toolName` or `toolDefinition`.",
            takes(
                json!({
                    "arguments": { "type": "object", "description": "The arguments of the call." },
                    "toolName": text("A tool of the file."),
                    "toolDefinition": definition(),
                    "logging": flag("Also report when each node began and ended."),
                }),
                &["arguments"],
            ),
            ran(),
            CALLS,
        ),
        tool(
            NAMES[10],
            "Evaluate a JSONata expression over a context, as a node would. If it has no value, the answer has \
            `undefined` and no `result`.",
            takes(
                json!({ "expression": text("The expression."), "context": any("The value of `$` in it: an object \
                    from node id to output. Default: an empty object.") }),
                &["expression"],
            ),
            gives(
                json!({ "result": any("The result: any JSON."), "undefined": flag("Whether it has no value."), "error": tried() }),
                &[],
            ),
            LOOKS,
        ),
        tool(
            NAMES[11],
            "Evaluate a JSON Logic rule over a context, as a switch would, and return whether it holds. The \
            operand of `var` is JSONata.",
            takes(
                json!({ "expression": any("The rule: any JSON."), "context": any("Its context: an object from \
                    node id to output. Default: an empty object.") }),
                &["expression"],
            ),
            gives(
                json!({ "result": any("Whether it holds; null if the evaluation failed."), "error": tried() }),
                &["result"],
            ),
            LOOKS,
        ),
        tool(
            NAMES[12],
            "Call a tool of an MCP server as an mcp node would, and return what the node's output would be.",
            takes(
                json!({
                    "server": text("The server."),
                    "tool": text("Its tool."),
                    "args": { "type": "object", "description": "The arguments of the call; `{\"expr\": \"…\"}` \
                        in them is evaluated over the context." },
                    "context": any("The context of the expressions: an object from node id to output."),
                }),
                &["server", "tool", "args"],
            ),
            called(),
            CALLS,
        ),
    ]
}

fn definition() -> Value {
    json!({
        "type": "object",
        "description": "`name`, `description`, `inputSchema`, `outputSchema`, and `nodes`: one `entry`, one `exit`, and between them `mcp`, `transform`, `switch` and others, each with `id`, `type` and `next`.",
    })
}

fn revision() -> Value {
    text("The revision that getGraphTool returned: if the tool has changed since, the call is refused as stale.")
}

fn written() -> Value {
    gives(
        json!({
            "success": flag("Whether it was written."),
            "message": text("What was done."),
            "revision": text("The revision of the tool's text."),
            "diagnostics": diagnostics(),
        }),
        &["success", "message"],
    )
}

fn ran() -> Value {
    let history = items(
        json!({
            "executionIndex": { "type": "integer" },
            "nodeId": text(""),
            "nodeType": text(""),
            "startTime": { "type": "integer" },
            "endTime": { "type": "integer" },
            "duration": { "type": "integer" },
            "input": any("The arguments of a call."),
            "output": any("The result."),
            "error": { "type": "object" },
        }),
        &["executionIndex", "nodeId", "nodeType", "startTime", "endTime", "duration", "output"],
    );
    let more = json!({
        "executionHistory": history,
        "executionsLeftOut": { "type": "integer", "description": "The number of nodes that were executed before those listed." },
        "logging": { "type": "array", "items": { "type": "object" }, "description": "When each node began and ended." },
    });
    let result = json!({ "result": any("The result: any JSON.") });
    either(joined(result, &more), &["result", "executionHistory"], more)
}

fn called() -> Value {
    let more = json!({
        "evaluatedArgs": { "type": "object", "description": "The arguments after evaluation, if there was anything to evaluate." },
        "executionTime": { "type": "integer", "description": "How long the call took, in milliseconds." },
    });
    let output = json!({ "output": any("What the node's output would be: any JSON.") });
    either(joined(output, &more), &["output", "executionTime"], more)
}

fn joined(mut members: Value, more: &Value) -> Value {
    for (name, member) in more.as_object().into_iter().flatten() {
        members[name] = member.clone();
    }
    members
}

/// Returns the schema of the reason why an expression has no value.
fn tried() -> Value {
    json!({
        "type": "object",
        "properties": { "message": text(""), "details": { "type": "object" } },
        "required": ["message"],
        "description": "Why it has no value.",
    })
}

fn diagnostics() -> Value {
    let members = json!({
        "code": text(""), "severity": text(""), "message": text(""), "help": text(""), "file": text(""),
        "line": { "type": "integer" }, "column": { "type": "integer" },
    });
    let mut list = items(members, &["code", "severity", "message", "help"]);
    list["description"] = json!("What was found in the definition.");
    list
}

fn failed_members(more: Value) -> Value {
    let members = json!({
        "code": text("A stable word."),
        "message": text("What is wrong."),
        "help": text("What to do."),
        "stderr": text("The last output of a server on standard error."),
        "node": text("The node that failed."),
        "detail": text(""),
        "details": { "type": "object" },
        "diagnostics": diagnostics(),
    });
    joined(members, &more)
}

fn failure() -> Value {
    json!({
        "type": "object",
        "properties": failed_members(json!({})),
        "required": ["code", "message", "help"],
        "description": "Why it failed.",
    })
}

/// Returns the schema of an answer: these properties, or an error.
fn gives(properties: Value, required: &[&str]) -> Value {
    either(properties, required, json!({}))
}

/// Returns the schema of an answer whose error has more members.
fn either(properties: Value, required: &[&str], more: Value) -> Value {
    let error = joined(json!({ "error": failure() }), &more);
    json!({
        "type": "object",
        "anyOf": [
            { "properties": properties, "required": required },
            { "properties": error, "required": ["error"] },
        ],
    })
}

fn takes(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn items(properties: Value, required: &[&str]) -> Value {
    json!({ "type": "array", "items": { "type": "object", "properties": properties, "required": required } })
}

fn text(description: &str) -> Value {
    described(json!({ "type": "string" }), description)
}

fn flag(description: &str) -> Value {
    described(json!({ "type": "boolean" }), description)
}

fn any(description: &str) -> Value {
    described(json!({}), description)
}

fn described(mut schema: Value, description: &str) -> Value {
    if !description.is_empty() {
        schema["description"] = json!(description);
    }
    schema
}

/// The annotations of a tool.
#[derive(Clone, Copy)]
struct Hints {
    read_only: bool,
    destructive: bool,
    idempotent: bool,
    open_world: bool,
}

const LOOKS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
const ASKS: Hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: true };
const CALLS: Hints = Hints { read_only: false, destructive: true, idempotent: false, open_world: true };

fn tool(name: &'static str, description: &'static str, input: Value, output: Value, hints: Hints) -> Tool {
    let annotations = ToolAnnotations::new()
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world);
    Tool::new(name, description, object(input))
        .with_raw_output_schema(Arc::new(object(output)))
        .with_annotations(annotations)
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

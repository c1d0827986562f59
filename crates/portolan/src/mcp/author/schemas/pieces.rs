//! The two tools for definitions of any format.

use portolan_runtime::author::MAX_OPERATIONS;
use rmcp::model::Tool;
use serde_json::{Value, json};

use super::super::definition::{PARTS, USUAL};
use super::{Hints, LOOKS, NAMES, any, described, diagnostics, flag, gives, items, joined, takes, text, tool};

pub(super) fn tools() -> Vec<Tool> {
    let parts = json!({ "type": "string", "enum": PARTS });
    let node =
        items(json!({ "id": text(""), "kind": {}, "values": { "type": "object" }, "implied": flag("") }), &["id"]);
    let edge = items(json!({ "edge": text(""), "when": text(""), "label": text("") }), &["edge"]);
    let graph = json!({ "graph": text(""), "fields": { "type": "object" }, "nodes": node, "edges": edge });
    let (mut graphs, mut kinds) =
        (items(graph, &["graph"]), items(json!({ "kind": text("") }), &["kind", "help", "fields"]));
    let mut own = items(json!({ "field": text("") }), &["field", "type", "help"]);
    graphs["description"] = json!(
        "The contents of the file, by name: the values of its own fields; its nodes, each with its kind and the \
        values of its fields (`implied`: it follows from other parts of the text, and cannot be edited; such a \
        node is shown only if `nodes` names it); its edges, each with the name that edits use."
    );
    kinds["description"] = json!("The kinds of node, with their fields.");
    own["description"] = json!("The fields of the definition itself: `set` without a `node` sets them.");
    vec![
        tool(
            NAMES[13],
            "Show the definition in the file, whatever its format: its revision, its nodes with the values of \
            their fields, its edges, and what is wrong with it; on request the available kinds of node, and the \
            texts of its files.",
            takes(
                json!({
                    "graph": text("Show only this graph of the file."),
                    "nodes": { "type": "array", "items": { "type": "string" }, "description": "Only these nodes, and the edges that touch them." },
                    "show": { "type": "array", "items": parts, "description": format!("What to show. Default: {}.", USUAL.join(", ")) },
                }),
                &[],
            ),
            gives(
                json!({
                    "file": text("The file."),
                    "format": { "type": ["string", "null"], "description": "The format of the definition; null if it is unknown." },
                    "revision": text("The version of its texts, which editDefinition requires."),
                    "sound": flag("Whether it has no errors."),
                    "graphs": graphs,
                    "kinds": kinds,
                    "ownFields": own,
                    "texts": items(json!({ "file": text(""), "text": text("") }), &["file", "text"]),
                    "diagnostics": diagnostics(),
                }),
                &["file", "format", "revision", "sound", "graphs"],
            ),
            LOOKS,
        ),
        tool(
            NAMES[14],
            "Edit the definition in the file piece by piece. All operations are done, in order, or none. The \
            result is checked first, and nothing is written if it would have new faults. Unchanged parts keep \
            their comments and layout.",
            takes(
                json!({
                    "revision": text("The revision that getDefinition or the last edit returned; if the \
                        definition was changed since, the call is refused as stale."),
                    "do": operations(),
                    "graph": text("Which graph of the file to edit, if it holds several."),
                    "dryRun": flag("Write nothing: only report the findings and the difference."),
                }),
                &["revision", "do"],
            ),
            gives(
                json!({
                    "written": flag("Whether anything was written."),
                    "message": text("What was done."),
                    "revision": text("The revision of what is on disk now, for the next edit."),
                    "nodes": { "type": "array", "items": { "type": ["string", "null"] }, "description": "For each operation, the node that it made or changed." },
                    "difference": text("The difference of the texts, as a unified diff."),
                    "diagnostics": diagnostics(),
                }),
                &["written", "message", "revision", "nodes", "difference"],
            ),
            Hints { read_only: false, destructive: true, idempotent: false, open_world: false },
        ),
    ]
}

/// Returns the schema of the operations: one alternative per operation, so that a client knows which fields go
/// together.
fn operations() -> Value {
    let (node, to) = (text("The node, by its id."), text("The node that the edge enters."));
    let edge = text("The edge, by the name that getDefinition gives it.");
    let on =
        text("The outcome that the edge is taken on; on a switch, its condition. If omitted: when the node is done.");
    let kind = text("A kind from `kinds` of getDefinition.");
    let one = |word: &str, what: &str, fields: Value, required: &[&str]| {
        let mut properties = json!({ "is": { "const": word } });
        properties = joined(properties, &fields);
        let required: Vec<&str> = std::iter::once("is").chain(required.iter().copied()).collect();
        described(takes(properties, &required), what)
    };
    let set = json!({ "node": text("The node; omit it for the definition itself."), "field": text("The field; \
        `a.b` is the field `b` within `a`."), "value": any("The \
        value; null removes the field.") });
    let add = json!({
        "kind": kind, "id": text("Its id; omit it to have a free one chosen."),
        "after": text("The node to add it after."), "on": text("The outcome of that node that leads to the new one."),
        "edge": text("Instead of `after`: the edge to insert it into."),
        "values": { "type": "object", "description": "The values of its fields." },
    });
    let all = [
        one("set", "Set the value of a field.", set, &["field", "value"]),
        one(
            "add",
            "Add a node. If the activities of a workflow are separate files, an activity is added as a file.",
            add,
            &["kind"],
        ),
        one(
            "connect",
            "Add an edge.",
            json!({ "from": text("The node that the edge leaves."), "to": to, "on": on }),
            &["from", "to"],
        ),
        one("disconnect", "Remove an edge.", json!({ "edge": edge }), &["edge"]),
        one("reconnect", "Let an edge enter another node.", json!({ "edge": edge, "to": to }), &["edge", "to"]),
        one("outcome", "Change the outcome that an edge is taken on.", json!({ "edge": edge, "on": on }), &["edge"]),
        one(
            "label",
            "Change the label of an edge for people, if the format has labels.",
            json!({ "edge": edge, "text": text("The label; omit it to remove the label.") }),
            &["edge"],
        ),
        one(
            "rename",
            "Change the id of a node, wherever it is named.",
            json!({ "node": node, "to": text("The new id.") }),
            &["node", "to"],
        ),
        one(
            "delete",
            "Delete nodes with their edges; an activity with its file, if it has one.",
            json!({ "nodes": { "type": "array", "items": { "type": "string" } } }),
            &["nodes"],
        ),
        one("duplicate", "Copy a node, without its edges.", json!({ "node": node }), &["node"]),
        one("kind", "Change the kind of a node.", json!({ "node": node, "kind": kind }), &["node", "kind"]),
        one(
            "wrap",
            "Put a node into a new one that contains others: into a loop, or between a new fork and its join.",
            json!({
                "node": node, "kind": kind, "id": text("The id of the new node; omit it to have a free one chosen."),
                "values": { "type": "object", "description": "The values of the new node's fields." },
            }),
            &["node", "kind"],
        ),
        one(
            "move",
            "Move a step of an activity behind another node, which may be in another activity.",
            json!({ "node": node, "after": text("The node that it follows; an activity for its beginning.") }),
            &["node", "after"],
        ),
    ];
    json!({
        "type": "array", "minItems": 1, "maxItems": MAX_OPERATIONS, "items": { "anyOf": all },
        "description": "The operations. Each sees the results of those before it.",
    })
}

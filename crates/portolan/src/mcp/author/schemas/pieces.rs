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
        "What the file holds, by name: the values of its own fields; its nodes, each with its kind and the values of its fields (`implied`: it follows from other parts of the text, and cannot be edited; such a node is shown only where `nodes` names it); its edges, each by the name that edits use."
    );
    kinds["description"] = json!("The kinds of node, with their fields.");
    own["description"] = json!("The fields of the definition itself: `set` without a `node` sets them.");
    vec![
        tool(
            NAMES[13],
            "Look at the definition in the file, whatever its format: its revision, its nodes with the values of their fields, its edges, and what is wrong with it; on request the kinds of node that there are, and the texts of its files.",
            takes(
                json!({
                    "graph": text("Only this one of the graphs that the file holds."),
                    "nodes": { "type": "array", "items": { "type": "string" }, "description": "Only these nodes, and the edges that touch them." },
                    "show": { "type": "array", "items": parts, "description": format!("What to show. Without it: {}.", USUAL.join(", ")) },
                }),
                &[],
            ),
            gives(
                json!({
                    "file": text("The file."),
                    "format": { "type": ["string", "null"], "description": "The format that it is written in; null where it is none that is known." },
                    "revision": text("Which version of its texts this is: editDefinition wants it."),
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
            "Edit the definition in the file piece by piece. All operations are done, in order, or none. It is checked first, and nothing is written when it would have faults that it does not have now. What does not change keeps its comments and its layout.",
            takes(
                json!({
                    "revision": text("The revision that getDefinition, or the last edit, gave: where the definition was changed since, the call is refused as stale."),
                    "do": operations(),
                    "graph": text("Which of the graphs of the file, where it holds several."),
                    "dryRun": flag("Write nothing: only say what would be found, and what would be different."),
                }),
                &["revision", "do"],
            ),
            gives(
                json!({
                    "written": flag("Whether anything was written."),
                    "message": text("What was done."),
                    "revision": text("The revision of what is on disk now, for the next edit."),
                    "nodes": { "type": "array", "items": { "type": ["string", "null"] }, "description": "For each operation, the node that it made or changed." },
                    "difference": text("What is different in the texts, as a unified diff."),
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
    let (node, to) = (text("The node, by its id."), text("The node that it enters."));
    let edge = text("The edge, by the name that getDefinition gives it.");
    let on = text("The outcome that it is taken on; on a switch, its condition. Left out: when the node is done.");
    let kind = text("A kind, as `kinds` of getDefinition has them.");
    let one = |word: &str, what: &str, fields: Value, required: &[&str]| {
        let mut properties = json!({ "is": { "const": word } });
        properties = joined(properties, &fields);
        let required: Vec<&str> = std::iter::once("is").chain(required.iter().copied()).collect();
        described(takes(properties, &required), what)
    };
    let set = json!({ "node": text("The node; left out for the definition itself."), "field": text("The field; `a.b` is one within another."), "value": any("The value; null takes the field away.") });
    let add = json!({
        "kind": kind, "id": text("Its id; left out for one that is free."),
        "after": text("The node that it comes behind."), "on": text("The outcome with which that leads to it."),
        "edge": text("Instead of `after`: the edge between whose ends it comes."),
        "values": { "type": "object", "description": "The values of its fields." },
    });
    let all = [
        one("set", "A field has another value.", set, &["field", "value"]),
        one(
            "add",
            "A node is added. Where the activities of a workflow are files of their own, an activity comes as a file.",
            add,
            &["kind"],
        ),
        one(
            "connect",
            "An edge is added.",
            json!({ "from": text("The node that it leaves."), "to": to, "on": on }),
            &["from", "to"],
        ),
        one("disconnect", "An edge is taken away.", json!({ "edge": edge }), &["edge"]),
        one("reconnect", "An edge enters another node.", json!({ "edge": edge, "to": to }), &["edge", "to"]),
        one("outcome", "An edge is taken on another outcome.", json!({ "edge": edge, "on": on }), &["edge"]),
        one(
            "label",
            "An edge has another label for people, where the format has labels.",
            json!({ "edge": edge, "text": text("The label; without it, it has none.") }),
            &["edge"],
        ),
        one(
            "rename",
            "A node has another id, wherever it is named.",
            json!({ "node": node, "to": text("The new id.") }),
            &["node", "to"],
        ),
        one(
            "delete",
            "Nodes are taken away, with their edges; an activity with its file, where it has one.",
            json!({ "nodes": { "type": "array", "items": { "type": "string" } } }),
            &["nodes"],
        ),
        one("duplicate", "A node is there twice, the second time without edges.", json!({ "node": node }), &["node"]),
        one("kind", "A node is of another kind.", json!({ "node": node, "kind": kind }), &["node", "kind"]),
    ];
    json!({
        "type": "array", "minItems": 1, "maxItems": MAX_OPERATIONS, "items": { "anyOf": all },
        "description": "The operations. Each sees what those before it have made.",
    })
}

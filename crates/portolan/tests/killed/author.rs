//! Tools are added to a file of graphs, changed and deleted.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::{Value, json};

use crate::stage::{Death, Stage, killed};
use crate::wire::Wire;

const FILE: &str = "# Ours\nversion: \"1.0\"\nserver: { name: box, version: \"1\" }\ntools:\n  - name: first   # kept\n    \
                    description: Says it\n    inputSchema: { type: object }\n    outputSchema: { type: object }\n    nodes:\n      \
                    - { id: entry, type: entry, next: exit }\n      - { id: exit, type: exit }\n";
const SERVE: [&str; 3] = ["g.yaml", "--toolset", "author"];

fn tool(name: &str, description: &str) -> Value {
    json!({ "name": name, "description": description, "inputSchema": { "type": "object" },
        "outputSchema": { "type": "object" },
        "nodes": [{ "id": "entry", "type": "entry", "next": "exit" }, { "id": "exit", "type": "exit" }] })
}

fn text(stage: &Stage) -> String {
    std::fs::read_to_string(stage.path("g.yaml")).unwrap_or_default()
}

/// A change that is cut off leaves the file as it was or as it was to be, and can be made again.
fn changes(name: &str, before: &'static str, call: &str, arguments: &Value) {
    let told: Rc<RefCell<Option<Value>>> = Rc::default();
    let says = told.clone();
    let (tool_name, given) = (call.to_owned(), arguments.clone());
    let act = move |stage: &Stage, death| {
        *says.borrow_mut() = Wire::to(stage, &SERVE, death).call(&tool_name, &given);
    };
    let whole: Rc<RefCell<String>> = Rc::default();
    let prepare = |stage: &Stage| {
        let put = |stage: &Stage| {
            if before.is_empty() {
                drop(std::fs::remove_file(stage.path("g.yaml")))
            } else {
                stage.put("g.yaml", before)
            }
        };
        put(stage);
        Wire::to(stage, &SERVE, Death::Never).done(call, arguments);
        *whole.borrow_mut() = text(stage);
        put(stage);
    };
    killed(name, prepare, act, |stage| {
        let found = text(stage);
        let is_changed = found == *whole.borrow();
        assert!(is_changed || found == before, "{found}");
        assert!(is_changed || told.borrow().is_none(), "what was acknowledged is there");
        let again = Wire::to(stage, &SERVE, Death::Never).call(call, arguments).expect("the server lives");
        assert!(again.get("error").is_none() || is_changed, "{again:#}");
        assert_eq!(text(stage), *whole.borrow());
        if is_changed { "changed" } else { "as it was" }.to_owned()
    });
}

#[test]
fn tools_are_written() {
    changes("addGraphTool to a new file", "", "addGraphTool", &json!({ "tool": tool("second", "Is new") }));
    changes("addGraphTool", FILE, "addGraphTool", &json!({ "tool": tool("second", "Is new") }));
    let changed = json!({ "toolName": "first", "tool": tool("first", "Says more") });
    changes("updateGraphTool", FILE, "updateGraphTool", &changed);
}

#[test]
fn tools_are_deleted() {
    const TWO: &str = "version: \"1.0\"\nserver: { name: box, version: \"1\" }\ntools:\n  - name: a\n    description: A\n    \
                       inputSchema: { type: object }\n    outputSchema: { type: object }\n    nodes: [{ id: entry, type: entry, next: exit }, \
                       { id: exit, type: exit }]\n  - name: b\n    description: B\n    inputSchema: { type: object }\n    outputSchema: { \
                       type: object }\n    nodes: [{ id: entry, type: entry, next: exit }, { id: exit, type: exit }]\n";
    changes("deleteGraphTool", TWO, "deleteGraphTool", &json!({ "toolName": "a" }));
}

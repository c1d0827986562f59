//! Tools are added, changed and deleted; what is refused leaves the file as it is.

use serde_json::{Value, json};

use super::{FILE, client, project, refused, says, text};
use crate::support::Project;

#[test]
fn a_file_that_is_not_there_is_made_by_the_first_tool() {
    let project = Project::new();
    let mut wire = project.client(&["new.yaml", "--toolset", "author"]);
    let about = wire.done("getGraphServer", &json!({}));
    assert_eq!((about["name"].as_str(), &about["exists"]), (Some(""), &json!(false)));
    assert_eq!(wire.done("listGraphTools", &json!({})), json!({ "items": [] }));
    assert!(!project.path().join("new.yaml").exists());
    wire.done("addGraphTool", &json!({ "tool": says("hello", "hello") }));
    assert_eq!(wire.done("getGraphServer", &json!({}))["name"], "new");
    let ran = wire.done("runGraphTool", &json!({ "toolName": "hello", "arguments": {} }));
    assert_eq!(ran["result"], json!({ "said": "hello" }));
    project.run(&["check", "new.yaml"]);
}

#[test]
fn a_change_keeps_comments_and_layout() {
    let project = project();
    let mut wire = client(&project);
    let mut tool = wire.done("getGraphTool", &json!({ "toolName": "adds" }));
    tool["nodes"][1]["args"]["b"] = json!(3);
    wire.done("updateGraphTool", &json!({ "toolName": "adds", "tool": tool }));
    assert_eq!(text(&project), FILE.replace("          b: 2\n", "          b: 3\n"));
    let ran = wire.done("runGraphTool", &json!({ "toolName": "adds", "arguments": { "a": 1 } }));
    assert_eq!(ran["result"], json!({ "sum": 4 }));
    wire.done("addGraphTool", &json!({ "tool": says("hello", "hello") }));
    wire.done("deleteGraphTool", &json!({ "toolName": "hello" }));
    assert_eq!(text(&project), FILE.replace("          b: 2\n", "          b: 3\n"), "and back again");
}

#[test]
fn what_a_person_changed_meanwhile_is_kept_or_said() {
    let project = project();
    let mut wire = client(&project);
    let tool = wire.done("getGraphTool", &json!({ "toolName": "adds" }));
    project.write("g.yaml", &FILE.replace("# Our tools", "# Our tools, edited"));
    let mut changed = tool.clone();
    changed["description"] = json!("Adds");
    let written = wire.done("updateGraphTool", &json!({ "toolName": "adds", "tool": changed }));
    assert!(text(&project).starts_with("# Our tools, edited"));
    project.write("g.yaml", &text(&project).replace("# the first", "# the first of two"));
    let before = text(&project);
    let stale = json!({ "toolName": "adds", "tool": tool, "revision": written["revision"] });
    refused(&mut wire, "updateGraphTool", &stale, "stale");
    let stale = json!({ "toolName": "adds", "revision": written["revision"] });
    refused(&mut wire, "deleteGraphTool", &stale, "stale");
    assert_eq!(text(&project), before);
}

#[test]
fn what_would_break_the_file_is_refused_with_all_its_faults() {
    let project = project();
    let mut wire = client(&project);
    let with = |pointer: &str, value: Value| {
        let mut tool = says("bad", "x");
        *tool.pointer_mut(pointer).expect("it is there") = value;
        tool
    };
    let without = |key: &str| {
        let mut tool = says("bad", "x");
        tool.as_object_mut().expect("an object").remove(key);
        tool
    };
    let faulty = [
        without("nodes"),
        without("description"),
        with("/nodes", json!([])),
        with("/nodes", json!({ "entry": 1 })),
        with("/nodes/0/type", json!("entrance")),
        with("/nodes/1/transform/expr", json!("1 +")),
        with("/nodes/1/next", json!("nowhere")),
        with("/nodes/2/id", json!("entry")),
        with("/inputSchema", json!({ "type": "objekt" })),
        with(
            "/nodes/1",
            json!({ "id": "say", "type": "mcp", "server": "nobody", "tool": "x", "args": {}, "next": "exit" }),
        ),
    ];
    for tool in &faulty {
        for (name, arguments) in [
            ("addGraphTool", json!({ "tool": tool })),
            ("updateGraphTool", json!({ "toolName": "adds", "tool": tool })),
        ] {
            let error = refused(&mut wire, name, &arguments, "invalid_definition");
            let faults = error["diagnostics"].as_array().expect("faults");
            assert!(!faults.is_empty(), "{error:#}");
            for fault in faults {
                assert!(fault["line"].is_u64() && fault["column"].is_u64(), "{fault:#}");
                assert!(fault["help"].as_str().is_some_and(|help| !help.is_empty()), "{fault:#}");
            }
        }
    }
    for (name, arguments, code) in [
        ("addGraphTool", json!({ "tool": without("name") }), "bad_tool"),
        ("addGraphTool", json!({ "tool": with("/name", json!(7)) }), "bad_tool"),
        ("addGraphTool", json!({ "tool": "name: x" }), "invalid_arguments"),
        ("addGraphTool", json!({}), "invalid_arguments"),
        ("addGraphTool", json!({ "tool": says("adds", "x") }), "duplicate_tool"),
        ("updateGraphTool", json!({ "toolName": "add", "tool": says("x", "x") }), "unknown_tool"),
        ("deleteGraphTool", json!({ "toolName": "adds" }), "last_tool"),
        ("getGraphTool", json!({ "toolName": "add" }), "unknown_tool"),
    ] {
        refused(&mut wire, name, &arguments, code);
    }
    assert_eq!(text(&project), FILE, "nothing was written");
    let left: Vec<_> =
        std::fs::read_dir(project.path()).expect("a folder").map(|e| e.expect("an entry").file_name()).collect();
    assert!(!left.iter().any(|name| name == ".portolan.tmp"), "{left:?}");
}

#[test]
fn a_faulty_file_can_be_mended() {
    let project = Project::new();
    project.write("g.yaml", &FILE.replace("next: exit\n", "next: exti\n"));
    let mut wire = client(&project);
    refused(&mut wire, "runGraphTool", &json!({ "toolName": "adds", "arguments": { "a": 1 } }), "invalid_definition");
    let written = wire.done("addGraphTool", &json!({ "tool": says("hello", "hello") }));
    assert!(written["message"].as_str().is_some_and(|text| text.contains("other faults")), "{written:#}");
    let mut tool = wire.done("getGraphTool", &json!({ "toolName": "adds" }));
    tool["nodes"][1]["next"] = json!("exit");
    wire.done("updateGraphTool", &json!({ "toolName": "adds", "tool": tool }));
    let ran = wire.done("runGraphTool", &json!({ "toolName": "adds", "arguments": { "a": 1 } }));
    assert_eq!(ran["result"], json!({ "sum": 3 }));
}

#[test]
fn who_serves_the_same_file_takes_what_was_written() {
    let project = project();
    let mut graphs = project.client(&["g.yaml"]);
    let mut wire = client(&project);
    wire.done("addGraphTool", &json!({ "tool": says("hello", "hello") }));
    let answer = graphs.request("tools/call", json!({ "name": "hello", "arguments": {} }));
    assert_eq!(answer["result"]["structuredContent"], json!({ "said": "hello" }), "{answer}");
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_rights_are_kept() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let project = Project::new();
    project.write("real/tools.yaml", FILE);
    let real = project.path().join("real/tools.yaml");
    symlink("real/tools.yaml", project.path().join("g.yaml")).expect("a link");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).expect("rights");
    let mut wire = client(&project);
    wire.done("addGraphTool", &json!({ "tool": says("hello", "hello") }));
    assert!(project.path().join("g.yaml").is_symlink());
    assert!(std::fs::read_to_string(&real).expect("it is there").contains("hello"));
    let mode = std::fs::metadata(&real).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o440)).expect("rights");
    refused(&mut wire, "deleteGraphTool", &json!({ "toolName": "hello" }), "read_only");
}

#[test]
fn one_file_is_named() {
    let project = project();
    project.write("h.yaml", FILE);
    project.write("empty/notes.md", "");
    for (arguments, words) in [
        (vec![], "no file is named"),
        (vec!["g.yaml", "h.yaml"], "2 files are named"),
        (vec!["."], "is a folder with 2 definitions"),
        (vec!["empty"], "holds no definition"),
        (vec!["nowhere/g.yaml"], "there is no folder"),
    ] {
        let mut all = vec!["serve", "--toolset", "author"];
        all.extend(&arguments);
        let done = project.command(&all).output().expect("the command runs");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(!done.status.success() && said.contains(words) && said.contains("help"), "{arguments:?}: {said}");
    }
}

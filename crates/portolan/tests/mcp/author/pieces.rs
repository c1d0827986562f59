//! Definitions of all formats are looked at, and edited piece by piece; what is refused leaves their files as they are.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use super::{FILE, refused};
use crate::support::{Project, Wire};

const NAVIGATOR: &str = r#"{
  "name": "Release",
  "nodes": {
    "start": { "type": "start" },
    "write":   { "type": "task", "name": "Write", "instructions": "Write it." },
    "check": { "type": "gate", "name": "Check", "maxRetries": 2 },
    "done": { "type": "end", "result": "success" },
    "stuck": { "type": "end", "result": "blocked", "escalation": "hitl" }
  },
  "edges": [
    { "from": "start", "to": "write" },
    { "from": "write", "to": "check" },
    { "from": "check", "to": "done", "on": "passed" },
    { "from": "check", "to": "write", "on": "failed" },
    { "from": "check", "to": "stuck", "on": "failed" }
  ]
}
"#;

const ACTIVITIES: &str = "\
# Tea.
id: tea
version: 1.0.0
title: Tea
activities:
  - id: boil   # first
    version: 1.0.0
    name: Boil
    steps:
      # Fresh water.
      - { id: fill, name: Fill the kettle }
    transitions: [{ to: pour }]
  - id: pour
    version: 1.0.0
    name: Pour
    steps:
      - { id: wait, name: Wait }
";

const PHASES: &str = "# A flow.\nid: a\nphases:\n  - id: plan   # first\n  # The work.\n  - id: make\n    prompt: Do it.\n  - id: ship\n";

const STATES: &str = "\
objective: A greeting   # short
states:
  # The first try.
  draft:
    objective: Greet
  send:
    objective: End it
    is_final: true
transitions:
  draft: send
";

fn served(files: &[(&str, &str)], name: &str) -> (Project, Wire) {
    let project = Project::new();
    files.iter().for_each(|(file, text)| project.write(file, text));
    let wire = project.client(&[name, "--toolset", "author"]);
    (project, wire)
}

fn revision(wire: &mut Wire) -> Value {
    wire.done("getDefinition", &json!({ "show": [] }))["revision"].clone()
}

/// Arguments of an edit of what is there now.
fn edit(wire: &mut Wire, operations: &Value) -> Value {
    json!({ "revision": revision(wire), "do": operations })
}

/// What operations change in a file, in the file itself as in the answer.
fn changes(name: &str, text: &str, operations: &Value, expected: Expect) {
    let (project, mut wire) = served(&[(name, text)], name);
    let arguments = edit(&mut wire, operations);
    let mut trial = arguments.clone();
    trial["dryRun"] = json!(true);
    let tried = wire.done("editDefinition", &trial);
    assert_eq!(contents(&project)[name], text, "nothing is written by a trial");
    assert_eq!((&tried["written"], &tried["revision"]), (&json!(false), &arguments["revision"]));
    let edited = wire.done("editDefinition", &arguments);
    assert_eq!((&edited["written"], &edited["difference"]), (&json!(true), &tried["difference"]));
    assert_eq!(revision(&mut wire), edited["revision"], "the next edit needs no look in between");
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<String>>();
    let (before, after) = (lines(text), lines(&contents(&project)[name]));
    let gone = before.iter().filter(|line| !after.contains(line)).map(|line| format!("-{line}\n"));
    let told: String =
        gone.chain(after.iter().filter(|line| !before.contains(line)).map(|line| format!("+{line}\n"))).collect();
    expected.assert_eq(&told);
    for line in told.lines() {
        assert!(edited["difference"].as_str().is_some_and(|all| all.contains(line)), "{line}: {edited:#}");
    }
    project.run(&["check", name]);
}

/// The texts of the definitions of a project.
fn contents(project: &Project) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![project.path()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let is_text = path.extension().is_some_and(|ending| ending == "yaml" || ending == "json");
            if path.is_dir() {
                waiting.push(path);
            } else if is_text {
                let name = path.strip_prefix(project.path()).unwrap_or(&path).to_string_lossy().into_owned();
                all.insert(name, std::fs::read_to_string(&path).expect("a text"));
            }
        }
    }
    all
}

#[test]
fn a_navigator_graph_is_edited() {
    changes(
        "release.json",
        NAVIGATOR,
        &json!([
            { "is": "add", "kind": "task", "id": "proofread", "edge": "write -> check", "values": { "name": "Proofread", "instructions": "Read it." } },
            { "is": "rename", "node": "write", "to": "draft" },
            { "is": "reconnect", "edge": "check -failed-> draft", "to": "proofread" },
        ]),
        expect![[r#"
            -    "write":   { "type": "task", "name": "Write", "instructions": "Write it." },
            -    { "from": "start", "to": "write" },
            -    { "from": "write", "to": "check" },
            -    { "from": "check", "to": "write", "on": "failed" },
            +    "draft":   { "type": "task", "name": "Write", "instructions": "Write it." },
            +    "proofread": { "type": "task", "name": "Proofread", "instructions": "Read it." },
            +    { "from": "start", "to": "draft" },
            +    { "from": "draft", "to": "proofread" },
            +    { "from": "proofread", "to": "check" },
            +    { "from": "check", "to": "proofread", "on": "failed" },
        "#]],
    );
}

#[test]
fn activities_in_one_file_are_edited() {
    changes(
        "tea.yaml",
        ACTIVITIES,
        &json!([
            { "is": "add", "kind": "step", "id": "heat", "after": "boil.fill", "values": { "name": "Heat it" } },
            { "is": "set", "node": "boil", "field": "description", "value": "Hot water." },
            { "is": "rename", "node": "pour", "to": "serve" },
        ]),
        expect![[r#"
            -    transitions: [{ to: pour }]
            -  - id: pour
            +      - id: heat
            +        name: Heat it
            +    transitions: [{ to: serve }]
            +    description: Hot water.
            +  - id: serve
        "#]],
    );
}

#[test]
fn a_graph_of_tool_calls_is_edited() {
    changes(
        "g.yaml",
        FILE,
        &json!([
            { "is": "set", "node": "add", "field": "args", "value": { "a": { "expr": "$.entry.a" }, "b": 3 } },
            { "is": "add", "kind": "transform", "id": "double", "edge": "add -> exit", "values": { "transform.expr": "{ \"sum\": $.add.sum * 2 }" } },
            { "is": "set", "field": "description", "value": "Adds and doubles" },
        ]),
        expect![[r#"
            -    description: Adds two numbers   # both are needed
            -          b: 2
            +    description: Adds and doubles   # both are needed
            +          b: 3
            +        next: double
            +      - id: double
            +        type: transform
            +        transform:
            +          expr: '{ "sum": $.add.sum * 2 }'
        "#]],
    );
}

#[test]
fn phases_are_edited() {
    changes(
        "flow.yaml",
        PHASES,
        &json!([
            { "is": "add", "kind": "phase", "id": "review", "after": "make", "values": { "prompt": "Look at it." } },
            { "is": "set", "node": "make", "field": "prompt", "value": null },
            { "is": "rename", "node": "plan", "to": "think" },
        ]),
        expect![[r#"
            -  - id: plan   # first
            -    prompt: Do it.
            +  - id: think   # first
            +  - id: review
            +    prompt: Look at it.
        "#]],
    );
}

#[test]
fn states_are_edited() {
    changes(
        "hello.yaml",
        STATES,
        &json!([
            { "is": "add", "kind": "state", "id": "polish", "after": "draft", "values": { "objective": "Make it shine" } },
            { "is": "rename", "node": "draft", "to": "sketch" },
            { "is": "set", "field": "objective", "value": "A good greeting" },
        ]),
        expect![[r#"
            -objective: A greeting   # short
            -  draft:
            -  draft: send
            +objective: A good greeting   # short
            +  sketch:
            +  polish:
            +    objective: Make it shine
            +  sketch: polish
            +  polish: send
        "#]],
    );
}

#[test]
fn a_folder_of_activities_is_edited_in_the_files_that_are_meant() {
    let files = [
        ("tea/workflow.yaml", "# Tea.\nid: tea\nversion: 1.0.0\ntitle: Tea\n"),
        (
            "tea/activities/01-boil.yaml",
            "id: boil   # first\nversion: 1.0.0\nname: Boil\nsteps:\n  - { id: fill, name: Fill it }\ntransitions: [{ to: pour }]\n",
        ),
        ("tea/activities/02-pour.yaml", "id: pour\nversion: 1.0.0\nname: Pour\nsteps:\n  - { id: wait, name: Wait }\n"),
        ("other.yaml", STATES),
    ];
    let (project, mut wire) = served(&files, "tea");
    let whole = wire.done("getDefinition", &json!({ "show": ["nodes", "texts"], "nodes": ["pour", "pour.wait"] }));
    assert_eq!((&whole["file"], &whole["format"]), (&json!("tea/workflow.yaml"), &json!("activity")));
    assert_eq!(whole["texts"].as_array().map(Vec::len), Some(3));
    assert_eq!(whole["graphs"][0]["nodes"][1]["values"]["name"], "Wait");
    let before = contents(&project);
    let faulty = edit(&mut wire, &json!([{ "is": "set", "node": "pour.wait", "field": "nmae", "value": "x" }]));
    let error = refused(&mut wire, "editDefinition", &faulty, "invalid_definition");
    let fault = &error["diagnostics"][0];
    assert_eq!((&fault["file"], &fault["line"]), (&json!("tea/activities/02-pour.yaml"), &json!(5)), "{error:#}");
    let arguments = edit(&mut wire, &json!([{ "is": "rename", "node": "pour", "to": "serve" }]));
    let edited = wire.done("editDefinition", &arguments);
    assert_eq!(edited["nodes"], json!(["serve"]));
    let mut expected = before.clone();
    for (file, from, to) in [("01-boil", "{ to: pour }", "{ to: serve }"), ("02-pour", "id: pour", "id: serve")] {
        let text = expected.get_mut(&format!("tea/activities/{file}.yaml")).expect("it is there");
        *text = text.replace(from, to);
    }
    assert_eq!(contents(&project), expected);
    project.write("tea/activities/02-pour.yaml", &expected["tea/activities/02-pour.yaml"].replace("Wait", "Wait long"));
    refused(
        &mut wire,
        "editDefinition",
        &json!({ "revision": edited["revision"], "do": [{ "is": "delete", "nodes": ["serve"] }] }),
        "stale",
    );
}

#[test]
fn an_activity_of_a_folder_comes_and_goes_as_a_file() {
    let activity = |id: &str, more: &str| {
        format!("id: {id}\nversion: 1.0.0\nname: {id}\nsteps:\n  - {{ id: wait, kind: step, name: Wait }}\n{more}")
    };
    let (boil, pour) = (activity("boil", "transitions: [{ to: pour }]\n"), activity("pour", ""));
    let files = [
        ("tea/workflow.yaml", "# Tea.\nid: tea\nversion: 1.0.0\ntitle: Tea\n"),
        ("tea/activities/01-boil.yaml", &boil),
        ("tea/activities/02-pour.yaml", &pour),
    ];
    let (project, mut wire) = served(&files, "tea");
    let before = contents(&project);
    let steps = json!([{ "id": "stir", "kind": "step", "name": "Stir" }]);
    let add = json!({ "is": "add", "kind": "activity", "id": "stir", "after": "boil", "values": { "name": "Stir", "steps": steps } });
    let rename = json!({ "is": "rename", "node": "stir", "to": "mix" });
    let delete = json!({ "is": "delete", "nodes": ["pour"] });
    let mut arguments = edit(&mut wire, &json!([add, rename, delete]));
    arguments["dryRun"] = json!(true);
    let tried = wire.done("editDefinition", &arguments);
    expect![[r#"
        --- tea/activities/01-boil.yaml
        +++ tea/activities/01-boil.yaml
        @@ -3,4 +3,4 @@
         name: boil
         steps:
           - { id: wait, kind: step, name: Wait }
        -transitions: [{ to: pour }]
        +transitions: [{ to: mix }]
        --- tea/activities/02-pour.yaml
        +++ /dev/null
        @@ -1,5 +0,0 @@
        -id: pour
        -version: 1.0.0
        -name: pour
        -steps:
        -  - { id: wait, kind: step, name: Wait }
        --- /dev/null
        +++ tea/activities/03-stir.yaml
        @@ -0,0 +1,6 @@
        +id: mix
        +name: Stir
        +steps:
        +  - id: stir
        +    kind: step
        +    name: Stir
    "#]]
    .assert_eq(tried["difference"].as_str().expect("a text"));
    assert_eq!(contents(&project), before, "nothing is written");
    arguments["dryRun"] = json!(false);
    project.write("tea/activities/03-stir.yaml", "id: theirs\n");
    refused(&mut wire, "editDefinition", &arguments, "stale");
    std::fs::remove_file(project.path().join("tea/activities/03-stir.yaml")).expect("it is there");
    let edited = wire.done("editDefinition", &arguments);
    assert_eq!((&edited["nodes"], &edited["difference"]), (&json!(["stir", "mix", null]), &tried["difference"]));
    let left: Vec<String> = contents(&project).into_keys().filter(|name| name.starts_with("tea/activities")).collect();
    assert_eq!(left, ["tea/activities/01-boil.yaml", "tea/activities/03-stir.yaml"]);
    let last = json!({ "revision": edited["revision"], "do": [{ "is": "delete", "nodes": ["boil", "mix"] }] });
    refused(&mut wire, "editDefinition", &last, "not_editable");
    project.run(&["check", "tea"]);
}

#[test]
fn what_is_asked_for_is_shown() {
    let (_project, mut wire) = served(&[("release.json", NAVIGATOR)], "release.json");
    let usual = wire.done("getDefinition", &json!({}));
    assert_eq!((&usual["format"], &usual["sound"]), (&json!("navigator"), &json!(true)));
    let graph = &usual["graphs"][0];
    assert_eq!(graph["fields"], json!({ "name": "Release" }));
    assert_eq!(
        graph["nodes"][1],
        json!({ "id": "write", "kind": "task", "values": { "name": "Write", "instructions": "Write it." } })
    );
    assert_eq!(graph["edges"][3], json!({ "edge": "check -failed-> write" }));
    assert!(usual.get("kinds").is_none() && usual.get("texts").is_none());
    let some = wire.done("getDefinition", &json!({ "nodes": ["write"], "show": ["nodes", "edges"] }));
    assert_eq!(some["graphs"][0]["nodes"].as_array().map(Vec::len), Some(1));
    assert_eq!(some["graphs"][0]["edges"].as_array().map(Vec::len), Some(3));
    let kinds = wire.done("getDefinition", &json!({ "show": ["kinds", "texts"] }));
    let task = kinds["kinds"].as_array().expect("kinds").iter().find(|kind| kind["kind"] == "task").expect("a task");
    assert!(task["fields"].as_array().expect("fields").iter().any(|field| field["field"] == "instructions"));
    assert_eq!(kinds["texts"], json!([{ "file": "release.json", "text": NAVIGATOR }]));
    for (arguments, code) in [
        (json!({ "graph": "relase" }), "unknown_graph"),
        (json!({ "nodes": ["wirte"] }), "unknown_node"),
        (json!({ "show": ["colours"] }), "invalid_arguments"),
        (json!({ "graph": 7 }), "invalid_arguments"),
    ] {
        refused(&mut wire, "getDefinition", &arguments, code);
    }
}

#[test]
fn only_the_tools_that_fit_a_file_are_listed() {
    let (_project, mut wire) = served(&[("release.json", NAVIGATOR)], "release.json");
    let listed = wire.request("tools/list", json!({}));
    let names: Vec<&str> =
        listed["result"]["tools"].as_array().expect("tools").iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, ["getDefinition", "editDefinition"]);
    let answer = wire.request("tools/call", json!({ "name": "addGraphTool", "arguments": {} }));
    let said = answer["error"]["message"].as_str().expect("an error");
    assert!(said.contains("files of graphs") && said.contains("editDefinition"), "{said}");
}

#[test]
fn an_edit_is_refused_as_a_whole() {
    let (project, mut wire) = served(&[("release.json", NAVIGATOR)], "release.json");
    let good = json!({ "is": "set", "node": "write", "field": "name", "value": "Draft" });
    for (second, code, words) in [
        (json!({ "is": "delete", "nodes": ["wirte"] }), "not_editable", "operation 2 (`delete`)"),
        (json!({ "is": "disconnect", "edge": "check -> write" }), "not_editable", "operation 2 (`disconnect`)"),
        (json!({ "is": "add", "kind": "tusk" }), "not_editable", "operation 2 (`add`)"),
        (json!({ "is": "set", "node": "write", "field": "instrctions", "value": "x" }), "invalid_definition", "faults"),
        (json!({ "is": "disconnect", "edge": "write -> check" }), "invalid_definition", "faults"),
        (json!({ "is": "set", "field": "tools", "value": [] }), "another_format", "another format"),
        (json!({ "is": "set", "field": "mcpServers.x", "value": { "command": "x" } }), "servers", "servers"),
        (json!({ "is": "remove", "nodes": ["write"] }), "invalid_arguments", "no such operation"),
        (json!({ "is": "delete", "node": "write" }), "invalid_arguments", "cannot be read"),
        (json!({ "is": "disconnect", "edge": 1 }), "invalid_arguments", "must be a text"),
        (json!({ "node": "write" }), "invalid_arguments", "does not say"),
        (json!("set"), "invalid_arguments", "does not say"),
    ] {
        let arguments = edit(&mut wire, &json!([good, second]));
        let error = refused(&mut wire, "editDefinition", &arguments, code);
        assert!(error["message"].as_str().is_some_and(|text| text.contains(words)), "{error:#}");
        if code == "invalid_definition" {
            assert!(error["diagnostics"][0]["line"].is_u64(), "{error:#}");
        }
    }
    let near = edit(&mut wire, &json!([{ "is": "delete", "nodes": ["wirte"] }]));
    assert_eq!(refused(&mut wire, "editDefinition", &near, "not_editable")["help"], "did you mean `write`?");
    let many = edit(&mut wire, &Value::Array(vec![good.clone(); 101]));
    refused(&mut wire, "editDefinition", &many, "invalid_arguments");
    let long = json!([{ "is": "set", "node": "write", "field": "name", "value": "x".repeat(5 << 20) }]);
    let long = edit(&mut wire, &long);
    refused(&mut wire, "editDefinition", &long, "too_large");
    for arguments in [
        json!({ "do": [good] }),
        json!({ "revision": "x" }),
        json!({ "revision": "x", "do": [] }),
        json!({ "revision": "x", "do": good }),
    ] {
        refused(&mut wire, "editDefinition", &arguments, "invalid_arguments");
    }
    refused(&mut wire, "editDefinition", &json!({ "revision": "x", "do": [good] }), "stale");
    assert_eq!(contents(&project)["release.json"], NAVIGATOR, "nothing was written");
}

#[test]
fn what_a_person_writes_meanwhile_is_not_written_over() {
    let (project, mut wire) = served(&[("flow.yaml", PHASES)], "flow.yaml");
    let arguments = edit(&mut wire, &json!([{ "is": "rename", "node": "make", "to": "build" }]));
    let theirs = PHASES.replace("# A flow.", "# Our flow.");
    project.write("flow.yaml", &theirs);
    refused(&mut wire, "editDefinition", &arguments, "stale");
    assert_eq!(contents(&project)["flow.yaml"], theirs);
    let again = edit(&mut wire, &arguments["do"]);
    wire.done("editDefinition", &again);
    assert_eq!(contents(&project)["flow.yaml"], theirs.replace("id: make", "id: build"));
}

#[test]
fn a_faulty_definition_can_be_mended() {
    let faulty = NAVIGATOR.replace("\"to\": \"check\"", "\"to\": \"chekc\"");
    let (project, mut wire) = served(&[("release.json", &faulty)], "release.json");
    let whole = wire.done("getDefinition", &json!({}));
    assert_eq!(whole["sound"], false);
    assert!(whole["diagnostics"].as_array().is_some_and(|all| !all.is_empty()));
    let one = edit(&mut wire, &json!([{ "is": "set", "field": "name", "value": "Release it" }]));
    let written = wire.done("editDefinition", &one);
    assert!(written["message"].as_str().is_some_and(|text| text.contains("other faults")), "{written:#}");
    let two = edit(&mut wire, &json!([{ "is": "reconnect", "edge": "write -> chekc", "to": "check" }]));
    wire.done("editDefinition", &two);
    assert_eq!(contents(&project)["release.json"], NAVIGATOR.replace("\"Release\"", "\"Release it\""));
    project.write("release.json", "{ \"nodes\": ");
    let whole = wire.done("getDefinition", &json!({}));
    assert_eq!((&whole["format"], &whole["graphs"]), (&Value::Null, &json!([])));
    let three = edit(&mut wire, &one["do"]);
    refused(&mut wire, "editDefinition", &three, "not_editable");
}

#[test]
fn ends_of_lines_and_marks_are_kept() {
    let text = format!("\u{feff}{}", PHASES.replace('\n', "\r\n"));
    let (project, mut wire) = served(&[("flow.yaml", &text)], "flow.yaml");
    let arguments = edit(&mut wire, &json!([{ "is": "add", "kind": "phase", "id": "review", "after": "make" }]));
    wire.done("editDefinition", &arguments);
    let added = text.replace("Do it.\r\n", "Do it.\r\n  - id: review\r\n");
    assert_eq!(contents(&project)["flow.yaml"], added);
}

#[test]
fn a_tool_of_several_is_named_and_the_others_keep_their_meaning() {
    let (project, mut wire) = served(&[("g.yaml", FILE)], "g.yaml");
    wire.done("addGraphTool", &json!({ "tool": super::says("hello", "hello") }));
    let before = super::text(&project);
    let mut arguments = edit(
        &mut wire,
        &json!([{ "is": "set", "field": "name", "value": "hi" }, { "is": "rename", "node": "say", "to": "speak" }]),
    );
    refused(&mut wire, "editDefinition", &arguments, "graph_required");
    arguments["graph"] = json!("hello");
    wire.done("editDefinition", &arguments);
    assert_eq!(super::text(&project), before.replace("name: hello", "name: hi").replace("say\n", "speak\n"));
    let ran = wire.done("runGraphTool", &json!({ "toolName": "hi", "arguments": {} }));
    assert_eq!(ran["result"], json!({ "said": "hello" }));
    assert_eq!(wire.done("getDefinition", &json!({ "graph": "hi" }))["graphs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn servers_are_neither_shown_nor_written() {
    let text = FILE.replace("\ntools:", "\nmcpServers: { s: { command: sh, env: { TOKEN: t0ps3cret } } }\n\ntools:");
    let (project, mut wire) = served(&[("g.yaml", &text)], "g.yaml");
    let shown = wire.done("getDefinition", &json!({ "show": ["fields", "nodes", "edges", "kinds", "diagnostics"] }));
    assert!(!shown.to_string().contains("t0ps3cret") && !shown.to_string().contains("mcpServers"), "{shown:#}");
    let arguments = edit(&mut wire, &json!([{ "is": "set", "field": "mcpServers.s.command", "value": "bash" }]));
    refused(&mut wire, "editDefinition", &arguments, "servers");
    assert_eq!(super::text(&project), text);
}

#[test]
fn what_is_written_is_not_trusted() {
    let accepting = NAVIGATOR
        .replace("\"maxRetries\": 2", "\"maxRetries\": 2, \"accept\": [{ \"id\": \"t\", \"run\": [\"true\"] }]");
    let (project, mut wire) = served(&[("release.json", &accepting)], "release.json");
    project.run(&["trust", "release.json"]);
    let trusted = |project: &Project| project.run(&["trust", "--list"]);
    let before = trusted(&project);
    let run = json!([{ "id": "t", "run": ["rm", "-r", "x"] }]);
    let arguments = edit(&mut wire, &json!([{ "is": "set", "node": "check", "field": "accept", "value": run }]));
    wire.done("editDefinition", &arguments);
    assert_eq!(trusted(&project), before, "the commands are others, and nobody has trusted them");
}

#[test]
fn what_is_not_there_yet_is_not_edited() {
    let (_project, mut wire) = served(&[], "new.yaml");
    for (tool, arguments) in [
        ("getDefinition", json!({})),
        ("editDefinition", json!({ "revision": "x", "do": [{ "is": "delete", "nodes": [] }] })),
    ] {
        let error = refused(&mut wire, tool, &arguments, "no_definition");
        assert!(error["help"].as_str().is_some_and(|help| help.contains("addGraphTool")), "{error:#}");
    }
}

/// Whatever is sent, it is answered, and the file can be read afterwards.
#[test]
fn nothing_that_is_sent_ends_the_server() {
    let hostile =
        ["", " ", "a\nb", "\u{0}", "start", "..", "x.y", "#", "'\"", "\u{feff}é𝄞", "- ", "{", "&a", "*a", "!!str"];
    let values = [json!(null), json!([]), json!({}), json!({ "a": [{ "b": null }] }), json!("*x\n: &y"), json!(1e300)];
    for (name, text, node, kind) in [
        ("release.json", NAVIGATOR, "write", "task"),
        ("tea.yaml", ACTIVITIES, "boil.fill", "step"),
        ("g.yaml", FILE, "add", "transform"),
        ("flow.yaml", PHASES, "make", "phase"),
        ("hello.yaml", STATES, "draft", "state"),
    ] {
        let (project, mut wire) = served(&[(name, text)], name);
        for (nth, word) in hostile.iter().enumerate() {
            let value = &values[nth % values.len()];
            for operation in [
                json!({ "is": "set", "node": node, "field": word, "value": value }),
                json!({ "is": "set", "field": word, "value": value }),
                json!({ "is": "set", "node": word, "field": "name", "value": word }),
                json!({ "is": "add", "kind": kind, "id": word, "after": node, "on": word, "values": { *word: value } }),
                json!({ "is": "add", "kind": word, "edge": word }),
                json!({ "is": "connect", "from": node, "to": word, "on": word }),
                json!({ "is": "connect", "from": node, "to": node, "on": word }),
                json!({ "is": "outcome", "edge": word, "on": word }),
                json!({ "is": "rename", "node": node, "to": word }),
                json!({ "is": "delete", "nodes": [word, node, node] }),
                json!({ "is": "duplicate", "node": word }),
                json!({ "is": "kind", "node": node, "kind": word }),
            ] {
                project.write(name, text);
                let arguments = edit(&mut wire, &json!([operation]));
                let answer = wire.call("editDefinition", &arguments);
                if answer.is_error {
                    assert_eq!(contents(&project)[name], text, "{operation}");
                    assert!(
                        answer.value["error"]["help"].as_str().is_some_and(|help| !help.is_empty()),
                        "{:#}",
                        answer.value
                    );
                } else {
                    let whole = wire.done("getDefinition", &json!({}));
                    assert_eq!(whole["sound"], true, "{operation}: {whole:#}");
                }
            }
        }
    }
}

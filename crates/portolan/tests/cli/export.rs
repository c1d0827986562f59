//! `portolan export`. What LangGraph makes of its modules is shown by `tests/clients/langgraph_walk.py`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use expect_test::{expect, expect_file};
use serde_json::{Value, json};

use crate::support::Project;

const STATES: &str = r#"{
  "version": "2.0",
  "objective": "A greeting",
  "states": {
    "greet": {"objective": "Greet", "key_results": [{"name": "greets", "description": "Is not empty", "check": "len(output) > 0"}],
      "tools": [], "max_retries": 3.0e0, "is_initial": true, "is_final": true, "execute_module": null, "mine": [1.50]}
  },
  "transitions": {"greet": null},
  "graph_layout": {"greet": [80, 120]}
}
"#;

#[test]
fn a_definition_is_the_same_in_both_spellings() {
    let project = Project::new();
    project.write("w.json", STATES);
    let yaml = project.says("export w.json --to yaml");
    expect![[r#"
        version: "2.0"
        objective: A greeting
        states:
          greet:
            objective: Greet
            key_results:
              - name: greets
                description: Is not empty
                check: "len(output) > 0"
            tools: []
            max_retries: 3.0e0
            is_initial: true
            is_final: true
            execute_module: null
            mine:
              - 1.50
        transitions:
          greet: null
        graph_layout:
          greet:
            - 80
            - 120
        exit: 0
    "#]]
    .assert_eq(&yaml);
    project.write("w.yaml", yaml.trim_end_matches("exit: 0\n"));
    project.says("export w.yaml --to json --out again.json");
    let value = |file: &str| -> Value {
        serde_json::from_str(&std::fs::read_to_string(project.path().join(file)).expect("a file")).expect("JSON")
    };
    assert_eq!(value("again.json"), value("w.json"));
}

#[test]
fn what_the_original_reads_otherwise_is_said() {
    let project = Project::new();
    project.write(
        "w.yaml",
        "
objective: o
limits: {steps: 9}
states:
  a:
    objective: o
    key_results:
      - {name: judged, description: it is good}
      - {name: long, description: it is long, check: {expr: $length(output) > 9}}
      - {name: there, file: out.txt}
  b: {transform: a, is_final: true}
transitions: {a: {choose: {expr: \"'b'\"}, to: [b]}}
",
    );
    let said = project.says("export w.yaml --to json");
    let told: Vec<&str> = said.lines().filter(|line| line.contains("warning")).collect();
    expect![[r#"
        stderr: warning[beyond-original]: fsm-agent-flow: `judged` of `a` would count as met, because nothing judges it
        stderr: warning[beyond-original]: fsm-agent-flow: the check of `long` of `a` is not Python, and would fail
        stderr: warning[beyond-original]: fsm-agent-flow: the key result `there` of `a` has no description, which is required
        stderr: warning[beyond-original]: fsm-agent-flow: `there` of `a` would count as met, because nothing judges it
        stderr: warning[beyond-original]: fsm-agent-flow: the state `b` has no objective, which is required
        stderr: warning[beyond-original]: fsm-agent-flow: it would not compute the transition of `a` but look for a branch
        stderr: warning[beyond-original]: fsm-agent-flow: it ignores what it does not know: `file`, `limits` and `transform`
    "#]].assert_eq(&(told.join("\n") + "\n"));
}

/// A text that would be code in Python and in LangGraph, were it pasted.
const HOSTILE: &str = "a\"); import os; os.system('touch pwned') #\\\n\"\"\" \u{2028} end";

#[test]
fn a_module_of_python_has_every_name_as_data() {
    let project = Project::new();
    let workflow = json!({
        "objective": HOSTILE,
        "states": {
            "first": { "objective": HOSTILE, "description": HOSTILE },
            "a-b": { "objective": "o" }, "a_b": { "objective": "o" }, "run": { "objective": "o" },
            "__end__": { "objective": "o" }, "class": { "execute": "none", "is_final": true },
        },
        "transitions": {
            "first": { HOSTILE: "a-b", "default": "a_b" }, "a-b": "run", "a_b": "__end__", "run": "class", "__end__": "class",
        },
    });
    project.write("w.json", workflow.to_string());
    let said = project.says("export w.json --to langgraph --out w.py");
    assert_eq!(said, "stderr: wrote w.py\nexit: 0\n");
    let module = std::fs::read_to_string(project.path().join("w.py")).expect("it was written");
    let (before, data) = module.split_once("WORKFLOW = json.loads(").expect("it has data");
    let (data, after) = data.split_once(")\n").expect("they end");
    assert!(!before.contains("touch") && !after.contains("touch"));
    let data: String = serde_json::from_str(data).expect("one text");
    let data: Value = serde_json::from_str(&data).expect("JSON");
    let nodes = data["nodes"].as_array().expect("nodes");
    let names: Vec<&str> = nodes.iter().filter_map(|node| node["name"].as_str()).collect();
    for name in ["run_2", "__end___2", "a-b", "a_b", "class"] {
        assert!(names.contains(&name), "{names:?}");
    }
    assert_eq!(data["definition"], "w.json");
    let said = project.says("export w.json --to langgraph --out w.py");
    expect![[r#"
        stderr: error: `w.py` already exists
        stderr: help: name another file, or use `--force`
        exit: 2
    "#]]
    .assert_eq(&said);
    assert!(project.says("export w.json --to langgraph --out w.py --force").ends_with("exit: 0\n"));
}

#[test]
fn what_cannot_be_exported_is_refused() {
    let project = Project::new();
    project.write("bad.json", r#"{"objective": "o", "states": {"a": {}}}"#);
    project.write("worse.json", "{");
    expect![[r#"
        stderr: error[missing-field]: state `a` has no `objective`
        stderr:  --> bad.json:1:36
        stderr:   |
        stderr: 1 | {"objective": "o", "states": {"a": {}}}
        stderr:   |                                    ^
        stderr: 
        stderr: error: `bad.json` has 1 error
        stderr: help: fix them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("export bad.json --to langgraph"));
    assert!(project.says("export worse.json --to yaml").ends_with("exit: 3\n"));
    expect![[r#"
        stderr: error: `nothing` is neither a file nor the id of a workflow
        stderr: help: `portolan catalog list` shows what comes with Portolan; a project has its own in `.flow/workflows`
        exit: 2
    "#]]
    .assert_eq(&project.says("export nothing --to langgraph"));
    assert!(project.says("export nothing.yaml --to langgraph").contains("there is no file `nothing.yaml`"));
    assert!(project.says("export nothing.json --to yaml").contains("nothing.json"));
    assert!(project.says("export bug-fix --to langgraph").contains("StateGraph"));
}

/// What is exported, beside the definition that it is exported of.
const EXPORTED: [(&str, &str); 2] = [("function", "research.yaml"), ("led", "errand.json")];

fn exported(kind: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exported").join(kind)
}

/// The programs that are compiled with the examples of this package are those that are written today.
#[test]
fn the_exported_projects_are_current() {
    for (kind, definition) in EXPORTED {
        let project = Project::new();
        let text = std::fs::read_to_string(exported(kind).join(definition)).expect("a definition");
        project.write(definition, text);
        let said = project.says(&format!("export {definition} --to rust --out made"));
        assert!(said.ends_with("exit: 0\n"), "{said}");
        for file in ["Cargo.toml", "src/main.rs", "src/functions.rs", "definition.json", "workflows/errand.json"] {
            if let Ok(text) = std::fs::read_to_string(project.path().join("made").join(file)) {
                // Cargo takes no package within a package.
                let file = if file == "Cargo.toml" { "manifest.txt" } else { file };
                expect_file![exported(kind).join(file)].assert_eq(&text);
            }
        }
        let again = project.says(&format!("export {definition} --to rust --out made"));
        assert!(again.contains("the folder `made` is not empty"), "{again}");
    }
}

/// An exported program, which cargo builds with the examples of this package.
fn program(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_BIN_EXE_portolan")).parent().expect("a folder");
    folder.join("examples").join(name).with_extension(std::env::consts::EXE_EXTENSION)
}

#[test]
fn an_exported_function_runs_and_says_what_is_to_be_written() {
    let project = Project::new();
    project.write("answers.yaml", "- text: maps are old\n");
    let ran = Command::new(program("exported-function"))
        .args(["topic=maps", "--model", "scripted:answers.yaml"])
        .current_dir(project.path())
        .output()
        .expect("it was built with the tests");
    let told = String::from_utf8_lossy(&ran.stderr);
    // The second state is worked on by a function, which is a stub that says so.
    assert!(told.contains("the run waits at shout"), "{told}");
    assert_eq!(ran.status.code(), Some(4));
    let wrong = Command::new(program("exported-function")).arg("topic").output().expect("it was built with the tests");
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("`topic` is not `key=value`"));
}

#[test]
fn an_exported_workflow_leads_whoever_is_at_the_terminal() {
    let project = Project::new();
    let mut led = Command::new(program("exported-led"))
        .current_dir(project.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it was built with the tests");
    led.stdin.take().expect("a pipe").write_all(b"perfect\npassed\npassed\n").expect("it listens");
    let ended = led.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&ended.stdout);
    assert!(
        told.contains("Go \"there\"") && told.contains("refused: ") && told.contains("the run is over: success"),
        "{told}"
    );
    assert!(ended.status.success());
}

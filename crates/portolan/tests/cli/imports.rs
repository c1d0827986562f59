//! Workflows of fsm-agent-flow become workflows of the project.

use expect_test::expect;

use crate::support::Project;

const SAVED: &str = r#"{
  "version": "2.0",
  "objective": "An article",
  "states": {
    "draft": {
      "objective": "Write it",
      "key_results": [
        { "name": "long", "description": "is long", "check": "len(output) >= 5" },
        { "name": "good", "description": "is good", "check": null }
      ],
      "tools": ["search"], "max_retries": 2, "is_initial": true, "is_final": false, "execute_module": "shop.draft"
    },
    "end": { "objective": "End it", "key_results": [], "tools": [], "max_retries": 3, "is_initial": false, "is_final": true, "execute_module": null }
  },
  "transitions": { "draft": { "again": "draft", "default": "end" }, "end": null },
  "graph_layout": {}
}"#;

#[test]
fn a_workflow_of_the_original_is_taken_over_with_what_is_something_else_here() {
    let project = Project::new();
    project.write("article.json", SAVED);
    expect![[r#"
        version: "2.0"
        objective: An article
        states:
          draft:
            objective: Write it
            key_results:
              - name: long
                description: is long
                check: "len(output) >= 5"
              - name: good
                description: is good
                check: null
            tools:
              - search
            max_retries: 2
            is_initial: true
            is_final: false
            execute_module: shop.draft
          end:
            objective: End it
            key_results: []
            tools: []
            max_retries: 3
            is_initial: false
            is_final: true
            execute_module: null
        transitions:
          draft:
            again: draft
            default: end
          end: null
        graph_layout: {}
        stderr: warning[not-imported]: state `draft` names the module `shop.draft`, which is not imported: a file of states is not a program
        stderr:   --> article.json:11:103
        stderr:    |
        stderr: 11 |       "tools": ["search"], "max_retries": 2, "is_initial": true, "is_final": false, "execute_module": "shop.draft"
        stderr:    |                                                                                                       ^^^^^^^^^^^^
        stderr:    |
        stderr: help: register a function and name it with `execute`; until then a model works on it
        stderr: 
        stderr: warning[unlike-original]: `good` of `draft` counts as met in fsm-agent-flow; here a model judges it
        stderr:  --> article.json:9:9
        stderr:   |
        stderr: 9 |         { "name": "good", "description": "is good", "check": null }
        stderr:   |         ^
        stderr:   |
        stderr: help: write a `check` where no model is needed
        stderr: 
        stderr: warning[unlike-original]: the tool `search` of `draft` is a function of the program in fsm-agent-flow
        stderr:   --> article.json:11:17
        stderr:    |
        stderr: 11 |       "tools": ["search"], "max_retries": 2, "is_initial": true, "is_final": false, "execute_module": "shop.draft"
        stderr:    |                 ^^^^^^^^
        stderr:    |
        stderr: help: name a server's tool as `server/tool`, or register a function of that name in Rust
        stderr: 
        exit: 0
    "#]].assert_eq(&project.says("import fsm-agent-flow article.json"));
    let said = project.says("import fsm-agent-flow article.json --write");
    assert!(said.starts_with("wrote .flow/workflows/article.yaml\n") && said.ends_with("exit: 0\n"), "{said}");
    assert!(project.says("check .flow/workflows/article.yaml").contains("0 errors"));
    // Back in JSON it is what it was.
    let back = project.says("export .flow/workflows/article.yaml --to json");
    let back = back.split("\nstderr:").next().expect("a text");
    let values = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    assert_eq!(values(back), values(SAVED));
    let again = project.says("import fsm-agent-flow article.json --write");
    assert!(again.contains("error: `.flow/workflows/article.yaml` already exists") && again.ends_with("exit: 2\n"));
}

#[test]
fn what_is_no_workflow_of_the_original_is_refused() {
    let project = Project::new();
    project.write("other.json", "{}");
    let said = project.says("import fsm-agent-flow other.json");
    assert!(said.contains("`other.json` has no `states`") && said.ends_with("exit: 2\n"), "{said}");
    project.write("bad.json", r#"{"objective": "o", "states": {"a": {"objective": "o"}}, "transitions": {"a": "b"}}"#);
    let said = project.says("import fsm-agent-flow bad.json --write --format json");
    assert!(said.contains("`b`, which is not a state") && said.ends_with("exit: 3\n"), "{said}");
    assert!(project.says("import fsm-agent-flow bad.json --write").contains("nothing was written: fix the errors"));
    assert!(!project.path().join(".flow").exists());
    project.write("out.yaml", "id: ../../out\nobjective: o\nstates: { a: { objective: o, is_final: true } }\n");
    let said = project.says("import fsm-agent-flow out.yaml --write");
    assert!(said.contains("`../../out` cannot be the name of a file") && said.ends_with("exit: 2\n"), "{said}");
    let (linked, outside) = (Project::new(), Project::new());
    linked.write("a.yaml", "objective: o\nstates: { a: { objective: o, is_final: true } }\n");
    std::os::unix::fs::symlink(outside.path(), linked.path().join(".flow")).expect("a link");
    let said = linked.says("import fsm-agent-flow a.yaml --write");
    assert!(said.contains("is outside the project") && said.ends_with("exit: 2\n"), "{said}");
    assert!(!outside.path().join("workflows").exists());
    assert!(project.says("import fsm-agent-flow").ends_with("exit: 2\n"));
    assert!(project.says("import xcoder article.json").contains("is not read"));
}

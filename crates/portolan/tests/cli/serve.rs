//! `portolan serve`, as far as the command line goes; `tests/mcp` speaks with it.

use expect_test::expect;

use crate::support::Project;

#[test]
fn what_is_named_must_be_sound() {
    let project = Project::new();
    project.write("broken.json", "{\"nodes\": ");
    expect![[r#"
        stderr: error[syntax]: not valid JSON: expected value after colon in object property
        stderr:  --> broken.json:1:11
        stderr:   |
        stderr: 1 | {"nodes": 
        stderr:   |           ^
        stderr: 
        stderr: error: `broken.json` has 1 error
        stderr: help: fix them; nothing was done
        exit: 3
    "#]]
    .assert_eq(&project.says("serve broken.json"));
    expect![[r#"
        stderr: error: `missing.json` cannot be read: no such file or directory
        stderr: help: check the path and its permissions
        exit: 1
    "#]]
    .assert_eq(&project.says("serve missing.json"));
    expect![[r#"
        stderr: error: invalid value 'somebody' for '--human <HOW>'
        stderr:   [possible values: attested, verified]
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --human somebody"));
}

#[test]
fn a_client_that_leaves_at_once_is_no_error() {
    let project = Project::small();
    expect![[r#"
        exit: 0
    "#]]
    .assert_eq(&project.says("serve"));
    expect![[r#"
        exit: 0
    "#]]
    .assert_eq(&project.says("serve .flow/workflows --human verified --lenient --store memory"));
}

const GRAPH: &str = r#"version: "1.0"
server: { name: toolbox, version: "1" }
tools:
  - name: say
    description: Says it back
    inputSchema: { type: object }
    outputSchema: { type: object }
    nodes:
      - { id: entry, type: entry, next: exit }
      - { id: exit, type: exit }
"#;

#[test]
fn graphs_are_served_without_being_told_apart() {
    let project = Project::small();
    project.write("g.yaml", GRAPH);
    project.write("tools/g.yaml", GRAPH);
    for arguments in ["g.yaml", "g.yaml --toolset graph", "g.yaml --toolset tasks", "tools"] {
        expect![[r#"
            exit: 0
        "#]]
        .assert_eq(&project.says(&format!("serve {arguments}")));
    }
}

#[test]
fn a_tool_that_waits_for_an_agent_is_left_out_with_a_note() {
    let project = Project::small();
    let led = r#"  - name: led
    description: Has an agent do something
    inputSchema: { type: object }
    outputSchema: { type: object }
    nodes:
      - { id: entry, type: entry, next: lead }
      - { id: lead, type: call, workflow: small, next: exit }
      - { id: exit, type: exit }
"#;
    project.write("g.yaml", format!("{GRAPH}{led}"));
    expect![[r#"
        stderr: note: `led` is not served: it can wait for an agent at `work`, which a tool call cannot do; run it with `portolan run --durable`, or put it into a file of its own and serve that with `--toolset tasks`, where `Init` starts it by the file's name
        exit: 0
    "#]]
    .assert_eq(&project.says("serve g.yaml"));
    project.write("led.yaml", format!("{GRAPH}{led}"));
    let said = project.says("serve led.yaml");
    assert!(said.contains("serve its file with `--toolset tasks`, where `Init` starts it as `led`"), "{said}");
}

#[test]
fn files_of_both_kinds_are_served_apart() {
    let project = Project::small();
    project.write("g.yaml", GRAPH);
    expect![[r#"
        stderr: error: `g.yaml` holds graphs of tool calls, but `.flow/workflows/small.json` holds a workflow that an agent is led through
        stderr: help: choose the tools to serve: `--toolset navigate,graph` serves both
        exit: 2
    "#]]
    .assert_eq(&project.says("serve g.yaml .flow/workflows/small.json"));
    let said = project.says("serve .flow/workflows/small.json --toolset graph");
    assert!(said.contains("cannot be served as a tool") && said.ends_with("exit: 3\n"), "{said}");
}

#[test]
fn graphs_and_their_servers_must_be_there() {
    let project = Project::small();
    project.write("g.yaml", GRAPH);
    expect![[r#"
        stderr: error: no file of graphs is named
        stderr: help: name the files whose graphs are to be served
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --toolset graph"));
    expect![[r#"
        stderr: error: `--mcp` names servers for graphs, but no graph is served
        stderr: help: leave `--mcp` out, or name a file of graphs
        exit: 2
    "#]]
    .assert_eq(&project.says("serve --mcp mcp.json"));
    expect![[r#"
        stderr: error: `mcp.json` cannot be read: no such file or directory
        stderr: help: check the path and its permissions
        exit: 1
    "#]]
    .assert_eq(&project.says("serve g.yaml --mcp mcp.json"));
}

#[test]
fn graphs_with_faults_are_not_served() {
    let project = Project::new();
    project.write("g.yaml", GRAPH.replace("next: exit", "next: exti"));
    let said = project.says("serve g.yaml");
    assert!(said.contains("did you mean `exit`?") && said.contains("g.yaml:9:"), "{said}");
    assert!(said.ends_with("exit: 3\n"), "{said}");
    let said = project.says("serve g.yaml --format json");
    assert!(said.contains("invalid_definition") && said.ends_with("exit: 3\n"), "{said}");
}

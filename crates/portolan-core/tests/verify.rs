//! What a project attaches to workflows by `.portolan/verify.yaml`: text in, text out.

use expect_test::{Expect, expect};
use portolan_core::Workflow;
use portolan_core::diagnostic::Diagnostic;
use portolan_core::dialect::verify::{self, Attachments};
use portolan_core::dialect::{self, Strictness};
use portolan_core::graph::{Graph, KeyResultCheck, Kind, Node};
use portolan_core::source::Source;
use portolan_core::validate;

/// What is said of a text of attachments, and of what it is attached to.
fn attached(verify: &str, workflow: &str) -> String {
    let source = Source::new("verify.yaml", verify);
    let (attachments, faults) = verify::read(&source);
    let mut lines: Vec<String> = faults.iter().map(|fault| placed(&source, fault)).collect();
    let definition = Source::new("w.yaml", workflow);
    let mut graphs = dialect::parse(&definition, Strictness::Strict).graphs;
    for graph in &mut graphs {
        let before = shown(graph);
        let attached = attachments.attach(graph);
        let (_, found) = validate::validate(graph, &|_| None, Strictness::Strict);
        lines.extend(shown(graph).into_iter().filter(|line| !before.contains(line)));
        lines.extend(attached.faults.iter().chain(&found).map(|fault| placed(&definition, fault)));
        lines.push(format!("{} by {:?}", graph.id.value, attached.entries));
        again(&attachments, graph, workflow);
    }
    let graphs: Vec<&Graph> = graphs.iter().collect();
    lines.extend(attachments.unmatched(&graphs).iter().map(|fault| placed(&source, fault)));
    lines.join("\n") + "\n"
}

/// The entries that a run keeps come to the same once more, and a second time to nothing.
fn again(attachments: &Attachments, attached: &Graph, workflow: &str) {
    let kept = verify::text_of(attachments.entries.iter().map(|entry| entry.text.as_str()));
    let (kept, faults) = verify::read(&Source::new("kept", kept));
    assert!(faults.is_empty(), "{faults:?}");
    let graphs = dialect::parse(&Source::new("w.yaml", workflow), Strictness::Lenient).graphs;
    let mut graph = graphs.into_iter().find(|graph| graph.id == attached.id).expect("it is read again");
    kept.attach(&mut graph);
    assert_eq!(shown(&graph), shown(attached));
    assert!(kept.attach(&mut graph).entries.is_empty());
    assert_eq!(shown(&graph), shown(attached));
}

fn placed(source: &Source, fault: &Diagnostic) -> String {
    let place = source.place(fault.span.map_or(0, |span| span.start));
    let help = fault.help.as_ref().map(|help| format!("\n    help: {help}")).unwrap_or_default();
    format!("{place} {} {}{help}", fault.code, fault.message)
}

fn shown(graph: &Graph) -> Vec<String> {
    let variables = graph.variables.iter();
    let variables = variables.map(|variable| format!("{}: {}", variable.name.value, variable.kind.word()));
    variables.chain(graph.nodes.iter().map(node)).collect()
}

fn node(node: &Node) -> String {
    let checks = node.accept.iter().map(|check| (check.id.to_string(), format!("{:?}", check.by), check.attached));
    let results: Vec<_> = match &node.kind {
        Kind::State(state) => state.key_results.iter().collect(),
        _ => Vec::new(),
    };
    let results = results.iter().filter_map(|result| match &result.by {
        KeyResultCheck::Check(by) => {
            Some((format!("{} ({})", result.name.value, result.description), format!("{by:?}"), result.attached))
        }
        _ => None,
    });
    let checks = checks.chain(results).map(|(id, by, attached)| {
        let by = by.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("\n  {}{id}: {by}", if attached { "+ " } else { "" })
    });
    let rules = node.tools.as_ref().map(|rules| {
        let allow = rules.allow.as_ref().map(|allow| format!(" allow {allow:?}")).unwrap_or_default();
        format!("\n  tools{allow} deny {:?}", rules.deny)
    });
    let held = node.phase.as_ref().map(|_| " held").unwrap_or_default();
    format!("{}{held}{}{}", node.id, checks.collect::<String>(), rules.unwrap_or_default())
}

fn is(verify: &str, workflow: &str, expected: Expect) {
    expected.assert_eq(&attached(verify, workflow));
}

const NAVIGATOR: &str = "\
nodes:
  start: { type: start, name: Start }
  plan: { type: task, name: Plan }
  implement_it: { type: task, name: Implement, allow: [edit, Bash], deny: [WebFetch], accept: [{ check: tests }] }
  verify: { type: gate, name: Verify, maxRetries: 2 }
  done: { type: end, result: success }
edges:
  - { from: start, to: plan }
  - { from: plan, to: implement_it }
  - { from: implement_it, to: verify }
  - { from: verify, to: done, on: passed }
  - { from: verify, to: implement_it, on: failed }
";

#[test]
fn checks_and_tool_rules_come_to_what_the_file_says() {
    is(
        "verify:
  - workflow: w
    node: implement*
    accept: [{ check: tests }, { check: lint }, { gate: changed, must: [\"src/**\"] }]
    deny: [WebFetch, WebSearch]
  - accept: [treeIsSettled]
  - node: plan
    deny: [edit]
  - node: verify
    accept: [{ id: tests, run: [make, test], timeoutSeconds: 60 }]
",
        NAVIGATOR,
        expect![[r#"
            plan
              + treeIsSettled: Gate { name: "treeIsSettled" }
              tools deny ["edit"]
            implement_it
              tests: Project { name: "tests" }
              + lint: Project { name: "lint" }
              + changed: Evidence(Evidence { fact: Changed { must: ["src/**"], may: None, must_not: [] }, since: Step })
              + treeIsSettled: Gate { name: "treeIsSettled" }
              tools allow ["edit", "Bash"] deny ["WebFetch", "WebSearch"]
            verify
              + treeIsSettled: Gate { name: "treeIsSettled" }
              + tests: Run { argv: ["make", "test"], timeout_seconds: 60 }
            w by [0, 1, 2, 3]
        "#]],
    );
}

#[test]
fn another_check_of_the_same_name_stays_and_one_that_is_there_is_not_added() {
    is(
        "verify:
  - node: implement_it
    accept: [{ id: tests, run: [make, test] }]
  - node: implement_it
    accept: [{ id: other, check: tests }, { id: tests, run: [make, test], timeoutSeconds: 600 }]
",
        NAVIGATOR,
        expect![[r#"
            implement_it
              tests: Project { name: "tests" }
              + tests-2: Run { argv: ["make", "test"], timeout_seconds: 600 }
              tools allow ["edit", "Bash"] deny ["WebFetch"]
            w by [0]
        "#]],
    );
}

#[test]
fn a_value_that_a_report_must_give_is_a_variable() {
    is(
        "verify:
  - node: plan
    accept: [{ gate: output, name: plan, schema: { type: array, minItems: 1 } }]
",
        NAVIGATOR,
        expect![[r#"
            plan: array
            plan
              + output: Evidence(Evidence { fact: Output { name: "plan", schema: Object {"type": String("array"), "minItems": Number(1)} }, since: Step })
            w by [0]
        "#]],
    );
}

#[test]
fn phases_states_and_activities_have_their_checks() {
    let verify = "verify:
  - node: build*
    accept: [{ check: tests }, { id: lint, run: [make, lint] }, { file: out.txt, id: out }, tests-touched, treeIsSettled]
    deny: [WebFetch]
";
    is(
        verify,
        "phases:\n  - { id: look, title: Look, prompt: Look. }\n  - { id: build, title: Build, prompt: Build., back: look }\n",
        expect![[r#"
            build held
              + tests: Project { name: "tests" }
              + lint: Run { argv: ["make", "lint"], timeout_seconds: 600 }
              + out: File { path: "out.txt" }
              + tests-touched: Evidence(Evidence { fact: TestsTouched, since: Step })
              + treeIsSettled: Gate { name: "treeIsSettled" }
              tools deny ["WebFetch"]
            w by [0]
        "#]],
    );
    is(
        verify,
        "id: w
version: 1.0.0
title: W
activities:
  - id: work
    version: 1.0.0
    name: Work
    steps:
      - { id: build, kind: action, description: Build it. }
      - { id: build-more, kind: action, required: false, description: Build more. }
",
        expect![[r#"
            work.build held
              + tests: Project { name: "tests" }
              + lint: Run { argv: ["make", "lint"], timeout_seconds: 600 }
              + out: File { path: "out.txt" }
              + tests-touched: Evidence(Evidence { fact: TestsTouched, since: Step })
              + treeIsSettled: Gate { name: "treeIsSettled" }
              tools deny ["WebFetch"]
            work.build-more held
              + tests: Project { name: "tests" }
              + lint: Run { argv: ["make", "lint"], timeout_seconds: 600 }
              + out: File { path: "out.txt" }
              + tests-touched: Evidence(Evidence { fact: TestsTouched, since: Step })
              + treeIsSettled: Gate { name: "treeIsSettled" }
              tools deny ["WebFetch"]
            w by [0]
        "#]],
    );
    is(
        verify,
        "objective: O
states:
  build:
    objective: Build it
    is_final: true
    key_results:
      - { name: tests, run: [cargo, test] }
",
        expect![[r#"
            build
              tests (tests): Run { argv: ["cargo", "test"], timeout_seconds: 600 }
              + tests-2 (the project's check `tests` holds): Project { name: "tests" }
              + lint (`make lint` succeeds): Run { argv: ["make", "lint"], timeout_seconds: 600 }
              + out (the file `out.txt` is there and is not empty): File { path: "out.txt" }
              + treeIsSettled (nothing is unmerged, and nothing is left uncommitted): Gate { name: "treeIsSettled" }
            w by [0]
        "#]],
    );
}

#[test]
fn nothing_is_checked_where_only_tools_are_called() {
    let graph = "version: \"1.0\"
server: { name: s, version: \"1.0.0\" }
mcpServers: { files: { builtin: filesystem, root: . } }
tools:
  - name: list
    description: Lists
    inputSchema: { type: object, properties: { folder: { type: string } } }
    nodes:
      - { id: entry, type: entry, next: list }
      - { id: list, type: mcp, server: files, tool: list_directory, args: { path: { expr: $.entry.folder } }, next: exit }
      - { id: exit, type: exit }
";
    is(
        "verify: [{ node: list, accept: [{ check: tests }] }, { accept: [treeIsSettled] }]",
        graph,
        expect![[r#"
        list by []
        verify.yaml:1:18 matches-nothing `list` is of the kind `mcp`, which takes no checks
            help: tasks, gates, phases, steps and states take checks, and all of these except states take tool rules
        verify.yaml:1:54 matches-nothing `entry` is of the kind `start`, which takes no checks
            help: tasks, gates, phases, steps and states take checks, and all of these except states take tool rules
    "#]],
    );
}

#[test]
fn an_entry_that_matches_nothing_is_told_with_what_was_meant() {
    is(
        "verify:
  - { workflow: other, node: plan, accept: [treeIsSettled] }
  - { workflow: v*, deny: [edit] }
  - { node: implment_*, accept: [treeIsSettled] }
  - { node: quite-another, accept: [treeIsSettled] }
  - { node: start, accept: [treeIsSettled] }
",
        NAVIGATOR,
        expect![[r#"
            w by []
            verify.yaml:2:17 matches-nothing no workflow is called `other`
                help: see the list of workflows for their names; `*` matches any text
            verify.yaml:3:17 matches-nothing no workflow is called `v*`
                help: see the list of workflows for their names; `*` matches any text
            verify.yaml:4:13 matches-nothing no step of these workflows is called `implment_*`
                help: did you mean `implement_it`?
            verify.yaml:5:13 matches-nothing no step of these workflows is called `quite-another`
                help: their steps are `plan`, `implement_it` and `verify`
            verify.yaml:6:13 matches-nothing `start` is of the kind `start`, which takes no checks
                help: tasks, gates, phases, steps and states take checks, and all of these except states take tool rules
        "#]],
    );
}

#[test]
fn every_fault_is_told_in_its_place() {
    is(
        "verify:
  - { node: \"\", accept: [{ check: Tests }, { gate: nosuch }] }
  - { nodes: plan, accept: [] }
  - { node: plan }
  - { node: plan, allow: [edit] }
  - { node: plan, tools: { deny: [edit] } }
  - { node: 7, accept: treeIsSettled }
  - plan
  - { node: verify, accept: [{ id: c, run: [] }, { id: f, file: ../x }, { gate: changed, must: [/etc] }] }
more: 1
",
        NAVIGATOR,
        expect![[r#"
            verify.yaml:2:13 bad-pattern `` in `node` is not a name pattern
                help: write a name such as `implement`, with `*` for any text, or remove the field to match all of them
            verify.yaml:2:35 bad-check `Tests` cannot be the name of a check
                help: write up to 64 lowercase letters, digits, `-` and `_`, as in `unit-tests`
            verify.yaml:2:52 unknown-gate there is no gate `nosuch`
                help: the gates are `trackingIssueExists`, `branchMatchesPrefix`, `specFileExistsIfRequired`, `typecheckPasses`, `conventionalCommitFormat`, `commitsReferenceIssue`, `prOpenedBeforeIdle`, `pull-request`, `pullRequestMerged`, `removalsMatchIntent`, `treeIsSettled`, `noTampering`, `changed`, `commit`, `pushed`, `tests-touched` and 7 more
            verify.yaml:3:7 unknown-field the entry has a field `nodes`, which has no meaning here
                help: did you mean `node`?
            verify.yaml:4:5 missing-field the entry adds neither checks nor tool rules
                help: add `accept: [{check: tests}]`, or `deny: [edit]`
            verify.yaml:5:26 unknown-field an entry cannot have `allow`: what a workflow file allows stays allowed unless it is denied
                help: list under `deny` what must not be used
            verify.yaml:6:19 unknown-field the entry has a field `tools`, which has no meaning here
                help: the fields here are `workflow`, `node`, `accept` and `deny`
            verify.yaml:7:13 wrong-type `node` of the entry must be a string, but is `7`
                help: put it in quotes: `"7"`
            verify.yaml:7:24 wrong-type `accept` must be an array of checks, but is a string
                help: write `[{"id": "tests", "run": ["cargo", "test"]}]`
            verify.yaml:8:5 wrong-type the entry must be an object, but is a string
            verify.yaml:9:30 bad-check check `c` runs nothing
                help: write the program and its arguments, as in `"run": ["cargo", "test"]`; they are not passed to a shell
            verify.yaml:9:50 bad-check check `f` refers to `../x`, which may be outside the project
                help: write a path relative to the project, without `..`
            verify.yaml:9:97 bad-check `/etc` in `must` is not a path pattern
                help: write a path relative to the repository, with `*` within a name and `**` for any folders
            verify.yaml:10:1 unknown-field the file has a field `more`, which has no meaning here
                help: the fields here are `verify`
            w by []
        "#]],
    );
    is(
        "verify: {}",
        NAVIGATOR,
        expect![[r#"
            verify.yaml:1:9 wrong-type `verify` must be an array of entries, but is an object
                help: write `- {node: "implement*", accept: [{check: tests}]}` below it
            w by []
        "#]],
    );
    is(
        "- verify",
        NAVIGATOR,
        expect![[r#"
            verify.yaml:1:1 wrong-type the file must be an object, but is an array
            w by []
        "#]],
    );
    is(
        "verify: [",
        NAVIGATOR,
        expect![[r#"
            verify.yaml:1:9 syntax not valid YAML: the `[` that opens here is not closed
                help: close it with `]`
            w by []
        "#]],
    );
    is(
        "# nothing yet\n",
        NAVIGATOR,
        expect![[r#"
            w by []
        "#]],
    );
}

#[test]
fn what_a_node_cannot_take_is_a_fault_of_the_workflow_at_that_node() {
    let many: Vec<String> = (0..32).map(|nth| format!("{{ id: c{nth}, file: f{nth} }}")).collect();
    let entry = |node: &str, accept: &str| format!("  - {{ node: {node}, accept: [{accept}] }}\n");
    let verify = format!("verify:\n{}", entry("implement_it", &many.join(", ")));
    let told = attached(&verify, NAVIGATOR);
    let fault = told.lines().find(|line| line.contains("too-large")).expect("it is refused");
    expect![
        "w.yaml:4:3 too-large `implement_it` has 33 checks, including those that the project attaches to it, but the limit is 32"
    ]
    .assert_eq(fault);
    let plan = |kind: &str| format!("{{ gate: output, name: plan, schema: {{ type: {kind} }} }}");
    let verify = format!("verify:\n{}{}", entry("plan", &plan("array")), entry("verify", &plan("string")));
    is(
        &verify,
        NAVIGATOR,
        expect![[r#"
            plan: array
            plan
              + output: Evidence(Evidence { fact: Output { name: "plan", schema: Object {"type": String("array")} }, since: Step })
            verify
              + output: Evidence(Evidence { fact: Output { name: "plan", schema: Object {"type": String("string")} }, since: Step })
            w.yaml:5:3 bad-check `plan` is a string according to the `schema` of a check, but an array elsewhere
                help: use the same type in both places, or give the value another name
            w by [0, 1]
        "#]],
    );
}

#[test]
fn a_file_has_bounds() {
    let entries = "  - { deny: [edit] }\n".repeat(101);
    let (attachments, faults) = verify::read(&Source::new("verify.yaml", format!("verify:\n{entries}")));
    assert_eq!(attachments.entries.len(), 100);
    assert_eq!(faults.iter().map(|fault| fault.code).collect::<Vec<_>>(), ["too-large"]);
}

#[test]
fn a_workflow_of_another_folder_is_meant_by_its_own_name_too() {
    let (attachments, _) = verify::read(&Source::new("v", "verify: [{ workflow: feature-*, deny: [edit] }]"));
    let means = |id| attachments.entries[0].means_workflow(id);
    assert!(means("feature-x") && means("team:feature-x") && !means("a-feature-x"));
}

/// The rules of tools at each node, where it has some.
fn tools(workflow: &str) -> String {
    let workflow = Workflow::read("w.json", workflow).expect("it is sound");
    let flow = workflow.root();
    let told = |id| Some(format!("{id}: {:?}", flow.tools_at(id)?.deny));
    flow.steps.keys().filter_map(told).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_question_changes_nothing_about_what_may_be_done() {
    let workflow = |build: &str| {
        format!(
            r#"{{"id": "w", "nodes": {{
              "start": {{"type": "start"}},
              "plan": {{"type": "task", "deny": ["edit", "web"]}},
              "review": {{"type": "gate", "deny": ["edit"], "maxRetries": 1}},
              "build": {{"type": "task"{build}}},
              "good": {{"type": "end", "result": "blocked", "escalation": "hitl"}},
              "failed": {{"type": "end", "result": "blocked", "escalation": "hitl"}},
              "done": {{"type": "end", "result": "success"}}
            }}, "edges": [
              {{"from": "start", "to": "plan"}}, {{"from": "plan", "to": "review"}},
              {{"from": "review", "to": "good", "on": "passed"}}, {{"from": "review", "to": "plan", "on": "failed"}},
              {{"from": "review", "to": "failed", "on": "failed"}}, {{"from": "plan", "to": "failed", "on": "failed"}},
              {{"from": "failed", "to": "plan", "on": "passed"}}, {{"from": "good", "to": "build", "on": "passed"}},
              {{"from": "build", "to": "done", "on": "passed"}}, {{"from": "build", "to": "good", "on": "failed"}}
            ]}}"#
        )
    };
    let before = r#"plan: ["edit", "web"]
review: ["edit"]"#;
    assert_eq!(tools(&workflow("")), format!("{before}\nfailed: [\"edit\"]"), "a step that builds leads to `good`");
    let looking = format!("{before}\nbuild: [\"edit\"]\ngood: [\"edit\"]\nfailed: [\"edit\"]");
    assert_eq!(tools(&workflow(r#", "deny": ["edit"]"#)), looking);
}

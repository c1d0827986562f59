//! States beside one another, and beside the nodes of a graph of tool calls.

use std::process::{Command, Stdio};

use expect_test::expect;

use crate::provider::{FakeProvider, Turn};
use crate::states::{newest, run_output};
use crate::support::Project;

const ARTICLE: &str = r#"
objective: An article with pictures
states:
  plan: { objective: What the article is about }
  both: { parallel: [facts, pictures], join: together }
  facts:
    objective: Two facts
    key_results: [{ name: two, description: Has two lines, check: "output.count('\\n') == 1" }]
    set: { facts: { expr: output } }
  pictures: { objective: Three pictures, tools: [shared_set], max_retries: 0, on_failure: ask, key_results: [{ name: three, description: d, check: "len(output) > 3" }] }
  together: { join: all }
  write:
    objective: The article
    prompt: { expr: "input.facts & ' and ' & input.pictures & ' and ' & shared.n" }
    key_results: [{ name: told, description: d, check: "input['pictures'] in output and len(history) == 4" }]
    is_final: true
transitions: { plan: both, facts: together, pictures: together, together: write }
"#;

const PLANNED: &str = "- {for: plan, text: Maps}\n- {for: facts, text: Old}\n- {for: facts, text: \"Old\\nFlat\"}\n";

#[test]
fn branches_begin_with_what_came_before_and_are_joined() {
    let project = Project::new();
    project.write("w.yaml", ARTICLE);
    let set = "- {for: pictures, tool_calls: [{name: shared_set, arguments: {name: n, value: 3}}]}\n";
    project.write("answers.yaml", format!("{PLANNED}{set}- {{for: pictures, text: a coast}}\n- {{for: \"Flat and a coast and 3\", text: a coast on maps}}\n"));
    let said = project.says("run w.yaml --model scripted:answers.yaml");
    assert!(said.starts_with("\"a coast on maps\"\n") && said.ends_with("exit: 0\n"), "{said}");
    for line in [
        "  facts/facts: ✗ two  `output.count('\\n') == 1` does not hold\n",
        "  facts/facts: ✓ two\n",
        "  pictures/pictures: → shared_set {\"name\":\"n\",\"value\":3}\n",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn the_models_of_all_branches_are_asked_before_any_has_answered() {
    let project = Project::new();
    project.write("w.yaml", ARTICLE.replace("parallel: [facts", "is_initial: true, parallel: [facts"));
    let provider = FakeProvider::new([Turn::Silence]);
    let mut process = Command::new(env!("CARGO_BIN_EXE_portolan"))
        .args(["run", "w.yaml", "--model", &format!("openai:m@{}/v1", provider.origin)])
        .current_dir(project.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    while provider.requests().len() < 2 {
        assert!(process.try_wait().expect("it can be asked").is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    process.kill().expect("it runs");
    process.wait().expect("it ends");
}

#[test]
fn a_branch_that_waits_goes_on_where_no_other_does() {
    let project = Project::new();
    project.write("w.yaml", ARTICLE);
    project.write("answers.yaml", format!("{PLANNED}- {{for: pictures, text: one}}\n"));
    let said = project.says("run w.yaml --model scripted:answers.yaml");
    assert!(said.ends_with("exit: 4\n"), "{said}");
    let run = newest(&project);
    expect![[r#"
        <run> · w · pictures/pictures · waits

        `pictures` waits: no attempts are left; a person decides
        4 nodes executed, began <time>, last seen <time>

        `portolan runs resume <run>` with one of `--accept`, `--go-on`, `--answer ADVICE`, `--give-up` continues it
        exit: 4
    "#]]
    .assert_eq(&run_output(&project, &run, "runs show RUN"));
    project.write("more.yaml", "- {for: write, text: one}\n");
    expect![[r#"
        "one"
        stderr:   pictures/pictures: ✗ three  `len(output) > 3` does not hold
        stderr: ✓ pictures/pictures  accepted as it is; 4 model calls, tokens unknown, cost unknown
        stderr: ▸ write  attempt 1 of 4
        stderr:   ✓ told
        stderr: ✓ write  reached; 5 model calls, tokens unknown, cost unknown
        stderr: 5 model calls, tokens unknown, cost unknown
        exit: 0
    "#]]
    .assert_eq(&run_output(&project, &run, "runs resume RUN --accept --model scripted:more.yaml"));
}

#[test]
fn of_two_branches_that_wait_one_is_named() {
    let project = Project::new();
    let ask = "max_retries: 0, on_failure: ask, key_results: [{ name: n, description: d, check: \"len(output) > 3\" }]";
    project.write(
        "w.yaml",
        format!(
            "objective: o\nstates:\n  both: {{ parallel: [a, b], join: c }}\n  a: {{ objective: a, {ask} }}\n  b: {{ objective: b, {ask} }}\n  c: {{ join: all, is_final: true }}\ntransitions: {{ a: c, b: c }}\n"
        ),
    );
    project.write("answers.yaml", "- {text: no, repeat: true}\n");
    assert!(project.says("run w.yaml --model scripted:answers.yaml").ends_with("exit: 4\n"));
    let run = newest(&project);
    expect![[r#"
        <run> · w · a/a, b/b · waits

        `a` waits: no attempts are left; a person decides
        `b` waits: no attempts are left; a person decides
        2 nodes executed, began <time>, last seen <time>

        `portolan runs resume <run>` with one of `--accept`, `--go-on`, `--answer ADVICE`, `--give-up`, and with `--branch`, continues it
        exit: 4
    "#]].assert_eq(&run_output(&project, &run, "runs show RUN"));
    expect![[r#"
        stderr: error: 2 branches wait
        stderr: help: choose one with `--branch`: `a` and `b`
        exit: 2
    "#]]
    .assert_eq(&run_output(&project, &run, "runs resume RUN --accept"));
    expect![[r#"
        stderr: error: no branch `c` is waiting
        stderr: help: those are `a` and `b`
        exit: 2
    "#]]
    .assert_eq(&run_output(&project, &run, "runs resume RUN --accept --branch c"));
    expect![[r#"
        stderr:   b/b: ✗ n  `len(output) > 3` does not hold
        stderr: ✓ b/b  accepted as it is; 2 model calls, tokens unknown, cost unknown
        stderr: 2 model calls, tokens unknown, cost unknown
        stderr: run <run> waits at `a`; `portolan runs show <run>` says for whom
        exit: 4
    "#]]
    .assert_eq(&run_output(&project, &run, "runs resume RUN --accept --branch b --model scripted:answers.yaml"));
    expect![[r#"
        stderr: error: `a` failed (given-up): `a` was given up: no attempts are left; a person decides
        exit: 1
    "#]]
    .assert_eq(&run_output(&project, &run, "runs resume RUN --give-up --branch a --model scripted:answers.yaml"));
}

const GRAPH: &str = r#"
version: "1.0"
server: { name: writer, version: "1.0.0" }
tools:
  - name: summary
    description: Says in a few words what a file says
    inputSchema: { type: object, properties: { path: { type: string } }, required: [path] }
    outputSchema: { type: object, properties: { sentence: { type: string } } }
    nodes:
      - { id: entry, type: entry, next: read }
      - { id: read, type: mcp, server: filesystem, tool: read_text_file, args: { path: { expr: $.entry.path } }, next: sum_up }
      - id: sum_up
        type: state
        objective: A few words that say what the text says
        prompt: { expr: $.read.content }
        key_results: [{ name: short, description: has at most 3 words, check: { expr: "$count($split(output, ' ')) <= 3" } }]
        max_retries: 1
        set: { words: { expr: output } }
        next: said
      - { id: said, type: transform, transform: { expr: '{ "sentence": shared.words }' }, next: exit }
      - { id: exit, type: exit }
"#;

#[test]
fn a_graph_of_tool_calls_has_states() {
    let project = Project::new();
    project.write("graph.yaml", GRAPH);
    project.write("text.txt", "Maps of the sea, drawn by hand");
    project.write("answers.yaml", "- {for: Maps of the sea, text: It is about maps}\n- {text: Sea maps}\n");
    let said = project.says("run graph.yaml path=text.txt --model scripted:answers.yaml");
    assert!(said.starts_with("{\"sentence\":\"Sea maps\"}\n") && said.contains("✗ short"), "{said}");
    project.write("answers.yaml", "- {text: too many words here, repeat: true}\n");
    let said = project.says("run graph.yaml path=text.txt --model scripted:answers.yaml");
    assert!(said.contains("does not meet `short`") && said.ends_with("exit: 1\n"), "{said}");
}

#[test]
fn a_model_for_nothing_that_has_states_is_refused() {
    let project = Project::new();
    let said = project.says("serve --model scripted:answers.yaml");
    assert!(said.contains("no graph is served") && said.ends_with("exit: 2\n"), "{said}");
    project.write("w.yaml", ARTICLE);
    let said = project.says("serve w.yaml --model opnai:x");
    assert!(said.contains("did you mean `openai`?") && said.ends_with("exit: 2\n"), "{said}");
}

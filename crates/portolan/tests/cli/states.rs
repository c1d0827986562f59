//! States of agents, run from the shell with a model whose answers were written down.

use std::path::Path;

use expect_test::expect;

use crate::support::Project;

const STATES: &str = r#"
objective: A short greeting
states:
  draft:
    objective: Greet
    max_retries: 1
    on_failure: ask
    key_results:
      - {name: long, description: at least five characters, check: "len(output) >= 5"}
      - {name: kind, description: it is kind}
  done: {objective: finish it, is_final: true}
transitions: {draft: done}
"#;

fn project(answers: &str) -> Project {
    let project = Project::new();
    project.write("w.yaml", STATES);
    project.write("answers.yaml", answers);
    project
}

/// What is said, without the run's handle.
pub(crate) fn run_output(project: &Project, run: &str, line: &str) -> String {
    project.says(&line.replace("RUN", run)).replace(run, "<run>")
}

pub(crate) fn newest(project: &Project) -> String {
    let listed = project.says("runs list --all");
    listed.split_whitespace().next().expect("a run").to_owned()
}

const KIND: &str = "- json: {verdicts: [{criterion: kind, reason: it is, evidence: dear, met: true}]}\n";

#[test]
fn what_is_not_met_is_tried_again_and_what_is_met_is_the_output() {
    let project = project(&format!("- text: Hi\n- text: Hello, dear friend\n{KIND}- text: Bye\n"));
    let said = project.says("run w.yaml name=Ada --model scripted:answers.yaml");
    let run = newest(&project);
    expect![[r#"
        "Bye"
        stderr: run <run>
        stderr: ▸ draft  attempt 1 of 2
        stderr:   ✗ long  `len(output) >= 5` does not hold
        stderr: ✗ draft  attempt 1 of 2 was not accepted; 1 model call, tokens unknown, cost unknown
        stderr: ▸ draft  attempt 2 of 2
        stderr:   ✓ long
        stderr:   ✓ kind  it is
        stderr: ✓ draft  reached; 3 model calls, tokens unknown, cost unknown
        stderr: ▸ done  attempt 1 of 4
        stderr: ✓ done  reached; 4 model calls, tokens unknown, cost unknown
        stderr: 4 model calls, tokens unknown, cost unknown
        exit: 0
    "#]]
    .assert_eq(&said.replace(&run, "<run>"));
    let events = project.says(&format!("runs events {run}"));
    assert!(events.contains("not accepted: `long` (`len(output) >= 5` does not hold), attempt 2"), "{events}");
    assert!(events.contains("accepted: `long`, `kind` (it is)"), "{events}");
}

#[test]
fn a_state_that_waits_says_for_what_and_goes_on_as_it_is_told() {
    let project = project("- text: Hi\n- text: Hey\n");
    let said = project.says("run w.yaml --model scripted:answers.yaml");
    let run = newest(&project);
    assert!(said.ends_with("exit: 4\n"), "{said}");
    expect![[r#"
        <run> · w · draft · waits

        it waits: no attempts are left; a person decides
        1 node executed, began <time>, last seen <time>

        `portolan runs resume <run>` with one of `--accept`, `--go-on`, `--answer ADVICE`, `--give-up` continues it
        exit: 4
    "#]]
    .assert_eq(&run_output(&project, &run, "runs show RUN"));
    project.write("more.yaml", "- text: Bye\n");
    expect![[r#"
        "Bye"
        stderr:   ✗ long  `len(output) >= 5` does not hold
        stderr: ✓ draft  accepted as it is; 2 model calls, tokens unknown, cost unknown
        stderr: ▸ done  attempt 1 of 4
        stderr: ✓ done  reached; 3 model calls, tokens unknown, cost unknown
        stderr: 3 model calls, tokens unknown, cost unknown
        exit: 0
    "#]]
    .assert_eq(&run_output(&project, &run, "runs resume RUN --accept --model scripted:more.yaml"));
}

#[test]
fn a_model_that_cannot_be_had_is_told_before_anything_begins() {
    let project = project("- text: Hi\n");
    let near = project.says("run w.yaml --model opnai:x");
    assert!(near.contains("there is no model provider `opnai`") && near.contains("did you mean `openai`?"), "{near}");
    let missing = project.says("run w.yaml --model scripted:none.yaml");
    assert!(missing.contains("cannot be read") && missing.ends_with("exit: 2\n"), "{missing}");
    assert!(project.says("runs list --all").starts_with("exit") || !project.path().join(".portolan/runs.db").exists());
    // Where nobody names one, the run waits and says so.
    let waits = project.says("run w.yaml");
    assert!(waits.ends_with("exit: 4\n"), "{waits}");
    let run = newest(&project);
    assert!(run_output(&project, &run, "runs show RUN").contains("no model is set for `draft`"));
    assert!(run_output(&project, &run, "runs resume RUN --give-up").contains("was given up"));
}

#[test]
fn other_workflows_are_tools_of_models() {
    let project = Project::new();
    project.write(
        "w.yaml",
        "
objective: the sum of all
states:
  ask:
    objective: Add up
    tools: [run:sum]
    key_results: [{name: right, description: it is right, check: \"'6' in output\"}]
    is_final: true
",
    );
    project.write(
        ".flow/workflows/sum.yaml",
        "
objective: adds numbers up
input_schema: {type: object, properties: {of: {type: array, items: {type: integer}}}, required: [of]}
states:
  add: { transform: $sum(input.of), is_final: true }
",
    );
    let answers = "
- tool_calls: [{name: run_sum, arguments: {of: [1, 2, 3]}}, {name: run_sum, arguments: {of: 6}}]
- text: It is 6
";
    project.write("answers.yaml", answers);
    let said = project.says("run w.yaml --model scripted:answers.yaml");
    assert!(
        said.starts_with("\"It is 6\"\n") && said.contains("✗ run_sum  the input is not valid for `sum`"),
        "{said}"
    );
    let run = newest(&project);
    let records = project.says(&format!("--format json runs events {run}"));
    assert!(records.contains("\"output\": 6"), "{records}");
    project.write(
        ".flow/workflows/w.yaml",
        "objective: o\nstates: {a: {objective: o, tools: [run:w], breaking: [web/x], is_final: true}}",
    );
    let said = project.says("check .flow/workflows/w.yaml");
    assert!(said.contains("`breaking` of state `a` has `web/x`, which is not one of its tools"), "{said}");
    assert!(said.contains("runs a workflow that runs itself"), "{said}");
}

#[test]
fn what_a_workflow_uses_up_as_a_tool_counts_and_at_the_limit_it_waits_for_a_person() {
    let project = Project::new();
    let file = |limit: u32| {
        format!(
            "objective: o\nlimits: {{ model_calls: {limit} }}\nstates: {{ ask: {{ objective: Ask, tools: [run:two], is_final: true }} }}\n"
        )
    };
    project.write(
        ".flow/workflows/two.yaml",
        "objective: o\nstates: { one: { objective: One }, two: { objective: Two, is_final: true } }\ntransitions: { one: two }\n",
    );
    let answers = "- {for: ask, tool_calls: [{name: run_two, arguments: {}}]}\n- {for: one, text: a}\n- {for: two, text: b}\n- {for: ask, text: It is b}\n";
    project.write("answers.yaml", answers);
    project.write("w.yaml", file(4));
    let said = project.says("run w.yaml --model scripted:answers.yaml");
    assert!(said.starts_with("\"It is b\"\n") && said.contains("4 model calls, 1 tool call"), "{said}");
    project.write("w.yaml", file(2));
    let said = project.says("run w.yaml --model scripted:answers.yaml");
    let stops = "‖ call-0-0/two  waits: the run has used 2 of 2 `model_calls`";
    assert!(said.contains(stops) && said.ends_with("exit: 4\n"), "{said}");
    let run = newest(&project);
    assert!(run_output(&project, &run, "runs show RUN").contains("the run has used 2 of 2 `model_calls`"));
    // Another process goes on inside of the tool: what the model has asked for is not asked for again.
    project.write("answers.yaml", "- {for: two, text: b}\n- {for: ask, text: It is b}\n");
    let said = run_output(&project, &run, "runs resume RUN --go-on --model scripted:answers.yaml");
    assert!(said.starts_with("\"It is b\"\n") && said.ends_with("exit: 0\n"), "{said}");
}

const CYCLE: &str = "
- {for: observe, text: It is late}
- {for: orient, text: Time is short}
- {for: decide, text: Ask for time}
";

#[test]
fn the_loop_of_the_catalogue_goes_round_until_the_task_is_done_or_no_cycle_is_left() {
    let project = Project::new();
    let answers = |last: &str| {
        let act = |json: &str| format!("- {{for: act, json: {json}}}\n");
        let no = act("{done: false, result: Nobody answers}");
        project.write("answers.yaml", format!("{CYCLE}{no}{CYCLE}{}", act(last)));
    };
    answers("{done: true, result: There is time}");
    let said = project.says("run ooda task=Hurry max_cycles=2 --model scripted:answers.yaml");
    assert!(said.starts_with("{\"answer\":\"There is time\",\"cycles\":2}\n"), "{said}");
    let run = newest(&project);
    let records = project.says(&format!("--format json runs events {run}"));
    for told in ["Cycle 1 of 2.", "Cycle 2 of 2.", "Decided: Ask for time", "Result: Nobody answers"] {
        assert!(records.contains(told), "{told}: {records}");
    }
    answers("{done: false, result: Still nobody}");
    let said = project.says("run ooda task=Hurry max_cycles=2 --model scripted:answers.yaml");
    assert!(said.contains("does not meet `task_done`") && said.ends_with("exit: 1\n"), "{said}");
    assert!(project.says("run ooda --model scripted:answers.yaml").contains("`task`"));
    assert!(project.says("run oodda").contains("oodda"));
}

#[test]
fn the_loop_acts_by_the_tools_that_it_is_given() {
    let project = Project::new();
    project.write("note.txt", "The door creaks");
    project.write("mcp.json", r#"{"mcpServers": {"files": {"builtin": "filesystem", "root": "."}}}"#);
    let read = "- {for: act, tool_calls: [{name: files_read_text_file, arguments: {path: note.txt}}]}\n";
    let done = "- {for: The door creaks, json: {done: true, result: It is read}}\n- {for: act, json: {done: true, result: It is read}}\n";
    project.write("answers.yaml", format!("{CYCLE}{read}{done}"));
    let ooda = "run ooda task=Read --mcp mcp.json --model scripted:answers.yaml";
    let said = project.says(&format!("{ooda} --tools files/read_text_file,shared_get"));
    assert!(said.starts_with("{\"answer\":\"It is read\",\"cycles\":1}\n"), "{said}");
    assert!(said.contains("→ files_read_text_file {\"path\":\"note.txt\"}") && !said.contains("✗ files"), "{said}");
    let said = project.says("run mcp.json --tools files/x");
    assert!(said.contains("`--tools` is for `ooda`") && said.ends_with("exit: 2\n"), "{said}");
}

#[test]
fn another_workflow_runs_the_loop_by_its_name() {
    let project = Project::new();
    project.write(
        "w.yaml",
        "
objective: a plan
states:
  plan: { run: ooda, args: { task: { expr: input.topic } } }
  done: { transform: plan.answer, is_final: true }
transitions: { plan: done }
",
    );
    project.write("answers.yaml", format!("{CYCLE}- {{for: act, json: {{done: true, result: All of it}}}}\n"));
    let said = project.says("run w.yaml topic=maps --model scripted:answers.yaml");
    assert!(said.starts_with("\"All of it\"\n"), "{said}");
}

#[test]
fn an_answer_of_a_person_leaves_states_to_whoever_has_their_models() {
    let project = Project::new();
    project.write(
        "w.yaml",
        "
objective: a greeting
states:
  ask: { ask: Which?, options: { loud: Loud, quiet: Quiet } }
  greet: { objective: Greet, is_final: true }
transitions: { ask: greet }
",
    );
    project.write("answers.yaml", "- text: HELLO\n");
    let said = project.says("run w.yaml --model scripted:answers.yaml");
    assert!(said.ends_with("exit: 4\n"), "{said}");
    let run = newest(&project);
    let said = project.says(&format!("runs answer {run} loud"));
    assert!(said.ends_with("exit: 0\n") && !said.contains("which model"), "{said}");
    let said = project.says(&format!("runs resume {run} --model scripted:answers.yaml"));
    assert!(said.starts_with("\"HELLO\"\n"), "{said}");
}

#[test]
fn the_examples_are_sound_and_the_one_with_answers_runs() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agent-states");
    let project = Project::new();
    for entry in std::fs::read_dir(&examples).expect("examples") {
        let folder = entry.expect("an entry").path();
        for name in ["workflow.yaml", "workflow.json"] {
            let file = folder.join(name);
            if file.is_file() {
                let said = project.says(&format!("check {}", file.display()));
                assert!(said.contains("0 errors"), "{said}");
            }
        }
    }
    let research = examples.join("research");
    let said = project.says(&format!("check {}", research.display()));
    assert!(said.contains("2 files checked: 0 errors"), "answers are checked as such: {said}");
    project.write("answers.yaml", "- {txt: hi}\n");
    let said = project.says("check answers.yaml");
    assert!(said.contains("`txt`") && said.ends_with("exit: 3\n"), "{said}");
    let (file, answers) = (research.join("workflow.yaml"), research.join("answers.yaml"));
    let said = project.says(&format!("run {} topic=charts --model scripted:{}", file.display(), answers.display()));
    assert!(said.starts_with("\"# Portolan charts"), "{said}");
    for told in ["✗ whole", "✓ sourced", "✓ clear  each sentence stands for itself", "attempt 2 of 4"] {
        assert!(said.contains(told), "{told}: {said}");
    }
}

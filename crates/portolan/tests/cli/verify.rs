//! `.portolan/verify.yaml`: checks and tool rules that a project attaches to workflows whose files say nothing of them.

use expect_test::expect;
use portolan_runtime::service::{Open, Request, RunCarrier};

use crate::calls::Calls;
use crate::support::{Project, address, reported};

/// Two files are wanted at the step `work` of the workflow `small`, and nothing may be edited at its gate.
const ATTACHED: &str = "verify:
  - workflow: small
    node: work
    accept: [{ id: one, file: one }, { id: two, file: two }]
  - node: verify
    deny: [edit]
";

fn project(attached: &str) -> Project {
    let project = Project::small();
    project.write(".portolan/verify.yaml", attached);
    project
}

/// What becomes of the agent's report at the present position.
fn reports(project: &Project, run: &str, outcome: &str) -> String {
    let view = project.agent(async |service, me| {
        let view = service.view(&Request::of(address(run)), me).await?;
        service.next(&reported(&view, outcome), me).await
    });
    match view {
        Ok(view) => format!("{} {:?}", view.current_step, view.situation.state),
        Err(error) => format!("refused {}: {}", error.code, error.message),
    }
}

#[test]
fn a_step_is_held_to_what_is_attached_to_it() {
    let mut project = project(ATTACHED);
    let run = project.run("small", "");
    assert_eq!(reports(&project, &run, "passed"), "work Working");
    expect![[r#"
        <run1> · small · work · working

        ## work

        Do it.

        Checked when you report it done:
        - one: the file `one` exists and is not empty
        - two: the file `two` exists and is not empty

        Not passed at `work`:
        - one: `one` does not exist
        - two: `two` does not exist

        Retry 1 of 3 for `work`

        → Call Next(passed|failed) when complete.

        required  report `work` passed; 2 acceptance check(s) decide  Next {"run":"<run1>","result":"passed","revision":7}
        optional  report that `work` failed                           Next {"run":"<run1>","result":"failed","revision":7}
        exit: 0
    "#]].assert_eq(&project.says(&format!("runs show {run}")));
    project.write("one", "1");
    project.write("two", "2");
    assert_eq!(reports(&project, &run, "passed"), "verify Working");
    expect![[r#"
        <run1> · small · verify · working

        ## verify

        Is it right?

        Not allowed at this step: `edit`.

        Retries: 1

        → Call Next(passed|failed) when complete.

        required  report `verify` passed       Next {"run":"<run1>","result":"passed","revision":12}
        optional  report that `verify` failed  Next {"run":"<run1>","result":"failed","revision":12}
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs show {run}")));
    expect![[r#"
        Small (small)

        start   start         → work
        work    task          → verify
                            check one: file one (.portolan/verify.yaml:2)
                            check two: file two (.portolan/verify.yaml:2)
        verify  gate          → done
                            failed → work (retry up to 1, then stuck)
        done    end           ends: success
        stuck   checkpoint    → work

        Where no `failed` is shown, failed work is tried again up to 3 times; then a person decides.

        Checked: 1 of 2 steps. Believed: verify.
        exit: 0
    "#]]
    .assert_eq(&project.says("show small --format text"));
}

#[test]
fn a_check_is_shown_with_the_line_that_attaches_it() {
    let project = project(
        "verify:
  - { node: nowhere, accept: [{ id: one, file: one }] }
  # of two that say the same, the first adds it
  - accept: [{ id: one, file: one }]
  - { workflow: small, node: work, accept: [{ id: one, file: one }, { id: tests, check: tests }] }
",
    );
    let json = project.says("show small --format json");
    let told: serde_json::Value = serde_json::from_str(json.trim_end_matches("exit: 0\n")).expect("it is JSON");
    let nodes = told["nodes"].as_array().expect("nodes").iter();
    let checks: Vec<String> =
        nodes.map(|node| format!("{} {} {}\n", node["id"], node["verification"], node["checks"])).collect();
    expect![[r#"
        "start" null null
        "work" "checked" [{"id":"one","what":"file one","attachedBy":{"file":".portolan/verify.yaml","line":4}},{"id":"tests","what":"the project's tests","attachedBy":{"file":".portolan/verify.yaml","line":5}}]
        "verify" "checked" [{"id":"one","what":"file one","attachedBy":{"file":".portolan/verify.yaml","line":4}}]
        "stuck" null null
        "done" null null
    "#]].assert_eq(&checks.concat());
    let shown = project.says("show small");
    let lines: Vec<&str> = shown.lines().map(str::trim).filter(|line| line.starts_with("check ")).collect();
    let (one, tests) = ("check one: file one", "check tests: the project's tests");
    let line = |check: &str, line: usize| format!("{check} (.portolan/verify.yaml:{line})");
    assert_eq!(lines, [line(one, 4), line(tests, 5), line(one, 4)]);
    let picture = project.says("show small --diagram svg");
    assert!(picture.contains("tests (the project&#39;s tests, attached by .portolan/verify.yaml)"), "{picture}");
    std::fs::remove_file(project.path().join(".portolan/verify.yaml")).expect("it was there");
    assert!(!project.says("show small").contains("verify.yaml"));
}

#[test]
fn a_run_keeps_what_it_began_with_and_others_begin_with_what_is_there() {
    let mut project = project(ATTACHED);
    let held = project.run("small", "");
    std::fs::remove_file(project.path().join(".portolan/verify.yaml")).expect("it was there");
    assert_eq!(reports(&project, &held, "passed"), "work Working", "it does not hold");
    let free = project.run("small", "");
    assert_eq!(reports(&project, &free, "passed"), "verify Working");
    project.write(".portolan/verify.yaml", ATTACHED);
    assert_eq!(reports(&project, &free, "passed"), "done Ended");
    // What does not concern the workflow changes nothing of it.
    project.write(".portolan/verify.yaml", format!("{ATTACHED}  - {{ node: elsewhere, deny: [edit] }}\n"));
    let digest = |run: &str| {
        let view = project.agent(async |service, me| service.view(&Request::of(address(run)), me).await);
        view.expect("it is there").notes
    };
    assert_eq!(digest(&held), Vec::<String>::new());
}

#[test]
fn a_task_file_is_held_to_it_too() {
    let project = project(ATTACHED);
    std::fs::create_dir(project.path().join("tasks")).expect("a folder");
    let task = project.path().join("tasks/1.json");
    let opened = project.agent(async |service, me| {
        let carrier = RunCarrier::Task(task.to_string_lossy().into_owned());
        let open = Open { workflow: Some("small".to_owned()), carrier, ..Open::default() };
        let view = service.open(&open, me).await?;
        service.start(&view.address, None, me).await
    });
    let file = opened.expect("it begins").address.to_string();
    std::fs::remove_file(project.path().join(".portolan/verify.yaml")).expect("it was there");
    assert_eq!(reports(&project, &file, "passed"), "work Working", "it does not hold");
    project.write("one", "1");
    project.write("two", "2");
    assert_eq!(reports(&project, &file, "passed"), "verify Working");
}

#[test]
fn commands_are_allowed_entry_by_entry() {
    let run = |command: &str, node: &str| format!("  - {{ node: {node}, accept: [{{ id: t, run: [{command}] }}] }}\n");
    let (own, other) = (run("test, -f, ok", "work"), run("\"true\"", "elsewhere"));
    let mut project = project(&format!("verify:\n{own}{other}"));
    let held = project.run("small", "");
    expect!["refused not_trusted: leaving `work` requires commands that are not trusted yet"]
        .assert_eq(&reports(&project, &held, "passed"));
    assert!(project.says(&format!("runs show {held}")).contains("run `portolan trust .portolan/verify.yaml`"));
    expect![[r#"
        .portolan/verify.yaml: these commands may run in this project
          work/t: test -f ok  (at most 600 s)
        .portolan/verify.yaml: these commands may run in this project
          elsewhere/t: true  (at most 600 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .portolan/verify.yaml"));
    project.write("ok", "yes");
    assert_eq!(reports(&project, &held, "passed"), "verify Working");
    assert_eq!(reports(&project, &held, "failed"), "work Working");
    // Another entry does not concern the run, and neither does what others begin with.
    project.write(".portolan/verify.yaml", format!("verify:\n{}", run("\"false\"", "work")));
    assert_eq!(reports(&project, &held, "passed"), "verify Working");
    let other = project.run("small", "");
    expect!["refused not_trusted: leaving `work` requires commands that are not trusted yet"]
        .assert_eq(&reports(&project, &other, "passed"));
    project.write(".portolan/verify.yaml", "verify: [{ node: verify, deny: [edit] }]");
    expect![[r#"
        <run2> · small · work · working

        ## work

        Do it.

        Checked when you report it done:
        - t: `false` exits with status 0
        These commands are not trusted yet, so it cannot pass: the run uses an earlier version of `.portolan/verify.yaml`: begin a new run, or restore that version and run `portolan trust .portolan/verify.yaml`.

        → Call Next(passed|failed) when complete.

        optional  report that `work` failed                           Next {"run":"<run2>","result":"failed","revision":2}
        blocked   report `work` passed; 1 acceptance check(s) decide  until the run uses an earlier version of `.portolan/verify.yaml`: begin a new run, or restore that version and run `portolan trust .portolan/verify.yaml`
        exit: 0
    "#]].assert_eq(&project.says(&format!("runs show {other}")));
    expect![[r#"
        .portolan/verify.yaml: it runs no commands, so there is nothing to trust
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .portolan/verify.yaml"));
}

#[test]
fn what_is_wrong_with_the_file_is_told_and_keeps_workflows_from_being_begun() {
    let project = project("verify:\n  - { node: work, accept: [{ chek: tests }] }\n  - { nodes: work }\n");
    expect![[r#"
        error[missing-field]: the check has no `id`
         --> .portolan/verify.yaml:2:28
          |
        2 |   - { node: work, accept: [{ chek: tests }] }
          |                            ^

        error[unknown-field]: the check has a field `chek`, which has no meaning here
         --> .portolan/verify.yaml:2:30
          |
        2 |   - { node: work, accept: [{ chek: tests }] }
          |                              ^^^^
          |
        help: did you mean `check`?

        error[unknown-field]: the entry has a field `nodes`, which has no meaning here
         --> .portolan/verify.yaml:3:7
          |
        3 |   - { nodes: work }
          |       ^^^^^
          |
        help: did you mean `node`?

        1 file checked: 3 errors, 0 warnings
        exit: 3
    "#]]
    .assert_eq(&project.says("check .portolan/verify.yaml"));
    expect![[r#"
        stderr: error: `.portolan/verify.yaml` has faults: line 2: the check has no `id`; line 2: the check has a field `chek`, which has no meaning here; line 3: the entry has a field `nodes`, which has no meaning here
        stderr: help: fix it; `portolan check .portolan/verify.yaml` shows where each fault is
        exit: 3
    "#]].assert_eq(&project.says("runs start small"));
    let checked = project.says("check .flow/workflows/small.json");
    assert!(checked.contains("2 files checked: 3 errors") && checked.ends_with("exit: 3\n"), "{checked}");
    let shown = project.says("show small");
    assert!(shown.ends_with("exit: 0\n"), "{shown}");
}

#[test]
fn an_entry_that_matches_nothing_is_a_warning() {
    let project = project(
        "verify:
  - { workflow: smal, node: work, deny: [edit] }
  - { workflow: small, node: wrok, deny: [edit] }
  - { workflow: bug-fix, node: start, accept: [{ check: tests }] }
  - { workflow: team:any, node: wrok, deny: [edit] }
  - { deny: [WebFetch] }
",
    );
    expect![[r#"
        warning[matches-nothing]: no workflow is called `smal`
         --> .portolan/verify.yaml:2:17
          |
        2 |   - { workflow: smal, node: work, deny: [edit] }
          |                 ^^^^
          |
        help: did you mean `small`?

        warning[matches-nothing]: no step of these workflows is called `wrok`
         --> .portolan/verify.yaml:3:30
          |
        3 |   - { workflow: small, node: wrok, deny: [edit] }
          |                              ^^^^
          |
        help: did you mean `work`?

        warning[matches-nothing]: `start` is of the kind `start`, which takes no checks
         --> .portolan/verify.yaml:4:32
          |
        4 |   - { workflow: bug-fix, node: start, accept: [{ check: tests }] }
          |                                ^^^^^
          |
        help: tasks, gates, phases, steps and states take checks, and all of these except states take tool rules

        1 file checked: 0 errors, 3 warnings
        exit: 0
    "#]]
    .assert_eq(&project.says("check .portolan/verify.yaml"));
    let checked = project.says("check .flow/workflows");
    assert!(checked.contains("2 files checked: 0 errors, 3 warnings"), "{checked}");
    assert!(project.says("check .flow/workflows/small.json").contains("1 file checked: 0 errors, 0 warnings"));
    assert!(project.says("check .portolan/verify.yaml --deny matches-nothing").ends_with("exit: 3\n"));
}

#[test]
fn what_is_attached_counts_as_checked_in_workflows_of_the_catalogue() {
    let project = Project::new();
    project.write(".portolan/verify.yaml", "verify: [{ workflow: quick-task, accept: [treeIsSettled] }]");
    let shown = project.says("show quick-task --format text");
    expect![[r#"
        Quick Task (quick-task)
        Does a small, well-understood job with one check and a commit; pick it when an hour's work needs
        no plan and no review.

        start         start                                         → understand
        understand    task        Understand the job                → execute
                                  check output: the report gives `goal`, which fits its schema
                                  check treeIsSettled: gate treeIsSettled (.portolan/verify.yaml:1)
        execute       task        Do the job                        → verify
                                  check changed: since the step began, a file has changed
                                  check treeIsSettled: gate treeIsSettled (.portolan/verify.yaml:1)
        verify        task        Verify the job                    → lint_format
                                  failed → execute (retry up to 1, then hitl_blocked)
                                  check tests: the project's tests
                                  check tests-not-weakened: since the run began, no test was removed, skipped or weakened
                                  check treeIsSettled: gate treeIsSettled (.portolan/verify.yaml:1)
        lint_format   gate        Lint and format                   → commit
                                  failed → execute (retry up to 3, then hitl_blocked)
                                  check format: the project's format
                                  check lint: the project's lint
                                  check no-conflict-marks: since the run began, no changed file contains conflict markers
                                  check treeIsSettled: gate treeIsSettled (.portolan/verify.yaml:1)
        commit        task        Commit                            → end_success
                                  check commit: since the run began, a commit has been made, and its message follows the rules
                                  check clean-tree: gate treeIsSettled
                                  check no-conflict-marks: since the run began, no changed file contains conflict markers
        end_success   end         Done                              ends: success
        hitl_blocked  checkpoint  Person needed: job does not pass  → execute

        Where no `failed` is shown, failed work is tried again up to 3 times; then a person decides.

        Checked: every step (5).
        exit: 0
    "#]].assert_eq(&shown);
}

#[test]
fn a_state_is_held_to_commands_that_are_attached_to_it() {
    let project = Project::new();
    project.write(
        "greet.yaml",
        "objective: A greeting\nstates:\n  greet: { objective: Greet, is_final: true, max_retries: 0 }\n",
    );
    project.write("answers.yaml", "- text: Good morning\n");
    project.write(".portolan/verify.yaml", "verify: [{ node: greet, accept: [{ id: ok, run: [test, -f, ok] }] }]");
    let run = "run greet.yaml name=Ada --model scripted:answers.yaml";
    expect![[r#"
        stderr: error: `.portolan/verify.yaml` attaches commands to `greet` that are not trusted yet
        stderr: help: read it, then run `portolan trust .portolan/verify.yaml`; the person at this machine decides this
        exit: 2
    "#]]
    .assert_eq(&project.says(run));
    project.says("trust .portolan/verify.yaml");
    let refused = project.says(run);
    assert!(refused.contains("ok") && !refused.ends_with("exit: 0\n"), "{refused}");
    project.write("ok", "yes");
    let done = project.says(run);
    assert!(done.contains("Good morning") && done.ends_with("exit: 0\n"), "{done}");
}

//! `portolan catalog`.

use expect_test::expect;
use serde_json::Value;

use crate::support::Project;

#[test]
fn everything_that_comes_with_the_program_is_listed() {
    let project = Project::new();
    let said = project.says("catalog list");
    let words = said.lines().filter_map(|line| line.split_whitespace().next());
    let ids: Vec<&str> = words.filter(|word| *word != "exit:").collect();
    expect![[r#"
        agile-task
        batch-process
        bug-fix
        bug-hunt
        build-review-murder-board
        build-review-quick
        context-gather
        context-optimization
        execute
        feature-development
        hitl-test
        odd-even-test
        quick-task
        refactor
        test-coverage
        ui-reconstruction
        delivery
        sdlc-simple
        ooda
        architect
        context-engineer
        developer
        investigator
        planner
        reviewer
        tester
    "#]]
    .assert_eq(&(ids.join("\n") + "\n"));
    let listed = project.command(&["catalog", "list", "--format", "json"]).output().expect("it runs");
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("one JSON value");
    assert_eq!(listed["workflows"].as_array().map(Vec::len), Some(19));
    assert_eq!(listed["agents"].as_array().map(Vec::len), Some(7));
}

#[test]
fn copies_are_not_overwritten_unasked() {
    let project = Project::new();
    expect![[r#"
        copied     bug-fix
        copied     quick-task
        stderr: to <project>/.flow/workflows
        exit: 0
    "#]]
    .assert_eq(&project.says("catalog copy bug-fix quick-task"));
    expect![[r#"
        unchanged  bug-fix
        stderr: to <project>/.flow/workflows
        exit: 0
    "#]]
    .assert_eq(&project.says("catalog copy bug-fix"));
    project.write(".flow/workflows/bug-fix/workflow.json", "{}");
    expect![[r#"
        stderr: error: bug-fix: `<project>/.flow/workflows/bug-fix/workflow.json` was edited: copy it again with `force` to replace it
        stderr: to <project>/.flow/workflows
        exit: 2
    "#]].assert_eq(&project.says("catalog copy bug-fix"));
    expect![[r#"
        {
          "path": "<project>/.flow/workflows",
          "copied": [],
          "unchanged": [],
          "errors": [
            {
              "id": "bug-fix",
              "error": "`<project>/.flow/workflows/bug-fix/workflow.json` was edited: copy it again with `force` to replace it"
            }
          ]
        }
        exit: 2
    "#]].assert_eq(&project.says("catalog copy bug-fix --format json"));
    expect![[r#"
        copied     bug-fix
        stderr: to <project>/.flow/workflows
        exit: 0
    "#]]
    .assert_eq(&project.says("catalog copy bug-fix --force"));
}

#[test]
fn agents_are_copied_inside_the_project() {
    let project = Project::new();
    expect![[r#"
        copied     developer
        stderr: to <project>/.claude/agents
        exit: 0
    "#]]
    .assert_eq(&project.says("catalog copy --agents developer"));
    expect![[r#"
        {
          "path": "<project>/helpers",
          "copied": [
            "tester"
          ],
          "unchanged": [],
          "errors": []
        }
        exit: 0
    "#]]
    .assert_eq(&project.says("catalog copy --agents --target helpers tester --format json"));
    expect![[r#"
        stderr: error: `../out` is outside the project
        stderr: help: name a folder inside the project, without `..`
        exit: 2
    "#]]
    .assert_eq(&project.says("catalog copy --agents --target ../out developer"));
    expect![[r#"
        stderr: error: the following required arguments were not provided:
        stderr:   --agents
        stderr: 
        stderr: Usage: portolan catalog copy --agents --target <DIR> [ID]...
        stderr: 
        stderr: For more information, try '--help'.
        exit: 2
    "#]]
    .assert_eq(&project.says("catalog copy --target helpers"));
}

#[test]
fn unknown_ids_are_refused_and_the_others_copied() {
    let project = Project::new();
    expect![[r#"
        copied     execute
        stderr: error: bugfix: not found in catalog: did you mean `bug-fix`?
        stderr: error: ../../etc: not found in catalog
        stderr: to <project>/.flow/workflows
        exit: 2
    "#]]
    .assert_eq(&project.says("catalog copy bugfix ../../etc execute"));
}

#[test]
fn no_ids_means_all() {
    let project = Project::new();
    let said = project.says("catalog copy");
    assert_eq!(said.matches("copied").count(), 19, "{said}");
}

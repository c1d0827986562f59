//! The workflows under `examples`, led to their ends; `tests/docs.rs` has them checked.

use crate::calls::Calls;
use expect_test::expect;

use crate::support::{Project, address, reported, repository};

/// A project with the workflows of an example.
fn project_of(example: &str) -> Project {
    let project = Project::new();
    let folder = repository().join("examples/navigator").join(example);
    for file in folder.read_dir().expect("the example").map(|entry| entry.expect("it can be read").path()) {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        project.write(&format!(".flow/workflows/{name}"), std::fs::read(&file).expect("a file"));
    }
    project
}

/// Reports each outcome in turn and tells where it led; `branch:outcome` reports for one branch.
fn walk(project: &Project, run: &str, outcomes: &str) -> String {
    let mut told = String::new();
    for word in outcomes.split_whitespace() {
        let (branch, outcome) = word.split_once(':').map_or((None, word), |(branch, outcome)| (Some(branch), outcome));
        let view = project.agent(async |service, me| {
            let view = service.current(&address(run), branch, me).await?;
            service.next(&reported(&view, outcome), me).await
        });
        told += &match view {
            Ok(view) => {
                let refuted = view.claim.iter().flat_map(|claim| &claim.checks).filter(|check| !check.held);
                let refuted =
                    refuted.map(|check| format!(" [{}: {}]", check.id, check.reason.as_deref().unwrap_or_default()));
                let fork = view
                    .situation
                    .position
                    .branches
                    .iter()
                    .map(|branch| format!(" {}={}", branch.branch, branch.state));
                format!("{word} → {}{}{}\n", view.current_step, fork.collect::<String>(), refuted.collect::<String>())
            }
            Err(error) => format!("{word}: {} ({})\n", error.message, error.code),
        };
    }
    told
}

#[test]
fn release_takes_neither_notes_nor_tests_on_the_agents_word() {
    let mut project = project_of("release");
    let run = project.run("release", "");
    expect![[r#"
        passed → write_notes [notes: `CHANGELOG.md` does not exist]
    "#]]
    .assert_eq(&walk(&project, &run, "passed"));
    project.write("CHANGELOG.md", "# 1.0.0\n\nThe first release.\n");
    expect![[r#"
        passed → test
        passed: leaving `test` requires commands that are not trusted yet (not_trusted)
    "#]]
    .assert_eq(&walk(&project, &run, "passed passed"));
    expect![[r#"
        .flow/workflows/release.json: these commands may run in this project
          test/tests: cargo test  (at most 900 s)
        exit: 0
    "#]]
    .assert_eq(&project.says("trust .flow/workflows/release.json"));
    // There is nothing to test in this folder, and no claim changes that.
    expect![[r#"
        passed → repair [tests: `cargo test` exited with status 101]
        passed → test
        passed → repair [tests: `cargo test` exited with status 101]
        passed → test
        passed → stuck [tests: `cargo test` exited with status 101]
    "#]]
    .assert_eq(&walk(&project, &run, "passed passed passed passed passed"));
    expect![[r#"
        <run1> · release · dropped · ended

        ## Cancelled

        The run was cancelled. Stop working on it.
        exit: 0
    "#]]
    .assert_eq(&project.says(&format!("runs answer {run} cancelled")));
}

#[test]
fn first_answer_takes_the_first_that_finds_it() {
    let mut project = project_of("first-answer");
    let run = project.run("first-answer", "");
    expect![[r#"
        reproduce:passed: no branch `reproduce` is in progress (unknown_branch)
        logs:failed → look logs=failed history=working reproduce=working
        reproduce:passed → report
        history:passed: no branch `history` is in progress (unknown_branch)
        passed → done
    "#]]
    .assert_eq(&walk(&project, &run, "reproduce:passed logs:failed reproduce:passed history:passed passed"));
    let run = project.run("first-answer", "");
    expect![[r#"
        logs:failed → look logs=failed history=working reproduce=working
        history:failed → reproduce
        reproduce:failed → ask
        passed → look logs=working history=working reproduce=held
        logs:passed → report
        passed → done
    "#]]
    .assert_eq(&walk(&project, &run, "logs:failed history:failed reproduce:failed passed logs:passed passed"));
}

#[test]
fn an_audit_is_a_workflow_of_its_own() {
    let mut project = project_of("audited-change");
    let run = project.run("audited-change", "passed");
    expect![[r#"
        passed → inspect [report: `docs/audit.md` does not exist]
    "#]]
    .assert_eq(&walk(&project, &run, "passed"));
    project.write("docs/audit.md", "no findings\n");
    expect![[r#"
        passed → judge
        failed → change
        passed → inspect
        passed → judge
        passed → commit
        passed → done
    "#]]
    .assert_eq(&walk(&project, &run, "passed failed passed passed passed passed"));
    let run = project.run("audit", "passed");
    expect![[r#"
        failed → harmful
    "#]]
    .assert_eq(&walk(&project, &run, "failed"));
}

/// The graphs under `examples`: their own tests take every edge of theirs, and they run with the servers that they name.
#[test]
fn graphs_are_tested_and_run() {
    let project = Project::new();
    let folder = repository().join("examples/tool-graphs");
    let mut tested = 0;
    for file in folder.read_dir().expect("the examples").map(|entry| entry.expect("it can be read").path()) {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        project.write(&name, std::fs::read(&file).expect("a file"));
    }
    for graph in ["count-files", "inventory"] {
        let said = project.says(&format!("test {graph}.test.yaml"));
        assert!(said.ends_with("exit: 0\n"), "{said}");
        tested += 1;
    }
    assert_eq!(tested * 2, folder.read_dir().expect("the examples").count(), "every graph is tested, and is run below");
    project.write("data/a.txt", "hello");
    project.write("data/b.txt", "hello, world");
    expect![[r#"
        {"count":2}
        exit: 0
    "#]]
    .assert_eq(&project.says("run count-files.yaml directory=data"));
    expect![[r#"
        {"files":2,"bytes":17,"largest":["data/b.txt","data/a.txt"]}
        exit: 0
    "#]]
    .assert_eq(&project.says("run inventory.yaml --tool inventory folder=data"));
}

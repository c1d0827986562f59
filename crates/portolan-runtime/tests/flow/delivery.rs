//! The twelve phases on a real repository.

use portolan_runtime::audit::project_log;
use serde_json::json;

use super::stand::{line, log_text};
use super::world::World;

/// The example that hosts know, first of all.
#[tokio::test]
async fn a_branch_that_matches_its_prefix_leaves_its_phase() {
    let world = World::new();
    world.git(&["switch", "-q", "-c", "feat/build-auth"]);
    world.start(Some("branch")).await;
    world.patch(json!({ "issueNumber": 42, "branch": "feat/build-auth" })).await;
    let tick = serde_json::to_value(world.tick().await).expect("JSON");
    let expected = json!({
        "advanced": true,
        "from": "branch",
        "to": "spec",
        "reason": r#"Branch "feat/build-auth" matches prefix "feat/"."#,
    });
    assert_eq!(tick, expected);
    let state = world.service().flow().status().await.expect("a state");
    assert_eq!(state.branch_prefix.as_deref(), Some("feat/"));
}

#[tokio::test]
async fn a_task_goes_through_all_twelve_phases() {
    let world = World::new();
    world.start(None).await;
    let mut told = Vec::new();
    for _ in 0..4 {
        told.push(line(&world.tick().await));
    }
    world.patch(json!({ "issueNumber": 42, "branch": "feat/build-auth" })).await;
    told.push(line(&world.tick().await));
    world.git(&["switch", "-q", "-c", "feat/build-auth"]);
    for _ in 0..3 {
        told.push(line(&world.tick().await));
    }
    told.push(line(&world.tick().await));
    told.push(line(&world.tick().await));
    world.put("auth.txt", "let in\n");
    world.git(&["add", "."]);
    world.git(&["commit", "-q", "-m", "add auth"]);
    let oid = world.git(&["rev-parse", "HEAD"]);
    told.push(line(&world.tick().await).replace(&oid[..10], "<oid>"));
    world.git(&["commit", "-q", "--amend", "-m", "feat: add auth (#42)"]);
    for _ in 0..2 {
        told.push(line(&world.tick().await));
    }
    world.patch(json!({ "prNumber": 7 })).await;
    world.gh("pr", 4, "");
    told.push(line(&world.tick().await));
    world.request("OPEN");
    for _ in 0..3 {
        told.push(line(&world.tick().await));
    }
    world.request("MERGED");
    for _ in 0..2 {
        told.push(line(&world.tick().await));
    }
    expect_test::expect![[r#"
        on idle > scope: No acceptance checks for phase "idle".
        on scope > issue: No acceptance checks for phase "scope".
        on issue > branch: No acceptance checks for phase "issue".
        no branch > branch: no issue is claimed; open one, or find the one that this work belongs to, and claim its number; no branch is claimed; make one for the work and claim its name
        no branch > branch: `main` is checked out, not `feat/build-auth`; switch to it, or claim the other
        on branch > spec: Branch "feat/build-auth" matches prefix "feat/".
        on spec > implement: no specification is needed (`specs.required`)
        on implement > test: No acceptance checks for phase "implement".
        on test > commit: No acceptance checks for phase "test".
        no commit > commit: nothing is committed on `feat/build-auth`; commit the work; nothing is committed on `feat/build-auth`; commit the work
        no commit > commit: <oid> `add auth`: name the issue: `Refs #42`; <oid> `add auth`: write `type(scope): description`; the scope is optional, `!` before the colon marks a breaking change
        on commit > qa: 1 commit is in Conventional Commits format
        on qa > pr: no type checker is configured, and the project's files suggest none
        no pr > pr: cannot verify: `gh` is not logged in; run `gh auth login`
        on pr > review: pull request #7 to `main` is open and has every commit
        on review > merge: the branch removes only what it declares
        no merge > merge: pull request #7 is open; have it merged, and try again
        on merge > idle: pull request #7 is merged into `main`
        no idle > idle: No active task."#]].assert_eq(&told.join("\n"));
    assert!(portolan_runtime::audit::verify(&project_log(&world.at("project"))).expect("read").first_fault.is_none());
}

#[tokio::test]
async fn what_cannot_be_verified_is_no_pass_and_can_be_got_past_by_name() {
    let world = World::new();
    world.git(&["switch", "-q", "-c", "feat/build-auth"]);
    world.gh("issue", 4, "");
    world.start(Some("branch")).await;
    world.patch(json!({ "issueNumber": 42, "branch": "feat/build-auth" })).await;
    let tick = world.tick().await;
    assert!(!tick.advanced && tick.reason.starts_with("cannot verify: "), "{}", tick.reason);
    world.get_past("I-4").await;
    assert!(!world.tick().await.advanced, "another rule");
    world.get_past("I-3").await;
    assert!(world.tick().await.advanced);
    let log = log_text(&world.at("project"));
    let applied: Vec<&str> = log.lines().filter(|line| line.contains(r#"stage="applied""#)).collect();
    assert_eq!(applied.len(), 1, "{log}");
    assert!(log.contains(r#"code="cannot_verify""#), "{log}");
}

#[tokio::test]
async fn every_commit_at_fault_is_on_record() {
    let world = World::new();
    world.git(&["switch", "-q", "-c", "feat/build-auth"]);
    world.start(Some("branch")).await;
    world.patch(json!({ "issueNumber": 42, "branch": "feat/build-auth" })).await;
    for subject in ["one", "feat: two (#42)", "three"] {
        world.git(&["commit", "-q", "--allow-empty", "-m", subject]);
    }
    for _ in 0..4 {
        assert!(world.tick().await.advanced);
    }
    let tick = world.tick().await;
    assert_eq!((tick.advanced, tick.from.as_str()), (false, "commit"), "{}", tick.reason);
    let log = log_text(&world.at("project"));
    let at_fault: Vec<&str> = log.lines().filter(|line| line.starts_with("flow.commit.format.violation")).collect();
    for subject in ["one", "three"] {
        assert!(at_fault.iter().any(|line| line.contains(&format!(r#"subject="{subject}""#))), "{log}");
    }
}

#[tokio::test]
async fn two_tasks_do_not_work_for_the_same_issue() {
    let world = World::new();
    world.git(&["switch", "-q", "-c", "feat/build-auth"]);
    let claims = json!({ "issueNumber": 42, "branch": "feat/build-auth" });
    world.begin("first", Some("branch"), None).await;
    world.patch(claims.clone()).await;
    let service = world.service();
    let aside = service.flow().set_aside(&super::stand::me()).await.expect("set aside").expect("a task");
    world.begin("second", Some("branch"), None).await;
    world.patch(claims).await;
    let tick = world.tick().await;
    assert!(!tick.advanced && tick.reason.contains("claimed by the task `first ("), "{}", tick.reason);
    world.put(".portolan/guidelines.yaml", "issues: { allowShared: true }\n");
    assert!(world.tick().await.advanced);
    world.put(".portolan/guidelines.yaml", "");
    service.flow().abort(portolan_runtime::service::Ending::Escalated, "no", &super::stand::me()).await.expect("off");
    service.flow().take_up(&aside, &super::stand::me()).await.expect("taken up");
    assert!(world.tick().await.advanced, "the other is over");
}

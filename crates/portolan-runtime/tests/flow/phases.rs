//! What may be done with a task, and what is told of it.

use expect_test::expect;
use portolan_runtime::service::{Ending, Override, Start};
use serde_json::json;

use super::stand::{Stand, line, me, object, past, person};

#[tokio::test]
async fn a_tick_moves_one_phase_when_its_checks_hold() {
    let stand = Stand::new();
    let mut told = vec![line(&stand.tick().await)];
    stand.start("build-auth", None).await.expect("begun");
    for files in [&["ready", "open"][..], &[], &["tested"], &[]] {
        told.push(line(&stand.tick().await));
        told.push(line(&stand.tick().await));
        files.iter().for_each(|file| stand.put(file, "there"));
    }
    expect![[r#"
        no idle > idle: No active task.
        on idle > begin: No acceptance checks for phase "idle".
        no begin > begin: `ready` does not exist; `open` does not exist
        on begin > work: `open` holds
        on work > test: No acceptance checks for phase "work".
        no test > test: `tested` does not exist
        no test > test: `tested` does not exist
        on test > ship: `tested` holds
        on ship > idle: No acceptance checks for phase "ship"."#]]
    .assert_eq(&told.join("\n"));
    expect![[r#"
        flow.boot idle build-auth workflow="small"
        flow.transition idle build-auth from="idle" to="begin" reason="No acceptance checks for phase \"idle\"." kind="forward"
        flow.acceptance.failed begin build-auth invariant="X-1" checkId="ready" reason="`ready` does not exist"
        flow.acceptance.failed begin build-auth invariant="X-2" checkId="open" reason="`open` does not exist"
        flow.acceptance.passed begin build-auth invariant="X-1" checkId="ready" reason="`ready` holds"
        flow.acceptance.passed begin build-auth invariant="X-2" checkId="open" reason="`open` holds"
        flow.transition begin build-auth from="begin" to="work" reason="`open` holds" kind="forward"
        flow.transition work build-auth from="work" to="test" reason="No acceptance checks for phase \"work\"." kind="forward"
        flow.acceptance.failed test build-auth invariant="X-3" checkId="tested" reason="`tested` does not exist"
        flow.acceptance.failed test build-auth invariant="X-3" checkId="tested" reason="`tested` does not exist"
        flow.acceptance.passed test build-auth invariant="X-3" checkId="tested" reason="`tested` holds"
        flow.transition test build-auth from="test" to="ship" reason="`tested` holds" kind="forward"
        flow.transition ship build-auth from="ship" to="idle" reason="No acceptance checks for phase \"ship\"." kind="forward"
        task.completed ship build-auth summary="`build-auth` is done" iterations=0
    "#]].assert_eq(&stand.log());
    assert_eq!(stand.state().await.task_id, None);
}

#[tokio::test]
async fn a_task_begins_further_on_only_where_nothing_is_skipped() {
    let stand = Stand::new();
    let refused =
        |error: portolan_runtime::service::ServiceError| format!("{}: {}; {}", error.code, error.message, error.help);
    for (task, at, told) in [
        ("-x", None, "bad_id: `-x` cannot be the name of a task"),
        ("a b", None, "bad_id: `a b` cannot be the name of a task"),
        (
            "t",
            Some("work"),
            "skips_checks: the task cannot begin at `work`: `begin`, which comes before it, has checks",
        ),
        ("t", Some("begn"), "unknown_step: `begn` is not a phase of `small`; did you mean `begin`?"),
    ] {
        let error = refused(stand.start(task, at).await.expect_err("it is refused"));
        assert!(error.starts_with(told), "{error}");
    }
    assert_eq!(stand.start("t", Some("begin")).await.expect("begun").phase, "begin");
    let again = refused(stand.start("u", None).await.expect_err("one task at a time"));
    assert!(again.starts_with("task_under_way: the task `t` is in progress"), "{again}");
    let start = Start { task: "t".to_owned(), workflow: Some("quick-task".to_owned()), at: None };
    let other = Stand::new();
    let without = refused(other.service().flow().start(&start, &me()).await.expect_err("it has no phases"));
    assert!(without.starts_with("no_phases: `quick-task` has no phases"), "{without}");
}

/// The default workflow may be begun up to the first phase that has checks, and nowhere behind it.
#[tokio::test]
async fn no_task_begins_behind_a_check() {
    let mut told = String::new();
    for at in ["idle", "scope", "issue", "branch", "spec", "implement", "commit", "qa", "pr", "review", "merge"] {
        let stand = Stand::new();
        let start = Start { task: "t".to_owned(), at: Some(at.to_owned()), workflow: None };
        let said = match stand.service().flow().start(&start, &me()).await {
            Ok(state) => format!("at {}", state.phase),
            Err(error) => error.message,
        };
        told.push_str(&format!("{at}: {said}\n"));
    }
    expect![[r#"
        idle: at idle
        scope: at scope
        issue: at issue
        branch: at branch
        spec: the task cannot begin at `spec`: `branch`, which comes before it, has checks
        implement: the task cannot begin at `implement`: `branch`, which comes before it, has checks
        commit: the task cannot begin at `commit`: `branch`, which comes before it, has checks
        qa: the task cannot begin at `qa`: `branch`, which comes before it, has checks
        pr: the task cannot begin at `pr`: `branch`, which comes before it, has checks
        review: the task cannot begin at `review`: `branch`, which comes before it, has checks
        merge: the task cannot begin at `merge`: `branch`, which comes before it, has checks
    "#]]
    .assert_eq(&told);
}

/// Phases that are written in another order than they follow each other are skipped no more than others.
#[tokio::test]
async fn the_order_of_phases_decides_and_not_how_they_are_written() {
    let stand = Stand::new();
    let phases = "id: small\nphases:\n  - { id: idle }\n  - { id: late, after: gate }\n  - id: gate\n    after: idle\n    \
                  accept: [{ id: ready, file: ready }]\n";
    stand.put(".flow/workflows/small.yaml", phases);
    let error = stand.start("t", Some("late")).await.expect_err("it is refused");
    assert_eq!(error.code, "skips_checks", "{}", error.message);
    assert_eq!(stand.start("t", Some("gate")).await.expect("begun").phase, "gate");
}

#[tokio::test]
async fn claims_are_made_in_their_phases_and_nobody_writes_what_is_the_engines() {
    let stand = Stand::new();
    stand.start("t", Some("begin")).await.expect("begun");
    let patch = async |values: serde_json::Value| {
        let service = stand.service();
        match service.flow().patch(&object(values), &me()).await {
            Ok(state) => format!("branch={:?} pr={:?} claims={:?}", state.branch, state.pr_number, state.claims),
            Err(error) => format!("{}: {}; {}", error.code, error.message, error.help),
        }
    };
    let mut told = Vec::new();
    for values in [
        json!({ "branch": "feat/x" }),
        json!({ "branch": 7 }),
        json!({ "prNumber": 3 }),
        json!({ "phase": "ship" }),
        json!({ "nothing": 1 }),
    ] {
        told.push(patch(values).await);
    }
    expect![[r#"
        branch=Some("feat/x") pr=None claims={}
        bad_claim: `branch` must be a branch name that git accepts, without blanks, but is `7`; correct the values; nothing was claimed
        out_of_phase: `prNumber` cannot be given a value at `begin`; only `branch` can be given here
        out_of_phase: `phase` is set only by the engine; leave it out
        bad_claim: there is no field `nothing` (the fields are `branch` and `prNumber`); correct the values; nothing was claimed"#]].assert_eq(&told.join("\n"));
}

/// A value that no check could ever find to be so is refused at once, with every other one that stands beside it.
#[tokio::test]
async fn what_cannot_be_meant_is_refused_when_it_is_claimed() {
    let stand = Stand::new();
    let start = Start { task: "t".to_owned(), at: None, workflow: None };
    stand.service().flow().start(&start, &me()).await.expect("begun");
    let mut told = String::new();
    for values in [
        json!({ "issueNumber": -1 }),
        json!({ "issueNumber": 0 }),
        json!({ "issueNumber": 1.5 }),
        json!({ "issueNumber": 1e300 }),
        json!({ "issueNumber": "42" }),
        json!({ "issueNumber": 42.0, "branch": "feat/x" }),
        json!({ "branch": "" }),
        json!({ "branch": "feat/x " }),
        json!({ "branch": "feat/a b" }),
        json!({ "branch": "-x" }),
        json!({ "branch": "a`b\nc" }),
        json!({ "branchPrefix": "" }),
        json!({ "branchPrefix": "feat" }),
        json!({ "specPath": "/etc/passwd" }),
        json!({ "specPath": "a/../../b" }),
        json!({ "specPath": " " }),
        json!({ "contextRefs": [1] }),
        json!({ "contextRefs": ["a", "b"] }),
        json!({ "issueNumber": -1, "branch": "", "specPath": 7, "nothing": 1 }),
        json!({ "prNumber": 7 }),
    ] {
        let service = stand.service();
        let said = match service.flow().patch(&object(values.clone()), &me()).await {
            Ok(state) => format!("claimed: {:?} {:?}", state.issue_number, state.branch),
            Err(error) => format!("{}: {}; {}", error.code, error.message, error.help),
        };
        told.push_str(&format!("{values}\n    {said}\n"));
    }
    expect![[r#"
        {"issueNumber":-1}
            bad_claim: `issueNumber` must be a whole number of at least 1, but is `-1`; correct the values; nothing was claimed
        {"issueNumber":0}
            bad_claim: `issueNumber` must be a whole number of at least 1, but is `0`; correct the values; nothing was claimed
        {"issueNumber":1.5}
            bad_claim: `issueNumber` must be a whole number of at least 1, but is `1.5`; correct the values; nothing was claimed
        {"issueNumber":1e+300}
            bad_claim: `issueNumber` must be a whole number of at least 1, but is `1e+300`; correct the values; nothing was claimed
        {"issueNumber":"42"}
            bad_claim: `issueNumber` must be a whole number of at least 1, but is `"42"`; correct the values; nothing was claimed
        {"issueNumber":42.0,"branch":"feat/x"}
            claimed: Some(42) Some("feat/x")
        {"branch":""}
            bad_claim: `branch` must be a branch name that git accepts, without blanks, but is `""`; correct the values; nothing was claimed
        {"branch":"feat/x "}
            bad_claim: `branch` must be a branch name that git accepts, without blanks, but is `"feat/x "`; correct the values; nothing was claimed
        {"branch":"feat/a b"}
            bad_claim: `branch` must be a branch name that git accepts, without blanks, but is `"feat/a b"`; correct the values; nothing was claimed
        {"branch":"-x"}
            bad_claim: `branch` must be a branch name that git accepts, without blanks, but is `"-x"`; correct the values; nothing was claimed
        {"branch":"a`b\nc"}
            bad_claim: `branch` must be a branch name that git accepts, without blanks, but is `"a'b\nc"`; correct the values; nothing was claimed
        {"branchPrefix":""}
            bad_claim: `branchPrefix` must be a prefix of branch names, such as `feat/`, but is `""`; correct the values; nothing was claimed
        {"branchPrefix":"feat"}
            claimed: Some(42) Some("feat/x")
        {"specPath":"/etc/passwd"}
            bad_claim: `specPath` must be a path relative to the project, without `..`, but is `"/etc/passwd"`; correct the values; nothing was claimed
        {"specPath":"a/../../b"}
            bad_claim: `specPath` must be a path relative to the project, without `..`, but is `"a/../../b"`; correct the values; nothing was claimed
        {"specPath":" "}
            bad_claim: `specPath` must be a path relative to the project, without `..`, but is `" "`; correct the values; nothing was claimed
        {"contextRefs":[1]}
            bad_claim: `contextRefs` must be a list of at most 200 texts of at most 1000 bytes each, but is `[1]`; correct the values; nothing was claimed
        {"contextRefs":["a","b"]}
            claimed: Some(42) Some("feat/x")
        {"issueNumber":-1,"branch":"","specPath":7,"nothing":1}
            bad_claim: `issueNumber` must be a whole number of at least 1, but is `-1`; `branch` must be a branch name that git accepts, without blanks, but is `""`; `specPath` must be a path relative to the project, without `..`, but is `7`; there is no field `nothing` (the fields are `issueNumber`, `branch`, `branchPrefix`, `specPath`, `prNumber` and `contextRefs`); correct the values; nothing was claimed
        {"prNumber":7}
            out_of_phase: `prNumber` cannot be given a value at `idle`; only `issueNumber`, `branch`, `branchPrefix`, `specPath` and `contextRefs` can be given here
    "#]].assert_eq(&told);
}

#[tokio::test]
async fn a_rule_is_got_past_by_name_and_the_log_has_it_first() {
    let stand = Stand::new();
    stand.put("open", "there");
    stand.start("t", Some("begin")).await.expect("begun");
    let service = stand.service();
    let flow = service.flow();
    for wrong in ["X-9", "*", "I-13"] {
        let error = flow.get_past(&past(wrong), &person()).await.expect_err("it is refused");
        assert_eq!(error.code, "bad_bypass", "{wrong}: {}", error.message);
    }
    let blank = Override { reason: "  ".to_owned(), ..past("X-1") };
    let by_agent = flow.get_past(&past("X-1"), &me()).await.expect_err("it is a person's");
    assert_eq!(by_agent.code, "needs_person");
    assert!(!by_agent.help.contains("portolan"), "{}", by_agent.help);
    assert_eq!(flow.get_past(&blank, &person()).await.expect_err("it needs a reason").code, "bad_input");
    let elsewhere = Override { phase: Some("test".to_owned()), ..past("X-1") };
    flow.get_past(&elsewhere, &person()).await.expect("on record");
    assert!(!stand.tick().await.advanced);
    let state = flow.get_past(&past("X-1"), &person()).await.expect("on record");
    assert_eq!(state.bypasses.len(), 2);
    expect!["on begin > work: `open` holds"].assert_eq(&line(&stand.tick().await));
    expect![[r#"
        flow.boot idle t workflow="small"
        flow.transition idle t from="idle" to="begin" reason="No acceptance checks for phase \"idle\"." kind="forward"
        flow.bypass begin t source="command" identifier="flow override" invariant="X-1" phase="test" reason="a spike" by="me" stage="recorded"
        flow.acceptance.failed begin t invariant="X-1" checkId="ready" reason="`ready` does not exist"
        flow.acceptance.passed begin t invariant="X-2" checkId="open" reason="`open` holds"
        flow.bypass begin t source="command" identifier="flow override" invariant="X-1" phase="begin" reason="a spike" by="me" stage="recorded"
        flow.bypass begin t source="command" identifier="flow override" invariant="X-1" phase="begin" reason="a spike" checkId="ready" found="`ready` does not exist" stage="applied"
        flow.acceptance.passed begin t invariant="X-1" checkId="ready" reason="`ready` does not exist" bypassedBy={"id":"b2","invariant":"X-1","node":"begin","reason":"a spike","source":"command","identifier":"flow override","at":1700000000000}
        flow.acceptance.passed begin t invariant="X-2" checkId="open" reason="`open` holds"
        flow.transition begin t from="begin" to="work" reason="`open` holds" kind="forward"
    "#]].assert_eq(&stand.log());
}

#[tokio::test]
async fn a_bypass_counts_for_its_rule_its_phase_its_task_and_its_time() {
    let gone = || Some(portolan_core::value::Timestamp(1_699_999_999_999));
    let later = || Some(portolan_core::value::Timestamp(1_700_000_000_001));
    let cases = [
        ("this rule", past("X-1"), true),
        ("another rule", past("X-3"), false),
        ("another phase", Override { phase: Some("test".to_owned()), ..past("X-1") }, false),
        ("no phase at all", Override { phase: Some("nowhere".to_owned()), ..past("X-1") }, false),
        ("over", Override { expires_at: gone(), ..past("X-1") }, false),
        ("not over yet", Override { expires_at: later(), ..past("X-1") }, true),
        ("once", Override { once: true, ..past("X-1") }, true),
    ];
    for (what, past, counts) in cases {
        let stand = Stand::new();
        stand.put("open", "there");
        stand.start("t", Some("begin")).await.expect("begun");
        // One that can count nowhere may as well be refused.
        let _refused = stand.service().flow().get_past(&past, &person()).await;
        assert_eq!(stand.tick().await.advanced, counts, "{what}: {}", stand.log());
    }
}

#[tokio::test]
async fn a_bypass_ends_with_its_task() {
    let stand = Stand::new();
    stand.put("open", "there");
    stand.start("t", Some("begin")).await.expect("begun");
    let service = stand.service();
    service.flow().get_past(&past("X-1"), &person()).await.expect("on record");
    service.flow().abort(Ending::ScopedDown, "too large", &me()).await.expect("called off");
    stand.start("t", Some("begin")).await.expect("another of this name");
    assert!(stand.state().await.bypasses.is_empty());
    assert!(!stand.tick().await.advanced);
}

#[tokio::test]
async fn a_bypass_that_counts_once_is_shown_as_used() {
    let stand = Stand::new();
    for file in ["open", "tested"] {
        stand.put(file, "there");
    }
    stand.start("t", Some("begin")).await.expect("begun");
    let service = stand.service();
    service.flow().get_past(&Override { once: true, ..past("X-1") }, &person()).await.expect("on record");
    assert_eq!(stand.state().await.bypasses.iter().map(|bypass| bypass.used).collect::<Vec<_>>(), [false]);
    assert!(stand.tick().await.advanced);
    assert_eq!(stand.state().await.bypasses.iter().map(|bypass| bypass.used).collect::<Vec<_>>(), [true]);
}

#[tokio::test]
async fn going_back_is_counted_and_then_a_person_decides() {
    let stand = Stand::new();
    for file in ["ready", "open", "tested"] {
        stand.put(file, "there");
    }
    stand.start("t", Some("begin")).await.expect("begun");
    let mut told = Vec::new();
    for _ in 0..2 {
        told.push(line(&stand.tick().await));
    }
    let service = stand.service();
    told.push(line(&service.flow().back("the tests fail", &me()).await.expect("back")));
    told.push(line(&stand.tick().await));
    told.push(line(&stand.tick().await));
    told.push(line(&service.flow().back("the reviewer wants more", &me()).await.expect("asked")));
    told.push(line(&stand.tick().await));
    let state = stand.state().await;
    told.push(format!("{:?} {} of {}", state.status, state.iterations, state.iteration_cap));
    expect![[r#"
        on begin > work: `open` holds
        on work > test: No acceptance checks for phase "work".
        on test > work: the tests fail
        on work > test: No acceptance checks for phase "work".
        on test > ship: `tested` holds
        no ship > ship: the task has already gone back to its work once, which is the limit; a person decides with `portolan 
        no ship > ship: the task has already gone back to its work once, which is the limit; a person decides with `portolan 
        WaitingForReply 1 of 1"#]].assert_eq(&told.join("\n"));
    expect![[r#"
        flow.boot idle t workflow="small"
        flow.transition idle t from="idle" to="begin" reason="No acceptance checks for phase \"idle\"." kind="forward"
        flow.acceptance.passed begin t invariant="X-1" checkId="ready" reason="`ready` holds"
        flow.acceptance.passed begin t invariant="X-2" checkId="open" reason="`open` holds"
        flow.transition begin t from="begin" to="work" reason="`open` holds" kind="forward"
        flow.transition work t from="work" to="test" reason="No acceptance checks for phase \"work\"." kind="forward"
        flow.transition test t from="test" to="work" reason="the tests fail" kind="iterate"
        flow.transition work t from="work" to="test" reason="No acceptance checks for phase \"work\"." kind="forward"
        flow.acceptance.passed test t invariant="X-3" checkId="tested" reason="`tested` holds"
        flow.transition test t from="test" to="ship" reason="`tested` holds" kind="forward"
        iteration.cap.hit ship t iterations=1 cap=1
    "#]]
    .assert_eq(&stand.log());
}

#[tokio::test]
async fn a_task_is_called_off() {
    let stand = Stand::new();
    stand.start("t", None).await.expect("begun");
    let service = stand.service();
    let state = service.flow().abort(Ending::Escalated, "nobody knows how", &me()).await.expect("called off");
    assert_eq!((state.phase.as_str(), state.task_id), ("idle", None));
    assert_eq!(service.flow().abort(Ending::Escalated, "again", &me()).await.expect_err("it is over").code, "no_task");
    expect![[r#"
        flow.boot idle t workflow="small"
        flow.transition idle t from="idle" to="idle" reason="nobody knows how" kind="abort"
        task.failed.escalated idle t summary="nobody knows how" iterations=0
    "#]]
    .assert_eq(&stand.log());
}

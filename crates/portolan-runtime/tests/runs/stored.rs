//! Runs in the store, as agents and people meet them.

use crate::common::calls::{Calls, Move};
use std::sync::Barrier;

use crate::common::walk::{Choice, Restart, Walker};
use crate::common::{World, agent, answer_text, person, read, refusal, step, wait};
use expect_test::expect;
use portolan_runtime::carrier::Address;
use portolan_runtime::catalog;
use portolan_runtime::service::{ErrorKind, Open};
use portolan_runtime::store::RunId;

#[test]
fn every_catalogue_workflow_is_led_to_its_end_and_a_restart_changes_nothing() {
    for entry in catalog::WORKFLOWS {
        for choice in [Choice::First, Choice::Any(2026)] {
            let walked = [Restart::Never, Restart::AfterEachCall].map(|restart| {
                let world = World::believing(&[entry.id]);
                let address = world.open(entry.id);
                let mut walker = Walker::new(&world, choice, restart);
                let end = walker.walk(&address);
                if matches!(choice, Choice::First) {
                    assert_eq!(end.terminal, Some("success"), "{}:\n{}", entry.id, walker.log);
                }
                (walker.log, world.history(&address))
            });
            assert_eq!(walked[0], walked[1], "{}", entry.id);
        }
    }
}

#[test]
fn the_history_tells_who_did_what() {
    let world = World::with(
        "mend",
        "start -> fix; fix -> check; check: gate retries 1; check -passed-> done; check -failed-> fix
         check -failed-> ask; ask -passed-> fix",
    );
    let run = world.open("mend");
    world.start(&run).expect("it starts");
    for outcome in ["passed", "failed", "passed", "failed", "passed", "passed", "passed"] {
        world.next(&run, outcome).expect("it is accepted");
    }
    expect![[r#"
        1 agent ann opened `mend`
        2 agent ann began → now at `fix`
        3 agent ann reported passed → now at `check`
        4 agent ann reported failed → retry 1 of 1 for `check`, now at `fix`
        5 agent ann reported passed → now at `check`
        6 agent ann reported failed → `ask` asks a person
        7 person (relayed by agent ann) reported passed → budgets refilled, now at `fix`
        8 agent ann reported passed → now at `check`
        9 agent ann reported passed → now at `done`
        10 portolan went on → ended at `done`: success
    "#]]
    .assert_eq(&world.history(&run));
}

#[test]
fn a_run_that_is_not_there_is_named() {
    let world = World::new();
    let run = Address::Stored(RunId::parse("k3mx8q2p").expect("a handle"));
    expect![[r#"
        unknown_run: there is no run `k3mx8q2p` in this store
          help: `portolan runs list` shows the existing runs
    "#]]
    .assert_eq(&answer_text(&world.current(&run)));
    world.open("execute");
    for answer in [world.current(&run), world.start(&run)] {
        assert_eq!(refusal(answer).code, "unknown_run");
    }
    assert_eq!(refusal(wait(world.service().cancel(&run, "no", &person()))).code, "unknown_run");
    assert_eq!(wait(world.service().records(&run)).expect_err("there is none").code, "unknown_run");
}

#[test]
fn a_stored_move_names_the_revision_that_it_knows() {
    let world = World::believing(&["execute"]);
    let run = world.open("execute");
    let view = world.start(&run).expect("it starts");
    expect![[r#"
        revision_required: the call names no `revision`
          help: send an action of the current situation unchanged: it has a `revision`
          (at execute)
    "#]]
    .assert_eq(&answer_text(&world.report(&Move { revision: None, ..step(&view, "passed") })));
    expect![[r#"
        stale: the call quotes revision 1, but `execute` was reached at revision 2
          help: the run has moved on in the meantime: choose from the present actions
          (at execute)
    "#]]
    .assert_eq(&answer_text(&world.report(&Move { revision: Some(1), ..step(&view, "passed") })));
    let error = refusal(world.report(&Move { revision: Some(u64::MAX), ..step(&view, "passed") }));
    assert_eq!(error.code, "stale", "a revision of the future is no better");
    let action = &read(&error.view.expect("it says where the run is")).actions.required[0];
    assert_eq!(world.send(action).expect("the present action is accepted").terminal, Some("success"));
}

#[test]
fn a_start_that_is_sent_twice_is_refused_with_the_situation_and_without_a_revision_shows_it() {
    let world = World::new();
    let run = world.open("execute");
    let start = read(&world.current(&run).expect("it is there")).actions.required[0].clone();
    assert_eq!(world.send(&start).expect("it starts").current_step, "execute");
    let error = refusal(world.send(&start));
    assert_eq!((error.code, error.view.expect("there").current_step.as_str()), ("stale", "execute"));
    assert_eq!(world.start(&run).expect("it shows").current_step, "execute");
    assert_eq!(world.history(&run).lines().count(), 2);
}

#[test]
fn an_outcome_that_is_not_declared_is_refused_with_those_that_are() {
    let world = World::new();
    let run = world.open("execute");
    expect![[r#"
        not_begun: the run has not begun: it is at `start`
          help: call Start first
          (at start)
    "#]]
    .assert_eq(&answer_text(&world.next(&run, "passed")));
    world.start(&run).expect("it starts");
    let error = refusal(world.next(&run, "maybe"));
    assert_eq!((error.code, error.accepted), ("no_matching_edge", vec!["passed".to_owned(), "failed".to_owned()]));
    let error = refusal(world.next(&run, &"x".repeat(100_000)));
    assert!(error.message.len() < 300, "{}", error.message);
}

#[test]
fn of_two_writers_exactly_one_wins_each_move() {
    let world =
        World::with("long", "start -> work; work: outputs again passed; work -again-> work; work -passed-> done");
    let run = world.open("long");
    world.start(&run).expect("it starts");
    let services = [world.service(), world.service()];
    for _ in 0..40 {
        let wanted = step(&world.current(&run).expect("it is there"), "again");
        let together = Barrier::new(2);
        let answers: Vec<_> = std::thread::scope(|scope| {
            let moves = services.iter().map(|service| {
                scope.spawn(|| {
                    together.wait();
                    wait(service.next(&wanted, &agent()))
                })
            });
            let moves: Vec<_> = moves.collect();
            moves.into_iter().map(|one| one.join().expect("nobody panics")).collect()
        });
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 1));
        let error = refusal(lost.into_iter().next().expect("one lost"));
        let now = world.current(&run).expect("it is there").situation;
        assert_eq!((error.kind, error.code), (ErrorKind::Refused, "stale"));
        assert_eq!(error.view.expect("it says where the run is").situation, now);
    }
    assert_eq!(world.history(&run).lines().count(), 42);
}

const FORKED: &str = "start -> fork; fork -> a, b, c; a -> join; b -> b2; b2 -> join; c -> join
    join -passed-> sum; join -failed-> ask; ask -passed-> fork; sum -> done";

#[test]
fn branches_are_addressed_by_name() {
    let world = World::with("forked", FORKED);
    let run = world.open("forked");
    expect![[r#"
        fork working
          required Next(a, passed)
          required Next(b, passed)
          required Next(c, passed)
          optional Next(a, failed)
          optional Next(b, failed)
          optional Next(c, failed)
    "#]]
    .assert_eq(&answer_text(&world.start(&run)));
    expect![[r#"
        branches_open: the branches of `fork` are running, but the call names none of them
          help: say which one with `branch`: `a`, `b` and `c`
          (at fork)
    "#]]
    .assert_eq(&answer_text(&world.next(&run, "passed")));
    expect![[r#"
        b2 working
          required Next(b, passed)
          optional Next(b, failed)
    "#]]
    .assert_eq(&answer_text(&world.next_in(&run, "b", "passed")));
    world.next_in(&run, "a", "passed").expect("a is done");
    expect![[r#"
        unknown_branch: no branch `a` is in progress
          help: choose one of the current positions
          (at fork)
    "#]]
    .assert_eq(&answer_text(&world.next_in(&run, "a", "passed")));
    let now = world.current(&run).expect("it is there");
    let again = Move { branch: Some("a".to_owned()), ..step(&now, "passed") };
    expect![[r#"
        no_outgoing_edges: the branch `a` is done
          help: continue with another one
          (at fork)
    "#]]
    .assert_eq(&answer_text(&world.report(&again)));
    world.next_in(&run, "c", "passed").expect("c is done");
    assert_eq!(world.next_in(&run, "b", "passed").expect("b is done").current_step, "sum");
}

#[test]
fn a_branch_that_failed_fails_the_join_and_a_person_may_have_all_of_it_done_again() {
    let world = World::with("forked", FORKED);
    let run = world.open("forked");
    world.start(&run).expect("it starts");
    // A node without a `failed` edge is tried again three times and then waits for a person.
    for _ in 0..4 {
        world.next_in(&run, "a", "failed").expect("it is tried again");
    }
    world.next_in(&run, "c", "passed").expect("c is done");
    world.next_in(&run, "b", "passed").expect("b goes on");
    world.next_in(&run, "b", "passed").expect("b is done");
    expect![[r#"
        a (hitl) waiting
          required Next(a, passed)
          optional Next(a, failed)
          optional Next(a, cancelled)
    "#]]
    .assert_eq(&answer_text(&wait(world.service().current(&run, Some("a"), &agent()))));
    expect![[r#"
        ask (hitl) waiting
          required Next(passed)
          optional Next(cancelled)
    "#]]
    .assert_eq(&answer_text(&world.next_in(&run, "a", "failed")));
    let again = world.next(&run, "passed").expect("all of it again");
    assert_eq!((again.current_step.as_str(), again.situation.position.branches.len()), ("fork", 3));
}

#[test]
fn the_limit_of_a_fork_holds_branches_back() {
    let world = World::with("limited", &format!("{FORKED}; fork: at-most 1"));
    let run = world.open("limited");
    expect![[r#"
        a working
          required Next(a, passed)
          optional Next(a, failed)
          blocked Next(b, passed) until one of the 1 running branches reaches the join
          blocked Next(c, passed) until one of the 1 running branches reaches the join
    "#]]
    .assert_eq(&answer_text(&world.start(&run)));
    let now = world.current(&run).expect("it is there");
    expect![[r#"
        unknown_branch: the branch `c` has not begun
          help: it begins when another branch reaches the join
          (at a)
    "#]]
    .assert_eq(&answer_text(&world.report(&Move { branch: Some("c".to_owned()), ..step(&now, "passed") })));
    let view = world.next_in(&run, "a", "passed").expect("a is done");
    let view = world.current(&view.address).expect("it is there");
    assert_eq!((view.current_step.as_str(), view.metadata["currentStep"].as_str()), ("b", Some("b")));
    assert_eq!(read(&view).actions.blocked.len(), 1, "only `c` is held back");
}

#[test]
fn with_any_pass_the_first_to_pass_cancels_the_others_on_the_record() {
    let world = World::with("any", &format!("{FORKED}; join: any-pass; fork: at-most 2"));
    let run = world.open("any");
    world.start(&run).expect("it starts");
    assert_eq!(world.next_in(&run, "a", "passed").expect("a is done").current_step, "sum");
    expect![[r#"
        1 agent ann opened `any`
        2 agent ann began → now at `fork`
        3 portolan went on → `fork` forks, branch `a` opened, branch `b` opened
        4 agent ann reported passed in `a` → arrived at `join`, passed in `a`, branch `a` passed, branch `b` cancelled, branch `c` cancelled, now at `sum`
    "#]]
    .assert_eq(&world.history(&run));
    let now = world.current(&run).expect("it is there");
    let late = Move { branch: Some("b".to_owned()), ..step(&now, "passed") };
    assert_eq!(refusal(world.report(&late)).code, "unknown_branch");
    assert_eq!(world.next(&run, "passed").expect("the run goes on").terminal, Some("success"));
}

#[test]
fn subflows_come_from_the_projects_folder_and_their_branches_are_addressed_by_their_path() {
    let world = World::with("outer", "start -> audit; audit: runs inner; audit -passed-> done; audit -failed-> failed");
    world.define("inner", "start -> fork; fork -> a, b; fork: at-most 1; a -> join; b -> join; join -passed-> done; join -failed-> failed");
    let run = world.open("outer");
    expect![[r#"
        a working
          required Next(audit/a, passed)
          optional Next(audit/a, failed)
          blocked Next(audit/b, passed) until one of the 1 running branches reaches the join
    "#]]
    .assert_eq(&answer_text(&world.start(&run)));
    let now = world.current(&run).expect("it is there");
    let held = Move { branch: Some("audit/b".to_owned()), ..step(&now, "passed") };
    expect![[r#"
        unknown_branch: the branch `audit/b` has not begun
          help: it begins when another branch reaches the join
          (at a)
    "#]]
    .assert_eq(&answer_text(&world.report(&held)));
    world.next_in(&run, "audit/a", "passed").expect("a is done");
    assert_eq!(world.next(&run, "passed").expect("b is done").terminal, Some("success"));
}

#[test]
fn a_run_goes_on_as_it_began_whatever_becomes_of_its_files() {
    let world =
        World::with("outer", "start -> one; one -> sub; sub: runs inner; sub -passed-> done; sub -failed-> failed");
    world.define("inner", "start -> two; two -> done");
    let (edited, deleted) = (world.open("outer"), world.open("outer"));
    world.start(&edited).expect("it starts");
    world.define("inner", "start -> other; other -> done");
    world.next(&edited, "passed").expect("it goes on");
    assert_eq!(world.current(&edited).expect("it is there").current_step, "two");
    std::fs::remove_dir_all(world.path(".flow")).expect("it is removed");
    world.start(&deleted).expect("it starts");
    assert_eq!(world.next(&deleted, "passed").expect("it goes on").current_step, "two");
    assert_eq!(world.next(&edited, "passed").expect("it goes on").terminal, Some("success"));
    world.define("outer", "start -> new; new -> done");
    let fresh = world.open("outer");
    assert_eq!(world.start(&fresh).expect("a new run takes the new text").current_step, "new");
}

#[test]
fn where_a_persons_word_is_verified_an_agent_cannot_give_it() {
    let world =
        World::with("asks", "start -> work; work -passed-> done; work -failed-> ask; ask -passed-> work").verified();
    let run = world.open("asks");
    world.start(&run).expect("it starts");
    let view = world.next(&run, "failed").expect("it is asked");
    let text = answer_text(&Ok(view.clone())).replace(&run.to_string(), "RUN");
    expect![[r#"
        ask (hitl) waiting
          blocked Next(passed) until a person answers it: `portolan runs answer RUN`
          blocked Next(cancelled) until a person answers it: `portolan runs answer RUN`
    "#]]
    .assert_eq(&text);
    let error = refusal(world.next(&run, "passed"));
    assert_eq!((error.kind, error.code), (ErrorKind::NeedsPerson, "needs_person"));
    let service = world.service();
    let question = wait(service.question(&run, None, &person())).expect("it is asked");
    let answer = Move { note: Some("the key is back".to_owned()), ..step(&question, "passed") };
    let view = wait(service.next(&answer, &person())).expect("a person may");
    assert!(read(&view).message.contains("the key is back"), "{}", read(&view).message);
    expect![[r#"
        4 person pat (command line) reported passed ("the key is back") → now at `work`
    "#]]
    .assert_eq(&format!("{}\n", world.history(&run).lines().last().expect("a line")));
    let error = refusal(wait(world.service().question(&run, None, &person())));
    assert_eq!(error.code, "nothing_asked");
}

#[test]
fn a_question_names_the_branch_when_several_wait() {
    let world = World::with(
        "asks",
        "start -> fork; fork -> a, b; a -> join; b -> join; join -passed-> done; join -failed-> failed",
    );
    let run = world.open("asks");
    world.start(&run).expect("it starts");
    for branch in ["a", "b"] {
        for _ in 0..4 {
            world.next_in(&run, branch, "failed").expect("it is tried again");
        }
    }
    let text = answer_text(&wait(world.service().question(&run, None, &person()))).replace(&run.to_string(), "RUN");
    expect![[r#"
        ambiguous_branch: 2 branches of `RUN` wait for a person
          help: choose one with `--branch`: `a` and `b`
    "#]]
    .assert_eq(&text);
    let question = wait(world.service().question(&run, Some("b"), &person())).expect("b is asked");
    assert_eq!(question.situation.position.branch.as_deref(), Some("b"));
}

#[test]
fn a_cancelled_run_is_over() {
    let world = World::with("forked", FORKED);
    let run = world.open("forked");
    world.start(&run).expect("it starts");
    let view = wait(world.service().cancel(&run, "not needed", &person())).expect("it is called off");
    assert_eq!((view.terminal, read(&view).actions.required.len()), (Some("failure"), 0));
    for answer in [world.next(&run, "passed"), wait(world.service().cancel(&run, "again", &person()))] {
        assert_eq!(refusal(answer).code, "no_outgoing_edges");
    }
    let service = world.service();
    assert_eq!(wait(service.list(true, 10)).expect("a list").len(), 0);
    let all = wait(service.list(false, 10)).expect("a list");
    assert_eq!((all.len(), all[0].status.as_str()), (1, "cancelled"));
    assert!(world.history(&run).contains("person pat (command line) cancelled the run: not needed"));
}

#[test]
fn what_a_caller_may_say_is_bounded() {
    let world = World::new();
    let wanted =
        Open { workflow: Some("execute".to_owned()), description: Some("x".repeat(1 << 20)), ..Open::default() };
    assert_eq!(refusal(world.init(&wanted)).code, "too_large");
    let run = world.open("execute");
    let view = world.start(&run).expect("it starts");
    assert_eq!(
        refusal(world.report(&Move { note: Some("x".repeat(1 << 20)), ..step(&view, "passed") })).code,
        "too_large"
    );
    let error = refusal(wait(world.service().current(&run, Some(&"b".repeat(100_000)), &agent())));
    assert!(error.code == "unknown_branch" && error.message.len() < 300);
}

#[test]
fn a_run_may_begin_at_a_step_that_work_can_begin_at() {
    let world = World::believing(&["bug-fix"]);
    let at = |step: &str| Open { workflow: Some("bug-fix".into()), step: Some(step.into()), ..Open::default() };
    let view = world.init(&at("write_fix")).expect("nothing before it is checked");
    assert_eq!(view.current_step, "write_fix");
    assert!(world.history(&view.address).contains("past the steps before it"));
    let error = refusal(world.init(&at("commit")));
    assert_eq!((error.code, error.kind), ("needs_person", ErrorKind::NeedsPerson));
    assert!(error.message.contains("would skip `lint_format`"), "{error:?}");
    let view = wait(world.service().open(&at("commit"), &person())).expect("a person has it begin there");
    assert_eq!(view.current_step, "commit");
    for step in ["nowhere", "constructor", "commit2", "end_success", ""] {
        assert_eq!(refusal(world.init(&at(step))).code, "unknown_step", "{step}");
    }
    let world = world.verified();
    assert_eq!(refusal(world.init(&at("write_fix"))).code, "needs_person");
    assert_eq!(world.init(&at("start")).expect("the start is no step past any").current_step, "start");
}

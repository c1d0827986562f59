//! The faults of the Navigator that this dialect comes from, each as a story, with the label of the study that found
//! it. The comments describe the Navigator's behaviour.

use expect_test::expect;

use super::story;

/// `Next(failed)` led to `## Complete`.
#[test]
fn e1_a_failed_step_with_an_unconditional_edge_does_not_complete() {
    story(
        "start > execute > end_success",
        "failed",
        expect![[r#"
                execute
        failed  execute  execute retry 1 of 3
    "#]],
    );
}

/// `Next(failed)` was `no_matching_edge`, forever.
#[test]
fn e1_a_failed_step_with_only_a_passed_edge_is_not_stuck() {
    story(
        "start > compute; compute -passed-> done",
        "failed failed failed failed @passed",
        expect![[r#"
                 compute
        failed   compute  compute retry 1 of 3
        failed   compute  compute retry 2 of 3
        failed   compute  compute retry 3 of 3
        failed   compute? budget spent
        @passed  compute  all refilled
    "#]],
    );
}

/// Both gates shared one counter, which each success at the other reset: four laps and no end.
#[test]
fn e2_alternating_failures_of_two_gates_escalate() {
    story(
        "start > implement > run_tests(retries 3); run_tests -passed-> code_review(gate retries 2); run_tests -failed-> implement | hitl!hitl; code_review -passed-> done; code_review -failed-> implement | hitl; hitl -passed-> implement",
        "passed failed passed passed failed passed failed passed passed failed passed failed passed passed failed",
        expect![[r#"
                    implement
            passed  run_tests
            failed  implement    run_tests retry 1 of 3
            passed  run_tests
            passed  code_review  run_tests refilled
            failed  implement    code_review retry 1 of 2
            passed  run_tests
            failed  implement    run_tests retry 1 of 3
            passed  run_tests
            passed  code_review  run_tests refilled
            failed  implement    code_review retry 2 of 2
            passed  run_tests
            failed  implement    run_tests retry 1 of 3
            passed  run_tests
            passed  code_review  run_tests refilled
            failed  hitl?
        "#]],
    );
}

/// Two lint failures used up the reviewer's budget: its first failure escalated.
#[test]
fn e2_failures_of_one_gate_do_not_spend_the_budget_of_another() {
    story(
        "start > implement > code_review(gate retries 2); code_review -passed-> lint(gate retries 3); code_review -failed-> implement | hitl!hitl; lint -passed-> done; lint -failed-> implement | hitl; hitl -passed-> implement",
        "passed passed failed passed passed failed passed failed",
        expect![[r#"
                    implement
            passed  code_review
            passed  lint
            failed  implement  lint retry 1 of 3
            passed  code_review
            passed  lint
            failed  implement  lint retry 2 of 3
            passed  code_review
            failed  implement  code_review retry 1 of 2
        "#]],
    );
}

/// The first failure after the recovery escalated immediately.
#[test]
fn e3_the_budget_is_full_again_after_a_person_helped() {
    story(
        "start > work > check(gate retries 1); check -passed-> end_success; check -failed-> work | hitl_blocked!hitl; hitl_blocked -passed-> work",
        "passed failed passed failed @passed passed failed passed passed",
        expect![[r#"
                     work
            passed   check
            failed   work                   check retry 1 of 1
            passed   check
            failed   hitl_blocked?
            @passed  work                   all refilled
            passed   check
            failed   work                   check retry 1 of 1
            passed   check
            passed   end_success = success  check refilled
        "#]],
    );
}

/// The owner of the counter stayed on disk forever. The run being equal after a restart shows that it does not here.
#[test]
fn e4_nothing_of_a_retry_is_left_when_its_gate_has_passed() {
    story(
        "start > work > check(gate retries 1); check -passed-> more; check -failed-> work | dead!failure; more > done",
        "passed failed passed passed",
        expect![[r#"
                    work
            passed  check
            failed  work  check retry 1 of 1
            passed  check
            passed  more  check refilled
        "#]],
    );
}

/// It escalated at the first failure.
#[test]
fn e5_max_retries_counts_before_a_lone_escalation_edge() {
    story(
        "start > check(gate retries 3); check -passed-> done; check -failed-> dead!failure",
        "failed failed failed failed",
        expect![[r#"
                    check
            failed  check  check retry 1 of 3
            failed  check  check retry 2 of 3
            failed  check  check retry 3 of 3
            failed  dead = failure
        "#]],
    );
}

/// It looped forever.
#[test]
fn e5_max_retries_bounds_a_lone_retry_edge() {
    story(
        "start > work > check(gate retries 2); check -passed-> done; check -failed-> work",
        "passed failed passed failed passed failed",
        expect![[r#"
                    work
            passed  check
            failed  work  check retry 1 of 2
            passed  check
            failed  work  check retry 2 of 2
            passed  check
            failed  check? budget spent
        "#]],
    );
}

/// The parent passed before any branch was done.
#[test]
fn e6_a_fork_is_not_passed_by_word_of_its_parent() {
    story(
        "start > split; split => a | b => meet; a > meet; b > meet; meet -passed-> after; meet -failed-> dead!failure; after > done",
        "passed /:passed",
        expect![[r#"
                      split {a: a, b: b}
            passed    split {a: a, b: b}  refused branches_open: the branches of `split` are running, but the call names none of them; say which one with `branch`: `a` and `b`
            /:passed  split {a: a, b: b}  refused branches_open: the branches of `split` are running, but the call names none of them; say which one with `branch`: `a` and `b`
        "#]],
    );
}

/// It was ignored.
#[test]
fn e6_the_strategy_of_a_join_counts() {
    story(
        "start > split; split => a | b => meet(any); a > meet; b > meet; meet -passed-> after; meet -failed-> dead!failure; after > done",
        "b:passed",
        expect![[r#"
                      split {a: a, b: b}
            b:passed  after  b passed, a cancelled
        "#]],
    );
}

/// A failed branch with an unconditional edge was recorded as completed.
#[test]
fn e6_a_failed_branch_is_not_done() {
    story(
        "start > split; split => a | b => meet; a > meet; b > meet; meet -passed-> after; meet -failed-> dead!failure; after > done",
        "a:failed",
        expect![[r#"
                      split {a: a, b: b}
            a:failed  split {a: a, b: b}  a retry 1 of 3
        "#]],
    );
}

/// A branch could call `Next` at the join and walk the parent's path.
#[test]
fn e6_a_branch_does_not_walk_on_behind_its_join() {
    story(
        "start > split; split => a | b => meet; a > meet; b > meet; meet -passed-> after; meet -failed-> dead!failure; after > done",
        "[branch at a] passed passed",
        expect![[r#"
                    a
            passed  meet arrived passed
            passed  meet arrived passed  refused no_outgoing_edges: the run has ended at `meet`; nothing is left to do; begin a new run for new work
        "#]],
    );
}

/// `maybe` advanced along an unconditional edge.
#[test]
fn e8_a_word_that_is_no_outcome_is_refused() {
    story(
        "start > work > done",
        "maybe",
        expect![[r#"
               work
        maybe  work  refused no_matching_edge: `maybe` is not an outcome of `work`; report one of `passed` and `failed` [passed, failed]
    "#]],
    );
}

/// No client that followed the schema could send it.
#[test]
fn e8_a_declared_outcome_is_accepted() {
    story(
        "start > work(outputs passed,later); work -passed-> done; work -later-> wait; wait > done",
        "later",
        expect![[r#"
                   work
            later  wait
        "#]],
    );
}

/// `Next(failed)` left the start.
#[test]
fn e9_a_run_that_has_not_begun_does_not_advance() {
    story(
        "start > work > done",
        "queued failed passed begin",
        expect![[r#"
                start
        failed  start  refused not_begun: the run has not begun: it is at `start`; begin it first
        passed  start  refused not_begun: the run has not begun: it is at `start`; begin it first
        begin   work
    "#]],
    );
}

/// Opening at an end was recorded as completed.
#[test]
fn e9_a_run_is_not_opened_at_its_end() {
    story(
        "start > work > done",
        "[at done]",
        expect![[r#"
            refused unknown_step: `done` is one of the ends of the workflow `story`; begin at one of `start` and `work`
        "#]],
    );
}

/// A requested step was silently ignored once the task had begun. A run is opened once, and may name a step.
#[test]
fn e10_a_run_may_be_opened_in_the_middle() {
    story(
        "start > work > more > done",
        "[at more] passed",
        expect![[r#"
                more
        passed  done = success
    "#]],
    );
}

/// It was not possible.
#[test]
fn e10_a_run_may_be_called_off() {
    story(
        "start > work > done",
        "cancel passed",
        expect![[r#"
                work
        cancel  work = cancelled
        passed  work = cancelled  refused no_outgoing_edges: the run has ended at `work`; nothing is left to do; begin a new run for new work
    "#]],
    );
}

//! Failures, retries and their budgets.

use expect_test::expect;

use super::story;

#[test]
fn a_failure_without_a_failed_edge_is_tried_again_three_times_and_then_asks_a_person() {
    story(
        "start > work > done",
        "failed failed failed failed @passed failed passed",
        expect![[r#"
                 work
        failed   work            work retry 1 of 3
        failed   work            work retry 2 of 3
        failed   work            work retry 3 of 3
        failed   work? budget spent
        @passed  work            all refilled
        failed   work            work retry 1 of 3
        passed   done = success  work refilled
    "#]],
    );
}

#[test]
fn a_failing_gate_retries_and_then_escalates() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "passed failed passed failed",
        expect![[r#"
                    fix
            passed  verify
            failed  fix  verify retry 1 of 1
            passed  verify
            failed  stuck?
        "#]],
    );
}

#[test]
fn passing_a_gate_refills_its_budget_and_passing_another_step_does_not() {
    story(
        "start > fix > look > verify(gate retries 1); verify -passed-> ship(gate retries 1); verify -failed-> fix | dead!failure; ship -passed-> done; ship -failed-> fix | dead",
        "passed passed failed passed passed passed failed passed passed failed passed passed passed failed",
        expect![[r#"
                    fix
            passed  look
            passed  verify
            failed  fix   verify retry 1 of 1
            passed  look
            passed  verify
            passed  ship  verify refilled
            failed  fix   ship retry 1 of 1
            passed  look
            passed  verify
            failed  fix   verify retry 1 of 1
            passed  look
            passed  verify
            passed  ship  verify refilled
            failed  dead = failure
        "#]],
    );
}

#[test]
fn an_outcome_that_sends_work_back_does_not_refill_the_budget() {
    story(
        "start > fix > verify(gate retries 1 outputs passed,changes); verify -passed-> done; verify -changes-> fix; verify -failed-> fix | dead!failure",
        "passed failed passed changes passed failed",
        expect![[r#"
                     fix
            passed   verify
            failed   fix  verify retry 1 of 1
            passed   verify
            changes  fix
            passed   verify
            failed   dead = failure
        "#]],
    );
}

#[test]
fn the_success_of_a_gate_without_passed_is_its_first_outcome() {
    story(
        "start > fix > verify(gate retries 1 outputs approved,changes); verify -approved-> ship; verify -changes-> fix; verify -failed-> fix | dead!failure; ship > last(gate); last -passed-> done; last -failed-> fix | dead",
        "passed failed passed approved",
        expect![[r#"
                      fix
            passed    verify
            failed    fix   verify retry 1 of 1
            passed    verify
            approved  ship  verify refilled
        "#]],
    );
}

#[test]
fn each_gate_has_its_own_budget() {
    story(
        "start > fix > lint(gate retries 2); lint -passed-> review(gate retries 2); lint -failed-> fix | dead!failure; review -passed-> done; review -failed-> fix | dead",
        "passed failed passed failed passed passed failed",
        expect![[r#"
                    fix
            passed  lint
            failed  fix     lint retry 1 of 2
            passed  lint
            failed  fix     lint retry 2 of 2
            passed  lint
            passed  review  lint refilled
            failed  fix     review retry 1 of 2
        "#]],
    );
}

#[test]
fn the_failures_of_alternating_gates_are_bounded() {
    story(
        "start > fix > tests(gate retries 1); tests -passed-> review(gate retries 1); tests -failed-> fix | dead!failure; review -passed-> done; review -failed-> fix | dead",
        "passed failed passed passed failed passed failed passed passed failed",
        expect![[r#"
                    fix
            passed  tests
            failed  fix     tests retry 1 of 1
            passed  tests
            passed  review  tests refilled
            failed  fix     review retry 1 of 1
            passed  tests
            failed  fix     tests retry 1 of 1
            passed  tests
            passed  review  tests refilled
            failed  dead = failure
        "#]],
    );
}

#[test]
fn a_persons_recovery_refills_the_budget() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "passed failed passed failed @passed passed failed passed passed",
        expect![[r#"
                     fix
            passed   verify
            failed   fix             verify retry 1 of 1
            passed   verify
            failed   stuck?
            @passed  fix             all refilled
            passed   verify
            failed   fix             verify retry 1 of 1
            passed   verify
            passed   done = success  verify refilled
        "#]],
    );
}

#[test]
fn max_retries_with_only_an_escalation_edge_tries_the_node_again_first() {
    story(
        "start > verify(gate retries 2); verify -passed-> done; verify -failed-> dead!failure",
        "failed failed failed",
        expect![[r#"
                    verify
            failed  verify  verify retry 1 of 2
            failed  verify  verify retry 2 of 2
            failed  dead = failure
        "#]],
    );
}

#[test]
fn an_escalation_edge_without_max_retries_is_taken_at_once() {
    story(
        "start > verify(gate); verify -passed-> done; verify -failed-> dead!failure",
        "failed",
        expect![[r#"
                verify
        failed  dead = failure
    "#]],
    );
}

#[test]
fn max_retries_with_only_a_retry_edge_asks_a_person_after_the_last() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix",
        "passed failed passed failed @passed passed failed passed failed @failed",
        expect![[r#"
                     fix
            passed   verify
            failed   fix  verify retry 1 of 1
            passed   verify
            failed   verify? budget spent
            @passed  fix  all refilled
            passed   verify
            failed   fix  verify retry 1 of 1
            passed   verify
            failed   verify? budget spent
            @failed  verify = failure
        "#]],
    );
}

#[test]
fn a_failed_edge_forward_without_max_retries_is_taken_at_once() {
    story(
        "start > quick; quick -passed-> done; quick -failed-> slow; slow > done",
        "failed passed",
        expect![[r#"
                quick
        failed  slow
        passed  done = success
    "#]],
    );
}

#[test]
fn max_retries_zero_asks_a_person_at_the_first_failure() {
    story(
        "start > work(retries 0) > done",
        "failed @passed failed @failed",
        expect![[r#"
                 work
        failed   work? budget spent
        @passed  work
        failed   work? budget spent
        @failed  work = failure
    "#]],
    );
}

#[test]
fn another_declared_outcome_is_a_verdict_and_leaves_the_budget_as_it_is() {
    story(
        "start > draft > judge(gate retries 1 outputs passed,rework); judge -passed-> done; judge -rework-> draft; judge -failed-> draft | dead!failure",
        "passed failed passed rework passed failed",
        expect![[r#"
                    draft
            passed  judge
            failed  draft  judge retry 1 of 1
            passed  judge
            rework  draft
            passed  judge
            failed  dead = failure
        "#]],
    );
}

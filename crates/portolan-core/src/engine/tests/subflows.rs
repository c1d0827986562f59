//! Workflows inside workflows.

use expect_test::expect;

use super::story;

#[test]
fn a_subflow_that_succeeds_passes() {
    story(
        "start > audit(runs inner) > done where inner: start > look > ok",
        "audit:passed",
        expect![[r#"
                      audit/look
        audit:passed  done = success
    "#]],
    );
}

#[test]
fn a_subflow_that_fails_is_run_again_and_then_asks_a_person() {
    story(
        "start > audit(runs inner retries 1) > done where inner: start > look; look -passed-> ok; look -failed-> bad!failure",
        "audit:failed audit:failed @passed audit:passed",
        expect![[r#"
                          audit/look
            audit:failed  audit/look <- the workflow that `audit` runs ended as failure  audit retry 1 of 1
            audit:failed  audit? budget spent <- the workflow that `audit` runs ended as failure
            @passed       audit/look                                                     all refilled
            audit:passed  done = success
        "#]],
    );
}

#[test]
fn a_blocked_or_cancelled_end_of_a_subflow_is_a_failure() {
    story(
        "start > audit(runs inner); audit -passed-> done; audit -failed-> next(runs inner); next -passed-> done; next -failed-> dead!failure where inner: start > look(outputs passed,drop); look -passed-> ok; look -drop-> off!cancelled; look -failed-> wall!blocked",
        "audit:failed next:drop",
        expect![[r#"
                          audit/look
            audit:failed  next/look <- the workflow that `audit` runs ended as blocked
            next:drop     dead = failure
        "#]],
    );
}

#[test]
fn the_budgets_of_a_subflow_are_its_own_and_new_at_each_visit() {
    story(
        "start > audit(runs inner retries 1); audit -passed-> done; audit -failed-> audit2(runs inner); audit2 -passed-> done; audit2 -failed-> dead!failure where inner: start > look(gate retries 1); look -passed-> ok; look -failed-> bad!failure",
        "audit:failed audit:failed audit2:failed audit2:passed",
        expect![[r#"
                           audit/look
            audit:failed   audit/look                                                      look retry 1 of 1
            audit:failed   audit2/look <- the workflow that `audit` runs ended as failure  audit retry 1 of 1
            audit2:failed  audit2/look                                                     look retry 1 of 1
            audit2:passed  done = success                                                  look refilled
        "#]],
    );
}

#[test]
fn the_root_is_not_addressed_while_a_subflow_is_under_way() {
    story(
        "start > audit(runs inner) > done where inner: start > look > ok",
        "/:passed elsewhere:passed audit:passed",
        expect![[r#"
                              audit/look
            /:passed          audit/look  refused out_of_place: `audit` runs a workflow of its own; address the position inside it
            elsewhere:passed  audit/look  refused unknown_branch: there is no branch `elsewhere`; under way are `audit`
            audit:passed      done = success
        "#]],
    );
}

#[test]
fn a_subflow_in_a_branch() {
    story(
        "start > split; split => a(runs inner) | b => meet; a > meet; b > meet; meet > done where inner: start > look > ok",
        "a/a:passed b:passed",
        expect![[r#"
                        split {a: a/look, b: b}
            a/a:passed  split {a passed, b: b}  a passed
            b:passed    done = success          b passed
        "#]],
    );
}

#[test]
fn a_subflow_in_a_branch_may_fail_it() {
    story(
        "start > split; split => a(runs inner) | b => meet; a -passed-> meet; a -failed-> meet; b > meet; meet -passed-> done; meet -failed-> dead!failure where inner: start > look; look -passed-> ok; look -failed-> bad!failure",
        "a/a:failed b:passed",
        expect![[r#"
                        split {a: a/look, b: b}
            a/a:failed  split {a failed, b: b}  a failed
            b:passed    dead = failure          b passed
        "#]],
    );
}

#[test]
fn a_fork_in_a_subflow() {
    story(
        "start > audit(runs inner) > done where inner: start > split; split => a | b => meet; a > meet; b > meet; meet > ok",
        "audit/a:passed audit/b:passed",
        expect![[r#"
                            audit/split {a: a, b: b}
            audit/a:passed  audit/split {a passed, b: b}  a passed
            audit/b:passed  done = success                b passed
        "#]],
    );
}

#[test]
fn the_fork_of_a_subflow_stays_inside_wherever_the_branches_of_the_root_live() {
    story(
        "start > audit(runs inner) > done where inner: start > split; split => a | b => meet; a > meet; b > meet; meet > ok",
        "[outside] audit/a:passed audit/b:passed",
        expect![[r#"
                            audit/split {a: a, b: b}
            audit/a:passed  audit/split {a passed, b: b}  a passed
            audit/b:passed  done = success                b passed
        "#]],
    );
}

#[test]
fn a_join_in_a_subflow_of_a_branch_is_not_the_branchs_join() {
    story(
        "start > audit(runs inner) > work > done where inner: start > split; split => a => meet; a > meet; meet > ok",
        "[branch at audit] audit/a:passed passed",
        expect![[r#"
                            audit/split {a: a}
            audit/a:passed  work  a passed
            passed          done = success
        "#]],
    );
}

#[test]
fn giving_up_in_a_subflow_fails_it() {
    story(
        "start > audit(runs inner); audit -passed-> done; audit -failed-> dead!failure where inner: start > look(retries 0) > ok",
        "audit:failed audit:@failed",
        expect![[r#"
                           audit/look
            audit:failed   audit/look? budget spent
            audit:@failed  dead = failure
        "#]],
    );
}

#[test]
fn a_subflow_without_work_is_passed_through() {
    story(
        "start > audit(runs inner) > done where inner: start > ok",
        "passed",
        expect![[r#"
                done = success
        passed  done = success  refused no_outgoing_edges: the run is over: it ended at `done`; nothing more is to be done; begin a new run for new work
    "#]],
    );
}

#[test]
fn subflows_run_subflows() {
    story(
        "start > a(runs b) > done where b: start > b1(runs c) > ok where c: start > work > ok",
        "a/b1:passed",
        expect![[r#"
                         a/b1/work
            a/b1:passed  done = success
        "#]],
    );
}

#[test]
fn a_circle_that_needs_nobody_ends_with_a_person() {
    story(
        "lenient: start > a(runs inner) > b(runs inner) > a; b -done-> done where inner: start > ok",
        "@passed @failed",
        expect![[r#"
                     a? no progress
            @passed  a? no progress
            @failed  a = failure
        "#]],
    );
}

//! Rejections and their messages.

use expect_test::expect;

use super::story;

#[test]
fn a_replayed_report_is_stale_even_at_the_same_node() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "passed failed replay#1 replay#2 passed replay#2",
        expect![[r#"
                      fix
            passed    verify
            failed    fix     verify retry 1 of 1
            replay#1  fix     refused stale: the call quotes revision 2, but `fix` was reached at revision 5; the run has moved on in the meantime: choose from the present actions
            replay#2  fix     refused stale: the call quotes revision 3, but `fix` was reached at revision 5; the run has moved on in the meantime: choose from the present actions
            passed    verify
            replay#2  verify  refused stale: the call quotes revision 3, but `verify` was reached at revision 6; the run has moved on in the meantime: choose from the present actions
        "#]],
    );
}

#[test]
fn a_report_that_quotes_no_revision_is_taken_at_its_word() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "unquoted:passed unquoted:failed",
        expect![[r#"
                             fix
            unquoted:passed  verify
            unquoted:failed  fix  verify retry 1 of 1
        "#]],
    );
}

#[test]
fn a_move_in_one_branch_does_not_make_the_others_stale() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "a:passed replay#1 b:passed",
        expect![[r#"
                      split {a: a, b: b}
            a:passed  split {a passed, b: b}  a passed
            replay#1  split {a passed, b: b}  refused no_outgoing_edges: the branch `a` is done; continue with another one
            b:passed  done = success          b passed
        "#]],
    );
}

#[test]
fn a_replayed_answer_is_stale() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "passed failed passed failed @passed replay#5",
        expect![[r#"
                      fix
            passed    verify
            failed    fix  verify retry 1 of 1
            passed    verify
            failed    stuck?
            @passed   fix  all refilled
            replay#5  fix  refused stale: the call quotes revision 7, but `fix` was reached at revision 9; the run has moved on in the meantime: choose from the present actions
        "#]],
    );
}

#[test]
fn a_replayed_begin_is_stale() {
    story(
        "start > work > done",
        "queued begin replay#1",
        expect![[r#"
                  start
        begin     work
        replay#1  work  refused stale: the call quotes revision 1, but `work` was reached at revision 2; the run has moved on in the meantime: choose from the present actions
    "#]],
    );
}

#[test]
fn an_undeclared_outcome_names_the_accepted_ones() {
    story(
        "start > judge(gate outputs passed,rework); judge -passed-> done; judge -rework-> judge",
        "maybe constructor Passed rework",
        expect![[r#"
                         judge
            maybe        judge  refused no_matching_edge: `maybe` is not an outcome of `judge`; report one of `passed`, `rework` and `failed` [passed, rework, failed]
            constructor  judge  refused no_matching_edge: `constructor` is not an outcome of `judge`; report one of `passed`, `rework` and `failed` [passed, rework, failed]
            Passed       judge  refused no_matching_edge: `Passed` is not an outcome of `judge`; report one of `passed`, `rework` and `failed` [passed, rework, failed]
            rework       judge
        "#]],
    );
}

#[test]
fn nothing_is_accepted_after_the_end() {
    story(
        "start > work > done",
        "passed passed begin cancel replay#1 x:passed",
        expect![[r#"
                      work
            passed    done = success
            passed    done = success  refused no_outgoing_edges: the run has ended at `done`; nothing is left to do; begin a new run for new work
            begin     done = success  refused out_of_place: the run has already begun and is at `done`; continue from the present situation
            cancel    done = success  refused no_outgoing_edges: the run has ended at `done`; there is nothing to cancel
            replay#1  done = success  refused stale: the call quotes revision 2, but `done` was reached at revision 4; the run has moved on in the meantime: choose from the present actions
            x:passed  done = success  refused unknown_branch: there is no branch `x`; leave `branch` out: no branches are running
        "#]],
    );
}

#[test]
fn a_branch_that_is_not_there_is_named() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "c:passed a/b:passed a:passed a:passed",
        expect![[r#"
                        split {a: a, b: b}
            c:passed    split {a: a, b: b}      refused unknown_branch: there is no branch `c`; the running branches are `a`, `b`
            a/b:passed  split {a: a, b: b}      refused unknown_branch: there is no branch `a/b`; the running branches are `a`, `b`
            a:passed    split {a passed, b: b}  a passed
            a:passed    split {a passed, b: b}  refused no_outgoing_edges: the branch `a` is done; continue with another one
        "#]],
    );
}

#[test]
fn a_branch_is_not_named_where_there_is_none() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "fix:passed",
        expect![[r#"
                        fix
            fix:passed  fix  refused unknown_branch: there is no branch `fix`; leave `branch` out: no branches are running
        "#]],
    );
}

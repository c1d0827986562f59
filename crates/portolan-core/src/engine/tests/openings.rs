//! How a run is opened and begins.

use expect_test::expect;

use super::story;

#[test]
fn a_run_waits_at_the_start_until_it_begins() {
    story(
        "start > work > done",
        "queued passed failed begin begin passed begin",
        expect![[r#"
                start
        passed  start           refused not_begun: the run has not begun: it is at `start`; begin it first
        failed  start           refused not_begun: the run has not begun: it is at `start`; begin it first
        begin   work
        begin   work            refused out_of_place: the run has already begun and is at `work`; continue from the present situation
        passed  done = success
        begin   done = success  refused out_of_place: the run has already begun and is at `done`; continue from the present situation
    "#]],
    );
}

#[test]
fn a_run_may_be_opened_at_a_step() {
    story(
        "start > work > more > done",
        "[at more] begin passed",
        expect![[r#"
                more
        begin   more  refused out_of_place: the run has already begun and is at `more`; continue from the present situation
        passed  done = success
    "#]],
    );
}

#[test]
fn opened_at_the_start_it_waits_there() {
    story(
        "start > work > done",
        "[at start] passed begin",
        expect![[r#"
                start
        passed  start  refused not_begun: the run has not begun: it is at `start`; begin it first
        begin   work
    "#]],
    );
}

#[test]
fn opened_at_a_fork_it_opens_the_branches() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "[at split] a:passed",
        expect![[r#"
                      split {a: a, b: b}
            a:passed  split {a passed, b: b}  a passed
        "#]],
    );
}

#[test]
fn a_run_does_not_begin_inside_of_a_branch() {
    let workflow = "start > split; split => a | b => meet; a > more > meet; b > meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split";
    story(
        workflow,
        "[at more]",
        expect![[r#"
        refused unknown_step: `more` is in a branch of `split`, and the run would reach the join without the others; begin at `split`, or before it
    "#]],
    );
    story(
        workflow,
        "[at b]",
        expect![[r#"
        refused unknown_step: `b` is in a branch of `split`, and the run would reach the join without the others; begin at `split`, or before it
    "#]],
    );
    story(
        workflow,
        "[at stuck] @passed",
        expect![[r#"
                 stuck?
        @passed  split {a: a, b: b}  a opened, b opened
    "#]],
    );
}

#[test]
fn opened_at_a_subflow_it_runs_it() {
    story(
        "start > audit(runs inner) > done where inner: start > look > ok",
        "[at audit] audit:passed",
        expect![[r#"
                      audit/look
        audit:passed  done = success
    "#]],
    );
}

#[test]
fn opened_at_a_question_it_asks() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "[at stuck] @passed",
        expect![[r#"
                     stuck?
            @passed  fix
        "#]],
    );
}

#[test]
fn an_end_is_no_step_to_open_at() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "[at done]",
        expect![[r#"
            refused unknown_step: `done` is one of the ends of the workflow `story`; begin at one of `start`, `fix`, `verify` and `stuck`
        "#]],
    );
}

#[test]
fn a_join_is_no_step_to_open_at() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "[at meet]",
        expect![[r#"
            refused unknown_step: `meet` is one of the joins of the workflow `story`; begin at one of `start`, `split`, `a`, `b` and `stuck`
        "#]],
    );
}

#[test]
fn an_unknown_step_is_refused_with_the_known_ones() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "[at nowhere]",
        expect![[r#"
            refused unknown_step: `nowhere` is not a step of the workflow `story`; begin at one of `start`, `fix`, `verify` and `stuck`
        "#]],
    );
}

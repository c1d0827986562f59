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
            elsewhere:passed  audit/look  refused unknown_branch: there is no branch `elsewhere`; the running branches are `audit`
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
        passed  done = success  refused no_outgoing_edges: the run has ended at `done`; nothing is left to do; begin a new run for new work
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
                     b/start? no progress
            @passed  a/ok? no progress
            @failed  b/start? no progress  a retry 1 of 3, a refilled
        "#]],
    );
}

#[test]
fn a_workflow_that_lacks_what_it_requires_does_not_begin() {
    let workflow = r#"
        lenient: var issue string; var ready boolean = false
        start > a(activity) > sub(runs child passes issue) > done; a -skipped-> done
        where child: var issue string required
        start > c(activity) > look(switch) > work > fin; c -skipped-> fin; look -[issue == urgent]-> strict(gate checks tests); strict > fin
    "#;
    story(
        workflow,
        r#"@passed @passed{"issue":"urgent"} passed passed tests=held"#,
        expect![[r#"
                                       sub? no progress <- `child` requires `issue`, but was given no value of the required type
            @passed                    sub? no progress <- `child` requires `issue`, but was given no value of the required type
            @passed{"issue":"urgent"}  sub/strict                  issue = "urgent", look → strict
            passed                     sub/strict checking passed
            passed                     sub/strict checking passed  nothing new
            tests=held                 done = success              issue = "urgent"
        "#]],
    );
    story(
        workflow,
        r#"[with {"issue":"urgent"}] passed"#,
        expect![[r#"
                    sub/strict
            passed  sub/strict checking passed
        "#]],
    );
}

#[test]
fn what_stands_too_deep_waits_for_a_person_who_is_told_so() {
    let loops = |prefix: &str, inner: &str| {
        let names: Vec<String> = (0..7).map(|nth| format!("{prefix}{nth}")).collect();
        let chain: Vec<String> = (0..7)
            .map(|nth| {
                let around = if nth == 0 { String::new() } else { format!(" in {}", names[..nth].join("/")) };
                format!("{0}(doWhile n<0{around})", names[nth])
            })
            .collect();
        let mut text = format!("start > {prefix}(activity) > {}; {prefix} -skipped-> {prefix}end\n", chain[0]);
        for nth in 1..7 {
            text += &format!("{} -pass-> {}\n", names[nth - 1], chain[nth]);
        }
        text += &format!("{} -pass-> {inner} in {})\n", names[6], names.join("/"));
        let mut from = inner.split('(').next().unwrap_or_default().to_owned();
        for nth in (0..7).rev() {
            text += &format!(
                "{from} > {prefix}r{nth}(repeat {} in {}) > {}\n",
                names[nth],
                names[..=nth].join("/"),
                names[nth]
            );
            from = names[nth].clone();
        }
        text + &format!("{} > {prefix}end\n", names[0])
    };
    let workflow = format!(
        "lenient: var n number = 0; {}\nwhere one: var n number = 0; {}\nwhere two: var n number = 0; {}",
        loops("x", "go(runs one"),
        loops("y", "go(runs two"),
        loops("z", "work(gate")
    );
    story(
        &workflow,
        "@failed",
        expect![[r#"
                 x0#1/x1#1/x2#1/x3#1/x4#1/x5#1/x6#1/go/y0#1/y1#1/y2#1/y3#1/y4#1/y5#1/y6#1/go/z0? no progress <- loops, branches, items and workflows are nested more than 16 levels deep
        @failed  x0#1/x1#1/x2#1/x3#1/x4#1/x5#1/x6#1/go/y0#1/y1#1/y2#1/y3#1/y4#1/y5#1/y6#1/go/z0? no progress <- loops, branches, items and workflows are nested more than 16 levels deep  go retry 1 of 3
    "#]],
    );
}

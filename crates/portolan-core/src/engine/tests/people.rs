//! Questions to a person, and nodes that a run can only leave by a person's decision.

use expect_test::expect;

use super::story;

#[test]
fn a_person_gives_the_value_that_was_in_the_way() {
    let workflow = r#"
        lenient: var rows array; var n number = 0
        start > a(activity) > l(forEach rows as row) > done; a -skipped-> done
        l -pass-> body(in l); body > end(repeat l in l) > l
    "#;
    story(
        workflow,
        r#"passed{"rows":["x"]} @passed{"rows":7} @passed{"other":1} @failed{"rows":[]} @cancelled{"rows":[]} @passed{"rows":["x"]} passed"#,
        expect![[r#"
                                   l? no progress <- `rows` has no value, but the loop iterates over its items
            passed{"rows":["x"]}   l? no progress <- `rows` has no value, but the loop iterates over its items  refused bad_outputs: only a person can set variables here; answer without values; the person gives them with their own answer
            @passed{"rows":7}      l? no progress <- `rows` has no value, but the loop iterates over its items  refused bad_outputs: the values do not match the variables: `rows` must be an array, but is a number; give each a value of its type
            @passed{"other":1}     l? no progress <- `rows` has no value, but the loop iterates over its items  refused bad_outputs: the values do not match the variables: there is no variable `other`; give each a value of its type
            @failed{"rows":[]}     l? no progress <- `rows` has no value, but the loop iterates over its items  refused bad_outputs: this answer at `l` cannot set variables; answer without values
            @cancelled{"rows":[]}  l? no progress <- `rows` has no value, but the loop iterates over its items  refused bad_outputs: this answer at `l` cannot set variables; answer without values
            @passed{"rows":["x"]}  l#1/body                                                                     rows = ["x"]
            passed                 done = success                                                               l Done after 1
        "#]],
    );
}

#[test]
fn an_answer_of_the_workflow_gives_no_values() {
    let workflow =
        "var n number = 0; start > a(activity) > ok(ask yes,no); a -skipped-> done; ok -yes-> done; ok -no-> done";
    story(
        workflow,
        r#"@yes{"n":1} @yes"#,
        expect![[r#"
                         ok?
            @yes{"n":1}  ok?  refused bad_outputs: this answer at `ok` cannot set variables; answer without values
            @yes         done = success
        "#]],
    );
}

#[test]
fn an_end_for_a_person_with_a_way_on_waits_for_the_answer() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "passed failed passed failed failed maybe @passed",
        expect![[r#"
                     fix
            passed   verify
            failed   fix     verify retry 1 of 1
            passed   verify
            failed   stuck?
            failed   stuck?  refused no_matching_edge: `failed` is not an outcome of `stuck`; report one of `passed` and `cancelled` [passed, cancelled]
            maybe    stuck?  refused no_matching_edge: `maybe` is not an outcome of `stuck`; report one of `passed` and `cancelled` [passed, cancelled]
            @passed  fix     all refilled
        "#]],
    );
}

#[test]
fn an_agent_may_relay_the_answer_where_it_is_attested() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "passed failed passed failed passed",
        expect![[r#"
                    fix
            passed  verify
            failed  fix  verify retry 1 of 1
            passed  verify
            failed  stuck?
            passed  fix  all refilled
        "#]],
    );
}

#[test]
fn an_agents_word_does_not_count_where_answers_are_verified() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "[verified] passed failed passed failed passed cancelled @passed",
        expect![[r#"
                       fix
            passed     verify
            failed     fix     verify retry 1 of 1
            passed     verify
            failed     stuck?
            passed     stuck?  refused needs_person: `stuck` asks a person, and an answer from an agent does not count here; stop and let the person answer
            cancelled  stuck?  refused needs_person: `stuck` asks a person, and an answer from an agent does not count here; stop and let the person answer
            @passed    fix     all refilled
        "#]],
    );
}

#[test]
fn an_undeclared_answer_names_the_declared_ones_whoever_gives_it() {
    story(
        "start > ask!hitl; ask -yes-> done; ask -no-> dead!failure",
        "@maybe maybe failed @no",
        expect![[r#"
                ask?
        @maybe  ask?  refused no_matching_edge: `maybe` is not an outcome of `ask`; report one of `yes`, `no` and `cancelled` [yes, no, cancelled]
        maybe   ask?  refused no_matching_edge: `maybe` is not an outcome of `ask`; report one of `yes`, `no` and `cancelled` [yes, no, cancelled]
        failed  ask?  refused no_matching_edge: `failed` is not an outcome of `ask`; report one of `yes`, `no` and `cancelled` [yes, no, cancelled]
        @no     dead = failure
    "#]],
    );
}

#[test]
fn a_question_may_lead_on_failure() {
    story(
        "start > ask!hitl; ask -passed-> done; ask -failed-> dead!failure",
        "@failed",
        expect![[r#"
                 ask?
        @failed  dead = failure
    "#]],
    );
}

#[test]
fn a_question_with_two_failed_edges_takes_one() {
    story(
        "start > ask!hitl; ask -passed-> done; ask -failed-> fix | dead!failure; fix > done",
        "@failed",
        expect![[r#"
                     ask?
            @failed  dead = failure
        "#]],
    );
}

#[test]
fn cancelled_at_a_question_ends_the_run() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "passed failed passed failed @cancelled passed",
        expect![[r#"
                        fix
            passed      verify
            failed      fix                verify retry 1 of 1
            passed      verify
            failed      stuck?
            @cancelled  stuck = cancelled
            passed      stuck = cancelled  refused no_outgoing_edges: the run has ended at `stuck`; nothing is left to do; begin a new run for new work
        "#]],
    );
}

#[test]
fn cancelled_leads_where_an_edge_for_it_leads() {
    story(
        "start > ask!hitl; ask -passed-> done; ask -cancelled-> tidy; tidy > dropped!cancelled",
        "@cancelled passed",
        expect![[r#"
                        ask?
            @cancelled  tidy
            passed      dropped = cancelled
        "#]],
    );
}

#[test]
fn cancelled_at_a_spent_budget_ends_the_run() {
    story(
        "start > work(retries 0) > done",
        "failed @cancelled",
        expect![[r#"
                    work
        failed      work? budget spent
        @cancelled  work = cancelled
    "#]],
    );
}

#[test]
fn cancelled_inside_a_subflow_ends_the_whole_run() {
    story(
        "start > audit(runs inner) > done where inner: start > ask!hitl > ok",
        "audit:@cancelled",
        expect![[r#"
                          audit/ask?
        audit:@cancelled  audit = cancelled
    "#]],
    );
}

#[test]
fn cancelled_inside_a_branch_ends_the_whole_run() {
    story(
        "start > split; split => a | b => meet; a > meet; b > ask!hitl > meet; meet > done",
        "b:passed b:@cancelled a:passed",
        expect![[r#"
                          split {a: a, b: b}
            b:passed      split {a: a, b: ask?}
            b:@cancelled  split = cancelled
            a:passed      split = cancelled  refused unknown_branch: there is no branch `a`; leave `branch` out: no branches are running
        "#]],
    );
}

#[test]
fn passed_at_a_spent_budget_tries_again_where_the_retry_begins_with_a_full_budget() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix",
        "passed failed passed failed maybe @passed passed failed",
        expect![[r#"
                     fix
            passed   verify
            failed   fix                   verify retry 1 of 1
            passed   verify
            failed   verify? budget spent
            maybe    verify? budget spent  refused no_matching_edge: `maybe` is not an outcome of `verify`; report one of `passed`, `failed` and `cancelled` [passed, failed, cancelled]
            @passed  fix                   all refilled
            passed   verify
            failed   fix                   verify retry 1 of 1
        "#]],
    );
}

#[test]
fn failed_at_a_spent_budget_gives_up() {
    story(
        "start > work(retries 1) > done",
        "failed failed @failed passed",
        expect![[r#"
                 work
        failed   work            work retry 1 of 1
        failed   work? budget spent
        @failed  work = failure
        passed   work = failure  refused no_outgoing_edges: the run has ended at `work`; nothing is left to do; begin a new run for new work
    "#]],
    );
}

#[test]
fn a_spent_budget_is_verified_too() {
    story(
        "start > work(retries 0) > done",
        "[verified] failed passed @passed",
        expect![[r#"
                 work
        failed   work? budget spent
        passed   work? budget spent  refused needs_person: `work` asks a person, and an answer from an agent does not count here; stop and let the person answer
        @passed  work
    "#]],
    );
}

#[test]
fn a_run_is_called_off_once() {
    story(
        "start > fix > verify(gate retries 1); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "passed cancel cancel passed",
        expect![[r#"
                    fix
            passed  verify
            cancel  verify = cancelled
            cancel  verify = cancelled  refused no_outgoing_edges: the run has ended at `verify`; there is nothing to cancel
            passed  verify = cancelled  refused no_outgoing_edges: the run has ended at `verify`; nothing is left to do; begin a new run for new work
        "#]],
    );
}

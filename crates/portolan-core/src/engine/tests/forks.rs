//! Forks, their branches and joins.

use expect_test::expect;

use super::story;

#[test]
fn all_pass_needs_every_branch() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "a:passed b:passed",
        expect![[r#"
                      split {a: a, b: b}
            a:passed  split {a passed, b: b}  a passed
            b:passed  done = success          b passed
        "#]],
    );
}

#[test]
fn a_failed_branch_fails_the_join_when_all_are_there() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "b:failed b:passed a:passed @passed",
        expect![[r#"
                      split {a: a, b: b}
            b:failed  split {a: a, b failed}          b failed
            b:passed  split {a: a, b failed}          refused no_outgoing_edges: the branch `b` is done; continue with another one
            a:passed  stuck? <- failed branches: `b`  a passed
            @passed   split {a: a, b: b}              a opened, b opened
        "#]],
    );
}

#[test]
fn a_branch_may_fork_itself() {
    story(
        "start > split; split => first | b => meet; first > inner; inner => x(retries 0) | y => back; x > back; y > back; back > last; last > meet; b > meet; meet > done",
        "first:passed first/x:passed b:passed first/y:passed first:passed",
        expect![[r#"
                            split {first: first, b: b}
            first:passed    split {first: inner {x: x, y: y}, b: b}          x opened, y opened
            first/x:passed  split {first: inner {x passed, y: y}, b: b}      x passed
            b:passed        split {first: inner {x passed, y: y}, b passed}  b passed
            first/y:passed  split {first: last, b passed}                    y passed
            first:passed    done = success                                   first passed
        "#]],
    );
    story(
        "start > split; split => first | b => meet; first > inner; inner => x(retries 0) | y => back; x > back; y > back; back > last; last > meet; b > meet; meet > done",
        "first:passed first/x:failed first/x:@failed first/y:passed b:passed first:@passed first/x:passed first/y:passed first:passed",
        expect![[r#"
                             split {first: first, b: b}
            first:passed     split {first: inner {x: x, y: y}, b: b}                              x opened, y opened
            first/x:failed   split {first: inner {x: x? budget spent, y: y}, b: b}
            first/x:@failed  split {first: inner {x failed, y: y}, b: b}                          x failed
            first/y:passed   split {first: back? budget spent <- failed branches: `x`, b: b}      y passed
            b:passed         split {first: back? budget spent <- failed branches: `x`, b passed}  b passed
            first:@passed    split {first: inner {x: x, y: y}, b passed}                          x opened, y opened
            first/x:passed   split {first: inner {x passed, y: y}, b passed}                      x passed
            first/y:passed   split {first: last, b passed}                                        y passed
            first:passed     done = success                                                       first passed
        "#]],
    );
}

#[test]
fn a_branch_that_fails_without_an_edge_is_tried_again_and_then_asks_a_person() {
    story(
        "start > split; split => a(retries 1) | b => meet; a > meet; b > meet; meet > done",
        "a:failed a:failed b:passed a:@passed a:passed",
        expect![[r#"
                       split {a: a, b: b}
            a:failed   split {a: a, b: b}                    a retry 1 of 1
            a:failed   split {a: a? budget spent, b: b}
            b:passed   split {a: a? budget spent, b passed}  b passed
            a:@passed  split {a: a, b passed}                all refilled
            a:passed   done = success                        a passed
        "#]],
    );
}

#[test]
fn giving_up_inside_a_branch_fails_the_branch() {
    story(
        "start > split; split => a(retries 0) | b => meet; a > meet; b > meet; meet > done",
        "a:failed a:@failed b:passed @passed a:passed b:passed",
        expect![[r#"
                       split {a: a, b: b}
            a:failed   split {a: a? budget spent, b: b}
            a:@failed  split {a failed, b: b}                      a failed
            b:passed   meet? budget spent <- failed branches: `a`  b passed
            @passed    split {a: a, b: b}                          a opened, b opened
            a:passed   split {a passed, b: b}                      a passed
            b:passed   done = success                              b passed
        "#]],
    );
}

#[test]
fn a_failed_join_without_an_edge_asks_a_person_who_may_give_up() {
    story(
        "start > split; split => a(retries 0) | b => meet; a > meet; b > meet; meet > done",
        "a:failed a:@failed b:passed @failed",
        expect![[r#"
                       split {a: a, b: b}
            a:failed   split {a: a? budget spent, b: b}
            a:@failed  split {a failed, b: b}                      a failed
            b:passed   meet? budget spent <- failed branches: `a`  b passed
            @failed    meet = failure
        "#]],
    );
}

#[test]
fn any_pass_takes_the_first_that_passes_and_cancels_the_others() {
    story(
        "start > split; split => a | b | c => meet(any); a > meet; b > meet; c > meet; meet > done",
        "b:passed a:passed c:failed",
        expect![[r#"
                      split {a: a, b: b, c: c}
            b:passed  done = success  b passed, a cancelled, c cancelled
            a:passed  done = success  refused unknown_branch: there is no branch `a`; leave `branch` out: no branches are running
            c:failed  done = success  refused unknown_branch: there is no branch `c`; leave `branch` out: no branches are running
        "#]],
    );
}

#[test]
fn any_pass_fails_when_every_branch_failed() {
    story(
        "start > split; split => a | b => meet(any); a -passed-> meet; a -failed-> meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> dead!failure",
        "a:failed b:failed",
        expect![[r#"
                      split {a: a, b: b}
            a:failed  split {a failed, b: b}  a failed
            b:failed  dead = failure          b failed
        "#]],
    );
}

#[test]
fn any_pass_survives_one_failure() {
    story(
        "start > split; split => a | b => meet(any); a -passed-> meet; a -failed-> meet; b > meet; meet > done",
        "a:failed b:passed",
        expect![[r#"
                      split {a: a, b: b}
            a:failed  split {a failed, b: b}  a failed
            b:passed  done = success          b passed
        "#]],
    );
}

#[test]
fn a_limit_holds_branches_back_and_opens_the_next_in_order() {
    story(
        "start > split(limit 2); split => a | b | c | d => meet; a > meet; b > meet; c > meet; d > meet; meet > done",
        "c:passed b:passed a:passed d:passed c:passed",
        expect![[r#"
                      split {a: a, b: b, c held, d held}
            c:passed  split {a: a, b: b, c held, d held}          refused unknown_branch: the branch `c` has not begun; it begins when another branch reaches the join
            b:passed  split {a: a, b passed, c: c, d held}        b passed, c opened
            a:passed  split {a passed, b passed, c: c, d: d}      a passed, d opened
            d:passed  split {a passed, b passed, c: c, d passed}  d passed
            c:passed  done = success                              c passed
        "#]],
    );
}

#[test]
fn a_held_branch_is_cancelled_without_having_begun() {
    story(
        "start > split(limit 1); split => a | b => meet(any); a > meet; b > meet; meet > after > done",
        "b:passed a:passed b:passed passed",
        expect![[r#"
                      split {a: a, b held}
            b:passed  split {a: a, b held}  refused unknown_branch: the branch `b` has not begun; it begins when another branch reaches the join
            a:passed  after                 a passed, b cancelled
            b:passed  after                 refused unknown_branch: there is no branch `b`; leave `branch` out: no branches are running
            passed    done = success
        "#]],
    );
}

#[test]
fn branches_that_finish_by_themselves_leave_the_limit_to_the_others() {
    story(
        "start > split(limit 2); split => a(runs nothing) | b | c | d => meet; a > meet; b > meet; c > meet; d > meet; meet > done where nothing: start > ok",
        "b:passed c:passed d:passed",
        expect![[r#"
                      split {a passed, b: b, c: c, d held}
            b:passed  split {a passed, b passed, c: c, d: d}      b passed, d opened
            c:passed  split {a passed, b passed, c passed, d: d}  c passed
            d:passed  done = success                              d passed
        "#]],
    );
}

#[test]
fn a_fork_whose_branches_all_finish_by_themselves_goes_on() {
    story(
        "start > split(limit 1); split => a(runs nothing) | b(runs nothing) => meet; a > meet; b > meet; meet > after > done where nothing: start > ok",
        "passed",
        expect![[r#"
                    after
            passed  done = success
        "#]],
    );
}

#[test]
fn a_person_may_lead_a_branch_to_its_join() {
    story(
        "start > split; split => compute => meet; compute > check(gate retries 1); check -passed-> meet; check -failed-> compute | stuck!hitl; stuck -passed-> meet; meet -passed-> done; meet -failed-> stuck",
        "passed failed passed failed compute:@passed",
        expect![[r#"
                             split {compute: compute}
            passed           split {compute: check}
            failed           split {compute: compute}  check retry 1 of 1
            passed           split {compute: check}
            failed           split {compute: stuck?}
            compute:@passed  done = success            all refilled, compute passed
        "#]],
    );
}

#[test]
fn a_person_may_lead_a_run_past_a_join_that_failed() {
    story(
        "start > split; split => a(retries 0) => meet; a > meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> meet",
        "a:failed a:@failed @passed",
        expect![[r#"
                       split {a: a}
            a:failed   split {a: a? budget spent}
            a:@failed  stuck? <- failed branches: `a`  a failed
            @passed    done = success
        "#]],
    );
}

#[test]
fn a_join_that_is_reached_without_its_branches_asks_a_person() {
    let workflow = "lenient: start > pick(outputs passed,alone); pick -passed-> split; pick -alone-> a; split => a | b => meet; a > meet; b > meet; meet > done";
    story(
        workflow,
        "alone passed @passed a:passed b:passed",
        expect![[r#"
                      pick
            alone     a
            passed    meet? no progress <- it collects the branches of `split`, but none of them is running
            @passed   split {a: a, b: b}      a opened, b opened
            a:passed  split {a passed, b: b}  a passed
            b:passed  done = success          b passed
        "#]],
    );
    story(
        workflow,
        "alone passed @failed",
        expect![[r#"
                 pick
        alone    a
        passed   meet? no progress <- it collects the branches of `split`, but none of them is running
        @failed  meet = failure
    "#]],
    );
}

#[test]
fn a_join_that_leads_out_when_it_fails_is_tried_again_by_its_fork() {
    story(
        "lenient: start > pick(outputs passed,alone); pick -passed-> split; pick -alone-> meet; split => a => meet; a > meet; meet -passed-> done; meet -failed-> dead!failure",
        "alone @passed a:passed",
        expect![[r#"
                      pick
            alone     meet? no progress <- it collects the branches of `split`, but none of them is running
            @passed   split {a: a}    a opened
            a:passed  done = success  a passed
        "#]],
    );
}

#[test]
fn a_branch_has_budgets_of_its_own() {
    story(
        "lenient: start > split; split => a | b => meet; a > check(gate retries 1); b > check; check -passed-> meet; check -failed-> again | stuck!hitl; again > check; stuck -passed-> meet; meet > done",
        "a:passed b:passed a:failed b:failed a:passed a:failed b:passed b:passed",
        expect![[r#"
                      split {a: a, b: b}
            a:passed  split {a: check, b: b}
            b:passed  split {a: check, b: check}
            a:failed  split {a: again, b: check}   check retry 1 of 1
            b:failed  split {a: again, b: again}   check retry 1 of 1
            a:passed  split {a: check, b: again}
            a:failed  split {a: stuck?, b: again}
            b:passed  split {a: stuck?, b: check}
            b:passed  split {a: stuck?, b passed}  check refilled, b passed
        "#]],
    );
}

#[test]
fn a_join_may_send_its_fork_round_again_within_a_budget() {
    story(
        "start > split; split => a => meet(retries 1); a(retries 0) > meet; meet -passed-> done; meet -failed-> split | dead!failure",
        "a:failed a:@failed a:failed a:@failed",
        expect![[r#"
                       split {a: a}
            a:failed   split {a: a? budget spent}
            a:@failed  split {a: a <- failed branches: `a`} <- failed branches: `a`  a failed, meet retry 1 of 1, a opened
            a:failed   split {a: a? budget spent} <- failed branches: `a`
            a:@failed  dead = failure                                                a failed
        "#]],
    );
}

#[test]
fn the_verdict_of_a_cancelled_branch_comes_too_late() {
    story(
        "start > split; split => a(checks tests) | b => meet(any); a > meet; b > meet; meet > after > done",
        "a:passed b:passed a:tests=held a:tests=broken passed",
        expect![[r#"
                            split {a: a, b: b}
            a:passed        split {a: a checking passed, b: b}
            b:passed        after  b passed, a cancelled
            a:tests=held    after  nothing new
            a:tests=broken  after  nothing new
            passed          done = success
        "#]],
    );
}

#[test]
fn the_branches_of_another_visit_are_other_branches() {
    story(
        "start > split; split => a | b => meet; a(checks tests) > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "a:passed b:failed a:tests=held @passed a:passed replay#3 a:tests=held",
        expect![[r#"
                          split {a: a, b: b}
            a:passed      split {a: a checking passed, b: b}
            b:failed      split {a: a checking passed, b failed}  b failed
            a:tests=held  stuck? <- failed branches: `b`          a passed
            @passed       split {a: a, b: b}                      a opened, b opened
            a:passed      split {a: a checking passed, b: b}
            replay#3      split {a: a checking passed, b: b}      nothing new
            a:tests=held  split {a passed, b: b}                  a passed
        "#]],
    );
}

#[test]
fn a_fork_is_not_passed_without_its_branches() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "/:passed passed c:passed",
        expect![[r#"
                      split {a: a, b: b}
            /:passed  split {a: a, b: b}  refused branches_open: the branches of `split` are running, but the call names none of them; say which one with `branch`: `a` and `b`
            passed    split {a: a, b: b}  refused branches_open: the branches of `split` are running, but the call names none of them; say which one with `branch`: `a` and `b`
            c:passed  split {a: a, b: b}  refused unknown_branch: there is no branch `c`; the running branches are `a`, `b`
        "#]],
    );
}

#[test]
fn cancelling_ends_every_branch() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "a:passed cancel b:passed",
        expect![[r#"
                      split {a: a, b: b}
            a:passed  split {a passed, b: b}  a passed
            cancel    split = cancelled
            b:passed  split = cancelled       refused unknown_branch: there is no branch `b`; leave `branch` out: no branches are running
        "#]],
    );
}

#[test]
fn branches_outside_are_waited_for_and_counted() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "[outside] passed gather:a=passed gather:a=passed,b=passed gather:a=passed,b=passed",
        expect![[r#"
                                      split gathering
            passed                    split gathering  refused branches_open: the branches of `split` are separate tasks, and not all of them have an outcome; bring each of them to the join first
            gather:a=passed           split gathering  refused branches_open: `split` is waiting for its branches: `b` have not reached `meet`; bring the task of each of them to `meet`, then call again
            gather:a=passed,b=passed  done = success
            gather:a=passed,b=passed  done = success   refused out_of_place: the run is not waiting for branches; continue from the present situation
        "#]],
    );
}

#[test]
fn a_failed_branch_outside_fails_the_join() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "[outside] gather:a=failed,b=passed @passed gather:b=passed,a=passed",
        expect![[r#"
                                      split gathering
            gather:a=failed,b=passed  stuck? <- failed branches: `a`
            @passed                   split gathering
            gather:b=passed,a=passed  done = success
        "#]],
    );
}

#[test]
fn any_pass_outside_needs_one() {
    story(
        "start > split; split => a | b => meet(any); a > meet; b > meet; meet > done",
        "[outside] gather:a=failed gather:b=passed,a=failed",
        expect![[r#"
                                      split gathering
            gather:a=failed           split gathering  refused branches_open: `split` is waiting for its branches: `b` have not reached `meet`; bring the task of each of them to `meet`, then call again
            gather:b=passed,a=failed  done = success
        "#]],
    );
}

#[test]
fn branches_that_the_fork_does_not_have_do_not_count() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "[outside] gather:x=passed,a=passed gather:",
        expect![[r#"
                                      split gathering
            gather:x=passed,a=passed  split gathering  refused branches_open: `split` is waiting for its branches: `b` have not reached `meet`; bring the task of each of them to `meet`, then call again
            gather:                   split gathering  refused branches_open: `split` is waiting for its branches: `a` and `b` have not reached `meet`; bring the task of each of them to `meet`, then call again
        "#]],
    );
}

#[test]
fn nothing_is_gathered_where_nothing_is_waited_for() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "gather:a=passed,b=passed",
        expect![[r#"
                                      split {a: a, b: b}
            gather:a=passed,b=passed  split {a: a, b: b}  refused out_of_place: the run is not waiting for branches; continue from the present situation
        "#]],
    );
}

#[test]
fn a_run_that_is_a_branch_is_done_at_its_join() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "[branch at a] passed passed",
        expect![[r#"
                    a
            passed  meet arrived passed
            passed  meet arrived passed  refused no_outgoing_edges: the run has ended at `meet`; nothing is left to do; begin a new run for new work
        "#]],
    );
}

#[test]
fn a_run_that_is_a_branch_brings_its_failure_to_the_join() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "[branch at b] failed",
        expect![[r#"
                    b
            failed  meet arrived failed
        "#]],
    );
}

#[test]
fn giving_up_in_a_run_that_is_a_branch_fails_it() {
    story(
        "start > split; split => a | b => meet; a > meet; b -passed-> meet; b -failed-> meet; meet -passed-> done; meet -failed-> stuck!hitl; stuck -passed-> split",
        "[branch at a] failed failed failed failed @failed passed",
        expect![[r#"
                     a
            failed   a                 a retry 1 of 3
            failed   a                 a retry 2 of 3
            failed   a                 a retry 3 of 3
            failed   a? budget spent
            @failed  a arrived failed
            passed   a arrived failed  refused no_outgoing_edges: the run has ended at `a`; nothing is left to do; begin a new run for new work
        "#]],
    );
}

#[test]
fn max_retries_counts_before_a_failed_edge_to_the_join() {
    story(
        "start > split; split => a(retries 1) | b => meet; a -passed-> meet; a -failed-> meet; b > meet; meet -passed-> done; meet -failed-> dead!failure",
        "a:failed a:failed b:passed",
        expect![[r#"
                      split {a: a, b: b}
            a:failed  split {a: a, b: b}      a retry 1 of 1
            a:failed  split {a failed, b: b}  a failed
            b:passed  dead = failure          b passed
        "#]],
    );
}

#[test]
fn a_branch_may_go_back_within_a_budget_and_then_fail() {
    story(
        "start > split; split => a => meet; a > check(gate retries 1); check -passed-> meet; check -failed-> a | meet; meet -passed-> done; meet -failed-> dead!failure",
        "passed a:failed passed a:failed",
        expect![[r#"
                      split {a: a}
            passed    split {a: check}
            a:failed  split {a: a}    check retry 1 of 1
            passed    split {a: check}
            a:failed  dead = failure  a failed
        "#]],
    );
}

#[test]
fn failing_branches_send_their_fork_round_within_the_budget_of_the_join() {
    story(
        "start > split; split => a => meet(retries 1); a -passed-> meet; a -failed-> meet; meet -passed-> done; meet -failed-> split | dead!failure",
        "a:failed a:failed",
        expect![[r#"
                      split {a: a}
            a:failed  split {a: a <- failed branches: `a`} <- failed branches: `a`  a failed, meet retry 1 of 1, a opened
            a:failed  dead = failure                                                a failed
        "#]],
    );
}

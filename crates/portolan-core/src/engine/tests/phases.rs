//! Phases: work that stays until it is accepted, early claims, and bypassed rules.

use expect_test::expect;

use super::story;

const CYCLE: &str = "
    start > issue(phase checks named/I-4,open/I-3) > work(phase) > test(phase back work cap 2 counted test checks tests) > review(phase back work cap 2 counted test) > done
    test -failed-> work
    review -failed-> work
    var n number at issue
    var m number";

#[test]
fn work_that_is_not_accepted_stays() {
    story(
        CYCLE,
        "passed named=broken open=held passed named=held open=unknown passed named=held open=held",
        expect![[r#"
                          issue
            passed        issue checking passed
            named=broken  issue checking passed named=broken
            open=held     issue <- named: exit status 1
            passed        issue checking passed
            named=held    issue checking passed named=held
            open=unknown  issue <- open: could not be checked, which is no pass: no such program
            passed        issue checking passed
            named=held    issue checking passed named=held
            open=held     work
        "#]],
    );
}

#[test]
fn a_phase_that_goes_nowhere_back_cannot_fail() {
    story(
        CYCLE,
        "failed",
        expect![[r#"
                issue
        failed  issue  refused no_matching_edge: `failed` is not an outcome of `issue`; report one of `passed` [passed]
    "#]],
    );
}

#[test]
fn going_back_is_counted_in_one_place_and_only_a_person_goes_further() {
    story(
        CYCLE,
        "passed named=held open=held passed failed passed passed tests=held failed passed failed passed @passed passed passed tests=held passed",
        expect![[r#"
                        issue
            passed      issue checking passed
            named=held  issue checking passed named=held
            open=held   work
            passed      test
            failed      work                  test retry 1 of 2
            passed      test
            passed      test checking passed
            tests=held  review
            failed      work                  test retry 2 of 2
            passed      test
            failed      test? budget spent
            passed      work                  all refilled
            @passed     test
            passed      test checking passed
            passed      test checking passed  nothing new
            tests=held  review
            passed      done = success
        "#]],
    );
}

#[test]
fn what_a_check_shows_is_known_afterwards() {
    story(
        CYCLE,
        "passed named=shown open=held",
        expect![[r#"
                     issue
        passed       issue checking passed
        named=shown  issue checking passed named=shown  n = 7
        open=held    work
    "#]],
    );
}

#[test]
fn claims_are_made_where_they_may_be() {
    story(
        CYCLE,
        r#"note:{"n":1} note:{"n":"x"} note:{"k":1} note:[] passed note:{"n":2} named=held open=held note:{"n":3} note:{"m":3} passed{"n":4}"#,
        expect![[r#"
                            issue
            note:{"n":1}    issue                  n = 1
            note:{"n":"x"}  issue                  refused bad_outputs: the outputs do not match the variables: `n` must be a number, but is a string; give each a value of its type, and leave out what is not a variable
            note:{"k":1}    issue                  refused bad_outputs: the step does not give `k`; leave out what the step is not declared to give
            note:[]         issue                  refused bad_outputs: `outputs` is not an object from variable to value; give each a value of its type, and leave out what is not a variable
            passed          issue checking passed
            note:{"n":2}    issue checking passed  refused checking: the checks of `issue` are running with the present values; wait for their verdict, then give the values
            named=held      issue checking passed named=held
            open=held       work
            note:{"n":3}    work                   refused out_of_phase: `n` cannot be given a value at `work`; only `m` can be given here
            note:{"m":3}    work                   m = 3
            passed{"n":4}   work                   refused out_of_phase: `n` cannot be given a value at `work`; only `m` can be given here
        "#]],
    );
}

#[test]
fn a_rule_is_got_past_by_name_at_one_node() {
    story(
        CYCLE,
        "bypass:I-4 passed named=broken open=unknown bypass:I-3 passed named=broken open=unknown",
        expect![[r#"
                          issue
            bypass:I-4    issue                                                                   b1 for I-4 at issue
            passed        issue checking passed
            named=broken  issue checking passed named=excused
            open=unknown  issue <- open: could not be checked, which is no pass: no such program
            bypass:I-3    issue <- open: could not be checked, which is no pass: no such program  b2 for I-3 at issue
            passed        issue checking passed
            named=broken  issue checking passed named=excused
            open=unknown  work
        "#]],
    );
}

#[test]
fn a_bypass_counts_for_its_rule_its_node_and_its_time() {
    story(
        CYCLE,
        "bypass:I-5 bypass:I-4@work bypass:I-4~0 passed named=broken open=held bypass:I-4! passed named=broken open=broken passed named=broken open=held",
        expect![[r#"
                             issue
            bypass:I-5       issue                          b1 for I-5 at issue
            bypass:I-4@work  issue                          b2 for I-4 at work
            bypass:I-4~0     issue                          b3 for I-4 at issue
            passed           issue checking passed
            named=broken     issue checking passed named=broken
            open=held        issue <- named: exit status 1
            bypass:I-4!      issue <- named: exit status 1  b4 for I-4 at issue
            passed           issue checking passed
            named=broken     issue checking passed named=excused
            open=broken      issue <- open: exit status 1
            passed           issue checking passed
            named=broken     issue checking passed named=broken
            open=held        issue <- named: exit status 1
        "#]],
    );
}

#[test]
fn a_bypass_that_has_counted_elsewhere_counts_no_more() {
    story(
        CYCLE,
        "bypass:I-4! used:b9 used:b1 used:b1 passed named=broken open=held bypass:I-4 used:b2 passed named=broken open=held",
        expect![[r#"
                          issue
            bypass:I-4!   issue                          b1 for I-4 at issue
            used:b9       issue                          nothing new
            used:b1       issue                          b1 is used up
            used:b1       issue                          nothing new
            passed        issue checking passed
            named=broken  issue checking passed named=broken
            open=held     issue <- named: exit status 1
            bypass:I-4    issue <- named: exit status 1  b2 for I-4 at issue
            used:b2       issue <- named: exit status 1  nothing new
            passed        issue checking passed
            named=broken  issue checking passed named=excused
            open=held     work
        "#]],
    );
}

#[test]
fn a_bypass_that_is_none_is_refused() {
    story(
        CYCLE,
        "bypass:* bypass:I-13 bypass:I-4? bypass:I-4@nowhere cancel bypass:I-4",
        expect![[r#"
                            issue
        bypass:*            issue              refused bad_bypass: `*` is not a rule name; name exactly one rule, such as `I-3`: a bypass cannot cover several
        bypass:I-13         issue              refused bad_bypass: `I-13` cannot be bypassed: it is what records every bypass; name the rule that blocks the run
        bypass:I-4?         issue              refused bad_bypass: the bypass of `I-4` has no reason; say why, in a sentence
        bypass:I-4@nowhere  issue              refused bad_bypass: there is no `nowhere` in the workflow; name one of its nodes, or leave it out for the present one
        cancel              issue = cancelled
        bypass:I-4          issue = cancelled  refused no_outgoing_edges: the run has ended at `issue`; there is nothing left to bypass
    "#]],
    );
}

//! Acceptance checks: a report of a node with checks is a request to perform them.

use expect_test::expect;

use super::story;

#[test]
fn all_checks_must_hold() {
    story(
        "start > work(checks tests,lint) > done",
        "passed lint=held tests=held",
        expect![[r#"
                    work
        passed      work checking passed
        lint=held   work checking passed lint=held
        tests=held  done = success
    "#]],
    );
}

#[test]
fn one_broken_check_makes_the_claim_a_failure_with_feedback() {
    story(
        "start > work(checks tests,lint) > done",
        "passed tests=broken lint=held passed tests=held lint=held",
        expect![[r#"
                          work
            passed        work checking passed
            tests=broken  work checking passed tests=broken
            lint=held     work <- tests: exit status 1  work retry 1 of 3
            passed        work checking passed
            tests=held    work checking passed tests=held
            lint=held     done = success                work refilled
        "#]],
    );
}

#[test]
fn unknown_is_no_pass() {
    story(
        "start > work(checks tests retries 0) > done",
        "passed tests=unknown",
        expect![[r#"
                       work
        passed         work checking passed
        tests=unknown  work? budget spent <- tests: could not be checked, which is no pass: no such program
    "#]],
    );
}

#[test]
fn a_failure_needs_no_checks() {
    story(
        "start > work(checks tests) > done",
        "failed",
        expect![[r#"
                work
        failed  work  work retry 1 of 3
    "#]],
    );
}

#[test]
fn every_outcome_but_a_failure_is_checked() {
    story(
        "start > work(checks tests outputs passed,partly); work -passed-> done; work -partly-> done",
        "partly tests=held",
        expect![[r#"
                        work
            partly      work checking partly
            tests=held  done = success
        "#]],
    );
}

#[test]
fn an_outcome_called_skipped_is_checked_like_others() {
    story(
        "start > test > verify(gate checks tests outputs passed,skipped); verify -passed-> deploy; verify -skipped-> deploy; deploy > done",
        "passed skipped tests=broken skipped tests=held passed",
        expect![[r#"
                          test
            passed        verify
            skipped       verify checking skipped
            tests=broken  verify <- tests: exit status 1  verify retry 1 of 3
            skipped       verify checking skipped
            tests=held    deploy
            passed        done = success
        "#]],
    );
}

#[test]
fn a_step_that_may_be_skipped_is_skipped_without_its_checks() {
    story(
        "start > a(activity) > maybe(optional phase checks tests) > must > done; a -skipped-> done; maybe -skipped-> must",
        "passed tests=broken skipped passed",
        expect![[r#"
                          maybe
            passed        maybe checking passed
            tests=broken  maybe <- tests: exit status 1
            skipped       must
            passed        done = success
        "#]],
    );
}

#[test]
fn a_check_is_settled_once() {
    story(
        "start > work(checks tests,lint) > done",
        "passed tests=held tests=broken tests=held lint=held",
        expect![[r#"
                          work
            passed        work checking passed
            tests=held    work checking passed tests=held
            tests=broken  work checking passed tests=held  nothing new
            tests=held    work checking passed tests=held  nothing new
            lint=held     done = success
        "#]],
    );
}

#[test]
fn a_verdict_for_a_position_that_moved_on_changes_nothing() {
    story(
        "start > work(checks tests) > more(checks tests) > done",
        "passed tests=held replay#2 passed replay#2 tests=held replay#4",
        expect![[r#"
                        work
            passed      work checking passed
            tests=held  more
            replay#2    more                  nothing new
            passed      more checking passed
            replay#2    more checking passed  nothing new
            tests=held  done = success
            replay#4    done = success        refused stale: the call quotes revision 5, but `done` was reached at revision 9; the run has moved on in the meantime: choose from the present actions
        "#]],
    );
}

#[test]
fn a_verdict_of_an_earlier_visit_changes_nothing() {
    story(
        "start > work(checks tests,lint) > done",
        "passed tests=broken lint=broken passed replay#2 replay#3 tests=held lint=held",
        expect![[r#"
                          work
            passed        work checking passed
            tests=broken  work checking passed tests=broken
            lint=broken   work <- tests: exit status 1, lint: exit status 1  work retry 1 of 3
            passed        work checking passed
            replay#2      work checking passed                               nothing new
            replay#3      work checking passed                               nothing new
            tests=held    work checking passed tests=held
            lint=held     done = success                                     work refilled
        "#]],
    );
}

#[test]
fn a_claim_that_is_being_checked_may_be_repeated_and_not_changed() {
    story(
        "start > work(checks tests outputs passed,partly); work -passed-> done; work -partly-> done",
        "passed passed partly failed tests=held",
        expect![[r#"
                        work
            passed      work checking passed
            passed      work checking passed  nothing new
            partly      work checking passed  refused checking: `work` was reported as `passed` and its checks are running; wait for their verdict, or report `passed` again to run them again [passed]
            failed      work checking passed  refused checking: `work` was reported as `passed` and its checks are running; wait for their verdict, or report `passed` again to run them again [passed]
            tests=held  done = success
        "#]],
    );
}

#[test]
fn failed_checks_use_the_budget_and_end_at_the_escalation() {
    story(
        "start > fix > verify(gate retries 1 checks tests); verify -passed-> done; verify -failed-> fix | stuck!hitl; stuck -passed-> fix",
        "passed passed tests=broken passed passed tests=broken",
        expect![[r#"
                          fix
            passed        verify
            passed        verify checking passed
            tests=broken  fix <- tests: exit status 1  verify retry 1 of 1
            passed        verify
            passed        verify checking passed
            tests=broken  stuck? <- tests: exit status 1
        "#]],
    );
}

#[test]
fn checks_in_branches_are_apart() {
    story(
        "start > split; split => a(checks tests) | b(checks tests) => meet; a > meet; b > meet; meet > done",
        "a:passed b:passed b:tests=held a:tests=held",
        expect![[r#"
                          split {a: a, b: b}
            a:passed      split {a: a checking passed, b: b}
            b:passed      split {a: a checking passed, b: b checking passed}
            b:tests=held  split {a: a checking passed, b passed}  b passed
            a:tests=held  done = success                          a passed
        "#]],
    );
}

#[test]
fn a_run_that_is_called_off_waits_for_no_check() {
    story(
        "start > work(checks tests) > done",
        "passed cancel tests=held",
        expect![[r#"
                    work
        passed      work checking passed
        cancel      work = cancelled
        tests=held  work = cancelled  nothing new
    "#]],
    );
}

#[test]
fn what_nobody_says_how_to_check_is_a_persons_to_say_and_no_agents() {
    story(
        "start > work(checks tests,docs) > done",
        "passed tests=asked docs=asked passed cancelled @maybe @failed passed docs=held tests=asked @passed",
        expect![[r#"
                         work
            passed       work checking passed
            tests=asked  work checking passed tests=asked
            docs=asked   work? unchecked
            passed       work? unchecked  refused needs_person: `work` asks a person, and an answer from an agent does not count here; stop and let the person answer
            cancelled    work? unchecked  refused no_matching_edge: `cancelled` is not an outcome of `work`; report one of `passed` and `failed` [passed, failed]
            @maybe       work? unchecked  refused no_matching_edge: `maybe` is not an outcome of `work`; report one of `passed` and `failed` [passed, failed]
            @failed      work             work retry 1 of 3
            passed       work checking passed
            docs=held    work checking passed docs=held
            tests=asked  work? unchecked
            @passed      done = success   work refilled
        "#]],
    );
}

#[test]
fn a_check_that_did_not_hold_comes_before_the_question() {
    story(
        "start > work(checks tests,docs) > done",
        "passed tests=asked docs=broken passed tests=asked docs=held @passed",
        expect![[r#"
                         work
            passed       work checking passed
            tests=asked  work checking passed tests=asked
            docs=broken  work <- docs: exit status 1  work retry 1 of 3
            passed       work checking passed
            tests=asked  work checking passed tests=asked
            docs=held    work? unchecked
            @passed      done = success               work refilled
        "#]],
    );
}

#[test]
fn work_that_a_person_does_not_take_goes_on_in_its_phase() {
    story(
        "start > write(phase checks tests) > done",
        "passed tests=asked @failed passed tests=asked @passed",
        expect![[r#"
                         write
            passed       write checking passed
            tests=asked  write? unchecked
            @failed      write
            passed       write checking passed
            tests=asked  write? unchecked
            @passed      done = success
        "#]],
    );
}

#[test]
fn an_outcome_of_the_workflows_own_is_what_the_person_confirms() {
    story(
        "start > review(checks seen outputs passed,rework); review -passed-> done; review -rework-> fix; fix > review",
        "rework seen=asked @passed @rework passed",
        expect![[r#"
                        review
            rework      review checking rework
            seen=asked  review? unchecked
            @passed     review? unchecked  refused no_matching_edge: `passed` is not an outcome of `review`; report one of `rework` and `failed` [rework, failed]
            @rework     fix
            passed      review
        "#]],
    );
}

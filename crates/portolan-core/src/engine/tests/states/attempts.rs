use expect_test::expect;

use super::story;

#[test]
fn a_state_without_key_results_is_left_with_the_first_answer() {
    story(
        "a:\nb: nobody\na -> b\nb -> end",
        "says hello",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `b`
            portolan went on → executed `b`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "hello" (1 attempts, 1 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn what_is_not_met_goes_back_with_its_reason() {
    story(
        "a: check short = $length(output) < 5 | retries 2\na -> end",
        "says too long\nsays still too long\nsays ok",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → not accepted: `short` (`$length(output) < 5` does not hold), attempt 2
                ask model in 4 messages: The result was not accepted (attempt 1 of 3). Not met:
            portolan heard the model (10 tokens in, 5 out) → not accepted: `short` (`$length(output) < 5` does not hold), attempt 3
                ask model in 6 messages: The result was not accepted (attempt 2 of 3). Not met:
            portolan heard the model (10 tokens in, 5 out) → accepted: `short`, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "ok" (3 attempts, 3 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn cheap_checks_come_first_and_judges_only_after_them() {
    story(
        "a: check short = $length(output) < 5 | file there | judge good | retries 3\na -> end",
        "says too long\nsays ok\nbroken it is not there\nsays ok2\nholds\nno good\nsays ok3\nholds\nyes good",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → not accepted: `short` (`$length(output) < 5` does not hold), attempt 2
                ask model in 4 messages: The result was not accepted (attempt 1 of 4). Not met:
            portolan heard the model (10 tokens in, 5 out)
                look at there#2
            portolan checked `there#2` of `a`: it did not hold: it is not there → not accepted: `there` (it is not there), attempt 3
                ask model in 6 messages: The result was not accepted (attempt 2 of 4). Not met:
            portolan heard the model (10 tokens in, 5 out)
                look at there#3
            portolan checked `there#3` of `a`: it held → 1 to judge
                ask judge 1 in 2 messages: The objective of the step: do it
            portolan heard judge 1 (10 tokens in, 5 out) → not accepted: `good` (because), attempt 4
                ask model in 8 messages: The result was not accepted (attempt 3 of 4). Not met:
            portolan heard the model (10 tokens in, 5 out)
                look at there#4
            portolan checked `there#4` of `a`: it held → 1 to judge
                ask judge 1 in 2 messages: The objective of the step: do it
            portolan heard judge 1 (10 tokens in, 5 out) → accepted: `short`, `there`, `good` (because), executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "ok3" (4 attempts, 6 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn attempts_are_one_more_than_retries() {
    story(
        "a: check no = false | retries 2 | function f\na -> end",
        "returns 1\nreturns 2\nreturns 3",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                call f with "the input"
            portolan took the result of a function → not accepted: `no` (`false` does not hold), attempt 2
                call f with "the input"
            portolan took the result of a function → not accepted: `no` (`false` does not hold), attempt 3
                call f with "the input"
            portolan took the result of a function → not accepted: `no` (`false` does not hold), `a` failed: `a` was attempted 3 times, and does not meet `no` (`false` does not hold), ended at `a`: failure
            failure: `a` was attempted 3 times, and does not meet `no` (`false` does not hold) (3 attempts, 0 model calls, 0 tools)
        "#]],
    );
    story(
        "a: check no = false | retries 0\na -> end",
        "says x",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → not accepted: `no` (`false` does not hold), `a` failed: `a` was attempted once, and does not meet `no` (`false` does not hold), ended at `a`: failure
            failure: `a` was attempted once, and does not meet `no` (`false` does not hold) (1 attempts, 1 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn a_model_that_says_the_same_again_is_stuck() {
    story(
        "a: check no = false | retries 9\na -> end",
        "says x\nsays x",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → not accepted: `no` (`false` does not hold), attempt 2
                ask model in 4 messages: The result was not accepted (attempt 1 of 10). Not met:
            portolan heard the model (10 tokens in, 5 out) → not accepted: `no` (`false` does not hold), `a` failed: `a` was attempted 2 times, the last two with the same result, and does not meet …, ended at `a`: failure
            failure: `a` was attempted 2 times, the last two with the same result, and does not meet `no` (`false` does not hold) (2 attempts, 2 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn of_several_judges_more_than_half_decide() {
    story(
        "a: judge good | votes 3 | retries 0\na -> end",
        "says x\nyes good\nno good\nyes good",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → 3 to judge
                ask judge 1 in 2 messages: The objective of the step: do it
                ask judge 2 in 2 messages: The objective of the step: do it
                ask judge 3 in 2 messages: The objective of the step: do it
            portolan heard judge 1 (10 tokens in, 5 out)
                ask judge 2 in 2 messages: The objective of the step: do it
                ask judge 3 in 2 messages: The objective of the step: do it
            portolan heard judge 2 (10 tokens in, 5 out)
                ask judge 3 in 2 messages: The objective of the step: do it
            portolan heard judge 3 (10 tokens in, 5 out) → accepted: `good` (2 of 3 judges call it met. because; because), executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "x" (1 attempts, 4 model calls, 0 tools)
        "#]],
    );
    story(
        "a: judge good | votes 2 | retries 0\na -> end",
        "says x\nyes good\nno good",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → 2 to judge
                ask judge 1 in 2 messages: The objective of the step: do it
                ask judge 2 in 2 messages: The objective of the step: do it
            portolan heard judge 1 (10 tokens in, 5 out)
                ask judge 2 in 2 messages: The objective of the step: do it
            portolan heard judge 2 (10 tokens in, 5 out) → not accepted: `good` (1 of 2 judges call it met. because), `a` failed: `a` was attempted once, and does not meet `good` (1 of 2 judges call it met. bec…, ended at `a`: failure
            failure: `a` was attempted once, and does not meet `good` (1 of 2 judges call it met. because) (1 attempts, 3 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn the_way_on_is_named_by_the_output() {
    let ways = "a: schema {}\nb: nobody\nc: nobody\na -left-> b\na -> c\nb -> end\nc -> end";
    story(
        ways,
        r#"says {"_transition": "left", "x": 1}"#,
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `b`
            portolan went on → executed `b`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with {"x":1} (1 attempts, 1 model calls, 0 tools)
        "#]],
    );
    story(
        ways,
        r#"says "left""#,
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `b`
            portolan went on → executed `b`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "left" (1 attempts, 1 model calls, 0 tools)
        "#]],
    );
    story(
        ways,
        r#"says {"_transition": "nowhere", "x": 1}"#,
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `c`
            portolan went on → executed `c`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with {"x":1} (1 attempts, 1 model calls, 0 tools)
        "#]],
    );
    story(
        "a: schema {}\nb: nobody\na -left-> b\nb -> end",
        "says 1",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → accepted, `a` failed: no transition of `a` matches: it chose nothing, ended at `a`: failure
            failure: no transition of `a` matches: it chose nothing (1 attempts, 1 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn an_answer_has_its_schema_and_is_whole() {
    let typed = r#"a: schema {"type": "object", "required": ["n"]} | retries 3"#;
    story(
        &format!("{typed}\na -> end"),
        "says no json\nsays {\"m\": 1}\ncut {\"n\":\nsays {\"n\": 1}",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → not accepted: `schema` (the answer is not valid JSON: expected ident at line 1 column 2), attempt 2
                ask model in 4 messages: The result was not accepted (attempt 1 of 4). Not met:
            portolan heard the model (10 tokens in, 5 out) → not accepted: `schema` (the answer does not match its schema: it has no `n`), attempt 3
                ask model in 6 messages: The result was not accepted (attempt 2 of 4). Not met:
            portolan heard the model (10 tokens in, 5 out) → not accepted: `a whole answer` (the answer was cut off because it reached the token limit), attempt 4
                ask model in 8 messages: The result was not accepted (attempt 3 of 4). Not met:
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with {"n":1} (4 attempts, 4 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn what_other_states_have_come_to_is_seen_by_those_after_them() {
    story(
        "a: check there = $count(history) = 0
         b: maybe long = $length(output) > 9 | check second = $count(history) = 1 and history[0].key_results_met.there
         c: set told = $join(history.(state_name & ':' & output), ' ') | set met = history[1].key_results_met | nobody
         d: check told = shared.told = 'a:one b:two' and shared.met.long = false | nobody
         a -> b\nb -> c\nc -> d\nd -> end",
        "says one\nsays two",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → accepted: `there`, executed `a`, now at `b`
            portolan went on → work on `b`, attempt 1
                ask model in 2 messages: one
            portolan heard the model (10 tokens in, 5 out) → accepted: `second`, without `long` (`$length(output) > 9` does not hold), executed `b`, now at `c`
            portolan went on → set `told`, set `met`, executed `c`, now at `d`
            portolan went on → work on `d`, attempt 1, accepted: `told`, executed `d`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "two" (3 attempts, 2 model calls, 0 tools)
        "#]],
    );
}

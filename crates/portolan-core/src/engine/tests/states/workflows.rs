use expect_test::expect;

use super::story;

const USES: &str = "ask: tools run:sum web/find\nask -> end\n";

#[test]
fn a_workflow_that_a_model_uses_is_a_part_of_the_run() {
    story(
        &format!("{USES}== sum\nadd: check long = $length(output) > 1\nadd -> end"),
        "asks run_sum {\"of\": 3}; web_find {\"for\": \"x\"}
         done found
         @call-0-0 says 6
         @call-0-0 says 66
         says it is 66",
        expect![[r#"
            portolan went on → executed `start`, now at `ask`
            portolan went on → work on `ask`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `run_sum` and `web_find` → `sum` began as a tool
            portolan went on → executed `start`, now at `add` in `call-0-0`
            portolan went on → work on `add` in `call-0-0`, attempt 1
                in `call-0-0` ask model in 2 messages: {"of":3}
                use web/find {"for":"x"} (call-0-1)
            portolan used the tool of call `call-0-1`
                in `call-0-0` ask model in 2 messages: {"of":3}
            portolan heard the model (10 tokens in, 5 out) in `call-0-0` → not accepted: `long` (`$length(output) > 1` does not hold), attempt 2
                in `call-0-0` ask model in 4 messages: The result was not accepted (attempt 1 of 2). Not met:
            portolan heard the model (10 tokens in, 5 out) in `call-0-0` → accepted: `long`, executed `add`, now at `end` in `call-0-0`
            portolan went on → executed `end`, ended at `end`: success in `call-0-0`
                ask model in 5 messages: found
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `ask`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "it is 66" (3 attempts, 4 model calls, 2 tools)
        "#]],
    );
}

#[test]
fn one_that_fails_is_told_to_the_model_and_others_are_used_at_once() {
    story(
        &format!("{USES}== sum\nadd: check never = false | retries 0\nadd -> end"),
        "asks run_sum; run_sum; web_find
         @call-0-1 says one
         done found
         @call-0-0 says two
         says so",
        expect![[r#"
            portolan went on → executed `start`, now at `ask`
            portolan went on → work on `ask`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `run_sum`, `run_sum` and `web_find` → `sum` began as a tool, `sum` began as a tool
            portolan went on → executed `start`, now at `add` in `call-0-0`
            portolan went on → work on `add` in `call-0-0`, attempt 1
            portolan went on → executed `start`, now at `add` in `call-0-1`
            portolan went on → work on `add` in `call-0-1`, attempt 1
                in `call-0-0` ask model in 2 messages: do it
                in `call-0-1` ask model in 2 messages: do it
                use web/find {} (call-0-2)
            portolan heard the model (10 tokens in, 5 out) in `call-0-1` → not accepted: `never` (`false` does not hold), `add` failed: `add` was attempted once, and does not meet `never` (`false` does not hold), ended at `add`: failure in `call-0-1`
                in `call-0-0` ask model in 2 messages: do it
                use web/find {} (call-0-2)
            portolan used the tool of call `call-0-2`
                in `call-0-0` ask model in 2 messages: do it
            portolan heard the model (10 tokens in, 5 out) in `call-0-0` → not accepted: `never` (`false` does not hold), `add` failed: `add` was attempted once, and does not meet `never` (`false` does not hold), ended at `add`: failure in `call-0-0`
                ask model in 6 messages: found
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `ask`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "so" (3 attempts, 4 model calls, 3 tools)
        "#]],
    );
}

#[test]
fn what_it_uses_up_counts_for_the_run_for_itself_and_for_the_state_that_uses_it() {
    let inner = "one: \ntwo: \none -> two\ntwo -> end";
    story(
        &format!("# calls 2\n{USES}== sum\n{inner}"),
        "asks run_sum\n@call-0-0 says a\n@call-0-0 go on\n@call-0-0 says b\nsays it is b",
        expect![[r#"
            portolan went on → executed `start`, now at `ask`
            portolan went on → work on `ask`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `run_sum` → `sum` began as a tool
            portolan went on → executed `start`, now at `one` in `call-0-0`
            portolan went on → work on `one` in `call-0-0`, attempt 1
                in `call-0-0` ask model in 2 messages: do it
            portolan heard the model (10 tokens in, 5 out) in `call-0-0` → accepted, executed `one`, now at `two` in `call-0-0`
            portolan went on → work on `two` in `call-0-0`, attempt 1, waits: the run has used 2 of 2 `model_calls`
            portolan let it continue in `call-0-0` → more `model_calls` may be used
                in `call-0-0` ask model in 2 messages: a
            portolan heard the model (10 tokens in, 5 out) in `call-0-0` → accepted, executed `two`, now at `end` in `call-0-0`
            portolan went on → executed `end`, ended at `end`: success in `call-0-0`
                ask model in 4 messages: b
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `ask`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "it is b" (3 attempts, 4 model calls, 1 tools)
        "#]],
    );
    story(
        &format!("{USES}== sum\n# calls 1\n{inner}"),
        "asks run_sum\n@call-0-0 says a\n@call-0-0 go on\n@call-0-0 says b\nsays it is b",
        expect![[r#"
            portolan went on → executed `start`, now at `ask`
            portolan went on → work on `ask`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `run_sum` → `sum` began as a tool
            portolan went on → executed `start`, now at `one` in `call-0-0`
            portolan went on → work on `one` in `call-0-0`, attempt 1
                in `call-0-0` ask model in 2 messages: do it
            portolan heard the model (10 tokens in, 5 out) in `call-0-0` → accepted, executed `one`, now at `two` in `call-0-0`
            portolan went on → work on `two` in `call-0-0`, attempt 1, waits: the workflow has used 1 of 1 `model_calls`
            portolan let it continue in `call-0-0` → more `model_calls` may be used
                in `call-0-0` ask model in 2 messages: a
            portolan heard the model (10 tokens in, 5 out) in `call-0-0` → accepted, executed `two`, now at `end` in `call-0-0`
            portolan went on → executed `end`, ended at `end`: success in `call-0-0`
                ask model in 4 messages: b
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `ask`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "it is b" (3 attempts, 4 model calls, 1 tools)
        "#]],
    );
    story(
        &format!("ask: tools run:sum | calls 2\nask -> end\n== sum\n{inner}"),
        "asks run_sum\n@call-0-0 says a\n@call-0-0 go on\n@call-0-0 says b\nsays it is b",
        expect![[r#"
            portolan went on → executed `start`, now at `ask`
            portolan went on → work on `ask`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `run_sum` → `sum` began as a tool
            portolan went on → executed `start`, now at `one` in `call-0-0`
            portolan went on → work on `one` in `call-0-0`, attempt 1
                in `call-0-0` ask model in 2 messages: do it
            portolan heard the model (10 tokens in, 5 out) in `call-0-0` → accepted, executed `one`, now at `two` in `call-0-0`
            portolan went on → work on `two` in `call-0-0`, attempt 1, waits: the enclosing state has used 2 of 2 `model_calls`
            portolan let it continue in `call-0-0` → more `model_calls` may be used
                in `call-0-0` ask model in 2 messages: a
            portolan heard the model (10 tokens in, 5 out) in `call-0-0` → accepted, executed `two`, now at `end` in `call-0-0`
            portolan went on → executed `end`, ended at `end`: success in `call-0-0`
                ask model in 4 messages: b
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `ask`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "it is b" (3 attempts, 4 model calls, 1 tools)
        "#]],
    );
}

#[test]
fn one_that_takes_more_steps_than_the_run_may_is_a_tool_that_failed() {
    story(
        "# few steps\nask: tools run:two\nask -> end\n== two\na: nobody\nb: nobody\na -> b\nb -> end",
        "asks run_two\nsays never mind",
        expect![[r#"
            portolan went on → executed `start`, now at `ask`
            portolan went on → work on `ask`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `run_two` → `two` began as a tool
            portolan went on → executed `start`, now at `a` in `call-0-0`
            portolan went on → executed `a`, now at `b` in `call-0-0`
            portolan went on → executed `b`, now at `end` in `call-0-0`
            portolan went on → ended at `end`: failure in `call-0-0`
                ask model in 4 messages: Error: `two` failed at `end`: the run has executed 4 nodes, and `maxNodeExecutions` is 4
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `ask`, now at `end`
            portolan went on → ended at `end`: failure
            failure: the run has executed 5 nodes, and `maxNodeExecutions` is 4 (1 attempts, 2 model calls, 1 tools)
        "#]],
    );
}

#[test]
fn a_tool_that_stops_the_run_may_be_a_workflow() {
    story(
        "ask: tools run:sum | breaking run:sum\nask -> end\n== sum\nadd: \nadd -> end",
        "asks run_sum\n@call-0-0 says 6\ngo on\nsays it is 6",
        expect![[r#"
            portolan went on → executed `start`, now at `ask`
            portolan went on → work on `ask`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `run_sum` → `sum` began as a tool
            portolan went on → executed `start`, now at `add` in `call-0-0`
            portolan went on → work on `add` in `call-0-0`, attempt 1
                in `call-0-0` ask model in 2 messages: do it
            portolan heard the model (10 tokens in, 5 out) in `call-0-0` → accepted, executed `add`, now at `end` in `call-0-0`
            portolan went on → executed `end`, ended at `end`: success in `call-0-0`, waits: a tool has stopped the run
            portolan let it continue
                ask model in 4 messages: 6
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `ask`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "it is 6" (2 attempts, 3 model calls, 1 tools)
        "#]],
    );
}

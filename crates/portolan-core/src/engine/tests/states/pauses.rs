use expect_test::expect;

use super::story;

#[test]
fn tools_are_used_side_by_side_and_told_in_order() {
    story(
        "a: tools web/search files/read\na -> end",
        "asks web_search {\"q\": 1}; files_read {\"p\": 2}; nothing {}; web_search [1]; web_search {\ndone {\"hits\": 3}\nfails no such file\nsays ok",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `web_search`, `files_read`, `nothing`, `web_search` and `web_search`
                use web/search {"q":1} (call-0-0)
                use files/read {"p":2} (call-0-1)
            portolan used the tool of call `call-0-0`
                use files/read {"p":2} (call-0-1)
            portolan could not use the tool of call `call-0-1`: no such file
                ask model in 8 messages: Error: the arguments are not valid JSON: EOF while parsing an object at line 1 column 1
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "ok" (1 attempts, 2 model calls, 2 tools)
        "#]],
    );
}

#[test]
fn a_tool_that_waits_is_answered_and_its_conversation_goes_on() {
    story(
        "a: tools ask search\na -> end",
        "asks search {}; ask {\"who\": \"bob\"}\ndone 1\nwaits \"sent\"\ngo\nanswer \"bob says yes\"\nsays ok",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `search` and `ask`
                use search {} (call-0-0)
                use ask {"who":"bob"} (call-0-1)
            portolan used the tool of call `call-0-0`
                use ask {"who":"bob"} (call-0-1)
            portolan used the tool of call `call-0-1`, which waits for an answer → waits: a tool waits for an answer
            go: refused out_of_place: `a` is waiting for an answer; give the answer, or give up the state
            portolan answered "bob says yes"
                ask model in 5 messages: bob says yes
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "ok" (1 attempts, 2 model calls, 2 tools)
        "#]],
    );
    story(
        "a: tools pay\na -> end",
        "asks pay {}\nbreaks {\"paid\": 1}\ngo\nsays ok",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `pay`
                use pay {} (call-0-0)
            portolan used the tool of call `call-0-0`, which stops the run → waits: a tool has stopped the run
            portolan let it continue
                ask model in 4 messages: {"paid":1}
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "ok" (1 attempts, 2 model calls, 1 tools)
        "#]],
    );
}

#[test]
fn whoever_does_not_answer_is_asked_again_later() {
    story(
        "a:\na -> end",
        "down\ndown\nsays ok",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan got no answer from the model: the provider says overloaded
                ask model in 2 messages not before 1001: the input
            portolan got no answer from the model: the provider says overloaded
                ask model in 2 messages not before 2002: the input
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "ok" (1 attempts, 1 model calls, 0 tools)
        "#]],
    );
    story(
        "a: judge good\na -> end",
        "says x\ndown\nyes good",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → 1 to judge
                ask judge 1 in 2 messages: The objective of the step: do it
            portolan got no answer from judge 1: the provider says overloaded → 1 to judge
                ask judge 1 in 2 messages not before 1002: The objective of the step: do it
            portolan heard judge 1 (10 tokens in, 5 out) → accepted: `good` (because), executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "x" (1 attempts, 2 model calls, 0 tools)
        "#]],
    );
    story(
        "a:\na -> end",
        "dead\ngo\nsays ok",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan got no answer from the model: the provider says refused-key → waits: the provider says refused-key
            portolan let it continue
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "ok" (1 attempts, 1 model calls, 0 tools)
        "#]],
    );
}

/// A limit that stops a retry stops the next attempt, and not another request of the failed one.
#[test]
fn after_a_limit_of_time_a_failed_attempt_is_followed_by_the_next() {
    story(
        "a: check long = $length(output) > 5 | retries 3 | ms 2\na -> end",
        "says no\nsays not\ngo\nsays long enough",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → not accepted: `long` (`$length(output) > 5` does not hold), attempt 2
                ask model in 4 messages: The result was not accepted (attempt 1 of 4). Not met:
            portolan heard the model (10 tokens in, 5 out) → not accepted: `long` (`$length(output) > 5` does not hold), waits: the state has used 2 of 2 `ms`
            portolan let it continue → more `ms` may be used, attempt 3
                ask model in 6 messages: The result was not accepted (attempt 2 of 4). Not met:
            portolan heard the model (10 tokens in, 5 out) → accepted: `long`, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "long enough" (3 attempts, 3 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn at_a_limit_a_person_grants_as_much_again_or_gives_up() {
    story(
        "a: tools t | calls 1\na -> end",
        "asks t {}\ndone 1\ngo\nsays ok",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `t`
                use t {} (call-0-0)
            portolan used the tool of call `call-0-0` → waits: the state has used 1 of 1 `model_calls`
            portolan let it continue → more `model_calls` may be used
                ask model in 4 messages: 1
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "ok" (1 attempts, 2 model calls, 1 tools)
        "#]],
    );
    story(
        "a: tools t | turns 1 \na -> end",
        "asks t {}\ndone 1\ngive-up",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `t`
                use t {} (call-0-0)
            portolan used the tool of call `call-0-0` → waits: the state has used 1 of 1 `turns`
            portolan gave up → `a` failed: `a` was given up: the state has used 1 of 1 `turns`, ended at `a`: failure
            failure: `a` was given up: the state has used 1 of 1 `turns` (1 attempts, 1 model calls, 1 tools)
        "#]],
    );
    story(
        "a: nobody | visits 2\na -> a\na -x-> end",
        "go\ngive-up",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1, accepted, executed `a`, now at `a`
            portolan went on → work on `a`, attempt 1, accepted, executed `a`, now at `a`
            portolan went on → work on `a`, waits: the state has used 2 of 2 `visits`
            portolan let it continue → more `visits` may be used, attempt 1, accepted, executed `a`, now at `a`
            portolan went on → work on `a`, attempt 1, accepted, executed `a`, now at `a`
            portolan went on → work on `a`, waits: the state has used 4 of 4 `visits`
            portolan gave up → `a` failed: `a` was given up: the state has used 4 of 4 `visits`, ended at `a`: failure
            failure: `a` was given up: the state has used 4 of 4 `visits` (4 attempts, 0 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn a_circle_of_states_waits_after_as_many_steps_as_it_may_make() {
    story(
        "# few steps\na: nobody\na -> a\na -x-> end",
        "go\ngive-up",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → executed `a`, now at `a`
            portolan went on → executed `a`, now at `a`
            portolan went on → executed `a`, now at `a`
            portolan went on → `a` waits: the run has used 4 of 4 `steps`
            portolan let it continue → more `steps` may be used, attempt 1, accepted, executed `a`, now at `a`
            portolan went on → executed `a`, now at `a`
            portolan went on → executed `a`, now at `a`
            portolan went on → executed `a`, now at `a`
            portolan went on → `a` waits: the run has used 8 of 8 `steps`
            portolan gave up → `a` failed: `a` was given up: the run has used 8 of 8 `steps`, ended at `a`: failure
            failure: `a` was given up: the run has used 8 of 8 `steps` (1 attempts, 0 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn without_an_attempt_left_the_best_counts_or_a_person_decides() {
    let two = "check ab = $contains(output, 'ab') | check b = $contains(output, 'b')";
    story(
        &format!("a: {two} | retries 1 | best | check no = false\na -> end"),
        "says ab\nsays b",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → not accepted: `no` (`false` does not hold), attempt 2
                ask model in 4 messages: The result was not accepted (attempt 1 of 2). Not met:
            portolan heard the model (10 tokens in, 5 out) → not accepted: `ab` (`$contains(output, 'ab')` does not hold), `no` (`false` does not hold), accepted: `ab`, `b`, without `no` (`false` does not hold), executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "ab" (2 attempts, 2 model calls, 0 tools)
        "#]],
    );
    story(
        &format!("a: {two} | retries 0 | ask\na -> end"),
        "says x\nanswer use a and b\nsays ab",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → not accepted: `ab` (`$contains(output, 'ab')` does not hold), `b` (`$contains(output, 'b')` does not hold), waits: no attempts are left; a person decides
            portolan answered "use a and b" → 2 attempts are allowed, attempt 2
                ask model in 4 messages: The result was not accepted (attempt 1 of 2). Not met:
            portolan heard the model (10 tokens in, 5 out) → accepted: `ab`, `b`, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "ab" (2 attempts, 2 model calls, 0 tools)
        "#]],
    );
    story(
        &format!("a: {two} | retries 0 | ask\na -> end"),
        "says x\naccept",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → not accepted: `ab` (`$contains(output, 'ab')` does not hold), `b` (`$contains(output, 'b')` does not hold), waits: no attempts are left; a person decides
            portolan accepted the best attempt → accepted, without `ab` (`$contains(output, 'ab')` does not hold), `b` (`$contains(output, 'b')` does not hold), executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "x" (1 attempts, 1 model calls, 0 tools)
        "#]],
    );
    story(
        &format!("a: {two} | retries 0 | ask\na -> end"),
        "says x\ngo\nsays y\ngive-up",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → not accepted: `ab` (`$contains(output, 'ab')` does not hold), `b` (`$contains(output, 'b')` does not hold), waits: no attempts are left; a person decides
            portolan let it continue → 2 attempts are allowed, attempt 2
                ask model in 4 messages: The result was not accepted (attempt 1 of 2). Not met:
            portolan heard the model (10 tokens in, 5 out) → not accepted: `ab` (`$contains(output, 'ab')` does not hold), `b` (`$contains(output, 'b')` does not hold), waits: no attempts are left; a person decides
            portolan gave up → `a` failed: `a` was given up: no attempts are left; a person decides, ended at `a`: failure
            failure: `a` was given up: no attempts are left; a person decides (2 attempts, 2 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn what_a_failed_attempt_has_written_is_undone() {
    story(
        "a: tools shared_set shared_get | check ok = output = 'ok' | set seen = output\nb: tools shared_get\na -> b\nb -> end",
        "asks shared_set {\"name\": \"n\", \"value\": 1}\nsays no\nasks shared_get {}\nasks shared_set {\"name\": \"m\", \"value\": 2}\nsays ok\nasks shared_get {}\nsays end",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `shared_set` → set `n`
                ask model in 4 messages: {"set":"n"}
            portolan heard the model (10 tokens in, 5 out) → not accepted: `ok` (`output = 'ok'` does not hold), what it wrote is undone, attempt 2
                ask model in 6 messages: The result was not accepted (attempt 1 of 2). Not met:
            portolan heard the model (10 tokens in, 5 out), who asks for `shared_get`
                ask model in 8 messages: {}
            portolan heard the model (10 tokens in, 5 out), who asks for `shared_set` → set `m`
                ask model in 10 messages: {"set":"m"}
            portolan heard the model (10 tokens in, 5 out) → accepted: `ok`, set `seen`, executed `a`, now at `b`
            portolan went on → work on `b`, attempt 1
                ask model in 2 messages: ok
            portolan heard the model (10 tokens in, 5 out), who asks for `shared_get`
                ask model in 4 messages: {"m":2,"seen":"ok"}
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `b`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "end" (3 attempts, 7 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn a_definition_has_runs_stop_after_tools() {
    story(
        "a: tools pay/charge mail/send look/up | breaking pay/charge | waiting mail/send\na -> end",
        "asks look_up {}; mail_send {}\ndone 1\ndone 2\nanswer \"they said yes\"\nasks pay_charge {}\ndone 3\ngo\nsays all",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `look_up` and `mail_send`
                use look/up {} (call-0-0)
                use mail/send {} (call-0-1)
            portolan used the tool of call `call-0-0`
                use mail/send {} (call-0-1)
            portolan used the tool of call `call-0-1` → waits: a tool waits for an answer
            portolan answered "they said yes"
                ask model in 5 messages: they said yes
            portolan heard the model (10 tokens in, 5 out), who asks for `pay_charge`
                use pay/charge {} (call-1-0)
            portolan used the tool of call `call-1-0` → waits: a tool has stopped the run
            portolan let it continue
                ask model in 7 messages: 3
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "all" (1 attempts, 3 model calls, 3 tools)
        "#]],
    );
}

#[test]
fn a_tool_that_both_breaks_and_waits_breaks() {
    story(
        "a: tools pay | breaking pay | waiting pay\na -> end",
        "asks pay {}\ndone 1\ngo\nsays all",
        expect![[r#"
            portolan went on → executed `start`, now at `a`
            portolan went on → work on `a`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `pay`
                use pay {} (call-0-0)
            portolan used the tool of call `call-0-0` → waits: a tool has stopped the run
            portolan let it continue
                ask model in 4 messages: 1
            portolan heard the model (10 tokens in, 5 out) → accepted, executed `a`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with "all" (1 attempts, 2 model calls, 1 tools)
        "#]],
    );
}

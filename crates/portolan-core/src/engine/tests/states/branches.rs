use expect_test::expect;

use super::story;

#[test]
fn branches_work_side_by_side_on_what_came_before_the_fork() {
    story(
        "first: set start = 'x'
         f: fork j
         a: check seen = shared.start = 'x' and $count(history) = 1 | set mark = 'a' | set both = 'a'
         b: check alone = $not($exists(shared.mark)) | set both = 'b'
         j: join f
         last: check all = input.a = 'one' and input.b = 'two' | check set = shared.mark = 'a' and shared.both = 'b' | nobody
         first -> f\nf -> a\nf -> b\na -> j\nb -> j\nj -> last\nlast -> end",
        "says begun\n@a says one\n@b says two",
        expect![[r#"
            portolan went on → executed `start`, now at `first`
            portolan went on → work on `first`, attempt 1
                ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) → accepted, set `start`, executed `first`, now at `f`
            portolan went on → executed `f`, `f` forks, branch `a` opened, branch `b` opened
            portolan went on → work on `a` in `a`, attempt 1
            portolan went on → work on `b` in `b`, attempt 1
                in `a` ask model in 2 messages: begun
                in `b` ask model in 2 messages: begun
            portolan heard the model (10 tokens in, 5 out) in `a` → accepted: `seen`, set `mark`, set `both`, executed `a`, arrived at `j`, passed in `a`, branch `a` passed
                in `b` ask model in 2 messages: begun
            portolan heard the model (10 tokens in, 5 out) in `b` → accepted: `alone`, set `both`, executed `b`, arrived at `j`, passed in `b`, branch `b` passed, executed `j`, now at `last`
            portolan went on → work on `last`, attempt 1, accepted: `all`, `set`, executed `last`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with {"a":"one","b":"two"} (4 attempts, 3 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn what_a_failed_attempt_in_a_branch_has_set_is_undone_there_alone() {
    story(
        "f: fork j
         a: tools shared_set | check second = attempt = 2
         b: tools shared_set
         j: join f
         last: check set = $not($exists(shared.from_a)) and shared.from_b = 2 | nobody
         f -> a\nf -> b\na -> j\nb -> j\nj -> last\nlast -> end",
        "@a asks shared_set {\"name\": \"from_a\", \"value\": 1}
         @b asks shared_set {\"name\": \"from_b\", \"value\": 2}
         @a says one
         @b says two
         @a says three",
        expect![[r#"
            portolan went on → executed `start`, now at `f`
            portolan went on → executed `f`, `f` forks, branch `a` opened, branch `b` opened
            portolan went on → work on `a` in `a`, attempt 1
            portolan went on → work on `b` in `b`, attempt 1
                in `a` ask model in 2 messages: the input
                in `b` ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `shared_set` in `a` → set `from_a`
                in `a` ask model in 4 messages: {"set":"from_a"}
                in `b` ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `shared_set` in `b` → set `from_b`
                in `a` ask model in 4 messages: {"set":"from_a"}
                in `b` ask model in 4 messages: {"set":"from_b"}
            portolan heard the model (10 tokens in, 5 out) in `a` → not accepted: `second` (`attempt = 2` does not hold), what it wrote is undone, attempt 2
                in `a` ask model in 6 messages: The result was not accepted (attempt 1 of 2). Not met:
                in `b` ask model in 4 messages: {"set":"from_b"}
            portolan heard the model (10 tokens in, 5 out) in `b` → accepted, executed `b`, arrived at `j`, passed in `b`, branch `b` passed
                in `a` ask model in 6 messages: The result was not accepted (attempt 1 of 2). Not met:
            portolan heard the model (10 tokens in, 5 out) in `a` → accepted: `second`, executed `a`, arrived at `j`, passed in `a`, branch `a` passed, executed `j`, now at `last`
            portolan went on → work on `last`, attempt 1, accepted: `set`, executed `last`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with {"a":"three","b":"two"} (4 attempts, 5 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn a_branch_that_waits_holds_up_its_join_and_no_other_branch() {
    story(
        "f: fork j
         a: tools send | waiting send
         b:
         j: join f
         f -> a\nf -> b\na -> j\nb -> j\nj -> end",
        "@a asks send {}\n@a done 1\n@b says two\n@a answer yes\n@a says one",
        expect![[r#"
            portolan went on → executed `start`, now at `f`
            portolan went on → executed `f`, `f` forks, branch `a` opened, branch `b` opened
            portolan went on → work on `a` in `a`, attempt 1
            portolan went on → work on `b` in `b`, attempt 1
                in `a` ask model in 2 messages: the input
                in `b` ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out), who asks for `send` in `a`
                in `a` use send {} (call-0-0)
                in `b` ask model in 2 messages: the input
            portolan used the tool of call `call-0-0` in `a` → waits: a tool waits for an answer
                in `b` ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) in `b` → accepted, executed `b`, arrived at `j`, passed in `b`, branch `b` passed
            portolan answered "yes" in `a`
                in `a` ask model in 4 messages: yes
            portolan heard the model (10 tokens in, 5 out) in `a` → accepted, executed `a`, arrived at `j`, passed in `a`, branch `a` passed, executed `j`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with {"a":"one","b":"two"} (2 attempts, 3 model calls, 1 tools)
        "#]],
    );
}

#[test]
fn of_any_branch_the_first_counts_and_a_branch_that_fails_sets_nothing() {
    story(
        "f: fork j
         a: set from = 'a' | check never = false | retries 0
         b: set from = 'b'
         c:
         j: any f
         last: check set = shared.from = 'b' and input.b = 'two' | nobody
         f -> a\nf -> b\nf -> c\na -> j\nb -> j\nc -> j\nj -> last\nlast -> end",
        "@a says one\n@b says two",
        expect![[r#"
            portolan went on → executed `start`, now at `f`
            portolan went on → executed `f`, `f` forks, branch `a` opened, branch `b` opened, branch `c` opened
            portolan went on → work on `a` in `a`, attempt 1
            portolan went on → work on `b` in `b`, attempt 1
            portolan went on → work on `c` in `c`, attempt 1
                in `a` ask model in 2 messages: the input
                in `b` ask model in 2 messages: the input
                in `c` ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) in `a` → not accepted: `never` (`false` does not hold), `a` failed: `a` was attempted once, and does not meet `never` (`false` does not hold), ended at `a`: failure in `a`, branch `a` failed
                in `b` ask model in 2 messages: the input
                in `c` ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) in `b` → accepted, set `from`, executed `b`, arrived at `j`, passed in `b`, branch `b` passed, branch `c` cancelled, executed `j`, now at `last`
            portolan went on → work on `last`, attempt 1, accepted: `set`, executed `last`, now at `end`
            portolan went on → executed `end`, ended at `end`: success
            success with {"b":"two"} (4 attempts, 2 model calls, 0 tools)
        "#]],
    );
}

#[test]
fn a_branch_that_fails_ends_the_others() {
    story(
        "f: fork j
         a: check never = false | retries 0
         b:
         j: join f
         f -> a\nf -> b\na -> j\nb -> j\nj -> end",
        "@a says one",
        expect![[r#"
            portolan went on → executed `start`, now at `f`
            portolan went on → executed `f`, `f` forks, branch `a` opened, branch `b` opened
            portolan went on → work on `a` in `a`, attempt 1
            portolan went on → work on `b` in `b`, attempt 1
                in `a` ask model in 2 messages: the input
                in `b` ask model in 2 messages: the input
            portolan heard the model (10 tokens in, 5 out) in `a` → not accepted: `never` (`false` does not hold), `a` failed: `a` was attempted once, and does not meet `never` (`false` does not hold), ended at `a`: failure in `a`, branch `a` failed, branch `b` cancelled, `j` failed: `a` was attempted once, and does not meet `never` (`false` does not hold), ended at `j`: failure
            failure: `a` was attempted once, and does not meet `never` (`false` does not hold) (2 attempts, 1 model calls, 0 tools)
        "#]],
    );
}

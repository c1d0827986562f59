use expect_test::{Expect, expect};

use super::*;

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&faults(text, Strictness::Strict));
}

#[test]
fn what_the_original_took_silently_is_said() {
    check(
        "version: 3\nstates:\n  a: { objective: x, is_initial: true, max_retries: -1, colour: red }\n  \
         b: { objective: \"\", is_initial: true, execute_module: os.system }\n  c: { objective: x, is_final: true }\n  \
         d: { objective: x }\n  input: { transform: \"1\" , ask: q }\n\
         transitions: { a: bb, b: { x: c, default: nowhere }, c: a, zz: a, d: [a] }\n",
        expect![[r#"
            1:10 error bad-version: `version` of the file is `3`, which is not a version of this format
              write `"2.0"`
            3:53 error wrong-type: `max_retries` of state `a` must be a whole number from 0 to 1000, but is `-1`
            3:57 error unknown-field: state `a` has a field `colour`, which has no meaning here
              the fields here are `description`, `is_initial`, `is_final`, `execute`, `execute_module`, `model`, `system`, `prompt`, `temperature`, `max_tokens`, `reasoning`, `output_schema`, `max_turns`, `objective`, `key_results`, `tools` and 8 more
            4:19 error missing-field: the objective of state `b` is empty
              say what is to be achieved: the agent that works on it is told nothing else
            4:35 error several-initials: `b` is a second initial state; the first is `a`
              keep one of them
            4:57 warning not-imported: state `b` names the module `os.system`, which is not imported: a file of states is not a program
              register a function and name it with `execute`; until then a model works on it
            7:3 warning shadowing-state: expressions after the state `input` find its output under the name `input`
              give the state another name: expressions use this one for something else
            7:10 error several-kinds: state `input` has `transform` and `ask`, and can be only one of them
              make each a state of its own, with a transition from one to the next
            8:19 error unknown-state: the transition of `a` leads to `bb`, which is not a state
              did you mean `b`?
            8:43 error unknown-state: the transition of `b` leads to `nowhere`, which is not a state
              correct the name, or add the state
            8:54 warning inert-transition: the transition of `c` is never taken: a run ends at a final state
              remove it, or `is_final`
            8:60 error unknown-state: a transition starts at `zz`, which is not a state
              correct the name, or add the state
            8:70 error wrong-type: the transition of `d` must be a state, `null` or an object of branches, but is an array
              write `"write"`, or `{"good": "publish", "default": "write"}`; `null` ends the run
        "#]],
    );
}

#[test]
fn lenient_reading_runs_what_the_original_ran() {
    let text = "version: 3\nstates:\n  a: { objective: x, is_initial: true, colour: red }\n  \
                b: { objective: y, is_initial: true, is_final: true }\ntransitions: { a: b, zz: a }\n";
    expect![[r#"
        1:10 warning bad-version: `version` of the file is `3`, which is not a version of this format
          write `"2.0"` (until then it is read as `2.0`)
        3:40 warning unknown-field: state `a` has a field `colour`, which has no meaning here
          the fields here are `description`, `is_initial`, `is_final`, `execute`, `execute_module`, `model`, `system`, `prompt`, `temperature`, `max_tokens`, `reasoning`, `output_schema`, `max_turns`, `objective`, `key_results`, `tools` and 8 more (until then it is ignored)
        4:34 warning several-initials: `b` is a second initial state; the first is `a`
          keep one of them (until then the first is used)
        5:22 warning unknown-state: a transition starts at `zz`, which is not a state
          correct the name, or add the state (until then it is ignored)
    "#]].assert_eq(&faults(text, Strictness::Lenient));
}

#[test]
fn faults_of_key_results_and_values() {
    check(
        "limits: { usd: 1e3, steps: -1, seconds: often }\nstates:\n  a:\n    objective: x\n    is_final: true\n    key_results:\n      \
         - { name: n, description: d, check: \"__import__('os')\" }\n      - { name: n, check: \"True\" }\n      \
         - { name: n, check: \"output\" }\n      - { name: j }\n      - { name: k, check: { expr: \"(\" } }\n      \
         - { name: l, check: \"True\", file: x }\n      - { name: m, gate: nope }\n      - { name: o, check: 1 }\n    \
         limits: { steps: 1 }\n    judge: { votes: 0 }\n    temperature: 9\n    on_failure: explode\n    set: 1\n",
        expect![[r#"
            1:16 error bad-limit: `usd` in `limits` of the file is `1e3`, which is not a valid limit
              write a decimal number from 0, with up to 6 digits after the point
            1:28 error bad-limit: `steps` in `limits` of the file is `-1`, which is not a valid limit
              write a whole number from 0
            1:41 error bad-limit: `seconds` in `limits` of the file is `often`, which is not a valid limit
              write a decimal number from 0, with up to 3 digits after the point
            7:44 error bad-expression: `check` of key result `n` of state `a` is not a supported Python expression: `__import__` is not supported: names that begin with `__` reach outside a check
              use JSONata for what a check cannot say in Python: `{expr: …}`
            9:17 error duplicate-id: state `a` has two key results `n`
              give one of them another name: the verdict of one would hide that of the other
            10:9 error missing-field: key result `j` of state `a` has no `description`
            11:37 error bad-expression: `expr` in `check` of key result `k` of state `a` is not a JSONata expression: the expression ends too early
              add what is missing at the end: a value, or a closing bracket
            12:9 error bad-check: key result `l` of state `a` has more than one kind of check
              keep one of `check`, `run`, `file`, `gate` and `judge`, or split it into several key results
            13:26 error unknown-gate: there is no gate `nope`
              did you mean `noTampering`?
            14:27 error wrong-type: `check` of key result `o` of state `a` must be an expression, but is a number
              write `{ expr: "…" }` in JSONata, or a rule of JSON Logic
            15:15 error unknown-field: `limits` of state `a` has a field `steps`, which has no meaning here
              the fields here are `attempts`, `visits`, `model_calls`, `tool_calls`, `tokens`, `usd` and `seconds`
            16:21 error wrong-type: `votes` of `judge` of state `a` must be a whole number from 1 to 25, but is `0`
            17:18 error wrong-type: `temperature` of state `a` must be a number from 0 to 2, but is `9`
            18:17 error unknown-value: `on_failure` of state `a` is `explode`, which is not one of its values
              write one of `fail`, `best` and `ask`
            19:10 error wrong-type: `set` of state `a` must be an object, but is a number
        "#]],
    );
}

#[test]
fn faults_of_questions() {
    check(
        "states:\n  a: { ask: q, options: [yes, no, failed, yes] }\n  b: { ask: q, options: [x] }\n  c: { objective: x, execute: none, model: m, is_final: true }\n\
         transitions: { a: { yes: c, maybe: c }, b: { choose: { expr: input }, to: [c] } }\n",
        expect![[r#"
            2:35 error bad-id: `failed` cannot be an answer: it means that no answer was given
              call it `no`, or what the answer means
            2:43 error duplicate-id: `options` of state `a` have `yes` twice
              keep one of the two
            4:44 warning inert-field: `model` of state `c` does nothing: no model works on it
              remove it, or `execute`
            5:19 error missing-field: the answer `no` to the question `a` has no target
              add a branch `no`, or a `default`
            5:29 error unknown-option: `maybe` is not an answer to the question `a`
              add it to `options`, or remove the branch
            5:44 error wrong-type: the question `b` chooses its transition by the answer, not by `choose`
              write a branch for each answer
        "#]],
    );
}

#[test]
fn shapes_that_are_none() {
    for text in ["states: []", "states: {}", "states: { a: 1 }", "states: { a: {} }\ntransitions: 1", "states:"] {
        let told = faults(text, Strictness::Lenient);
        assert!(told.contains("error "), "{text}: {told}");
    }
}

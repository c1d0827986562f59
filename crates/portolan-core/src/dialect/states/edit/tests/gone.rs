use expect_test::expect;
use serde_json::json;

use super::{JSON, LONG, SHORT, check};

#[test]
fn what_led_to_a_state_leads_on() {
    check(
        SHORT,
        &[json!({ "is": "delete", "nodes": ["research"] })],
        expect![[r#"
        -  research: { objective: three facts }   # not more
        -  research: write   # always
        +  {}   # always
    "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "delete", "nodes": ["write"] })],
        expect![[r#"
        -  write:
        -    objective: the article
        -    prompt: { expr: "'Facts: ' & research" }   # all of them
        -    is_final: true
        -  research: write   # always
        +  research: null   # always
    "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "delete", "nodes": ["write", "research"] })],
        expect![[r#"
        refused: no state would be left
        help: keep one, and change it
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "delete", "nodes": ["write"] })],
        expect![[r#"
        -  write:
        -    objective: The article in Markdown
        -    prompt:
        -      expr: |
        -        "Facts: " & $join(together.facts, "; ")
        -        /* and pictures */
        -        & " " & shared.more
        -    max_retries: 2   # it is long
        -  together: write
        -  write: judge   # always
        -    to: [count, write]   # no other
        -    more: write
        +  together: judge
        +    to: [count]   # no other
        +    more: judge
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "delete", "nodes": ["facts", "ask_why"] })],
        expect![[r#"
        -    on_failure: { go_to: ask_why }   # there is none
        -  gather: { parallel: [facts, pictures], join: together }
        -  facts:
        -    objective: Five facts about the topic   # not more
        -    prompt: { expr: "'Known: ' & look.content" }
        -    key_results:
        -      # One a line.
        -      - { name: enough, description: Has five lines, check: "output.count('\n') >= 4" }
        -    set: { facts: { expr: output } }   # for the writer
        -  ask_why: { ask: "Why is there nothing?", is_final: true }
        -  facts: together
        +  gather: { parallel: [pictures], join: together }
    "#]],
    );
    check(
        JSON,
        &[json!({ "is": "delete", "nodes": ["observe"] })],
        expect![[r#"
        -    "observe": {
        -      "objective": "List what can be seen of the task",
        -      "key_results": [
        -        { "name": "said", "description": "Something was observed", "check": "len(output.strip()) > 0" }
        -      ],
        -      "is_initial": true
        -    "observe": "decide",
        -    "decide": { "act": "act", "default": "observe" },
        -      "to": ["observe", "sum_up"]
        -  "graph_layout": { "observe": [80, 120], "decide": [180, 120] }
        +    "decide": { "act": "act" },
        +      "to": ["sum_up"]
        +  "graph_layout": { "decide": [180, 120] }
    "#]],
    );
}

#[test]
fn a_copy_has_no_edges_and_a_kind_can_change() {
    check(
        LONG,
        &[json!({ "is": "duplicate", "node": "gather" })],
        expect![[r#"
        +  gather_2:
        +    parallel:
        +      - together_2
        +    join: together_2
        +  together_2:
        +    join: all
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "duplicate", "node": "look" })],
        expect![[r#"
        +  look_2:
        +    call:
        +      server: files
        +      tool: list_directory
        +      args:
        +        path:
        +          expr: input.folder
    "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "kind", "node": "write", "kind": "ask" })],
        expect![[r#"
        -    objective: the article
        -    prompt: { expr: "'Facts: ' & research" }   # all of them
        +    ask: ""
    "#]],
    );
    check(
        SHORT,
        &[json!({ "is": "kind", "node": "write", "kind": "parallel" })],
        expect![[r#"
        refused: a state that opens branches and its join belong together
        help: add a new one, and remove this one
    "#]],
    );
}

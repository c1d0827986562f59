use expect_test::expect;
use serde_json::json;

use super::{JSON, LONG, SHORT, check, tried};

#[test]
fn a_state_is_renamed_wherever_it_is_named() {
    check(
        LONG,
        &[json!({ "is": "rename", "node": "look", "to": "look-up" })],
        expect![[r#"
        -  look:
        -    prompt: { expr: "'Known: ' & look.content" }
        -  look: gather
        +  look-up:
        +    prompt: { expr: "'Known: ' & `look-up`.content" }
        +  look-up: gather
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "rename", "node": "facts", "to": "notes" })],
        expect![[r#"
        -  gather: { parallel: [facts, pictures], join: together }
        -  facts:
        -        "Facts: " & $join(together.facts, "; ")
        -  facts: together
        +  gather: { parallel: [notes, pictures], join: together }
        +  notes:
        +        "Facts: " & $join(together.notes, "; ")
        +  notes: together
    "#]],
    );
    check(
        LONG,
        &[json!({ "is": "rename", "node": "write", "to": "draft" })],
        expect![[r#"
        -  write:
        -  count: { transform: "{ 'length': $length(write) }" }
        -  together: write
        -  write: judge   # always
        -    choose: { expr: "$length(write) > 100 ? 'count' : 'write'" }
        -    to: [count, write]   # no other
        -    more: write
        +  draft:
        +  count: { transform: "{ 'length': $length(draft) }" }
        +  together: draft
        +  draft: judge   # always
        +    choose: { expr: "$length(draft) > 100 ? 'count' : 'draft'" }
        +    to: [count, draft]   # no other
        +    more: draft
    "#]],
    );
    check(
        JSON,
        &[json!({ "is": "rename", "node": "observe", "to": "see" })],
        expect![[r#"
        -    "observe": {
        -    "decide": { "objective": "Choose one action", "prompt": { "expr": "observe & feedback" } },
        -    "sum_up": { "transform": { "cat": [{ "var": "observe" }, " and ", { "var": "act.result" }] } }
        -    "observe": "decide",
        -    "decide": { "act": "act", "default": "observe" },
        -      "choose": { "if": [{ "var": "output.done" }, "sum_up", "observe"] },
        -      "to": ["observe", "sum_up"]
        -  "graph_layout": { "observe": [80, 120], "decide": [180, 120] }
        +    "see": {
        +    "decide": { "objective": "Choose one action", "prompt": { "expr": "see & feedback" } },
        +    "sum_up": { "transform": { "cat": [{ "var": "see" }, " and ", { "var": "act.result" }] } }
        +    "see": "decide",
        +    "decide": { "act": "act", "default": "see" },
        +      "choose": { "if": [{ "var": "output.done" }, "sum_up", "see"] },
        +      "to": ["see", "sum_up"]
        +  "graph_layout": { "see": [80, 120], "decide": [180, 120] }
    "#]],
    );
    check(
        JSON,
        &[json!({ "is": "rename", "node": "act", "to": "output" })],
        expect![[r#"
        refused: expressions may use the name `output` for something else
        help: rename it in the text, and check the expressions
    "#]],
    );
}

#[test]
fn what_may_name_it_is_not_guessed_at() {
    for expr in ["history[state_name = 'research']", "$lookup($$, 'research')", "$.*[0] & $$.**.research"] {
        let text = SHORT.replace("'Facts: ' & research", expr);
        let after = tried("a.yaml", "", &text, &[json!({ "is": "rename", "node": "research", "to": "find" })]);
        assert!(after.contains("`states.write.prompt.expr`"), "{expr}: {after}");
    }
    let text = SHORT
        .replace("research: write   # always", "research: { choose: { expr: \"output = 'write' ? 'write' : null\" } }");
    check(
        &text,
        &[json!({ "is": "rename", "node": "write", "to": "draft" })],
        expect![[r#"
        refused: `write` may be named in an expression that cannot be rewritten safely: `transitions.research.choose.expr`
        help: rewrite these expressions first, or rename it in the text
    "#]],
    );
}

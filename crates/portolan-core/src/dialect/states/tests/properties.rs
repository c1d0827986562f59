use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Generates any JSON, with the words of the dialect among its keys.
fn any_json() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(vec![
        "objective",
        "key_results",
        "name",
        "check",
        "expr",
        "call",
        "run",
        "ask",
        "options",
        "transform",
        "choose",
        "to",
        "default",
        "limits",
        "usd",
        "judge",
        "on_failure",
        "go_to",
        "set",
        "a",
        "b",
        "execute",
        "max_retries",
        "args",
        "server",
        "tool",
        "is_final",
        "is_initial",
        "end",
        "start",
        "failed",
        "description",
        "retry",
        "max",
    ]);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(word.clone(), inner, 0..6).prop_map(|members| json!(members)),
        ]
    })
}

proptest! {
    #[test]
    fn nothing_under_states_panics(states in any_json(), transitions in any_json()) {
        let text = json!({ "states": states, "transitions": transitions }).to_string();
        let source = Source::new("flow.json", &text);
        for strictness in [Strictness::Strict, Strictness::Lenient] {
            if let (Some(graph), _) = dialect::parse(&source, strictness).first() {
                validate::validate(&graph, &validate::no_library, strictness);
            }
        }
    }
}

/// The number of nodes and edges grows linearly with the file.
#[test]
fn a_thousand_states_are_read() {
    let mut states = serde_json::Map::new();
    let mut transitions = serde_json::Map::new();
    for at in 0..1_000 {
        let check = json!([{ "name": "n", "description": "d", "check": "len(output) > 1" }]);
        states.insert(format!("s{at}"), json!({ "objective": "o", "key_results": check, "is_final": at == 999 }));
        transitions.insert(format!("s{at}"), if at == 999 { Value::Null } else { json!(format!("s{}", at + 1)) });
    }
    let text = json!({ "version": "2.0", "states": states, "transitions": transitions }).to_string();
    let (graph, faults) = dialect::parse(&Source::new("flow.json", &text), Strictness::Strict).first();
    let graph = graph.expect("it can be drawn");
    assert_eq!((graph.nodes.len(), graph.edges.len(), faults.len()), (1_002, 1_001, 0));
}

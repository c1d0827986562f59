use expect_test::expect;

use super::*;
use crate::graph::{ExhaustionPolicy, KeyResultCheck, Kind, RetryContext, State, Worker};

/// Returns the last state of a file with one state.
fn state(fields: &str) -> State {
    let text = format!("states:\n  a:\n    objective: o\n    is_final: true\n{fields}");
    let (graph, faults) = read(&text);
    assert!(faults.is_empty(), "{faults:#?}");
    let states = graph.nodes.into_iter().filter_map(|node| match node.kind {
        Kind::State(state) => Some(*state),
        _ => None,
    });
    states.last().expect("there is one")
}

#[test]
fn what_is_not_said_is_as_the_original_has_it() {
    let state = state("");
    assert_eq!((state.max_retries, state.again, state.exhausted), (3, RetryContext::Continue, ExhaustionPolicy::Fail));
    assert!(matches!(&state.work, Worker::Model(asking) if asking.model.is_none() && asking.prompt.is_none()));
    assert!(state.key_results.is_empty() && state.way.is_none());
}

#[test]
fn every_field_of_a_state_is_read() {
    let state = state(
        "    tools: [look]\n    max_retries: 0\n    retry: restart\n    on_failure: best\n    model: ollama:x\n    \
         system: s\n    prompt: { expr: input.text }\n    temperature: 0.25\n    max_tokens: 10\n    reasoning: low\n    \
         output_schema: { type: object }\n    max_turns: 4\n    judge: { model: big, votes: 3, temperature: 0.1 }\n    \
         limits: { usd: 0.1, seconds: 1.5, attempts: 2, visits: 3, model_calls: 4, tool_calls: 5, tokens: 6 }\n    \
         set: { note: { expr: output.note } }\n",
    );
    assert_eq!((state.max_retries, state.again, state.exhausted), (0, RetryContext::Restart, ExhaustionPolicy::Best));
    assert_eq!((state.judge.votes.get(), state.judge.model.as_deref()), (3, Some("big")));
    assert_eq!((state.limits.microdollars, state.limits.ms), (Some(100_000), Some(1_500)));
    assert_eq!((state.limits.attempts, state.limits.tokens), (Some(2), Some(6)));
    assert_eq!(state.sets.len(), 1);
    assert_eq!(state.max_turns(), 4);
    let Worker::Model(asking) = &state.work else { panic!("a model works") };
    assert_eq!(asking.prompt.as_ref().map(crate::expr::Expr::text).as_deref(), Some("input.text"));
    assert!(asking.schema.is_some());
}

#[test]
fn a_key_result_is_found_out_in_one_of_many_ways() {
    let state = state(
        "    key_results:\n      - { name: a, description: d, check: \"len(output) > 1\" }\n      \
         - { name: b, check: { expr: output.x } }\n      - { name: c, check: { \">\": [{ var: output }, 1] } }\n      \
         - { name: d, description: judged }\n      - { name: e, description: judged, judge: true, required: false }\n      \
         - { name: f, run: [cargo, test], timeout: 30s }\n      - { name: g, file: out.txt }\n      \
         - { name: h, gate: typecheckPasses }\n",
    );
    let ways: Vec<String> = state
        .key_results
        .iter()
        .map(|result| match &result.by {
            KeyResultCheck::Expr(expr) => expr.text(),
            KeyResultCheck::Check(check) => format!("{check:?}"),
            KeyResultCheck::Judge => format!("judge, advisory {}", result.advisory),
        })
        .collect();
    expect![[r#"
        len(output) > 1
        output.x
        {">":[{"var":"output"},1]}
        judge, advisory false
        judge, advisory true
        Run { argv: ["cargo", "test"], timeout_seconds: 30 }
        File { path: "out.txt" }
        Gate { name: "typecheckPasses" }"#]]
    .assert_eq(&ways.join("\n"));
}

#[test]
fn transitions_are_drawn() {
    let (graph, faults) = read(
        "states:\n  start: { objective: a }\n  end: { objective: b, on_failure: { go_to: fix } }\n  \
         fix: { call: { server: s, tool: t, args: { n: 1 } } }\n  sum: { transform: end.x }\n  other: { run: elsewhere }\n  \
         ok: { ask: sure?, options: [yes, no] }\n\
         transitions:\n  start: { failed: fix, passed: end, default: null }\n  end: { choose: { expr: output.to }, to: [sum, null] }\n  \
         fix: { good: sum, default: other }\n  sum: other\n  other: ok\n  ok: { yes: null, default: start }\n",
    );
    assert!(faults.is_empty(), "{faults:#?}");
    expect![[r#"
        start start_
          -> start
        end end_
        state start
          branch:failed -> fix
          branch:passed -> end
          -> end_
        state end
          failed -> fix
          sum -> sum
          -> end_
        state fix:next
          good -> sum
          -> other
        mcp fix
          -> fix:next
        transform sum
          -> other
        subflow other
          -> ok
        checkpoint ok
          yes -> end_
          no -> start
    "#]]
    .assert_eq(&outline(&graph));
}

#[test]
fn what_bounds_a_run_is_read() {
    let (graph, faults) = read(
        "name: Budgeted\nobjective: p\nmodel: m\nlimits: { steps: 5, usd: \"1.000001\", seconds: 60 }\nredact: [token]\n\
         input_schema: { type: object }\nmcpServers: { s: { command: x } }\nstates: { a: { objective: o, is_final: true } }\n",
    );
    assert!(faults.is_empty(), "{faults:#?}");
    let interface = graph.interface.expect("it is a function");
    assert_eq!((graph.id.value.as_str(), graph.name.as_str()), ("flow", "Budgeted"));
    assert_eq!(
        (interface.limits.max_nodes, interface.bounds.microdollars, interface.bounds.ms),
        (7, Some(1_000_001), Some(60_000))
    );
    assert!(interface.waits_at_limits && interface.input.is_some());
    assert!(graph.settings.names_input && graph.settings.servers.len() == 1);
}

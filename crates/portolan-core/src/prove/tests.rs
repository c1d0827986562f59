use crate::dialect::{Strictness, parse};
use crate::graph::{Graph, Workflow};
use crate::run::{EffectResult, Event, EventKind, Reply};
use crate::source::Source;
use crate::validate;

use super::*;

fn graph(name: &str, text: &str) -> Graph {
    let (graph, faults) = parse(&Source::new(name, text), Strictness::Lenient).first();
    graph.unwrap_or_else(|| panic!("{faults:#?}"))
}

fn read(name: &str, text: &str) -> Workflow {
    let (workflow, faults) = validate::validate(&graph(name, text), &validate::no_library, Strictness::Lenient);
    workflow.unwrap_or_else(|| panic!("{faults:#?}"))
}

fn proof(name: &str, text: &str) -> Proof {
    prove(&read(name, text), &AnalysisLimits::default(), &mut || false)
}

fn activities(text: &str) -> Proof {
    proof("story.yaml", &format!("id: story\nversion: 1.0.0\ntitle: A story\n{text}"))
}

#[test]
fn a_checkpoint_that_may_send_back_is_sound() {
    let proof = activities(
        "activities:
  - id: plan
    steps:
      - { id: write, kind: step }
      - { id: good, kind: checkpoint, message: Good?, options: [{ id: 'yes', label: 'Yes' }, { id: 'no', label: 'No', effect: { transitionTo: plan } }] }
    transitions: [{ to: build }]
  - { id: build, steps: [{ id: work, kind: step }] }
",
    );
    assert_eq!(
        (&proof.finishes, &proof.ends, &proof.alive),
        (&Conclusion::Proved, &Conclusion::Proved, &Conclusion::Proved)
    );
}

#[test]
fn a_way_out_that_a_step_may_open_is_one() {
    let text = |outputs: &str| {
        format!(
            "variables: [{{ name: x, type: number, default: 0 }}, {{ name: y, type: number, default: 0 }}]
activities:
  - id: a
    steps: [{{ id: work, kind: step, outputs: [{outputs}] }}]
    transitions: [{{ to: b, when: x == 1 }}, {{ to: a, isDefault: true }}]
  - {{ id: b, steps: [{{ id: work, kind: step, outputs: [y] }}] }}
"
        )
    };
    assert_eq!(activities(&text("x, y")).ends, Conclusion::Proved);
    let endless = activities(&text("y"));
    let [trap] = endless.ends.refutations() else { panic!("{endless:#?}") };
    let round: Vec<&str> = trap.round.iter().map(|place| place.node.as_str()).collect();
    assert_eq!(round, ["a", "a.leave", "a.work"]);
    assert!(trap.run.is_replayed, "{:#?}", trap.run);
}

#[test]
fn what_another_flow_cannot_begin_without_is_handed_over() {
    let called = graph(
        "called.yaml",
        "id: called\nversion: 1.0.0\ntitle: Called\nvariables: [{ name: what, type: string, required: true }]\nactivities: [{ id: work, steps: [{ id: do, kind: step }] }]\n",
    );
    let calling = |variable: &str| {
        let text = format!(
            "id: story\nversion: 1.0.0\ntitle: A story\nvariables: [{{ name: what, type: string{variable} }}]\nactivities: [{{ id: a, steps: [{{ id: go, kind: step, triggers: [{{ workflow: called, passContext: [what] }}] }}] }}]\n"
        );
        let library = |id: &str| (id == "called").then_some(&called);
        let (workflow, faults) = validate::validate(&graph("story.yaml", &text), &library, Strictness::Lenient);
        let workflow = workflow.unwrap_or_else(|| panic!("{faults:#?}"));
        prove(&workflow, &AnalysisLimits::default(), &mut || false)
    };
    let given = calling(", default: so");
    assert_eq!(
        (&given.finishes, &given.alive, &given.has_ways),
        (&Conclusion::Proved, &Conclusion::Proved, &Conclusion::Proved)
    );
    assert!(!calling("").has_ways.refutations().is_empty(), "nobody has to give it");
}

#[test]
fn two_ways_of_a_boolean_leave_nothing_out() {
    let proof = activities(
        "variables: [{ name: x, type: boolean, default: false }]
activities:
  - id: a
    steps: [{ id: work, kind: step, outputs: [x] }]
    transitions: [{ to: b, when: x == true }, { to: c, when: x == false }]
  - { id: b, steps: [{ id: work, kind: step }] }
  - { id: c, steps: [{ id: work, kind: step }] }
",
    );
    assert_eq!(
        (&proof.has_ways, &proof.finishes, &proof.alive),
        (&Conclusion::Proved, &Conclusion::Proved, &Conclusion::Proved)
    );
}

#[test]
fn what_contradicts_itself_is_never_shown() {
    let proof = activities(
        "variables: [{ name: x, type: boolean, default: false }]
activities:
  - id: a
    steps:
      - { id: work, kind: step, outputs: [x] }
      - id: ask
        kind: checkpoint
        message: Sure?
        condition: { type: and, conditions: [{ type: simple, variable: x, operator: '==', value: true }, { type: simple, variable: x, operator: '==', value: false }] }
        options: [{ id: 'yes', label: 'Yes' }]
",
    );
    let dead: Vec<&Dead> = proof.alive.refutations().iter().filter(|dead| matches!(dead, Dead::Node(_))).collect();
    let [Dead::Node(place)] = dead.as_slice() else { panic!("{proof:#?}") };
    assert_eq!(place.node.as_str(), "a.ask");
}

#[test]
fn an_exit_behind_what_never_holds_is_not_reached() {
    let proof = proof(
        "graph.yaml",
        "version: \"1.0\"
server: { name: story, version: 1.0.0 }
tools:
  - name: story
    description: A story
    inputSchema: { type: object }
    nodes:
      - { id: entry, type: entry, next: work }
      - { id: work, type: transform, transform: { expr: '1' }, next: choose }
      - id: choose
        type: switch
        conditions:
          - { rule: { \"==\": [1, 2] }, target: exit }
          - { target: work }
      - { id: exit, type: exit }
",
    );
    assert!(!proof.finishes.refutations().is_empty(), "{proof:#?}");
    let is_exit = |dead: &Dead| matches!(dead, Dead::Node(place) if place.node.as_str() == "exit");
    assert!(proof.alive.refutations().iter().any(is_exit), "{proof:#?}");
    assert!(proof.ends.refutations().iter().all(|trap| trap.run.is_replayed), "{proof:#?}");
}

#[test]
fn a_long_line_is_proved_and_what_depends_on_too_much_is_undecided() {
    let mut nodes = vec![r#""s":{"type":"start"},"e":{"type":"end","result":"success"}"#.to_owned()];
    let mut edges = vec![r#"{"from":"s","to":"t0"}"#.to_owned()];
    for at in 0..500 {
        nodes.push(format!(r#""t{at}":{{"type":"gate"}}"#));
        let next = if at == 499 { "e".to_owned() } else { format!("t{}", at + 1) };
        edges.push(format!(r#"{{"from":"t{at}","to":"{next}"}}"#));
    }
    let line = proof("line.json", &format!("{{\"nodes\":{{{}}},\"edges\":[{}]}}", nodes.join(","), edges.join(",")));
    assert_eq!(
        (&line.finishes, &line.alive, line.cycles.as_slice()),
        (&Conclusion::Proved, &Conclusion::Proved, &[][..])
    );

    let names: Vec<String> = (0..40).map(|at| format!("v{at}")).collect();
    let variables: Vec<String> = names.iter().map(|name| format!("{{ name: {name}, type: boolean }}")).collect();
    let choice = |condition: &str| {
        activities(&format!(
            "variables: [{}]
activities:
  - id: a
    steps: [{{ id: work, kind: step }}]
    transitions: [{{ to: b, when: {condition} }}, {{ to: a, isDefault: true }}]
  - {{ id: b, steps: [{{ id: work, kind: step }}] }}
",
            variables.join(", ")
        ))
    };
    // The first that does not hold decides, whatever the others are.
    let all = choice(&names.join(" && "));
    assert_eq!((all.bound(), &all.finishes, &all.alive), (None, &Conclusion::Proved, &Conclusion::Proved));
    let pairs: Vec<String> = names.chunks(2).map(|pair| format!("({})", pair.join(" && "))).collect();
    assert_eq!(choice(&pairs.join(" || ")).bound(), Some(Bound::Ways));
}

/// Proves a gate whose failures lead back through the node `between`, and to an end if no retry is left.
fn gate(between: &str) -> Proof {
    proof(
        "gate.json",
        &format!(
            r#"{{"nodes": {{"s": {{"type": "start"}}, "again": {between}, "test": {{"type": "gate", "maxRetries": 2}},
                "e": {{"type": "end", "result": "success"}}, "given-up": {{"type": "end", "result": "blocked"}}}},
              "edges": [{{"from": "s", "to": "again"}}, {{"from": "again", "to": "test"}}, {{"from": "test", "to": "e", "on": "passed"}},
                {{"from": "test", "to": "again", "on": "failed"}}, {{"from": "test", "to": "given-up", "on": "failed"}}]}}"#
        ),
    )
}

#[test]
fn a_budget_that_every_way_back_fills_again_is_never_spent() {
    assert_eq!(gate(r#"{"type": "task"}"#).alive, Conclusion::Proved);
    let filled = gate(r#"{"type": "end", "result": "blocked", "escalation": "hitl"}"#);
    let never = filled.alive.refutations();
    assert!(matches!(never, [Dead::Node(place)] if place.node.as_str() == "given-up"), "{filled:#?}");
}

#[test]
fn no_more_is_looked_at_than_the_limits_allow() {
    let text = r#"{"nodes": {"s": {"type": "start"}, "a": {"type": "task"}, "b": {"type": "task"}, "e": {"type": "end", "result": "success"}},
      "edges": [{"from": "s", "to": "a"}, {"from": "a", "to": "b"}, {"from": "b", "to": "e"}]}"#;
    let workflow = read("line.json", text);
    let few = prove(&workflow, &AnalysisLimits { states: 2, ..AnalysisLimits::default() }, &mut || false);
    assert_eq!((few.bound(), &few.finishes), (Some(Bound::States(2)), &Conclusion::Undecided(Bound::States(2))));
    assert_eq!(
        prove(&workflow, &AnalysisLimits { bytes: 10, ..AnalysisLimits::default() }, &mut || false).bound(),
        Some(Bound::Bytes(10))
    );
    assert_eq!(prove(&workflow, &AnalysisLimits::default(), &mut || true).bound(), Some(Bound::Time));
}

#[test]
fn a_number_that_looks_like_cells_is_a_number() {
    let proof = activities(
        "variables: [{ name: x, type: number, default: 0 }]
activities:
  - id: a
    steps: [{ id: work, kind: step, outputs: [x] }]
    transitions: [{ to: b, condition: { type: simple, variable: x, operator: '==', value: 9223372036854775813 } }, { to: c, isDefault: true }]
  - { id: b, steps: [{ id: work, kind: step }] }
  - { id: c, steps: [{ id: work, kind: step }] }
",
    );
    assert_eq!((&proof.finishes, &proof.alive), (&Conclusion::Proved, &Conclusion::Proved));
}

/// Returns the nodes that are never reached.
fn never(proof: &Proof) -> Vec<&str> {
    let dead = proof.alive.refutations().iter().filter_map(|dead| match dead {
        Dead::Node(place) => Some(place.node.as_str()),
        _ => None,
    });
    dead.collect()
}

#[test]
fn a_loop_makes_as_many_passes_as_the_items_that_the_definition_has() {
    let over = |items: &str| {
        activities(&format!(
            "variables: [{{ name: list, type: array }}, {{ name: seen, type: boolean, default: false }}]
activities:
  - id: a
    steps:
      - {{ id: list, kind: step, actions: [{{ action: set, target: list, value: {items} }}, {{ action: set, target: seen, value: false }}] }}
      - id: each
        kind: loop
        loopType: forEach
        over: list
        variable: item
        maxIterations: 5
        steps:
          - {{ id: again, kind: step, when: seen == true }}
          - {{ id: work, kind: step, outputs: [seen] }}
"
        ))
    };
    assert_eq!(never(&over("[one]")), ["a.again"]);
    assert_eq!(over("[one, two]").alive, Conclusion::Proved);
}

#[test]
fn a_branch_that_is_held_begins_although_another_never_ends() {
    let proof = proof(
        "fork.json",
        r#"{"nodes": {"s": {"type": "start"}, "f": {"type": "fork", "join": "j", "maxConcurrency": 2}, "j": {"type": "join", "fork": "f", "strategy": "all-pass"},
              "round": {"type": "gate"}, "ask": {"type": "end", "result": "blocked", "escalation": "hitl"}, "short": {"type": "gate"}, "held": {"type": "gate"}, "later": {"type": "gate"}, "e": {"type": "end", "result": "success"}},
            "edges": [{"from": "s", "to": "f"}, {"from": "f", "to": "round"}, {"from": "f", "to": "short"}, {"from": "f", "to": "held"},
              {"from": "round", "to": "round", "on": "passed"}, {"from": "round", "to": "round", "on": "failed"},
              {"from": "round", "to": "ask", "on": "failed"}, {"from": "ask", "to": "round", "on": "passed"}, {"from": "short", "to": "j"}, {"from": "held", "to": "later"}, {"from": "later", "to": "j"},
              {"from": "j", "to": "e"}]}"#,
    );
    assert_eq!(proof.bound(), None);
    assert!(!never(&proof).contains(&"later"), "{proof:#?}");
    assert!(never(&proof).contains(&"e"), "one of the branches never ends: {proof:#?}");
}

#[test]
fn what_a_person_may_begin_again_leaves_the_retries_around_it_counted() {
    let proof = proof(
        "person.json",
        r#"{"nodes": {"s": {"type": "start"}, "ask": {"type": "end", "result": "blocked", "escalation": "hitl"}, "work": {"type": "task", "maxRetries": 0},
              "test": {"type": "gate", "maxRetries": 2}, "e": {"type": "end", "result": "success"}, "given-up": {"type": "end", "result": "failure"}},
            "edges": [{"from": "s", "to": "work"}, {"from": "work", "to": "test", "on": "passed"}, {"from": "work", "to": "ask", "on": "failed"},
              {"from": "ask", "to": "work", "on": "passed"},
              {"from": "test", "to": "work", "on": "failed"}, {"from": "test", "to": "given-up", "on": "failed"}, {"from": "test", "to": "e", "on": "passed"}]}"#,
    );
    let costs = proof.costs.as_ref().expect("it is small").most;
    assert_eq!((costs.moves, costs.answers), (6, 0), "{proof:#?}");
}

#[test]
fn a_budget_that_an_answer_off_the_way_renews_counts_once() {
    // Only a failed join leads to the answer, so that a run that needs none goes back from `last` as often as it may.
    let proof = proof(
        "once.json",
        r#"{"nodes": {"s": {"type": "start"}, "f": {"type": "fork", "maxConcurrency": 1, "join": "j"}, "j": {"type": "join", "fork": "f", "strategy": "all-pass"},
              "work": {"type": "task", "maxRetries": 0}, "ask": {"type": "end", "result": "blocked", "escalation": "hitl"}, "last": {"type": "task", "maxRetries": 1}, "e": {"type": "end", "result": "success"}},
            "edges": [{"from": "s", "to": "f"}, {"from": "f", "to": "work"}, {"from": "work", "to": "j"}, {"from": "f", "to": "ask"},
              {"from": "ask", "to": "j", "on": "passed"}, {"from": "j", "to": "last", "on": "passed"}, {"from": "j", "to": "ask", "on": "failed"},
              {"from": "last", "to": "f", "on": "failed"}, {"from": "last", "to": "e"}]}"#,
    );
    assert_eq!(proof.costs.as_ref().expect("it is small").most.moves, 4, "{proof:#?}");
}

#[test]
fn a_loop_has_made_its_last_pass_only_where_each_pass_can_be_made() {
    // Whatever `n` is at first, the second pass begins with 0, and goes back.
    let text = |most: u32| {
        format!(
            "variables: [{{ name: n, type: number, default: 2 }}]
activities:
  - id: a
    steps:
      - id: round
        kind: loop
        loopType: doWhile
        condition: n <= 1
        maxIterations: {most}
        atLimit: continue
        steps:
          - {{ id: back, kind: checkpoint, message: Back?, options: [{{ id: 'yes', label: 'Yes', effect: {{ transitionTo: a }} }}], when: n <= 1 }}
          - {{ id: work, kind: step, actions: [{{ action: set, target: n, value: 0 }}] }}
    transitions: [{{ to: b }}]
  - {{ id: b, steps: [{{ id: more, kind: step }}] }}
"
        )
    };
    let dead = |most| activities(&text(most)).alive.refutations().len();
    assert_eq!(dead(1), 0, "one pass is made");
    assert!(dead(2) > 0, "the second one never ends");
}

#[test]
fn a_circle_around_a_loop_of_known_items_is_told() {
    let proof = activities(
        "variables: [{ name: list, type: array, default: [p, q] }, { name: b, type: boolean, default: true }]
activities:
  - id: a
    steps: [{ id: each, kind: loop, loopType: forEach, over: list, variable: item, maxIterations: 2, steps: [{ id: work, kind: step, when: b == false }] }]
    transitions: [{ to: a, isDefault: true }]
  - id: never
    steps: [{ id: set, kind: checkpoint, message: Set?, options: [{ id: so, label: So, effect: { setVariable: { list: [], b: true } } }] }]
",
    );
    assert!(!proof.cycles.is_empty(), "{proof:#?}");
}

#[test]
fn a_persons_answer_that_renews_a_budget_has_it_left() {
    let text = r#"{ "nodes": {
        "start": {"type": "start"},
        "split": {"type": "fork", "join": "meet"},
        "a": {"type": "task"},
        "b": {"type": "task"},
        "meet": {"type": "join", "fork": "split", "strategy": "all-pass", "maxRetries": 1},
        "ask": {"type": "end", "result": "blocked", "escalation": "hitl"},
        "done": {"type": "end", "result": "success"} },
      "edges": [
        {"from": "start", "to": "split"}, {"from": "split", "to": "a"}, {"from": "split", "to": "b"},
        {"from": "a", "to": "meet"}, {"from": "b", "to": "meet"},
        {"from": "meet", "to": "ask", "on": "passed"}, {"from": "meet", "to": "split", "on": "failed"},
        {"from": "ask", "to": "done", "on": "passed"}, {"from": "ask", "to": "meet", "on": "failed"} ] }"#;
    // The exploration assumed again and again that its budget is spent, and ran out of memory.
    assert_eq!(proof("story.json", text).finishes, Conclusion::Proved);
}

#[test]
fn passes_are_counted_only_in_workflows_of_few_states() {
    // The second pass never ends, so `b` is never reached. Each variable doubles the states of another activity.
    let text = |count: usize| {
        let each = |line: &dyn Fn(usize) -> String, end: &str| (0..count).map(line).collect::<Vec<_>>().join(end);
        let variables = each(&|at| format!("{{ name: v{at}, type: boolean }}"), ", ");
        let names = each(&|at| format!("v{at}"), ", ");
        let read = |id: &str| each(&|at| format!("      - {{ id: {id}{at}, kind: step, when: v{at} == true }}\n"), "");
        format!(
            "variables: [{{ name: n, type: number, default: 2 }}, {variables}]
activities:
  - id: which
    steps:
      - {{ id: ask, kind: checkpoint, message: Where to?, options: [{{ id: one, label: One, effect: {{ transitionTo: a }} }}, {{ id: other, label: Other, effect: {{ transitionTo: many }} }}] }}
    transitions: [{{ to: a }}]
  - id: a
    steps:
      - id: round
        kind: loop
        loopType: doWhile
        condition: n <= 1
        maxIterations: 2
        atLimit: continue
        steps:
          - {{ id: back, kind: checkpoint, message: Back?, options: [{{ id: 'yes', label: 'Yes', effect: {{ transitionTo: a }} }}], when: n <= 1 }}
          - {{ id: work, kind: step, actions: [{{ action: set, target: n, value: 0 }}] }}
    transitions: [{{ to: b }}]
  - {{ id: b, steps: [{{ id: more, kind: step }}], transitions: [{{ to: done }}] }}
  - id: many
    steps:
      - {{ id: set, kind: step, outputs: [{names}] }}
{}{}    transitions: [{{ to: done }}]
  - {{ id: done, steps: [{{ id: end, kind: step }}] }}
",
            read("r"),
            read("s")
        )
    };
    let (few, many) = (activities(&text(2)), activities(&text(14)));
    assert_eq!((few.bound(), many.bound()), (None, None));
    assert!(few.states < 16_384 && many.states > 16_384, "{} and {}", few.states, many.states);
    assert!(never(&few).contains(&"b.more"), "{:?}", never(&few));
    assert!(!never(&many).contains(&"b.more"), "{:?}", never(&many));
}

#[test]
fn a_run_that_values_and_rounds_do_not_give_is_searched_for() {
    // The value that the person sets is read in the other flow first, and sends the run back there.
    let called = graph(
        "called.yaml",
        "id: called
variables: [{ name: list, default: [] }]
activities:
  - id: a
    steps: [{ loopType: doWhile, condition: b, atLimit: continue, steps: [{ outputs: [b] }] }]
    transitions: [{ to: c }]
  - { id: c, steps: [{ loopType: doWhile, condition: b || c == true, steps: [{}], when: b }] }
",
    );
    let text = "id: story
activities:
  - id: a
    steps: [{ triggers: [{ workflow: called }] }]
    transitions: [{ to: a, when: b == true }, { to: a }]
modes: [{ id: quick, activationVariable: c, skipActivities: [a] }]
";
    let library = |id: &str| (id == "called").then_some(&called);
    let (workflow, faults) = validate::validate(&graph("story.yaml", text), &library, Strictness::Lenient);
    let workflow = workflow.unwrap_or_else(|| panic!("{faults:#?}"));
    let proof = prove(&workflow, &AnalysisLimits::default(), &mut || false);
    assert!(!proof.finishes.refutations().is_empty());
    for trap in proof.finishes.refutations() {
        assert!(trap.run.is_replayed, "{:#?}", trap.run.lines);
    }
}

#[test]
fn the_least_counts_are_those_of_the_shortest_way_to_an_end() {
    // Each step has three attempts. The good end is two moves and a check away.
    let text = r#"{"nodes": {"s": {"type": "start"}, "plan": {"type": "task"}, "work": {"type": "gate", "maxRetries": 2, "accept": [{"id": "made", "file": "made"}]},
          "e": {"type": "end", "result": "success"}, "given-up": {"type": "end", "result": "failure"}},
        "edges": [{"from": "s", "to": "plan"}, {"from": "plan", "to": "work"},
          {"from": "work", "to": "work", "on": "failed"}, {"from": "work", "to": "given-up", "on": "failed"}, {"from": "work", "to": "e", "on": "passed"}]}"#;
    let proof = proof("least.json", text);
    let costs = proof.costs.as_ref().expect("it is small");
    assert_eq!((costs.least.moves, costs.most.moves, costs.most.checks), (2, 7, 3), "{proof:#?}");
    assert_eq!(costs.least.checks, 0, "an agent may report three failures, which nothing checks");
    let told = proof.summary();
    assert!(told.contains("at least 2 moves · at most 7 moves, 1 answer, 3 checks"), "{told}");
}

#[test]
fn limits_are_those_of_the_run_or_of_all_its_states() {
    let limits = |run: &str, one: &str, other: &str| {
        let state = |limits: &str| format!("{{ objective: Do it, limits: {{{limits}}}, is_final: true }}");
        let proof = proof(
            "states.yaml",
            &format!(
                "objective: All\nlimits: {{{run}}}\nstates:\n  one: {}\n  other: {}\ntransitions: {{ one: other }}\n",
                state(one).replace(", is_final: true", ""),
                state(other)
            ),
        );
        let told = proof.summary();
        told.split(" · ").find_map(|part| part.strip_prefix("limits: ")).unwrap_or_default().to_owned()
    };
    assert_eq!(limits("", "", ""), "");
    assert_eq!(limits("model_calls: 30, usd: 0.50", "", ""), "30 model calls, $0.5");
    assert_eq!(
        limits("", "model_calls: 2, usd: 1, seconds: 3", "model_calls: 4, seconds: 1.5"),
        "6 model calls, 4.5 s"
    );
    assert_eq!(limits("model_calls: 5, tokens: 9", "model_calls: 2", "model_calls: 4"), "5 model calls, 9 tokens");
    assert_eq!(limits("", "tool_calls: 1", "tool_calls: 0"), "1 tool call");
}

#[test]
fn a_call_that_fails_for_good_is_repeated_as_often_as_it_is_retried() {
    let text = |retries: u32| {
        format!(
            "version: '1.0'
server: {{ name: s, version: 1.0.0 }}
mcpServers: {{ s: {{ command: server }} }}
tools:
  - name: all
    description: It goes round where the call fails
    inputSchema: {{ type: object }}
    outputSchema: {{}}
    nodes:
      - {{ id: in, type: entry, next: call }}
      - {{ id: call, type: mcp, server: s, tool: t, args: {{}}, idempotent: true, retry: {{ max: {retries}, backoff: 1ms }}, onError: round, next: out }}
      - {{ id: round, type: mcp, server: s, tool: t, args: {{}}, onError: round, next: round }}
      - {{ id: out, type: exit }}
"
        )
    };
    let found = proof("graph.yaml", &text(2));
    let [trap] = found.finishes.refutations() else { panic!("{found:#?}") };
    assert!(trap.run.is_replayed, "{:#?}", trap.run);
    let failed = |event: &&Event| {
        matches!(&event.what, EventKind::Settled { result: EffectResult::Reply(Reply::Failed(_)), .. })
    };
    assert_eq!(trap.run.events.iter().filter(failed).count(), 3, "{:#?}", trap.run.events);
    let many = proof("graph.yaml", &text(10_000));
    let [trap] = many.finishes.refutations() else { panic!("{many:#?}") };
    assert!(!trap.run.is_replayed && trap.run.events.len() < 1_000, "{}", trap.run.events.len());
}

#[test]
fn a_value_that_work_replaces_before_it_is_read_makes_no_states() {
    // Each of six questions sets a variable; each variable is read after work that may set it, or may not.
    let text = |outputs: &str| {
        let names: Vec<String> = (0..6).map(|at| format!("v{at}")).collect();
        let mut text = String::from("variables:\n");
        names.iter().for_each(|name| text += &format!("  - {{ name: {name}, type: boolean, default: false }}\n"));
        text += "activities:\n  - id: ask\n    steps:\n";
        for name in &names {
            text += &format!(
                "      - {{ id: {name}, kind: checkpoint, message: Sure?, options: [{{ id: 'yes', label: 'Yes', effect: {{ setVariable: {{ {name}: true }} }} }}, {{ id: 'no', label: 'No' }}] }}\n"
            );
        }
        text += &format!("      - {{ id: work, kind: step, outputs: [{outputs}] }}\n    transitions: [{{ to: r0 }}]\n");
        for (at, name) in names.iter().enumerate() {
            let next = if at == 5 { "e".to_owned() } else { format!("r{}", at + 1) };
            text += &format!(
                "  - {{ id: r{at}, steps: [{{ id: look, kind: step }}], transitions: [{{ to: yes{at}, when: {name} == true }}, {{ to: {next}, isDefault: true }}] }}\n"
            );
            text += &format!(
                "  - {{ id: yes{at}, steps: [{{ id: look, kind: step }}], transitions: [{{ to: {next} }}] }}\n"
            );
        }
        text + "  - { id: e, steps: [{ id: look, kind: step }] }\n"
    };
    let (replaced, kept) = (activities(&text("v0, v1, v2, v3, v4, v5")), activities(&text("")));
    for proof in [&replaced, &kept] {
        assert_eq!((&proof.finishes, &proof.alive), (&Conclusion::Proved, &Conclusion::Proved), "{proof:#?}");
    }
    assert!(replaced.states < 60, "{} states", replaced.states);
    assert!(kept.states > 120, "{} states", kept.states);
}

#[test]
fn a_value_that_is_read_before_work_replaces_it_counts() {
    // `x` is false at the first reading, and the work that may set it comes after it.
    let proof = activities(
        "variables: [{ name: x, type: boolean, default: false }]
activities:
  - id: a
    steps: [{ id: clear, kind: step, actions: [{ action: set, target: x, value: false }] }]
    transitions: [{ to: never, when: x == true }, { to: b, isDefault: true }]
  - id: b
    steps: [{ id: work, kind: step, outputs: [x] }]
    transitions: [{ to: c, when: x == true }, { to: d, isDefault: true }]
  - { id: c, steps: [{ id: work, kind: step }] }
  - { id: d, steps: [{ id: work, kind: step }] }
  - { id: never, steps: [{ id: work, kind: step }] }
",
    );
    let dead = never(&proof);
    assert!(!dead.is_empty() && dead.iter().all(|node| node.starts_with("never")), "{dead:?}");
}

use expect_test::expect;
use portolan_core::dialect::{Strictness, parse};
use portolan_core::run::{Actor, Channel, EffectResult, Event, EventKind, Opening};
use portolan_core::source::Source;
use portolan_core::validate::{no_library, validate};
use portolan_core::value::Timestamp;
use portolan_core::{Effect, EffectKind};

use super::*;
use crate::Tool;

/// The faults of the rules in a definition, each with its place.
fn faults(name: &str, text: &str) -> String {
    let source = Source::new(name, text);
    let file = parse(&source, Strictness::Strict);
    assert_eq!(file.faults, [], "the dialect does not read the rules");
    let found = file.graphs.iter().flat_map(faults_of);
    let placed = found.map(|fault| {
        let at = source.location(fault.span.map_or(0, |span| span.start));
        format!("{}:{} {}: {}\n", at.line, at.column, fault.code, fault.message)
    });
    placed.collect()
}

/// The rules of a sound definition, each with its place.
fn rules(name: &str, text: &str) -> String {
    let (graph, faults) = parse(&Source::new(name, text), Strictness::Strict).first();
    let graph = graph.unwrap_or_else(|| panic!("{faults:?}"));
    assert_eq!(faults_of(&graph), []);
    let (workflow, faults) = validate(&graph, &no_library, Strictness::Strict);
    let rules = DefinitionRules::of(&workflow.unwrap_or_else(|| panic!("{faults:?}")));
    let sets = rules.0.values().flat_map(|flow| [&flow.own].into_iter().chain(flow.nodes.values()));
    let named = |set: &RuleSet| {
        let guards = set.guards.iter().map(|guard| format!("{}: {:?} by {}\n", guard.id, guard.decision, guard.origin));
        guards.chain(set.results.iter().map(|filter| format!("{}: {filter:?}\n", filter.id))).collect::<String>()
    };
    sets.map(named).collect()
}

#[test]
fn every_fault_is_reported_at_its_place() {
    expect![[r#"
        2:40 missing-field: guard `a` needs exactly one `reason`
        2:53 unknown-field: guard `a` has no `raeson`
        3:44 bad-schema: `schema` is not a valid JSON Schema: `/type` must be one of `array`, `boolean`, `integer`, `null`, `number`, `object` and `string`, but is `7`
        3:83 unknown-name: `amount` is not available in `when`
        4:13 replaces-built-in: `no-verify` is a built-in guard, which a definition cannot replace
        6:19 unknown-word: `decision` cannot be `allow`
        7:5 duplicate-id: `guards` has two items with the name `b`
        7:72 either-or: the `total` of guard `b` has both `argument` and `result`
        9:17 missing-field: filter `f` has none of `redact`, `dropMedia` and `maxBytes`, so it does nothing
        12:11 wrong-type: `guards` must be a list, but is an object
    "#]]
    .assert_eq(&faults(
        "f.json",
        r#"{ "nodes": { "start": { "type": "start" },
  "look": { "type": "task", "guards": [{ "id": "a", "raeson": "no", "tools": ["x"] },
    { "id": "c", "reason": "no", "schema": { "type": 7 }, "tools": ["x"], "when": "amount > 1" },
    { "id": "no-verify", "tools": ["x"], "reason": "no" },
    { "id": "b", "tools": ["x"], "reason": "no",
      "decision": "allow" },
    { "id": "b", "reason": "no", "total": { "argument": "a", "result": "result", "most": 1 } }] },
  "change": { "type": "task",
    "results": [{ "id": "f", "tools": ["x"] }] },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "look" }, { "from": "look", "to": "change" }, { "from": "change", "to": "done" }],
"guards": { "id": "x" } }
"#,
    ));
}

const GUARD: &str = "{ id: ID, tools: ['mcp:db/*'], reason: no }";

#[test]
fn flows_and_nodes_of_all_formats_for_agents_carry_rules() {
    let guard = |id: &str| format!("guards: [{}]", GUARD.replace("ID", id));
    let navigator = format!(
        "{}\nresults: [{{id: r, redact: true}}]\nnodes:\n  start: {{type: start}}\n  work: {{type: gate, {}}}\n  done: {{type: end, result: success}}\n\
         edges: [{{from: start, to: work}}, {{from: work, to: done}}]\n",
        guard("all"),
        guard("here")
    );
    expect![[r#"
        all: Block by the workflow `n`
        r: ResultFilter { id: "r", tools: [], redact: true, drop_media: false, max_bytes: None }
        here: Block by `work` of the workflow `n`
    "#]]
    .assert_eq(&rules("n.yaml", &navigator));
    let phases = format!("{}\nphases: [{{id: idle}}, {{id: work, {}}}]\n", guard("all"), guard("here"));
    expect![[r#"
        all: Block by the workflow `p`
        here: Block by `work` of the workflow `p`
    "#]]
    .assert_eq(&rules("p.yaml", &phases));
    let activities = format!(
        "id: a\nversion: 1.0.0\ntitle: A\n{}\nactivities:\n  - id: first\n    version: 1.0.0\n    name: First\n    steps:\n      - {{id: work, name: Work, {}}}\n",
        guard("all"),
        guard("here")
    );
    expect![[r#"
        all: Block by the workflow `a`
        here: Block by `first.work` of the workflow `a`
    "#]]
    .assert_eq(&rules("a.yaml", &activities));
}

/// A run with a question, a workflow that it runs, and two branches.
const MAIN: &str = "
id: main
guards: [{id: all, tools: ['mcp:db/*'], reason: r}, {id: other, tools: ['mcp:shop/*'], reason: r}]
nodes:
  start: {type: start}
  look: {type: task, guards: [{id: of-look, tools: ['mcp:db/*'], reason: r}, {id: both, tools: ['mcp:db/*'], reason: r}]}
  ask: {type: end, result: blocked, escalation: hitl}
  audit: {type: subflow, workflow: inner, guards: [{id: around, tools: ['mcp:db/*'], reason: r}]}
  split: {type: fork, join: merge}
  left: {type: task, guards: [{id: of-left, tools: ['mcp:db/*'], reason: r}]}
  right: {type: task, guards: [{id: of-right, tools: ['mcp:db/*'], reason: r}]}
  merge: {type: join, fork: split}
  done: {type: end, result: success}
edges:
  - {from: start, to: look}
  - {from: look, to: ask}
  - {from: ask, to: audit, on: passed}
  - {from: audit, to: split}
  - {from: split, to: left}
  - {from: split, to: right}
  - {from: left, to: merge}
  - {from: right, to: merge}
  - {from: merge, to: done}
";
const INNER: &str = "
id: inner
guards: [{id: of-inner, tools: ['mcp:db/*'], reason: r}]
nodes: {start: {type: start}, work: {type: task, guards: [{id: of-work, reason: r, tools: ['mcp:db/*']}]}, done: {type: end, result: success}}
edges: [{from: start, to: work}, {from: work, to: done}]
";

#[test]
fn rules_are_in_force_where_a_run_is() {
    let [main, inner] = [MAIN, INNER].map(|text| parse(&Source::new("<text>", text), Strictness::Strict).first());
    let (main, inner) = (main.0.expect("a graph"), inner.0.expect("a graph"));
    let library = |id: &str| (id == "inner").then_some(&inner);
    let (workflow, faults) = validate(&main, &library, Strictness::Strict);
    let workflow = workflow.unwrap_or_else(|| panic!("{faults:?}"));
    let rules = DefinitionRules::of(&workflow);
    let (mut run, _) = Run::open(&workflow, &Opening::of("main")).expect("it opens");
    let mut said = String::new();
    let due = |effect: Effect| match effect.what {
        EffectKind::Advance => Some(effect.id.settled(EffectResult::Due, 0)),
        _ => None,
    };
    let step = |run: &mut Run, what: EventKind| {
        let by = |by: Actor, what: EventKind| Event { at: Timestamp(0), by, what };
        let person = Actor::Person { name: "Kim".to_owned(), via: Channel::CommandLine };
        run.step(&workflow, &by(person, what)).expect("it is accepted");
        while let Some(passed) = run.pending(&workflow).into_iter().find_map(due) {
            run.step(&workflow, &by(Actor::Engine, passed)).expect("it passes");
        }
    };
    let tool = Tool::Mcp { server: "db".to_owned(), tool: "q".to_owned(), does: None };
    let mut tell = |run: &Run, branch: Option<&str>| {
        let intent = Intent {
            session: None,
            call: None,
            agent: None,
            folder: "/p".to_owned(),
            name: "mcp__db__q".to_owned(),
            tool: tool.clone(),
            arguments: Vec::new(),
            branch: branch.map(str::to_owned),
        };
        let found = rules.in_force(&workflow, run, &intent);
        let ids: Vec<&str> = found.guards.iter().map(|guard| guard.id.as_str()).collect();
        let nodes: Vec<&str> = run.positions().iter().map(|(_, frame)| frame.place.node().as_str()).collect();
        let branch = branch.map(|branch| format!(" (for {branch})")).unwrap_or_default();
        said += &format!("{}{branch}: {}\n", nodes.join(" "), ids.join(" "));
    };
    tell(&run, None);
    step(&mut run, EventKind::Begun { revision: None });
    tell(&run, None);
    for _ in 0..3 {
        let frame = run.positions()[0].0.clone();
        let what = EventKind::Reported { frame, outcome: "passed".into(), revision: None, note: None, outputs: None };
        step(&mut run, what);
        tell(&run, None);
    }
    tell(&run, Some("left"));
    expect![[r#"
        start: all
        look: all of-look both
        ask: all of-look both
        work: all around of-inner of-work
        left right: all of-left of-right
        left right (for left): all of-left
    "#]]
    .assert_eq(&said);
}

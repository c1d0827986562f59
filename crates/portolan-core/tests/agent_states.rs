//! Files of states, run: nobody or a given answer stands for the models, and where a run goes is told.

use std::sync::Arc;

use expect_test::{Expect, expect};
use portolan_core::dialect::{self, Strictness};
use portolan_core::engine::{Effect, EffectKind, decide, open};
use portolan_core::graph::Workflow;
use portolan_core::run::{Actor, Change, EffectResult, Event, Opening, Run};
use portolan_core::source::{Format, Source, convert};
use portolan_core::validate;
use portolan_core::value::Timestamp;
use serde_json::{Value, json};

fn workflow(name: &str, text: &str) -> Workflow {
    let (graph, faults) = dialect::parse(&Source::new(name, text), Strictness::Strict).first();
    assert!(faults.iter().all(|fault| !fault.is_error()), "{name} has faults: {faults:#?}");
    let graph = graph.expect("it can be drawn");
    let (workflow, faults) = validate::validate(&graph, &validate::no_library, Strictness::Strict);
    workflow.unwrap_or_else(|| panic!("{name} has faults: {faults:#?}"))
}

/// Where a run of states at which nobody works goes, and what it comes to.
fn walk(text: &str, input: &Value) -> String {
    let workflow = workflow("flow.yaml", text);
    let input = Some(Arc::new(input.clone()));
    let opening = Opening { input, since: Some(Timestamp(0)), ..Opening::of(workflow.id().clone()) };
    let journal = open(&workflow, &opening).expect("it opens");
    let mut run = Run::fold(&journal).expect("opening a run opens it");
    let mut told = String::new();
    for at in 0..100 {
        let pending = run.pending(&workflow);
        let Some(Effect { id, what: EffectKind::Advance, .. }) = pending.first() else { break };
        let what = id.clone().settled(EffectResult::Due, 0);
        let event = Event { at: Timestamp(at), by: Actor::Engine, what };
        for change in decide(&workflow, &run, &event).expect("what is pending is accepted") {
            if let Change::Executed { node, output, fault, .. } = &change {
                let came = fault.as_ref().map_or_else(|| json!(output).to_string(), |fault| fault.message.clone());
                told.push_str(&format!("{node} = {came}\n"));
            }
            run.apply(&change);
        }
    }
    told
}

/// The first state leads on in one way, with one input each.
#[track_caller]
fn ways(transition: &str, inputs: &[Value], expected: Expect) {
    let text = format!(
        "states:\n  a: {{ execute: none }}\n  good: {{ execute: none, is_final: true }}\n  \
         bad: {{ execute: none, is_final: true }}\ntransitions:\n  a: {transition}\n"
    );
    let told: Vec<String> = inputs
        .iter()
        .map(|input| {
            let walked = walk(&text, input);
            let walked: Vec<&str> = walked.lines().skip(1).collect();
            format!("{input}: {}\n", walked.join(", "))
        })
        .collect();
    expected.assert_eq(&told.concat());
}

#[test]
fn a_text_is_the_next_state_and_null_the_end() {
    ways(
        "good",
        &[json!("x")],
        expect![[r#"
        "x": a = "x", good = "x", end = "x"
    "#]],
    );
    ways(
        "null",
        &[json!("x")],
        expect![[r#"
        "x": a = "x", end = "x"
    "#]],
    );
}

#[test]
fn branches_are_named_by_the_output() {
    ways(
        "{ yes: good, failed: bad, stop: null, default: bad }",
        &[
            json!("yes"),
            json!("Yes"),
            json!("failed"),
            json!("stop"),
            json!({ "_transition": "yes", "n": 1 }),
            json!({ "_transition": "unknown" }),
            json!({ "_transition": ["yes"] }),
            json!("default"),
            json!(7),
        ],
        expect![[r#"
            "yes": a = "yes", good = "yes", end = "yes"
            "Yes": a = "Yes", bad = "Yes", end = "Yes"
            "failed": a = "failed", bad = "failed", end = "failed"
            "stop": a = "stop", end = "stop"
            {"_transition":"yes","n":1}: a = {"n":1}, good = {"n":1}, end = {"n":1}
            {"_transition":"unknown"}: a = {}, bad = {}, end = {}
            {"_transition":["yes"]}: a = {}, bad = {}, end = {}
            "default": a = "default", bad = "default", end = "default"
            7: a = 7, bad = 7, end = 7
        "#]],
    );
}

#[test]
fn without_a_default_what_fits_no_branch_fails() {
    ways(
        "{ yes: good, no: bad }",
        &[json!("no"), json!("maybe"), json!(null)],
        expect![[r#"
        "no": a = "no", bad = "no", end = "no"
        "maybe": a = no transition of `a` matches: it chose "maybe"
        null: a = no transition of `a` matches: it chose nothing
    "#]],
    );
}

#[test]
fn an_expression_chooses() {
    ways(
        "{ choose: { expr: \"output.n > 1 ? 'good' : output.n = 1 ? 'bad' : output.name\" }, to: [good, bad, null] }",
        &[json!({ "n": 2 }), json!({ "n": 1 }), json!({}), json!({ "name": "else" })],
        expect![[r#"
            {"n":2}: a = {"n":2}, good = {"n":2}, end = {"n":2}
            {"n":1}: a = {"n":1}, bad = {"n":1}, end = {"n":1}
            {}: a = {}, end = {}
            {"name":"else"}: a = no transition of `a` matches: it chose "else"
        "#]],
    );
    ways(
        "{ choose: { if: [{ \">\": [{ var: output }, 1] }, good, bad] } }",
        &[json!(2), json!(1)],
        expect![[r#"
        2: a = 2, good = 2, end = 2
        1: a = 1, bad = 1, end = 1
    "#]],
    );
}

#[test]
fn transforms_lead_on_by_their_output_too() {
    let text = "states:\n  a: { transform: \"{'_transition': 'x', 'n': input.n + 1}\" }\n  b: { execute: none, is_final: true }\n\
                transitions: { a: { x: b, default: null } }\n";
    expect![[r#"
        start = {"n":1}
        a = {"_transition":"x","n":2}
        a:next = {"n":2}
        b = {"n":2}
        end = {"n":2}
    "#]]
    .assert_eq(&walk(text, &json!({ "n": 1 })));
}

/// The files of `examples/agent-states`.
const EXAMPLES: [(&str, &str); 4] = [
    ("simple-pipeline/workflow.json", include_str!("../../../examples/agent-states/simple-pipeline/workflow.json")),
    (
        "research-and-write/workflow.json",
        include_str!("../../../examples/agent-states/research-and-write/workflow.json"),
    ),
    ("ooda-loop/workflow.json", include_str!("../../../examples/agent-states/ooda-loop/workflow.json")),
    ("quick-start/workflow.yaml", include_str!("../../../examples/agent-states/quick-start/workflow.yaml")),
];

#[test]
fn the_examples_are_read_in_both_spellings() {
    for (name, text) in EXAMPLES {
        let source = Source::new(name, text);
        let yaml = convert(&source, Format::Yaml).expect("it can be said in YAML");
        let json = convert(&Source::new("a.yaml", &yaml), Format::Json).expect("it can be said in JSON");
        assert_eq!(convert(&source, Format::Json).expect("it is sound"), json, "{name}");
        workflow(name, text);
        workflow("workflow.yaml", &yaml);
    }
}

#[test]
fn what_the_manual_shows_is_sound() {
    let manual = include_str!("../../../docs/agent-states.md");
    let blocks: Vec<&str> = manual.split("```").skip(1).step_by(2).collect();
    let shown = blocks.iter().filter_map(|block| {
        let (spelling, text) = block.split_once('\n')?;
        text.contains("states").then_some((spelling, text))
    });
    let shown: Vec<(&str, &str)> = shown.filter(|(spelling, _)| ["yaml", "json"].contains(spelling)).collect();
    assert!(shown.len() >= 3, "the manual shows whole files");
    for (spelling, text) in shown {
        workflow(&format!("shown.{spelling}"), text);
    }
}

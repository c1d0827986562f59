//! Workflows of activities, walked by an agent that obeys and by one that does not.
#![expect(clippy::disallowed_methods, reason = "the examples are files")]

use expect_test::expect;
use portolan_core::dialect::{self, Strictness};
use portolan_core::engine::{decide, open};
use portolan_core::graph::Workflow;
use portolan_core::present::{Act, Offer, Situation, Viewer, focus, situation};
use portolan_core::run::{
    Actor, Channel, EffectResult, Event, EventKind, FramePath, Opening, RaisedQuestion, Run, moves,
};
use portolan_core::source::Source;
use portolan_core::validate;
use portolan_core::value::{Outcome, Timestamp};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

/// The workflows of the cases that have no fault.
const SOUND: &[&str] = &["activity-sound", "activity-first-generation", "activity-loop-over-activities"];

fn workflow(case: &str) -> Workflow {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/check").join(case);
    let mut graphs = Vec::new();
    for name in ["workflow.yaml", "follow-up.yaml"] {
        if let Ok(text) = std::fs::read_to_string(folder.join(name)) {
            graphs.extend(dialect::parse(&Source::new(name, text), Strictness::Strict).graphs);
        }
    }
    let library = |id: &str| graphs.iter().find(|graph| graph.id.value == id);
    validate::validate(&graphs[0], &library, Strictness::Strict).0.expect("the case is sound")
}

fn begun(workflow: &Workflow, input: serde_json::Value) -> Run {
    let opening = Opening { input: Some(Arc::new(input)), ..Opening::of(workflow.id().clone()) };
    let mut run = Run::fold(&open(workflow, &opening).expect("it can be opened")).expect("it is open");
    happen(workflow, &mut run, Actor::Agent("agent".to_owned()), EventKind::Begun { revision: None })
        .expect("it begins");
    run
}

fn happen(workflow: &Workflow, run: &mut Run, by: Actor, what: EventKind) -> Result<(), String> {
    let mut next = Some(Event { at: Timestamp(0), by, what });
    while let Some(event) = next {
        let changes = decide(workflow, run, &event).map_err(|rejection| rejection.to_string())?;
        changes.iter().for_each(|change| run.apply(change));
        let what = run.passing().map(|effect| effect.settled(EffectResult::Due, 0));
        next = what.map(|what| Event { at: Timestamp(0), by: Actor::Engine, what });
    }
    Ok(())
}

fn looked(workflow: &Workflow, run: &Run) -> Situation {
    situation(workflow, run, &Viewer { at: Some(focus(run).0), ..Viewer::default() })
}

/// What an offer comes to in the engine's words.
fn event(run: &Run, offer: &Offer) -> (Actor, EventKind) {
    let (frame, revision) = (focus(run).0, offer.revision);
    let agent = Actor::Agent("agent".to_owned());
    let reported = |outcome: &Outcome| EventKind::Reported {
        frame: frame.clone(),
        outcome: outcome.clone(),
        revision,
        note: None,
        outputs: None,
    };
    match &offer.act {
        Act::Report { outcome, .. } | Act::Recheck { outcome } => (agent, reported(outcome)),
        Act::Answer { outcome, .. } => {
            let person = Actor::Person { name: "agent".to_owned(), via: Channel::Attested };
            (person, reported(outcome))
        }
        Act::Raise => {
            let question = RaisedQuestion { question: "which?".to_owned(), options: vec!["a".into(), "b".into()] };
            (agent, EventKind::Raised { frame, revision, question })
        }
        Act::End => (agent, EventKind::Cancelled { reason: "enough".to_owned(), outcome: None }),
        Act::Begin | Act::Open | Act::Join { .. } => panic!("it has begun, and has no branches: {offer:?}"),
    }
}

/// Everything that is open.
fn offered(run: &Run, now: &Situation) -> Vec<(Actor, EventKind)> {
    let open = now.offers.iter().filter(|offer| offer.blocked_by.is_none());
    open.map(|offer| event(run, offer)).collect()
}

/// Where an agent is: the activity, the step, the pass of the loop.
fn headline(now: &Situation) -> String {
    let frame = now.frames.last().expect("a run has a frame");
    let mut line = now.work.activity.as_ref().map_or(&frame.workflow_name, |activity| &activity.name).clone();
    if let Some(number) = now.work.number {
        line += &format!(" · step {number}: {}", now.work.name);
    }
    if let Some(pass) = now.frames.iter().rev().find_map(|frame| frame.pass.as_ref()) {
        let (total, item) = (pass.total.expect("it is known"), pass.item.as_ref().expect("there is one"));
        line += &format!(" · {}, pass {} of {total}, {item}", pass.name, pass.iteration);
    }
    line
}

#[test]
fn who_does_what_is_required_comes_to_the_end() {
    for case in SOUND {
        let workflow = workflow(case);
        let mut run = begun(&workflow, json!({}));
        let mut taken = 0;
        while !run.is_over() {
            let now = looked(&workflow, &run);
            let leading = now.offers.iter().find(|offer| offer.leads_on).expect("something leads on");
            let (by, what) = event(&run, leading);
            happen(&workflow, &mut run, by, what).unwrap_or_else(|refused| panic!("{case}: {refused}"));
            taken += 1;
            assert!(taken < 100, "{case} does not end");
        }
        assert!(looked(&workflow, &run).over);
    }
}

/// Where an agent comes that gives these answers, each as the headline of what it reads.
fn walked(workflow: &Workflow, input: serde_json::Value, answers: &str) -> String {
    let mut run = begun(workflow, input);
    let mut lines = Vec::new();
    for word in answers.split_whitespace().chain(["-"]) {
        let now = looked(workflow, &run);
        let question = now.question.as_ref().map(|question| format!(" ? {}", question.asked.message));
        lines.push(format!("{}{}\n", headline(&now), question.unwrap_or_default()));
        if word != "-" {
            let path = run.positions()[0].0.clone();
            let since = run.positions()[0].1.since;
            let by = Actor::Person { name: "agent".to_owned(), via: Channel::Attested };
            happen(workflow, &mut run, by, reported(&path, since, word)).expect(word);
        }
    }
    lines.concat()
}

#[test]
fn a_loop_over_activities_goes_through_each_of_them_in_every_pass() {
    let workflow = workflow("activity-loop-over-activities");
    let tasks = || json!({ "tasks": ["a", "b"] });
    expect![[r#"
        Plan ? Test?
        Plan
        Build · step 1: Build · Each task, pass 1 of 2, a
        Build · step 2: Polish · Each task, pass 1 of 2, a
        Build · Each task, pass 1 of 2, a ? Enough?
        Test · step 1: Test · Each task, pass 1 of 2, a
        Build · step 1: Build · Each task, pass 2 of 2, b
        Build · step 2: Polish · Each task, pass 2 of 2, b
        Build · Each task, pass 2 of 2, b ? Enough?
        Test · step 1: Test · Each task, pass 2 of 2, b
        Report · step 1: Report
        A sample
    "#]]
    .assert_eq(&walked(&workflow, tasks(), "yes passed passed passed ok passed passed skipped ok passed passed"));
    // Passed over by an answer, by a mode, and with the whole loop; left by an answer.
    expect![[r#"
        Plan ? Test?
        Plan
        Build · step 1: Build · Each task, pass 1 of 2, a
        Build · step 2: Polish · Each task, pass 1 of 2, a
        Build · Each task, pass 1 of 2, a ? Enough?
        Build · step 1: Build · Each task, pass 2 of 2, b
        Build · step 2: Polish · Each task, pass 2 of 2, b
        Build · Each task, pass 2 of 2, b ? Enough?
        Report · step 1: Report
    "#]]
    .assert_eq(&walked(&workflow, tasks(), "no passed passed skipped ok passed skipped ok"));
    expect![[r#"
        Plan ? Test?
        Plan
        Build · step 1: Build · Each task, pass 1 of 1, a
        Build · step 2: Polish · Each task, pass 1 of 1, a
        Build · Each task, pass 1 of 1, a ? Enough?
        Report · step 1: Report
    "#]]
    .assert_eq(&walked(&workflow, json!({ "tasks": ["a"], "quick": true }), "yes passed passed skipped ok"));
    expect![[r#"
        Plan ? Test?
        Plan
        Report · step 1: Report
    "#]]
    .assert_eq(&walked(&workflow, tasks(), "yes skipped"));
    expect![[r#"
        Plan ? Test?
        Plan
        Build · step 1: Build · Each task, pass 1 of 2, a
        Build · step 2: Polish · Each task, pass 1 of 2, a
        Build · Each task, pass 1 of 2, a ? Enough?
        Report · step 1: Report
    "#]]
    .assert_eq(&walked(&workflow, tasks(), "yes passed passed skipped stop"));
}

/// What is said of activities in a row, each of which goes through the next one in so many loops.
fn loop_diagnostics(activities: usize, loops: usize) -> Vec<String> {
    let mut text = "id: w\nversion: 1.0.0\ntitle: T\nvariables: [{ name: v, type: array }]\nactivities:\n".to_owned();
    for at in 0..activities {
        text += &format!("  - id: a{at}\n    steps: [{{ id: s, name: S }}]\n");
        let looping = |nth| format!("{{ id: l{nth}, type: forEach, over: v, activities: [a{}] }}", at + 1);
        if at + 1 < activities {
            text += &format!("    loops: [{}]\n", (0..loops).map(looping).collect::<Vec<_>>().join(", "));
        }
    }
    let faults = dialect::parse(&Source::new("w.yaml", text), Strictness::Strict).faults;
    faults.into_iter().map(|fault| format!("{}: {}", fault.code, fault.message)).collect()
}

#[test]
fn loops_over_activities_are_written_out_within_bounds() {
    assert!(loop_diagnostics(9, 2).is_empty());
    let deep = loop_diagnostics(200, 1);
    assert_eq!(deep, ["too-large: `a9` is nested in more than 8 loops"]);
    let wide = loop_diagnostics(8, 30);
    assert_eq!(wide, ["too-large: including the activities in its loops, the workflow has more than 20000 nodes"]);
}

#[test]
fn what_is_told_of_an_activity_stands_in_every_answer() {
    let workflow = workflow("activity-loop-over-activities");
    let run = begun(&workflow, json!({ "tasks": ["a"], "quick": true }));
    let form = serde_json::to_string_pretty(&looked(&workflow, &run)).expect("JSON");
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/situation.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let sample = page.split("```json\n").nth(1).and_then(|rest| rest.split("\n```").next());
    assert_eq!(sample, Some(form.as_str()), "the page shows what it is");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// At every state that can be reached: what is offered is accepted, what is not offered is refused and changes
    /// nothing, and one response is small and shows nothing that is not actionable.
    #[test]
    fn what_is_offered_is_what_can_be_done(
        case in prop::sample::select(SOUND),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..60),
        list in prop::collection::vec("[a-z]{1,5}", 0..3),
    ) {
        let workflow = workflow(case);
        let variable = match case {
            "activity-sound" => "findings",
            "activity-loop-over-activities" => "tasks",
            _ => "list",
        };
        let mut run = begun(&workflow, json!({ variable: list }));
        for choice in choices {
            let now = looked(&workflow, &run);
            let form = serde_json::to_string(&now).expect("JSON");
            prop_assert!(form.len() < 3_000, "{} bytes: {form}", form.len());
            let offers = offered(&run, &now);
            if run.is_over() {
                prop_assert!(offers.is_empty() && now.over);
                break;
            }
            for (by, what) in &offers {
                let mut tried = run.clone();
                let done = happen(&workflow, &mut tried, by.clone(), what.clone());
                prop_assert!(done.is_ok(), "offered and refused: {what:?}: {done:?}");
            }
            let (path, frame) = { let positions = run.positions(); (positions[0].0.clone(), positions[0].1.clone()) };
            let open: Vec<Outcome> = moves(&workflow, &frame).iter().filter_map(|offer| offer.outcome().cloned()).collect();
            for word in ["passed", "failed", "skipped", "yes", "no", "github", "stop", "cancelled", "none"] {
                if !open.contains(&word.into()) {
                    let before = run.clone();
                    let what = reported(&path, frame.since, word);
                    prop_assert!(happen(&workflow, &mut run, Actor::Agent("agent".to_owned()), what).is_err(), "{word}");
                    prop_assert_eq!(&run, &before);
                }
            }
            // The run goes on most of the time: neither ended nor asked about.
            let on: Vec<_> = offers.iter().filter(|(_, what)| matches!(what, EventKind::Reported { .. })).collect();
            let (by, what) = choice.get(&on);
            prop_assert!(happen(&workflow, &mut run, by.clone(), what.clone()).is_ok());
        }
    }
}

fn reported(frame: &FramePath, since: u64, word: &str) -> EventKind {
    EventKind::Reported { frame: frame.clone(), outcome: word.into(), revision: Some(since), note: None, outputs: None }
}

//! Runs as bytes, and back: runs of the engine, and arbitrary ones.

mod frozen;
mod hostile;
mod made_up;
mod size;
mod walk;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use portolan_core::dialect::{self, Strictness};
use portolan_core::graph::Graph;
use portolan_core::run::{Branches, Opening, Place, Rules};
use portolan_core::source::Source;
use portolan_core::validate::validate;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::catalog;
use walk::Walk;

fn write(workflow: &Workflow, run: &Run) -> Option<Vec<u8>> {
    super::write(workflow, &Words::of(workflow), run)
}

fn read(workflow: &Workflow, revision: u64, bytes: &[u8]) -> Result<Run, Unreadable> {
    super::read(workflow, &Words::of(workflow), revision, bytes)
}

/// Returns the workflow of the first graph of these texts, each with the name of its file.
fn workflow(texts: &[(&str, &str)]) -> Workflow {
    let read = |(name, text): &(&str, &str)| dialect::parse(&Source::new(*name, *text), Strictness::Strict).graphs;
    let graphs: Vec<Graph> = texts.iter().flat_map(read).collect();
    let library = |id: &str| graphs.iter().find(|graph| graph.id.value == id);
    let (workflow, found) = validate(&graphs[0], &library, Strictness::Strict);
    workflow.unwrap_or_else(|| panic!("it is sound: {found:#?}"))
}

fn files(folder: &str, names: &[&str]) -> Workflow {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let texts: Vec<String> =
        names.iter().map(|name| fs::read_to_string(folder.join(name)).expect("it is there")).collect();
    let texts: Vec<(&str, &str)> = names.iter().copied().zip(texts.iter().map(String::as_str)).collect();
    workflow(&texts)
}

/// Questions, loops over items, activities that are skipped.
fn review() -> Workflow {
    files("crates/portolan-core/tests/cases/check/activity-sound", &["workflow.yaml"])
}

/// Conditions, and another workflow that receives variables.
fn sample() -> Workflow {
    files("crates/portolan-core/tests/cases/check/activity-first-generation", &["workflow.yaml", "follow-up.yaml"])
}

/// Returns a workflow of the catalogue, with all others for those that it runs. Its checks are removed, because they
/// would stop most walks at their first step.
fn of_catalogue(id: &str) -> Workflow {
    let believing = |text: &str| {
        let mut file: Value = serde_json::from_str(text).expect("it is JSON");
        for node in file["nodes"].as_object_mut().expect("nodes").values_mut().filter_map(Value::as_object_mut) {
            node.remove("accept");
        }
        file.to_string()
    };
    let named: Vec<(String, String)> =
        catalog::WORKFLOWS.iter().map(|entry| (format!("{}.json", entry.id), believing(entry.text))).collect();
    let first = named.iter().filter(|(name, _)| *name == format!("{id}.json"));
    let texts: Vec<(&str, &str)> = first.chain(&named).map(|(name, text)| (name.as_str(), text.as_str())).collect();
    workflow(&texts)
}

/// Encodes a run, checks that it decodes to the same run, to the order of keys and the signs of zeros, and returns its
/// bytes.
#[track_caller]
fn comes_back(workflow: &Workflow, run: &Run) -> Vec<u8> {
    let bytes = write(workflow, run).unwrap_or_else(|| panic!("it has room: {}", text(run)));
    let read_back = read(workflow, run.revision, &bytes).expect("it was written here");
    assert_eq!(text(&read_back), text(run));
    assert_eq!(read_back, *run);
    assert_eq!(write(workflow, &read_back).as_ref(), Some(&bytes), "the same run gives the same bytes");
    bytes
}

fn text(run: &Run) -> String {
    serde_json::to_string(run).expect("a run is JSON")
}

/// Takes random walks, and checks every run on the way.
fn walked(workflow: &Workflow, openings: &[Opening]) {
    let mut random = fastrand::Rng::with_seed(7);
    for nth in 0..30 {
        let mut walk = Walk::open(workflow, &openings[nth % openings.len()]);
        comes_back(workflow, &walk.run);
        for _ in 0..60 {
            if !walk.goes_on(&mut random) {
                break;
            }
            comes_back(workflow, &walk.run);
        }
    }
}

fn given(workflow: &Workflow, input: Value) -> Opening {
    Opening { input: Some(Arc::new(input)), ..Opening::of(workflow.id().clone()) }
}

#[test]
fn every_run_of_a_workflow_of_activities_comes_back() {
    let review = review();
    let told = Opening {
        description: Some("Prüfe „alles“, bitte: 🧭".to_owned()),
        ..given(&review, json!({"findings": ["a\u{0}b", "🦀"]}))
    };
    walked(&review, &[Opening::of(review.id().clone()), told, given(&review, json!({"findings": ["x", "x"]}))]);
    let sample = sample();
    let list = json!([-0.0, 0.1, {"b": [null, true], "a": {}}, i64::MIN, u64::MAX, 1.0, 1e300]);
    walked(&sample, &[given(&sample, json!({"list": list, "n": -0.0})), given(&sample, json!({"quick": true}))]);
}

#[test]
fn every_run_with_forks_subflows_gates_and_checks_comes_back() {
    for id in ["batch-process", "bug-hunt", "context-gather", "odd-even-test", "feature-development"] {
        let workflow = of_catalogue(id);
        let outside = Rules { branches: Branches::Outside, ..Rules::default() };
        let opening = Opening::of(workflow.id().clone());
        walked(&workflow, &[opening.clone(), Opening { rules: outside, ..opening }]);
    }
    let audited = files("examples/navigator/audited-change", &["audited-change.json", "audit.json"]);
    walked(&audited, &[Opening::of(audited.id().clone())]);
    let checked = workflow(&[("checked.json", walk::CHECKED)]);
    walked(&checked, &[Opening::of(checked.id().clone())]);
}

#[test]
fn every_run_of_a_function_comes_back() {
    let inventory = files("examples/tool-graphs", &["inventory.yaml"]);
    walked(&inventory, &[given(&inventory, json!({"folder": "src"}))]);
}

/// Ensures that the walks cover every kind of place.
#[test]
fn the_walks_come_by_every_kind_of_place() {
    let inventory = files("examples/tool-graphs", &["inventory.yaml"]);
    let workflows = [review(), of_catalogue("bug-hunt"), workflow(&[("c.json", walk::CHECKED)]), inventory, sample()];
    let (mut places, mut raised) = (BTreeSet::new(), false);
    let mut random = fastrand::Rng::with_seed(7);
    for (nth, workflow) in workflows.iter().cycle().take(100).enumerate() {
        let branches = if nth.is_multiple_of(2) { Branches::Inside } else { Branches::Outside };
        let rules = Rules { branches, ..Rules::default() };
        let mut walk = Walk::open(workflow, &Opening { rules, ..given(workflow, json!({})) });
        while walk.goes_on(&mut random) && walk.run.revision < 200 {
            for (path, frame) in walk.run.positions() {
                places.extend(walk.run.way(&path).map(|frame| expectation::tag(&frame.place)));
                raised |= frame.raised.is_some();
            }
        }
    }
    // A branch inside a run has ended when it arrives. Only the run of a branch stays there.
    places.insert(expectation::ARRIVED);
    let all = (expectation::READY..=expectation::ENDED).chain([expectation::PASSING_ON]);
    assert_eq!(places, all.collect());
    assert!(raised);
}

#[test]
fn what_follows_from_the_definition_takes_no_room() {
    let review = review();
    let bytes = |input: Value| {
        let walk = Walk::open(&review, &given(&review, input));
        comes_back(&review, &walk.run).len()
    };
    // The input itself, and nothing for the variables that it initializes.
    assert_eq!(bytes(json!({"depth": "abcdefgh"})) - bytes(json!({})), "abcdefgh".len() + 2);
    assert_eq!(bytes(json!({"depth": "full"})) - bytes(json!({})), 2);
}

/// Of two variables without a default, the one that was set first comes first. With many variables, each is named.
#[test]
fn variables_keep_the_order_in_which_they_were_set() {
    let names: Vec<String> = (0..70).map(|nth| format!("v{nth}")).collect();
    let declared: Vec<Value> = names.iter().map(|name| json!({"name": name, "type": "number"})).collect();
    let step = json!({"id": "s", "kind": "step", "name": "S"});
    let text = json!({
        "id": "w", "version": "1.0.0", "title": "W", "variables": declared,
        "activities": [{"id": "a", "name": "A", "steps": [step]}],
    });
    let workflow = workflow(&[("w.json", &text.to_string())]);
    let opened = Walk::open(&workflow, &Opening::of("w")).run;
    let length = |set: &[usize]| {
        let mut run = opened.clone();
        let data = run.root.data.as_mut().expect("it has variables");
        for nth in set {
            Arc::make_mut(data).variables.insert(names[*nth].clone(), json!(1));
        }
        comes_back(&workflow, &run).len()
    };
    let none = length(&[]);
    // A bit for each, and a byte for the value; or else the names too, and their count.
    assert_eq!([length(&[0, 5]) - none, length(&[5, 0]) - none, length(&[0, 69]) - none], [3, 5, 5]);
}

/// Such values are equal but not identical.
#[test]
fn a_value_that_equals_its_default_is_written_when_it_is_another_one() {
    let text = r#"{"id": "w", "version": "1.0.0", "title": "W", "variables": [
        {"name": "zero", "type": "number", "default": 0.0},
        {"name": "keys", "type": "object", "default": {"a": 1, "b": 2}}
    ], "activities": [{"id": "a", "name": "A", "steps": [{"id": "s", "kind": "step", "name": "S"}]}]}"#;
    let workflow = workflow(&[("w.json", text)]);
    let opened = Walk::open(&workflow, &Opening::of("w")).run;
    for (name, value) in [("zero", json!(-0.0)), ("keys", json!({"b": 2, "a": 1}))] {
        let mut run = opened.clone();
        let data = run.root.data.as_mut().expect("it has variables");
        assert_eq!(Arc::make_mut(data).variables.insert(name.to_owned(), value.clone()), Some(value));
        assert!(comes_back(&workflow, &run).len() > comes_back(&workflow, &opened).len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_number_comes_back(bits in any::<u64>(), digits in -9_999_i64..9_999, power in -30..30) {
        let sample = sample();
        let decimal: f64 = format!("{digits}e{power}").parse().expect("a number");
        let float = Some(f64::from_bits(bits)).filter(|float| float.is_finite()).unwrap_or(decimal);
        let list = json!([bits, bits as i64, float, decimal, -decimal, digits, 1.0 / decimal.max(1.0)]);
        comes_back(&sample, &Walk::open(&sample, &given(&sample, json!({"list": list}))).run);
    }
}

#[test]
fn the_same_run_gives_the_same_bytes_whatever_the_order_it_was_read_in() {
    let review = review();
    let mut walk = Walk::open(&review, &given(&review, json!({"findings": ["a"]})));
    let mut random = fastrand::Rng::with_seed(3);
    while walk.goes_on(&mut random) && walk.run.revision < 40 {}
    let copy: Run = serde_json::from_str(&text(&walk.run)).expect("it can be read back");
    assert_eq!(comes_back(&review, &copy), comes_back(&review, &walk.run));
}

#[test]
fn another_definition_counts_in_other_words() {
    let (review, sample) = (review(), sample());
    let run = Walk::open(&review, &Opening::of(review.id().clone())).run;
    let bytes = comes_back(&review, &run);
    assert_eq!(read(&sample, run.revision, &bytes), Err(Unreadable::Words));
    // The same words, and another default: an unchanged variable would get another value.
    let text = |depth: i64| {
        format!(
            "id: w\nversion: 1.0.0\ntitle: W\nvariables: [{{ name: depth, type: number, default: {depth} }}]\n\
             activities: [{{ id: a, name: A, steps: [{{ id: s, kind: step, name: S }}] }}]\n"
        )
    };
    let (one, two) = (workflow(&[("w.yaml", &text(1))]), workflow(&[("w.yaml", &text(2))]));
    let run = Walk::open(&one, &Opening::of("w")).run;
    assert_eq!(read(&two, run.revision, &comes_back(&one, &run)), Err(Unreadable::Words));
}

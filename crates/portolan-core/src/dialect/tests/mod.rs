//! The table of dialects: the properties of every row, and that a sixth dialect is one folder and one line.

mod checklist;

use std::collections::BTreeSet;

use super::{DIALECTS, Dialect, RunAs, Strictness, named, of, parse_with};
use crate::engine;
use crate::run::{Actor, EffectResult, Event, EventKind, FramePath, Opening, Run, moves};
use crate::source::Source;
use crate::validate;
use crate::value::{Outcome, Timestamp};

/// Returns the table with one more line.
fn with_a_sixth() -> Vec<Dialect> {
    DIALECTS.iter().copied().chain([checklist::DIALECT]).collect()
}

fn read(text: &str, strictness: Strictness) -> super::File {
    parse_with(&with_a_sixth(), &Source::new("day.yaml", text), strictness)
}

/// Returns the diagnostics of a text, a line each.
fn diagnostics(text: &str, strictness: Strictness) -> Vec<String> {
    let faults = read(text, strictness).faults;
    faults.iter().map(|fault| format!("{:?} {}: {}", fault.severity, fault.code, fault.message)).collect()
}

#[test]
fn a_sixth_dialect_is_read_checked_and_walked_to_its_end() {
    let (graph, faults) = read("checklist: [wash, cook, eat]", Strictness::Strict).first();
    assert!(faults.is_empty(), "{faults:?}");
    let graph = graph.expect("it can be drawn");
    assert_eq!(graph.id.value, "day");
    let (workflow, faults) = validate::validate(&graph, &validate::no_library, Strictness::Strict);
    assert!(faults.is_empty(), "{faults:?}");
    let workflow = workflow.expect("it may be run");
    let changes = engine::open(&workflow, &Opening::of("day")).expect("it opens");
    let mut run = Run::fold(&changes).expect("it is open");
    let mut happen = |what: EventKind| {
        let mut next = Some(what);
        while let Some(what) = next {
            let event = Event { at: Timestamp(0), by: Actor::Agent("me".into()), what };
            for change in &engine::decide(&workflow, &run, &event).expect("it is allowed") {
                run.apply(change);
            }
            next = run.passing().map(|effect| effect.settled(EffectResult::Due, 0));
        }
        run.root.place.node().to_string()
    };
    let mut walked = vec![happen(EventKind::Begun { revision: None })];
    for _ in 0..3 {
        let outcome = Outcome::passed();
        let frame = FramePath::default();
        walked.push(happen(EventKind::Reported { frame, outcome, revision: None, note: None, outputs: None }));
    }
    assert_eq!(walked, ["wash", "cook", "eat", "done"]);
    assert!(run.is_over() && moves(&workflow, &run.root).is_empty());
}

#[test]
fn a_sixth_dialect_says_its_faults_as_the_others_do() {
    assert_eq!(
        diagnostics("checklist: [wash, wash]\nnote: 1", Strictness::Strict),
        [
            "Error nothing-twice: `wash` stands on the list twice",
            "Error unknown-field: the file has a field `note`, which has no meaning here",
        ]
    );
    // A fault that lenient reading repairs is a warning, and the graph may be run.
    let (graph, faults) = read("checklist: [wash, wash]", Strictness::Lenient).first();
    assert!(faults.iter().all(|fault| !fault.is_error()), "{faults:?}");
    assert_eq!(graph.expect("it can be drawn").broken, None);
    let (graph, _) = read("checklist: [wash, wash]", Strictness::Strict).first();
    assert!(graph.expect("it can be drawn").broken.is_some());
}

/// The help for a text of no dialect names the sixth too.
#[test]
fn the_help_names_every_dialect_of_the_table() {
    let fault = read("steep: 1", Strictness::Strict).faults.remove(0);
    let help = fault.help.expect("there is help");
    for dialect in with_a_sixth() {
        let (field, shape) = (format!("`{}`", dialect.field), dialect.shape);
        assert!(fault.message.contains(&field), "{}: {field}", fault.message);
        assert!(shape.contains(&field) && help.contains(shape), "{help}: {shape}");
    }
}

#[test]
fn a_sixth_dialect_takes_no_file_of_the_others() {
    for (text, name) in [
        ("nodes: {}\nedges: []", "navigator"),
        ("nodes: []\ntools: []", "toolgraph"),
        ("nodes: []", "toolgraph"),
        ("activities: []", "activity"),
        ("phases: []", "phases"),
        ("states: {}", "states"),
    ] {
        let source = Source::new("one.yaml", text);
        assert_eq!(of(&source).map(|dialect| dialect.name), Some(name), "{text}");
        let tree = crate::source::parse(&source).0.expect("a tree");
        assert!(!(checklist::DIALECT.is_one)(&source, &tree), "{text}");
    }
    assert!(of(&Source::new("one.yaml", "checklist: []")).is_none());
}

#[test]
fn every_row_has_its_own_name_field_and_codes() {
    let names: BTreeSet<&str> = DIALECTS.iter().map(|dialect| dialect.name).collect();
    let fields: BTreeSet<&str> = DIALECTS.iter().map(|dialect| dialect.field).collect();
    assert_eq!((names.len(), fields.len()), (DIALECTS.len(), DIALECTS.len()));
    assert!(DIALECTS.iter().all(|dialect| named(dialect.name).is_some_and(|found| found.field == dialect.field)));
    let codes: BTreeSet<&str> = super::codes().map(|code| code.code).collect();
    assert_eq!(codes.len(), super::codes().count(), "a code stands in two lists");
    assert!(checklist::DIALECT.codes.iter().all(|code| !codes.contains(code.code)));
    assert!(names.contains("states") && named("states").is_some_and(|states| states.run_as == RunAs::Calls));
}

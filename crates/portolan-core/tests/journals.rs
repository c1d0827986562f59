//! Journals that earlier releases wrote. They must be read for ever: runs outlive the release that began them.
//!
//! A journal is three files under `tests/journals/<format>/`: the workflows (the run's own first), the records as the
//! store writes them, one a line, and the run that they came to. None of the files is ever written again; a release
//! that writes another format adds a folder.

use portolan_core::dialect::{self, Strictness};
use portolan_core::engine::{decide, fits, open};
use portolan_core::graph::{Graph, Workflow};
use portolan_core::run::{Actor, Change, EffectResult, Event, EventKind, Run};
use portolan_core::source::Source;
use portolan_core::validate::validate;
use portolan_core::value::Timestamp;
use serde::Deserialize;
use serde_json::Value;

/// One journal, as text.
struct Journal {
    name: &'static str,
    workflows: &'static str,
    records: &'static str,
    run: &'static str,
}

macro_rules! journals {
    ($($name:literal),*) => {
        &[$(Journal {
            name: $name,
            workflows: include_str!(concat!("journals/", $name, ".workflows.json")),
            records: include_str!(concat!("journals/", $name, ".jsonl")),
            run: include_str!(concat!("journals/", $name, ".run.json")),
        }),*]
    };
}

const JOURNALS: &[Journal] = journals!["v1/retries", "v1/branches", "v1/subflows", "v1/checks", "v1/activities"];

#[derive(Deserialize)]
struct Record {
    seq: u64,
    event: Event,
    changes: Vec<Change>,
}

impl Journal {
    fn records(&self) -> Vec<Record> {
        self.records.lines().map(|line| serde_json::from_str(line).expect(self.name)).collect()
    }

    fn run(&self) -> Run {
        serde_json::from_str(self.run).expect(self.name)
    }

    fn workflow(&self) -> Workflow {
        let files: Vec<Value> = serde_json::from_str(self.workflows).expect(self.name);
        let graphs: Vec<Graph> = files
            .iter()
            .map(|file| {
                let name = format!("{}.json", file["id"].as_str().expect(self.name));
                dialect::parse(&Source::new(name, file.to_string()), Strictness::Strict).first().0.expect(self.name)
            })
            .collect();
        let library = |name: &str| graphs.iter().find(|graph| graph.id.value == name);
        validate(&graphs[0], &library, Strictness::Strict).0.expect(self.name)
    }
}

#[test]
fn old_journals_fold_to_the_runs_that_they_came_to() {
    for journal in JOURNALS {
        let records = journal.records();
        assert!(records.iter().map(|record| record.seq).eq(1..=records.len() as u64), "{}", journal.name);
        let run = Run::fold(records.iter().flat_map(|record| &record.changes)).expect(journal.name);
        assert_eq!(run, journal.run(), "{}", journal.name);
        assert!(run.is_over(), "{} tells a whole run", journal.name);
        assert_eq!(fits(&journal.workflow(), &run), Ok(()), "{}", journal.name);
    }
}

/// A restart never decides anew. Where this release would decide otherwise than the one that wrote the journal, that
/// is to be known: each event still leads where it led. (The nodes that need nobody were passed within one event then;
/// now each has its own.)
#[test]
fn old_events_lead_where_they_led() {
    for journal in JOURNALS {
        let workflow = journal.workflow();
        let mut run: Option<Run> = None;
        for record in journal.records() {
            let decided = match (&record.event.what, &run) {
                (EventKind::Opened(opening), _) => open(&workflow, opening),
                (_, Some(run)) => decide(&workflow, run, &record.event),
                (_, None) => panic!("{} begins with `Opened`", journal.name),
            };
            let decided = decided.unwrap_or_else(|refused| panic!("{} at {}: {refused}", journal.name, record.seq));
            let now = passed(&workflow, after(run.as_ref(), &decided));
            let then = after(run.as_ref(), &record.changes);
            assert_eq!(unnumbered(&now), unnumbered(&then), "{} at {}", journal.name, record.seq);
            run = Some(then);
        }
    }
}

fn after(run: Option<&Run>, changes: &[Change]) -> Run {
    let Some(run) = run else { return Run::fold(changes).expect("a journal begins with `Opened`") };
    let mut run = run.clone();
    changes.iter().for_each(|change| run.apply(change));
    run
}

/// The run when everything that needs nobody is executed.
fn passed(workflow: &Workflow, mut run: Run) -> Run {
    while let Some(effect) = run.passing() {
        let event = Event { at: Timestamp(0), by: Actor::Engine, what: effect.settled(EffectResult::Due, 0) };
        run = after(Some(&run), &decide(workflow, &run, &event).expect("what is pending is accepted"));
    }
    run
}

/// A run without the numbers of its changes.
fn unnumbered(run: &Run) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, _| name != "since" && name != "revision");
                fields.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(run).expect("a run is JSON");
    strip(&mut value);
    value
}

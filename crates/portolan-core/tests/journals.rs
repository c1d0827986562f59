//! Journals that earlier releases wrote. They must be read for ever: runs outlive the release that began them.
//!
//! A journal is three files under `tests/journals/<format>/`: the workflows (the run's own first), the records as the
//! store writes them, one a line, and the run that they came to. None of the files is ever written again; a release
//! that writes another format adds a folder.

use portolan_core::dialect::{self, Strictness};
use portolan_core::engine::{decide, fits, open};
use portolan_core::graph::{Graph, Workflow};
use portolan_core::run::{Change, Event, EventKind, Run};
use portolan_core::source::Source;
use portolan_core::validate::validate;
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
/// is to be known: list the record here, with the reason.
#[test]
fn old_events_are_decided_as_they_were() {
    for journal in JOURNALS {
        let workflow = journal.workflow();
        let mut run: Option<Run> = None;
        for record in journal.records() {
            let decided = match (&record.event.what, &run) {
                (EventKind::Opened(opening), _) => open(&workflow, opening),
                (_, Some(run)) => decide(&workflow, run, &record.event),
                (_, None) => panic!("{} begins with `Opened`", journal.name),
            };
            assert_eq!(decided.as_ref(), Ok(&record.changes), "{} at {}", journal.name, record.seq);
            match &mut run {
                Some(run) => record.changes.iter().for_each(|change| run.apply(change)),
                None => run = Run::fold(&record.changes),
            }
        }
    }
}

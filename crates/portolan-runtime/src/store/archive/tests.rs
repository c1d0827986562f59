//! Archives between two stores, and files that mean harm.

use std::io::Cursor;

use portolan_core::graph::EndResult;
use portolan_core::run::{Change, Frame, FramePath, Place, Run};
use portolan_core::value::Timestamp;

use super::super::contract::sample::Sample;
use super::super::contract::{append, create, new_run};
use super::*;
use crate::store::{ListFilter, MemoryStore, NewRun, Store};

fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(future)
}

fn exported(store: &MemoryStore) -> (ExportResult, Vec<u8>) {
    let mut text = Vec::new();
    let exported = wait(export(store, &Selection::default(), Timestamp(0), &mut text)).expect("it can be written");
    (exported, text)
}

fn imported(store: &MemoryStore, text: Vec<u8>) -> ImportResult {
    wait(import(store, &mut Archive::new(Cursor::new(text), "a file"), &mut |_, _, _| Ok(None)))
}

/// Returns an archive of one run with these changes in its second record.
fn archive(changes: Vec<Change>) -> Vec<u8> {
    let sample = Sample::opened("mend the door");
    let new = new_run(&RunId::random(), &sample);
    let records = [new.records[0].clone(), Record { seq: 2, event: sample.event, changes }];
    let definition = DefinitionLine { digest: new.definition.clone(), text: new.definition_text.to_string() };
    let mut lines = vec![
        Line::Export(Header { version: VERSION, at: String::new(), by: String::new() }),
        Line::Definition(definition),
        Line::Run(RunLine { id: new.id, definition: new.definition, records: 2 }),
    ];
    lines.extend(records.map(|record| Line::Record(Box::new(record))));
    lines.push(Line::End(Totals { runs: 1, records: 2 }));
    let text = |line: &Line| serde_json::to_string(line).expect("it is JSON") + "\n";
    lines.iter().map(text).collect::<String>().into_bytes()
}

/// Returns why the run of an archive is refused.
fn refused(text: Vec<u8>) -> String {
    let store = MemoryStore::default();
    let imported = imported(&store, text);
    assert!(imported.stopped.is_none(), "{imported:?}");
    assert_eq!((imported.runs, imported.left_out.count), (0, 1));
    assert_eq!(wait(store.list(ListFilter::default())), Ok(Vec::new()));
    let [left_out] = &imported.left_out.named[..] else { panic!("it is named") };
    format!("{}: {}", left_out.code, left_out.why)
}

/// More runs than a page has, with definitions that come back after others.
#[test]
fn what_is_imported_is_what_was_exported() {
    let store = MemoryStore::default();
    for nth in 0..450 {
        let sample = Sample::opened(&format!("task {nth}"));
        let text = format!("{{\"definition\": {}}}", nth % 3);
        let new = NewRun {
            definition: Digest::of(&text),
            definition_text: text.into(),
            ..new_run(&RunId::random(), &sample)
        };
        let id = new.id.clone();
        wait(store.create(new)).expect("it is new");
        if nth % 2 == 0 {
            let over = sample.placed("agent", Place::Ended { node: "done".into(), result: EndResult::Success });
            wait(append(&store, &id, 1, &over)).expect("it is the next one");
        }
    }
    let (written, text) = exported(&store);
    assert_eq!((written.runs, written.records, written.definitions), (450, 675, 3));
    let other = MemoryStore::default();
    let read = imported(&other, text.clone());
    assert!(read.stopped.is_none(), "{read:?}");
    assert_eq!((read.runs, read.records, read.equal, read.left_out.count), (450, 675, 0, 0));
    let (_, again) = exported(&other);
    assert!(text == again, "the files are the same");
    assert_eq!(imported(&other, text).equal, 450);
}

#[test]
fn a_run_that_is_too_large_is_left_out_by_name() {
    let store = MemoryStore::default();
    let small = wait(create(&store, &Sample::opened("mend the door")));
    let large = wait(create(&store, &Sample::opened(&"x".repeat(MAX_LINE))));
    let (written, text) = exported(&store);
    assert_eq!((written.runs, written.left_out.count), (1, 1));
    assert_eq!(
        (written.left_out.named[0].run.as_str(), written.left_out.named[0].code),
        (large.as_str(), "run_too_large")
    );
    let other = MemoryStore::default();
    assert_eq!(imported(&other, text).runs, 1);
    wait(other.load(&small)).expect("it was imported");
}

#[test]
fn a_line_is_not_read_further_than_it_may_be_long() {
    let mut text = archive(Vec::new());
    text.extend(vec![b' '; MAX_LINE + 1]);
    let read = imported(&MemoryStore::default(), text);
    assert_eq!(read.stopped.expect("it is too long").message, "line 7 of `a file` is longer than 32 MiB");
}

/// Each change nests a frame in that of the change before: far deeper than any line is.
#[test]
fn a_run_that_is_nested_too_deep_is_refused_and_no_crash() {
    let nest = |depth: usize| {
        let frame = FramePath(vec!["sub".into(); depth]);
        let inner = Frame::at("sample".into(), Place::Ready { node: "start".into() });
        let place = Place::Within { node: "sub".into(), frame: Box::new(inner) };
        Change::Moved { frame, place, feedback: None }
    };
    let deep = refused(archive((0..20_000).map(nest).take(2_000).collect()));
    assert_eq!(deep, "run_invalid: record 2 names a frame inside more than 64 others");
    let nested = |levels: usize, place: Place| {
        (0..levels).fold(place, |place, _| Place::Within {
            node: "sub".into(),
            frame: Box::new(Frame::at("sample".into(), place)),
        })
    };
    let ready = || Place::Ready { node: "start".into() };
    let most = Change::Moved { frame: FramePath(vec!["sub".into(); 50]), place: nested(50, ready()), feedback: None };
    let changes = vec![Change::Moved { frame: FramePath::default(), place: nested(50, ready()), feedback: None }, most];
    let nested = refused(archive(changes));
    assert_eq!(nested, "run_invalid: its records do not make a run that can be stored (nested deeper than 256 levels)");
}

#[test]
fn the_largest_number_of_an_item_is_no_crash() {
    let item = Frame::at("sample".into(), Place::Ready { node: "start".into() });
    let begun = Change::ItemBegun { frame: FramePath::default(), index: u32::MAX, item };
    let each = serde_json::from_value::<Place>(serde_json::json!({
        "each": { "node": "each", "items": [1], "begun": 0, "open": [], "done": [null] }
    }));
    let place = each.expect("a place");
    let moved = Change::Moved { frame: FramePath::default(), place, feedback: None };
    let read = imported(&MemoryStore::default(), archive(vec![moved, begun]));
    assert_eq!((read.runs, read.left_out.count), (1, 0));
}

#[test]
fn a_journal_that_does_not_open_a_run_is_refused() {
    let text = String::from_utf8(archive(Vec::new())).expect("it is text");
    let without = text.replacen("\"changes\":[{\"opened\"", "\"changes\":[],\"more\":[{\"opened\"", 1);
    assert!(imported(&MemoryStore::default(), without.into_bytes()).stopped.is_some());
    let sample = Sample::opened("mend the door").moved("agent", "a");
    let opening = serde_json::to_string(&Sample::opened("mend the door").changes).expect("it is JSON");
    let moved = serde_json::to_string(&sample.changes).expect("it is JSON");
    let other = refused(text.replacen(&opening, &moved, 1).into_bytes());
    assert_eq!(other, "run_invalid: record 1 does not open a run");
    assert_eq!(Run::fold(&sample.changes), None);
}

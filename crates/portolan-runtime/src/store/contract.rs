//! What every store promises, as one suite that each of them runs. Knows none of them.

use std::any::Any;
use std::sync::{Arc, Barrier};
use std::thread;

use portolan_core::run::{
    Actor, Branch, BranchState, Change, Frame, FramePath, Opening, Place, Run, Verdict, WaitingFor,
};
use portolan_core::value::{Outcome, Timestamp};
use portolan_core::{graph::EndResult, run::Feedback};

use super::sample::Sample;
use super::{Digest, ListFilter, NewRun, Record, RunId, Status, Store, StoreError};

/// The contents of one store, to which any number of handles can be had.
pub(super) struct Shelf {
    handle: Box<dyn Fn() -> Arc<dyn Store>>,
    _alive: Box<dyn Any>,
}

impl Shelf {
    /// `handle` gives another handle, as another process would have; `alive` is kept as long as the contents.
    pub(super) fn new(handle: impl Fn() -> Arc<dyn Store> + 'static, alive: impl Any) -> Shelf {
        Shelf { handle: Box::new(handle), _alive: Box::new(alive) }
    }

    pub(super) fn store(&self) -> Arc<dyn Store> {
        (self.handle)()
    }
}

/// Makes a test of each promise; the expression gives an empty [`Shelf`].
macro_rules! suite {
    ($shelf:expr) => {
        $crate::store::contract::suite! { $shelf;
            a_created_run_is_loaded a_run_begins_with_several_records appends_come_in_order a_conflict_leaves_nothing of_two_writers_exactly_one_wins
            of_many_callers_exactly_one_wins a_handle_is_taken_once the_run_that_moved_last_is_listed_first
            only_open_runs_are_listed_on_demand a_list_says_how_each_run_stands records_come_in_pages
            runs_share_definitions long_texts_are_kept any_text_is_kept unknown_names_are_not_found
            many_runs_are_kept_apart what_has_a_cover_is_kept_whole the_snapshot_is_the_fold_of_the_records deep_runs_are_kept
        }
    };
    ($shelf:expr; $($promise:ident)*) => {
        $(#[test] fn $promise() { $crate::store::contract::$promise(&$shelf); })*
    };
}
pub(super) use suite;

pub(super) fn wait<T>(answer: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime needs nothing");
    runtime.block_on(answer)
}

pub(super) fn record(seq: u64, sample: &Sample) -> Record {
    Record { seq, event: sample.event.clone(), changes: sample.changes.clone() }
}

pub(super) fn new_run(id: &RunId, sample: &Sample) -> NewRun {
    let (id, run, records) = (id.clone(), sample.run.clone(), vec![record(1, sample)]);
    NewRun { id, definition: Digest::of(DEFINITION), definition_text: DEFINITION.into(), cover: None, run, records }
}

pub(super) fn create(store: &dyn Store, sample: &Sample) -> RunId {
    let id = RunId::random();
    wait(store.create(new_run(&id, sample))).expect("a new run is kept");
    id
}

pub(super) fn append(store: &dyn Store, id: &RunId, expected_seq: u64, sample: &Sample) -> Result<(), StoreError> {
    wait(store.append(id, expected_seq, &record(expected_seq + 1, sample), &sample.run))
}

fn all_records(store: &dyn Store, id: &RunId) -> Vec<Record> {
    wait(store.records(id, 0, usize::MAX)).expect("the run is known")
}

const DEFINITION: &str = r#"{"nodes": {}, "edges": []}"#;

pub(super) fn a_created_run_is_loaded(shelf: &Shelf) {
    let sample = Sample::opened("mend the door");
    let id = create(&*shelf.store(), &sample);
    let stored = wait(shelf.store().load(&id)).expect("it was created");
    assert_eq!((&stored.id, stored.seq, &stored.run), (&id, 1, &sample.run));
    assert_eq!(stored.definition, Digest::of(DEFINITION));
    assert_eq!((stored.opened_at, stored.updated_at), (sample.event.at, sample.event.at));
    assert_eq!(all_records(&*shelf.store(), &id), [record(1, &sample)]);
}

/// With a cover and without: what is sealed is sealed record by record.
pub(super) fn a_run_begins_with_several_records(shelf: &Shelf) {
    for is_covered in [false, true] {
        let store = shelf.store();
        let first = Sample::opened("mend the door");
        let second = first.clone().moved("agent", "a");
        let third = second.clone().moved("agent", "b");
        let told: Vec<Record> =
            [&first, &second, &third].into_iter().zip(1..).map(|(at, seq)| record(seq, at)).collect();
        let id = RunId::random();
        let cover = is_covered.then(|| first.run.opening.clone());
        let new = NewRun { records: told.clone(), run: third.run.clone(), cover, ..new_run(&id, &first) };
        wait(store.create(new)).expect("a new run is kept");
        let stored = wait(store.load(&id)).expect("it was created");
        assert_eq!((stored.seq, &stored.run, stored.opened_at), (3, &third.run, first.event.at));
        let fourth = third.moved("agent", "c");
        append(&*store, &id, 3, &fourth).expect("it is the next one");
        assert_eq!(all_records(&*store, &id), [told, vec![record(4, &fourth)]].concat());
    }
}

pub(super) fn appends_come_in_order(shelf: &Shelf) {
    let store = shelf.store();
    let mut sample = Sample::opened("mend the door");
    let id = create(&*store, &sample);
    let mut told = vec![record(1, &sample)];
    for seq in 1..=20 {
        sample = sample.moved("agent", &format!("step-{seq}"));
        sample.event.at = Timestamp(1_800_000_000_000 + i64::try_from(seq).expect("it is small"));
        append(&*store, &id, seq, &sample).expect("it is the next one");
        told.push(record(seq + 1, &sample));
        let stored = wait(store.load(&id)).expect("it was created");
        assert_eq!((stored.seq, stored.updated_at, &stored.run), (seq + 1, sample.event.at, &sample.run));
    }
    assert_eq!(all_records(&*shelf.store(), &id), told);
}

pub(super) fn a_conflict_leaves_nothing(shelf: &Shelf) {
    let store = shelf.store();
    let id = create(&*store, &Sample::opened("mend the door"));
    let first = Sample::opened("mend the door").moved("first", "a");
    append(&*store, &id, 1, &first).expect("it is the next one");
    let late = Sample::opened("mend the door").moved("late", "b");
    for (expected, actual_seq) in [(1, 2), (0, 2), (2_000, 2), (u64::from(u32::MAX), 2)] {
        assert_eq!(append(&*store, &id, expected, &late), Err(StoreError::Conflict { actual_seq }));
    }
    assert_eq!(wait(store.load(&id)).expect("it was created").run, first.run);
    assert_eq!(all_records(&*store, &id).len(), 2);
    append(&*store, &id, 2, &late).expect("the loser may decide again");
}

pub(super) fn of_two_writers_exactly_one_wins(shelf: &Shelf) {
    let id = create(&*shelf.store(), &Sample::opened("mend the door"));
    let stores = [shelf.store(), shelf.store()];
    for seq in 1..=25 {
        let line = Barrier::new(stores.len());
        let outcomes = thread::scope(|scope| {
            let (line, id) = (&line, &id);
            let racers = ["ann", "bob"].into_iter().zip(&stores).map(|(name, store)| {
                scope.spawn(move || {
                    let sample = Sample::opened("mend the door").moved(name, name);
                    line.wait();
                    (name, append(&**store, id, seq, &sample))
                })
            });
            let racers: Vec<_> = racers.collect();
            racers.into_iter().map(|racer| racer.join().expect("nobody panics")).collect::<Vec<_>>()
        });
        let won: Vec<&str> = outcomes.iter().filter(|(_, won)| won.is_ok()).map(|(name, _)| *name).collect();
        let lost = outcomes.iter().filter(|(_, lost)| *lost == Err(StoreError::Conflict { actual_seq: seq + 1 }));
        assert_eq!((won.len(), lost.count()), (1, 1), "{outcomes:?}");
        let last = all_records(&*stores[0], &id).pop().expect("there are some");
        assert_eq!((last.seq, last.event.by), (seq + 1, Actor::Agent(won[0].to_owned())));
    }
}

pub(super) fn of_many_callers_exactly_one_wins(shelf: &Shelf) {
    let store = shelf.store();
    let id = create(&*store, &Sample::opened("mend the door"));
    let outcomes = wait(async {
        let callers = (0..64).map(|caller| {
            let (store, id) = (Arc::clone(&store), id.clone());
            tokio::spawn(async move {
                let sample = Sample::opened("mend the door").moved(&format!("caller {caller}"), "a");
                store.append(&id, 1, &record(2, &sample), &sample.run).await
            })
        });
        let callers: Vec<_> = callers.collect();
        let mut outcomes = Vec::new();
        for caller in callers {
            outcomes.push(caller.await.expect("nobody panics"));
        }
        outcomes
    });
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let conflict = Err(StoreError::Conflict { actual_seq: 2 });
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == conflict).count(), 63);
    assert_eq!(all_records(&*store, &id).len(), 2);
}

pub(super) fn a_handle_is_taken_once(shelf: &Shelf) {
    let store = shelf.store();
    let sample = Sample::opened("the first");
    let id = create(&*store, &sample);
    assert_eq!(wait(store.create(new_run(&id, &Sample::opened("the second")))), Err(StoreError::Taken));
    assert_eq!(wait(store.load(&id)).expect("it was created").run, sample.run);
    assert_eq!(all_records(&*store, &id).len(), 1);
}

fn listed(store: &dyn Store, filter: ListFilter) -> Vec<RunId> {
    wait(store.list(filter)).expect("a list can always be had").into_iter().map(|line| line.id).collect()
}

pub(super) fn the_run_that_moved_last_is_listed_first(shelf: &Shelf) {
    let store = shelf.store();
    assert_eq!(listed(&*store, ListFilter::default()), []);
    let [a, b, c] = [5, 7, 5].map(|at| {
        let mut sample = Sample::opened("mend the door");
        sample.event.at = Timestamp(at);
        create(&*store, &sample)
    });
    assert_eq!(listed(&*store, ListFilter::default()), [b.clone(), c.clone(), a.clone()]);
    let mut moved = Sample::opened("mend the door").moved("agent", "a");
    moved.event.at = Timestamp(8);
    append(&*store, &a, 1, &moved).expect("it is the next one");
    assert_eq!(listed(&*store, ListFilter::default()), [a.clone(), b.clone(), c]);
    assert_eq!(listed(&*store, ListFilter { limit: 2, ..ListFilter::default() }), [a, b]);
    assert_eq!(listed(&*store, ListFilter { limit: 0, ..ListFilter::default() }), []);
}

pub(super) fn only_open_runs_are_listed_on_demand(shelf: &Shelf) {
    let store = shelf.store();
    let open = create(&*store, &Sample::opened("open"));
    let over = create(&*store, &Sample::opened("over"));
    let ended = Sample::opened("over").placed("agent", end(EndResult::Success));
    append(&*store, &over, 1, &ended).expect("it is the next one");
    assert_eq!(listed(&*store, ListFilter { open_only: true, limit: 10 }), std::slice::from_ref(&open));
    assert_eq!(listed(&*store, ListFilter { open_only: false, limit: 10 }), [over, open]);
}

fn end(result: EndResult) -> Place {
    Place::Ended { node: "done".into(), result }
}

fn ended(result: &str) -> Status {
    Status::Ended { result: result.to_owned() }
}

fn branch(name: &str, place: Place) -> Branch {
    let frame = Frame::at("sample".into(), place);
    Branch { name: name.into(), state: BranchState::Open(frame), data: None }
}

fn checking(node: &str) -> Place {
    Place::Checking { node: node.into(), outcome: Outcome::passed(), settled: Vec::new(), note: None }
}

fn waiting(node: &str) -> Place {
    Place::Waiting { node: node.into(), on: WaitingFor::Answer, due: None }
}

fn forked(branches: Vec<Branch>) -> Place {
    Place::Forked { node: "fork".into(), branches }
}

pub(super) fn a_list_says_how_each_run_stands(shelf: &Shelf) {
    let store = shelf.store();
    let ready = |node: &str| branch(node, Place::Ready { node: node.into() });
    let cases = [
        (Place::Ready { node: "work".into() }, Status::Working, "work"),
        (checking("gate"), Status::Checking, "gate"),
        (waiting("ask"), Status::Waiting, "ask"),
        (Place::Gathering { node: "fork".into() }, Status::Working, "fork"),
        (forked(vec![ready("a"), branch("b", waiting("b"))]), Status::Waiting, "a, b"),
        (forked(vec![ready("a"), branch("b", checking("b2"))]), Status::Working, "a, b2"),
        (end(EndResult::Success), ended("success"), "done"),
        (end(EndResult::Cancelled), ended("cancelled"), "done"),
        (Place::Arrived { node: "join".into(), outcome: Outcome::failed() }, ended("failed"), "join"),
    ];
    for (place, status, step) in cases {
        let sample = Sample::opened("mend the door");
        let id = create(&*store, &sample);
        let mut sample = sample.placed("agent", place);
        sample.event.at = Timestamp(i64::MAX);
        append(&*store, &id, 1, &sample).expect("it is the next one");
        let [line] = &wait(store.list(ListFilter { limit: 1, ..ListFilter::default() })).expect("it lists")[..] else {
            panic!("there is a run")
        };
        assert_eq!((&line.id, &line.status, line.step.as_str(), line.seq), (&id, &status, step, 2));
        assert_eq!((line.workflow.as_str(), line.description.as_deref()), ("sample", Some("mend the door")));
    }
}

pub(super) fn records_come_in_pages(shelf: &Shelf) {
    let store = shelf.store();
    let mut sample = Sample::opened("mend the door");
    let id = create(&*store, &sample);
    for seq in 1..10 {
        sample = sample.moved("agent", "again");
        append(&*store, &id, seq, &sample).expect("it is the next one");
    }
    let page = |after, limit| -> Vec<u64> {
        let page = wait(store.records(&id, after, limit)).expect("the run is known");
        page.iter().map(|record| record.seq).collect()
    };
    assert_eq!(page(0, 4), [1, 2, 3, 4]);
    assert_eq!(page(4, 4), [5, 6, 7, 8]);
    assert_eq!(page(8, 4), [9, 10]);
    assert_eq!((page(10, 4), page(u64::MAX, usize::MAX), page(0, 0)), (vec![], vec![], vec![]));
}

pub(super) fn runs_share_definitions(shelf: &Shelf) {
    let store = shelf.store();
    let sample = Sample::opened("mend the door");
    let texts = ["{}", "{ }", "{}"];
    for text in texts {
        let new = new_run(&RunId::random(), &sample);
        wait(store.create(NewRun { definition: Digest::of(text), definition_text: text.into(), ..new })).expect("kept");
    }
    for text in texts {
        assert_eq!(&*wait(shelf.store().definition(&Digest::of(text))).expect("it was kept"), text);
    }
}

pub(super) fn long_texts_are_kept(shelf: &Shelf) {
    let store = shelf.store();
    let long = "a long story ".repeat(80_000);
    let mut sample = Sample::opened(&long);
    let mut new = new_run(&RunId::random(), &sample);
    (new.definition, new.definition_text) = (Digest::of(&long), long.as_str().into());
    let id = new.id.clone();
    wait(store.create(new)).expect("a new run is kept");
    sample = sample.moved("agent", &long);
    append(&*store, &id, 1, &sample).expect("it is the next one");
    assert_eq!(wait(store.load(&id)).expect("it was created").run, sample.run);
    assert_eq!(all_records(&*store, &id)[1], record(2, &sample));
    let listed = wait(store.list(ListFilter::default())).expect("it lists");
    assert_eq!((listed[0].description.as_deref(), &listed[0].step), (Some(long.as_str()), &long));
    assert_eq!(&*wait(store.definition(&Digest::of(&long))).expect("it was kept"), long);
}

pub(super) fn any_text_is_kept(shelf: &Shelf) {
    let store = shelf.store();
    let text = "naïve \u{0} 日本 \u{202e}עברית\u{202c} 🏳️‍🌈 '; DROP TABLE runs; -- \"\\ \r\n\t\u{7f}\u{feff}";
    let mut new = new_run(&RunId::random(), &Sample::opened(text));
    (new.definition, new.definition_text) = (Digest::of(text), text.into());
    let id = new.id.clone();
    wait(store.create(new)).expect("a new run is kept");
    let sample = Sample::opened(text).moved(text, text);
    append(&*store, &id, 1, &sample).expect("it is the next one");
    assert_eq!(wait(store.load(&id)).expect("it was created").run, sample.run);
    assert_eq!(all_records(&*store, &id)[1], record(2, &sample));
    let listed = wait(store.list(ListFilter::default())).expect("it lists");
    assert_eq!((listed[0].description.as_deref(), listed[0].step.as_str()), (Some(text), text));
    assert_eq!(&*wait(store.definition(&Digest::of(text))).expect("it was kept"), text);
}

pub(super) fn unknown_names_are_not_found(shelf: &Shelf) {
    let store = shelf.store();
    for _ in ["an empty store", "a store with another run"] {
        let id = RunId::random();
        let unknown = StoreError::NotFound { what: format!("run `{id}`") };
        assert_eq!(wait(store.load(&id)), Err(unknown.clone()));
        assert_eq!(wait(store.records(&id, 0, 1)), Err(unknown.clone()));
        assert_eq!(append(&*store, &id, 1, &Sample::opened("").moved("agent", "a")), Err(unknown));
        let digest = Digest::of("none");
        let unknown = StoreError::NotFound { what: format!("definition `{digest}`") };
        assert_eq!(wait(store.definition(&digest)), Err(unknown));
        create(&*store, &Sample::opened("another"));
    }
}

/// A run with secrets: all of it comes back, and lists show what may be shown.
pub(super) fn what_has_a_cover_is_kept_whole(shelf: &Shelf) {
    let mut sample = Sample::opened("the word is xyzzy");
    let id = RunId::random();
    let cover = Opening { description: Some("the word is hidden".to_owned()), ..sample.run.opening.clone() };
    wait(shelf.store().create(NewRun { cover: Some(cover), ..new_run(&id, &sample) })).expect("a new run is kept");
    let mut told = vec![record(1, &sample)];
    for seq in 1..4 {
        sample = sample.moved("agent", &format!("xyzzy-{seq}"));
        append(&*shelf.store(), &id, seq, &sample).expect("it is the next one");
        told.push(record(seq + 1, &sample));
    }
    assert_eq!(append(&*shelf.store(), &id, 1, &sample), Err(StoreError::Conflict { actual_seq: 4 }));
    assert_eq!(wait(shelf.store().load(&id)).expect("it was created").run, sample.run);
    assert_eq!(all_records(&*shelf.store(), &id), told);
    let listed = wait(shelf.store().list(ListFilter::default())).expect("it lists");
    assert_eq!((listed[0].description.as_deref(), listed[0].seq), (Some("the word is hidden"), 4));
}

pub(super) fn many_runs_are_kept_apart(shelf: &Shelf) {
    let made: Vec<(RunId, Run)> = thread::scope(|scope| {
        let workers = [0, 1, 2, 3].map(|worker| {
            let store = shelf.store();
            scope.spawn(move || {
                let one = |number| {
                    let sample = Sample::opened(&format!("run {number} of {worker}"));
                    let id = create(&*store, &sample);
                    let sample = sample.moved("agent", &format!("step-{number}"));
                    append(&*store, &id, 1, &sample).expect("it is the next one");
                    (id, sample.run)
                };
                (0..75).map(one).collect::<Vec<_>>()
            })
        });
        workers.into_iter().flat_map(|worker| worker.join().expect("nobody panics")).collect()
    });
    let store = shelf.store();
    for (id, run) in &made {
        assert_eq!(wait(store.load(id)).expect("it was created").run, *run);
    }
    let listed: std::collections::BTreeSet<RunId> =
        listed(&*store, ListFilter { open_only: true, limit: usize::MAX }).into_iter().collect();
    assert_eq!(listed, made.into_iter().map(|(id, _)| id).collect());
}

pub(super) fn the_snapshot_is_the_fold_of_the_records(shelf: &Shelf) {
    let store = shelf.store();
    let mut sample = Sample::opened("mend the door");
    let id = create(&*store, &sample);
    let (root, a) = (FramePath::default(), FramePath(vec!["a".into()]));
    let broken = Verdict::Broken { reason: "exit code 1".into(), output: "…".into() };
    let feedback = Feedback { from: Some("gate".into()), failures: Vec::new(), note: Some("it creaks".into()) };
    let moved = |frame: &FramePath, place| Change::Moved { frame: frame.clone(), place, feedback: None };
    let branched = |branch: &str, state| Change::Branched { frame: root.clone(), branch: branch.into(), state };
    let held = Branch { name: "b".into(), state: BranchState::Held, data: None };
    let open_b = branch("b", waiting("b")).state;
    let story = [
        vec![moved(&root, checking("gate"))],
        vec![
            Change::Settled { frame: root.clone(), check: "tests".into(), verdict: broken },
            Change::Retried { frame: root.clone(), gate: "gate".into(), used: 1, budget: 3 },
            Change::Moved { frame: root.clone(), place: waiting("fix"), feedback: Some(feedback) },
        ],
        vec![Change::Refilled { frame: root.clone(), gate: None }, moved(&root, Place::Ready { node: "fix".into() })],
        vec![moved(&root, forked(vec![branch("a", checking("a")), held]))],
        vec![Change::Settled { frame: a.clone(), check: "lint".into(), verdict: Verdict::Held }],
        vec![moved(&a, waiting("a2")), branched("b", open_b)],
        vec![branched("a", BranchState::Done(Outcome::passed())), branched("b", BranchState::Cancelled)],
        vec![moved(&root, end(EndResult::Blocked))],
    ];
    for (seq, changes) in (1..).zip(story) {
        changes.iter().for_each(|change| sample.run.apply(change));
        sample.changes = changes;
        append(&*store, &id, seq, &sample).expect("it is the next one");
        let records = all_records(&*shelf.store(), &id);
        let fold = Run::fold(records.iter().flat_map(|record| &record.changes)).expect("it begins with `Opened`");
        assert_eq!(fold, sample.run);
        assert_eq!(wait(shelf.store().load(&id)).expect("it was created").run, fold);
    }
}

/// A fork in a subflow in a fork, as deep as validation lets subflows nest.
pub(super) fn deep_runs_are_kept(shelf: &Shelf) {
    let store = shelf.store();
    let within = |inner: Place| {
        let Branch { state: BranchState::Open(frame), .. } = branch("sub", inner) else { panic!("it is open") };
        Place::Within { node: "sub".into(), frame: Box::new(frame) }
    };
    let levels = 0..=portolan_core::validate::MAX_SUBFLOW_DEPTH;
    let deep = levels.fold(waiting("ask"), |inner, _| forked(vec![branch("a", within(inner))]));
    let sample = Sample::opened("mend the door").placed("agent", deep);
    let id = create(&*store, &Sample::opened("mend the door"));
    append(&*store, &id, 1, &sample).expect("it is the next one");
    assert_eq!(wait(store.load(&id)).expect("it was created").run, sample.run);
    assert_eq!(all_records(&*store, &id)[1], record(2, &sample));
}

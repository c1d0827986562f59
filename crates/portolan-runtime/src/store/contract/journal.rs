//! The guarantees for runs, their records and their lists.

use std::collections::BTreeSet;
use std::sync::Arc;

use portolan_core::graph::EndResult;
use portolan_core::run::{
    Actor, Branch, BranchState, Change, Feedback, Frame, FramePath, Opening, Place, Run, Verdict, WaitingFor,
};
use portolan_core::value::{Outcome, Timestamp};
use tokio::sync::Barrier;

use super::sample::Sample;
use super::{DEFINITION, Subject, all, all_records, append, create, new_run, record};
use crate::store::{Digest, ListFilter, NewRun, Record, RunId, RunStatus, Store, StoreError};

pub(super) async fn a_created_run_is_loaded(subject: &Subject) {
    let sample = Sample::opened("mend the door");
    let id = create(&*subject.store(), &sample).await;
    let stored = subject.store().load(&id).await.expect("it was created");
    assert_eq!((&stored.id, stored.seq, &stored.run), (&id, 1, &sample.run));
    assert_eq!(stored.definition, Digest::of(DEFINITION));
    assert_eq!((stored.opened_at, stored.updated_at), (sample.event.at, sample.event.at));
    assert_eq!(all_records(&*subject.store(), &id).await, [record(1, &sample)]);
}

/// With a cover and without: sealed runs are sealed record by record.
pub(super) async fn a_run_begins_with_several_records(subject: &Subject) {
    for is_covered in [false, true] {
        let store = subject.store();
        let first = Sample::opened("mend the door");
        let second = first.clone().moved("agent", "a");
        let third = second.clone().moved("agent", "b");
        let told: Vec<Record> =
            [&first, &second, &third].into_iter().zip(1..).map(|(at, seq)| record(seq, at)).collect();
        let id = RunId::random();
        let cover = is_covered.then(|| first.run.opening.clone());
        let new = NewRun { records: told.clone(), run: third.run.clone(), cover, ..new_run(&id, &first) };
        store.create(new).await.expect("a new run is kept");
        let stored = store.load(&id).await.expect("it was created");
        assert_eq!((stored.seq, &stored.run, stored.opened_at), (3, &third.run, first.event.at));
        let fourth = third.moved("agent", "c");
        append(&*store, &id, 3, &fourth).await.expect("it is the next one");
        assert_eq!(all_records(&*store, &id).await, [told, vec![record(4, &fourth)]].concat());
    }
}

pub(super) async fn appends_come_in_order(subject: &Subject) {
    let store = subject.store();
    let mut sample = Sample::opened("mend the door");
    let id = create(&*store, &sample).await;
    let mut told = vec![record(1, &sample)];
    for seq in 1..=20 {
        sample = sample.moved("agent", &format!("step-{seq}"));
        sample.event.at = Timestamp(1_800_000_000_000 + i64::try_from(seq).expect("it is small"));
        append(&*store, &id, seq, &sample).await.expect("it is the next one");
        told.push(record(seq + 1, &sample));
        let stored = store.load(&id).await.expect("it was created");
        assert_eq!((stored.seq, stored.updated_at, &stored.run), (seq + 1, sample.event.at, &sample.run));
    }
    assert_eq!(all_records(&*subject.store(), &id).await, told);
}

pub(super) async fn a_conflict_leaves_nothing(subject: &Subject) {
    let store = subject.store();
    let id = create(&*store, &Sample::opened("mend the door")).await;
    let first = Sample::opened("mend the door").moved("first", "a");
    append(&*store, &id, 1, &first).await.expect("it is the next one");
    let late = Sample::opened("mend the door").moved("late", "b");
    for (expected, actual_seq) in [(1, 2), (0, 2), (2_000, 2), (u64::from(u32::MAX), 2)] {
        assert_eq!(append(&*store, &id, expected, &late).await, Err(StoreError::Conflict { actual_seq }));
    }
    assert_eq!(store.load(&id).await.expect("it was created").run, first.run);
    assert_eq!(all_records(&*store, &id).await.len(), 2);
    append(&*store, &id, 2, &late).await.expect("the loser may decide again");
}

pub(super) async fn of_two_writers_exactly_one_wins(subject: &Subject) {
    let id = create(&*subject.store(), &Sample::opened("mend the door")).await;
    let stores = [subject.store(), subject.store()];
    for seq in 1..=25 {
        let line = Arc::new(Barrier::new(stores.len()));
        let racers = ["ann", "bob"].into_iter().zip(stores.clone()).map(|(name, store)| {
            let (line, id) = (Arc::clone(&line), id.clone());
            tokio::spawn(async move {
                let sample = Sample::opened("mend the door").moved(name, name);
                line.wait().await;
                (name, append(&*store, &id, seq, &sample).await)
            })
        });
        let outcomes = all(racers.collect()).await;
        let won: Vec<&str> = outcomes.iter().filter(|(_, won)| won.is_ok()).map(|(name, _)| *name).collect();
        let lost = outcomes.iter().filter(|(_, lost)| *lost == Err(StoreError::Conflict { actual_seq: seq + 1 }));
        assert_eq!((won.len(), lost.count()), (1, 1), "{outcomes:?}");
        let last = all_records(&*stores[0], &id).await.pop().expect("there are some");
        assert_eq!((last.seq, last.event.by), (seq + 1, Actor::Agent(won[0].to_owned())));
    }
}

pub(super) async fn of_many_callers_exactly_one_wins(subject: &Subject) {
    let store = subject.store();
    let id = create(&*store, &Sample::opened("mend the door")).await;
    let callers = (0..64).map(|caller| {
        let (store, id) = (Arc::clone(&store), id.clone());
        tokio::spawn(async move {
            let sample = Sample::opened("mend the door").moved(&format!("caller {caller}"), "a");
            append(&*store, &id, 1, &sample).await
        })
    });
    let outcomes = all(callers.collect()).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let conflict = Err(StoreError::Conflict { actual_seq: 2 });
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == conflict).count(), 63);
    assert_eq!(all_records(&*store, &id).await.len(), 2);
}

pub(super) async fn a_handle_is_taken_once(subject: &Subject) {
    let store = subject.store();
    let sample = Sample::opened("the first");
    let id = create(&*store, &sample).await;
    assert_eq!(store.create(new_run(&id, &Sample::opened("the second"))).await, Err(StoreError::Taken));
    assert_eq!(store.load(&id).await.expect("it was created").run, sample.run);
    assert_eq!(all_records(&*store, &id).await.len(), 1);
}

async fn listed(store: &dyn Store, filter: ListFilter) -> Vec<RunId> {
    store.list(filter).await.expect("a list can always be had").into_iter().map(|line| line.id).collect()
}

pub(super) async fn the_run_that_moved_last_is_listed_first(subject: &Subject) {
    let store = subject.store();
    assert_eq!(listed(&*store, ListFilter::default()).await, []);
    let mut ids = Vec::new();
    for at in [5, 7, 5] {
        let mut sample = Sample::opened("mend the door");
        sample.event.at = Timestamp(at);
        ids.push(create(&*store, &sample).await);
    }
    let [a, b, c] = &ids[..] else { panic!("there are three") };
    assert_eq!(listed(&*store, ListFilter::default()).await, [b.clone(), c.clone(), a.clone()]);
    let mut moved = Sample::opened("mend the door").moved("agent", "a");
    moved.event.at = Timestamp(8);
    append(&*store, a, 1, &moved).await.expect("it is the next one");
    assert_eq!(listed(&*store, ListFilter::default()).await, [a.clone(), b.clone(), c.clone()]);
    assert_eq!(listed(&*store, ListFilter { limit: 2, ..ListFilter::default() }).await, [a.clone(), b.clone()]);
    assert_eq!(listed(&*store, ListFilter { limit: 0, ..ListFilter::default() }).await, []);
}

pub(super) async fn only_open_runs_are_listed_on_demand(subject: &Subject) {
    let store = subject.store();
    let open = create(&*store, &Sample::opened("open")).await;
    let over = create(&*store, &Sample::opened("over")).await;
    let ended = Sample::opened("over").placed("agent", end(EndResult::Success));
    append(&*store, &over, 1, &ended).await.expect("it is the next one");
    assert_eq!(listed(&*store, ListFilter { open_only: true, limit: 10 }).await, std::slice::from_ref(&open));
    assert_eq!(listed(&*store, ListFilter { open_only: false, limit: 10 }).await, [over, open]);
}

fn end(result: EndResult) -> Place {
    Place::Ended { node: "done".into(), result }
}

fn ended(result: &str) -> RunStatus {
    RunStatus::Ended { result: result.to_owned() }
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

pub(super) async fn a_list_says_how_each_run_stands(subject: &Subject) {
    let store = subject.store();
    let ready = |node: &str| branch(node, Place::Ready { node: node.into() });
    let cases = [
        (Place::Ready { node: "work".into() }, RunStatus::Working, "work"),
        (checking("gate"), RunStatus::Checking, "gate"),
        (waiting("ask"), RunStatus::Waiting, "ask"),
        (Place::Gathering { node: "fork".into() }, RunStatus::Working, "fork"),
        (forked(vec![ready("a"), branch("b", waiting("b"))]), RunStatus::Waiting, "a, b"),
        (forked(vec![ready("a"), branch("b", checking("b2"))]), RunStatus::Working, "a, b2"),
        (end(EndResult::Success), ended("success"), "done"),
        (end(EndResult::Cancelled), ended("cancelled"), "done"),
        (Place::Arrived { node: "join".into(), outcome: Outcome::failed() }, ended("failed"), "join"),
    ];
    for (place, status, step) in cases {
        let sample = Sample::opened("mend the door");
        let id = create(&*store, &sample).await;
        let mut sample = sample.placed("agent", place);
        sample.event.at = Timestamp(i64::MAX);
        append(&*store, &id, 1, &sample).await.expect("it is the next one");
        let [line] = &store.list(ListFilter { limit: 1, ..ListFilter::default() }).await.expect("it lists")[..] else {
            panic!("there is a run")
        };
        assert_eq!((&line.id, &line.status, line.step.as_str(), line.seq), (&id, &status, step, 2));
        assert_eq!((line.workflow.as_str(), line.description.as_deref()), ("sample", Some("mend the door")));
    }
}

pub(super) async fn records_come_in_pages(subject: &Subject) {
    let store = subject.store();
    let mut sample = Sample::opened("mend the door");
    let id = create(&*store, &sample).await;
    for seq in 1..10 {
        sample = sample.moved("agent", "again");
        append(&*store, &id, seq, &sample).await.expect("it is the next one");
    }
    let page = async |after, limit| {
        let page = store.records(&id, after, limit).await.expect("the run is known");
        page.iter().map(|record| record.seq).collect::<Vec<u64>>()
    };
    assert_eq!(page(0, 4).await, [1, 2, 3, 4]);
    assert_eq!(page(4, 4).await, [5, 6, 7, 8]);
    assert_eq!(page(8, 4).await, [9, 10]);
    for (after, limit) in [(10, 4), (u64::MAX, usize::MAX), (0, 0)] {
        assert_eq!(page(after, limit).await, Vec::<u64>::new());
    }
}

pub(super) async fn long_texts_are_kept(subject: &Subject) {
    let store = subject.store();
    let long = "a long story ".repeat(80_000);
    let mut sample = Sample::opened(&long);
    let mut new = new_run(&RunId::random(), &sample);
    (new.definition, new.definition_text) = (Digest::of(&long), long.as_str().into());
    let id = new.id.clone();
    store.create(new).await.expect("a new run is kept");
    sample = sample.moved("agent", &long);
    append(&*store, &id, 1, &sample).await.expect("it is the next one");
    assert_eq!(store.load(&id).await.expect("it was created").run, sample.run);
    assert_eq!(all_records(&*store, &id).await[1], record(2, &sample));
    let listed = store.list(ListFilter::default()).await.expect("it lists");
    assert_eq!((listed[0].description.as_deref(), &listed[0].step), (Some(long.as_str()), &long));
    assert_eq!(&*store.definition(&Digest::of(&long)).await.expect("it was kept"), long);
}

pub(super) async fn any_text_is_kept(subject: &Subject) {
    let store = subject.store();
    let text = "naïve \u{0} 日本 \u{202e}עברית\u{202c} 🏳️‍🌈 '; DROP TABLE runs; -- \"\\ \r\n\t\u{7f}\u{feff}";
    let mut new = new_run(&RunId::random(), &Sample::opened(text));
    (new.definition, new.definition_text) = (Digest::of(text), text.into());
    let id = new.id.clone();
    store.create(new).await.expect("a new run is kept");
    let sample = Sample::opened(text).moved(text, text);
    append(&*store, &id, 1, &sample).await.expect("it is the next one");
    assert_eq!(store.load(&id).await.expect("it was created").run, sample.run);
    assert_eq!(all_records(&*store, &id).await[1], record(2, &sample));
    let listed = store.list(ListFilter::default()).await.expect("it lists");
    assert_eq!((listed[0].description.as_deref(), listed[0].step.as_str()), (Some(text), text));
    assert_eq!(&*store.definition(&Digest::of(text)).await.expect("it was kept"), text);
}

pub(super) async fn unknown_names_are_not_found(subject: &Subject) {
    let store = subject.store();
    for _ in ["an empty store", "a store with another run"] {
        let id = RunId::random();
        let unknown = StoreError::NotFound { what: format!("run `{id}`") };
        assert_eq!(store.load(&id).await, Err(unknown.clone()));
        assert_eq!(store.records(&id, 0, 1).await, Err(unknown.clone()));
        assert_eq!(append(&*store, &id, 1, &Sample::opened("").moved("agent", "a")).await, Err(unknown.clone()));
        assert_eq!(store.lease(&id).await.map(drop), Err(unknown));
        let digest = Digest::of("none");
        let unknown = StoreError::NotFound { what: format!("definition `{digest}`") };
        assert_eq!(store.definition(&digest).await, Err(unknown));
        create(&*store, &Sample::opened("another")).await;
    }
}

/// A run with secrets: all of it is restored, and lists show only the cover.
pub(super) async fn what_has_a_cover_is_kept_whole(subject: &Subject) {
    let mut sample = Sample::opened("the word is xyzzy");
    let id = RunId::random();
    let cover = Opening { description: Some("the word is hidden".to_owned()), ..sample.run.opening.clone() };
    subject.store().create(NewRun { cover: Some(cover), ..new_run(&id, &sample) }).await.expect("a new run is kept");
    let mut told = vec![record(1, &sample)];
    for seq in 1..4 {
        sample = sample.moved("agent", &format!("xyzzy-{seq}"));
        append(&*subject.store(), &id, seq, &sample).await.expect("it is the next one");
        told.push(record(seq + 1, &sample));
    }
    assert_eq!(append(&*subject.store(), &id, 1, &sample).await, Err(StoreError::Conflict { actual_seq: 4 }));
    assert_eq!(subject.store().load(&id).await.expect("it was created").run, sample.run);
    assert_eq!(all_records(&*subject.store(), &id).await, told);
    let listed = subject.store().list(ListFilter::default()).await.expect("it lists");
    assert_eq!((listed[0].description.as_deref(), listed[0].seq), (Some("the word is hidden"), 4));
}

pub(super) async fn many_runs_are_kept_apart(subject: &Subject) {
    let workers = [0, 1, 2, 3].map(|worker| {
        let store = subject.store();
        tokio::spawn(async move {
            let mut made = Vec::new();
            for number in 0..75 {
                let sample = Sample::opened(&format!("run {number} of {worker}"));
                let id = create(&*store, &sample).await;
                let sample = sample.moved("agent", &format!("step-{number}"));
                append(&*store, &id, 1, &sample).await.expect("it is the next one");
                made.push((id, sample.run));
            }
            made
        })
    });
    let made: Vec<(RunId, Run)> = all(workers.into()).await.into_iter().flatten().collect();
    let store = subject.store();
    for (id, run) in &made {
        assert_eq!(store.load(id).await.expect("it was created").run, *run);
    }
    let listed: BTreeSet<RunId> =
        listed(&*store, ListFilter { open_only: true, limit: usize::MAX }).await.into_iter().collect();
    assert_eq!(listed, made.into_iter().map(|(id, _)| id).collect());
}

pub(super) async fn the_snapshot_is_the_fold_of_the_records(subject: &Subject) {
    let store = subject.store();
    let mut sample = Sample::opened("mend the door");
    let id = create(&*store, &sample).await;
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
        append(&*store, &id, seq, &sample).await.expect("it is the next one");
        let records = all_records(&*subject.store(), &id).await;
        let fold = Run::fold(records.iter().flat_map(|record| &record.changes)).expect("it begins with `Opened`");
        assert_eq!(fold, sample.run);
        assert_eq!(subject.store().load(&id).await.expect("it was created").run, fold);
    }
}

/// A fork in a subflow in a fork, as deep as validation lets subflows nest.
pub(super) async fn deep_runs_are_kept(subject: &Subject) {
    let store = subject.store();
    let within = |inner: Place| {
        let Branch { state: BranchState::Open(frame), .. } = branch("sub", inner) else { panic!("it is open") };
        Place::Within { node: "sub".into(), frame: Box::new(frame) }
    };
    let levels = 0..=portolan_core::validate::MAX_SUBFLOW_DEPTH;
    let deep = levels.fold(waiting("ask"), |inner, _| forked(vec![branch("a", within(inner))]));
    let sample = Sample::opened("mend the door").placed("agent", deep);
    let id = create(&*store, &Sample::opened("mend the door")).await;
    append(&*store, &id, 1, &sample).await.expect("it is the next one");
    assert_eq!(store.load(&id).await.expect("it was created").run, sample.run);
    assert_eq!(all_records(&*store, &id).await[1], record(2, &sample));
}

/// A store without a version returns `None` each time.
pub(super) async fn what_was_kept_shows_by_the_version(subject: &Subject) {
    let (looks, writes) = (subject.store(), subject.store());
    let told = async || looks.version().await.expect("it answers");
    let Some(mut last) = told().await else { return assert_eq!(told().await, None) };
    let mut sample = Sample::opened("mend the door");
    let id = create(&*writes, &sample).await;
    for seq in 1..=3 {
        let before = std::mem::replace(&mut last, told().await.expect("it could tell"));
        assert_ne!(last, before, "something was kept");
        // It comes to rest where nothing is kept: what follows a write may count, too.
        loop {
            let now = told().await.expect("it could tell");
            if std::mem::replace(&mut last, now) == now {
                break;
            }
        }
        sample = sample.moved("agent", &format!("step-{seq}"));
        append(&*writes, &id, seq, &sample).await.expect("it is the next one");
    }
}

//! Tests of the engine as stories: a workflow, the events, and the positions after each.

mod activities;
mod checks;
mod forks;
mod mixed;
mod notation;
mod openings;
mod originals;
mod people;
mod phases;
mod refusals;
mod retries;
mod script;
mod states;
mod subflows;

use std::cell::RefCell;

use expect_test::Expect;

use super::{decide, fits, open};
use crate::graph::Workflow;
use crate::run::{Change, EffectResult, Event, EventKind, Run};

/// Checks the positions and changes of a run of `workflow` (see [`notation`]) after `moves` (see [`script`]).
///
/// Every story runs three times: without a restart, with a restart from the run's JSON before every event, and with a
/// restart from the journal's JSON before every event. All three results must be equal.
#[track_caller]
fn story(workflow: &str, moves: &str, told: Expect) {
    let workflow = notation::workflow(workflow);
    let straight = tell(&workflow, moves, |run, _| run);
    let reread = tell(&workflow, moves, |run, _| json(&run));
    let folded = tell(&workflow, moves, reading());
    assert_eq!(straight, reread, "a run read back from JSON goes on as it would have");
    assert_eq!(straight, folded, "a run folded from its journal goes on as it would have");
    told.assert_eq(&straight);
}

/// Returns the restart of a process that has the journal alone. Each change is read back from JSON once: to read all of
/// them at each event would take most of the time of a long story.
fn reading() -> impl Fn(Run, &Vec<Change>) -> Run {
    let read = RefCell::new(Vec::new());
    move |_, journal| {
        let mut read = read.borrow_mut();
        let new = journal[read.len()..].iter().map(json);
        read.extend(new);
        Run::fold(&*read).expect("a journal begins with `Opened`")
    }
}

/// Runs a story once. `restart` returns the run that a restarted process has.
fn tell(workflow: &Workflow, moves: &str, restart: impl Fn(Run, &Vec<Change>) -> Run) -> String {
    let (opening, moves) = script::opening(workflow, moves);
    let mut journal = match open(workflow, &opening) {
        Ok(changes) => changes,
        Err(rejection) => return format!("refused {}: {rejection}\n", rejection.why.code()),
    };
    let mut run = Run::fold(&journal).expect("opening a run opens it");
    let mut script = script::Script::default();
    let mut told = Vec::new();
    if !moves.contains(&"queued") && opening.at.is_none() {
        let begun = script::event(EventKind::Begun { revision: None });
        step(workflow, &mut run, &mut journal, &begun).expect("a run can begin");
    }
    let mut notes = Vec::new();
    pass(workflow, &mut run, &mut journal, &mut notes, &restart);
    told.push((String::new(), script::positions(&run), String::new()));
    for word in moves.into_iter().filter(|word| *word != "queued") {
        run = restart(run, &journal);
        let event: Event = json(&script.event(workflow, &run, word));
        let notes = match step(workflow, &mut run, &mut journal, &event) {
            Ok(mut changes) => {
                pass(workflow, &mut run, &mut journal, &mut changes, &restart);
                script::notes(&changes)
            }
            Err(refusal) => refusal,
        };
        told.push((word.to_owned(), script::positions(&run), notes));
    }
    script::table(&told)
}

/// Executes automatic nodes, with a restart before each.
fn pass(
    workflow: &Workflow,
    run: &mut Run,
    journal: &mut Vec<Change>,
    changes: &mut Vec<Change>,
    restart: impl Fn(Run, &Vec<Change>) -> Run,
) {
    while let Some(effect) = run.passing() {
        *run = restart(run.clone(), journal);
        let event = json(&script::event(effect.settled(EffectResult::Due, 0)));
        changes.extend(step(workflow, run, journal, &event).expect("what is pending is accepted"));
    }
}

/// Decides and applies one event; `Err` has the text of a rejection.
fn step(workflow: &Workflow, run: &mut Run, journal: &mut Vec<Change>, event: &Event) -> Result<Vec<Change>, String> {
    let before = run.clone();
    let decided = decide(workflow, run, event);
    assert_eq!(*run, before, "deciding changes nothing");
    let changes = decided.map_err(|rejection| {
        let accepted: Vec<&str> = rejection.accepted.iter().map(|outcome| outcome.as_str()).collect();
        let accepted = if accepted.is_empty() { String::new() } else { format!(" [{}]", accepted.join(", ")) };
        format!("refused {}: {rejection}{accepted}", rejection.why.code())
    })?;
    for change in &changes {
        run.apply(change);
    }
    journal.extend(changes.iter().cloned());
    assert_eq!(run.revision, before.revision + changes.len() as u64, "the revision counts the changes");
    assert_eq!(Run::fold(journal.iter()).as_ref(), Some(&*run), "the run is the fold of its journal");
    assert_eq!(fits(workflow, run), Ok(()), "a run fits its workflow");
    Ok(changes)
}

/// Converts a value to JSON and back.
fn json<T: serde::Serialize + serde::de::DeserializeOwned>(value: &T) -> T {
    let text = serde_json::to_string(value).expect("it can be written");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("it can be read back: {error}: {text}"))
}

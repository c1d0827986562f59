//! A run at any moment of its past, and a run that begins with the past of another.
//!
//! Nothing is done again for that: the journal is folded. So that not all of it need be for each moment, the fold is kept
//! every so many records.

use std::sync::Arc;

use portolan_core::engine;
use portolan_core::present::{Overlay, Redaction, Trail, context, focus};
use portolan_core::run::{Branches, Change, Event, EventKind, FramePath, Opening, Origin, Place, Run};
use portolan_core::value::Timestamp;
use serde_json::Value;

use super::hold::{Carrier, Held};
use super::request::Grip;
use super::{Caller, Service};
use crate::carrier::Address;
use crate::definition::Definition;
use crate::error::{ErrorKind, ServiceError};
use crate::store::{Record, RunId, StoreError, store_error};
use crate::view::View;

/// How many records lie between two folds that are kept.
const APART: usize = 250;
/// How many records are read at once.
const PAGE: usize = 1_000;

/// The past of a run, as far as it was read.
pub struct Past {
    address: Address,
    definition: Arc<Definition>,
    hidden: Redaction,
    /// After so many records, in order; the first is before all.
    folds: Vec<(u64, Trail)>,
    latest: Trail,
    head: u64,
}

impl Past {
    /// The number of the last record that was read.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// The definition that the run is held to.
    pub fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }

    /// What of the run is not to be shown.
    pub fn hidden(&self) -> &Redaction {
        &self.hidden
    }

    /// The run as it is.
    pub fn trail(&self) -> &Trail {
        &self.latest
    }

    /// From where on the journal is read for the last visits of a node up to the record `seq`: so many records lie before,
    /// and this was the run. All of a long journal need not be read for a few of them.
    pub fn before_visits(&self, node: &str, seq: u64, most: u32) -> Before {
        let folds = || self.folds.iter().rev().filter(|(fold, _)| *fold <= seq);
        let visited = folds().next().map_or(0, |(_, trail)| trail.visits(node));
        let lies_before = |trail: &Trail| trail.visits(node) == 0 || trail.visits(node).saturating_add(most) <= visited;
        let before = folds().find(|(fold, trail)| *fold < seq && lies_before(trail));
        let told =
            |(fold, trail): &(u64, Trail)| Before { seq: *fold, run: trail.run().cloned(), visits: trail.visits(node) };
        before.map(told).unwrap_or_default()
    }

    fn take(&mut self, records: &[Record]) {
        self.hidden.learn_from(records.iter().map(|record| (&record.event, record.changes.as_slice())));
        for record in records {
            if record.seq as usize % APART == 1 && self.folds.last().is_none_or(|(seq, _)| *seq < self.head) {
                self.folds.push((self.head, self.latest.clone()));
            }
            self.latest.take(&record.event, &record.changes);
            self.head = record.seq;
        }
    }
}

/// What lies before the records that are read.
#[derive(Clone, Debug, Default)]
pub struct Before {
    /// The number of the last of these records.
    pub seq: u64,
    /// The run after it; nothing where there is none.
    pub run: Option<Run>,
    /// How often the node was visited by then.
    pub visits: u32,
}

/// A run at one moment.
pub struct Moment {
    /// After which record.
    pub seq: u64,
    /// When that happened.
    pub at: Timestamp,
    /// The situation, as whoever was at it saw it.
    pub view: View,
    /// What had happened, on the drawing.
    pub overlay: Overlay,
    /// What the nodes of each frame had come to, and its variables; the root's first.
    pub values: Vec<(String, Value)>,
}

impl Service {
    /// The past of a run.
    ///
    /// # Errors
    /// The run is not known, or its journal or its definition cannot be read.
    pub async fn past(&self, address: &Address) -> Result<Past, ServiceError> {
        let held = self.peek(address).await?;
        let hidden = self.hidden_of(&held);
        let mut past = Past {
            address: address.clone(),
            definition: held.definition,
            hidden,
            folds: vec![(0, Trail::default())],
            latest: Trail::default(),
            head: 0,
        };
        self.read_on(&mut past).await?;
        Ok(past)
    }

    /// Reads what has happened since.
    ///
    /// # Errors
    /// The journal cannot be read.
    pub async fn read_on(&self, past: &mut Past) -> Result<Vec<Record>, ServiceError> {
        let mut news = Vec::new();
        loop {
            let page = self.page(&past.address, past.head, PAGE).await?;
            if page.is_empty() {
                return Ok(news);
            }
            past.take(&page);
            news.extend(page);
        }
    }

    /// Up to `limit` records of a run, in order, from the one after `after`.
    ///
    /// # Errors
    /// The run is not known, or its journal cannot be read.
    pub async fn page(&self, address: &Address, after: u64, limit: usize) -> Result<Vec<Record>, ServiceError> {
        match address.handle() {
            Some(id) => self.store().records(id, after, limit).await.map_err(store_error),
            None => {
                let records = self.records(address).await?;
                Ok(records.into_iter().filter(|record| record.seq > after).take(limit).collect())
            }
        }
    }

    /// A run as it was after the record `seq`.
    ///
    /// # Errors
    /// There is no such record, or it cannot be read.
    pub async fn moment(&self, past: &Past, seq: u64, caller: &Caller) -> Result<Moment, ServiceError> {
        let (trail, at) = self.trail_at(past, seq).await?;
        let overlay = trail.overlay(&past.definition.workflow);
        let run = trail.run().expect("a run begins with its first record").clone();
        let values = seen(&past.definition, &run, &past.hidden);
        let mut held = self.peek(&past.address).await?;
        (held.run, held.seq) = (run, seq);
        let view = self.present(&Grip::of(held, None), None, caller)?;
        Ok(Moment { seq, at, view, overlay, values })
    }

    async fn trail_at(&self, past: &Past, seq: u64) -> Result<(Trail, Timestamp), ServiceError> {
        let before = past.folds.iter().rev().find(|(fold, _)| *fold < seq);
        let Some((fold, trail)) = before.filter(|_| seq <= past.head) else { return Err(no_record(past, seq)) };
        let (mut trail, mut at) = (trail.clone(), Timestamp(0));
        let records = self.page(&past.address, *fold, usize::try_from(seq - fold).unwrap_or(usize::MAX)).await?;
        for record in &records {
            trail.take(&record.event, &record.changes);
            at = record.event.at;
        }
        Ok((trail, at))
    }

    /// Begins a run with the past of another, up to the record `seq`: in the store, with its origin on record. The other
    /// is not touched.
    ///
    /// What persons said up to there counts in the fork, too: so only a person may fork a run in which one has. `values` are
    /// given to variables first, by the rules of the step that the run is at; in the run of a function also to nodes, which
    /// then count as having come to them.
    ///
    /// # Errors
    /// There is no such record; a person is needed; the run was over by then, or was or had a branch that is a task of its
    /// own; the values are not to be given there; or it cannot be kept.
    pub async fn fork(
        &self,
        address: &Address,
        seq: u64,
        values: Option<Arc<Value>>,
        caller: &Caller,
    ) -> Result<View, ServiceError> {
        let past = self.past(address).await?;
        if seq == 0 || seq > past.head {
            return Err(no_record(&past, seq));
        }
        let origin = Origin { run: address.to_string(), seq };
        let mut records = self.page(address, 0, usize::try_from(seq).unwrap_or(usize::MAX)).await?;
        if !caller.is_person() && records.iter().any(|record| is_word_of_person(&record.event)) {
            return Err(needs_person());
        }
        begin_anew(&mut records[0], &origin)?;
        let run = Run::fold(records.iter().flat_map(|record| &record.changes));
        let mut run = run.ok_or_else(|| no_record(&past, seq))?;
        may_be_forked(&run)?;
        if let Some(values) = values {
            let what = EventKind::Noted { frame: focus(&run).0, values };
            let event = Event { at: self.now(), by: caller.by.clone(), what };
            let changes = engine::decide(&past.definition.workflow, &run, &event).map_err(ServiceError::from)?;
            changes.iter().for_each(|change| run.apply(change));
            records.push(Record { seq: seq + 1, event, changes });
        }
        let seq = seq.max(records.len() as u64);
        self.hooks().may_begin(&past.definition.workflow, &run).await?;
        let id = loop {
            let id = RunId::random();
            match self.create_as(&id, &past.definition, &run, records.clone()).await {
                Ok(()) => break id,
                Err(StoreError::Taken) => {}
                Err(error) => return Err(store_error(error)),
            }
        };
        let mut held = Held { definition: past.definition.clone(), run, seq, carrier: Carrier::Stored(id) };
        // A function goes on when somebody drives it; an agent is never led to a node that needs nobody.
        if held.definition.workflow.root().interface.is_none() {
            self.pass(&mut held).await?;
        }
        self.present(&Grip::of(held, None), None, caller)
    }
}

/// Writes into the first record of a run that it was forked.
fn begin_anew(first: &mut Record, origin: &Origin) -> Result<(), ServiceError> {
    let fork = |opening: &mut Opening| {
        opening.origin = Some(origin.clone());
        // Those of a task file are tasks beside it, and there is none.
        opening.rules.branches = Branches::Inside;
        !opening.rules.is_branch
    };
    let mut whole = match &mut first.event.what {
        EventKind::Opened(opening) => fork(opening),
        _ => false,
    };
    for change in &mut first.changes {
        if let Change::Opened { opening, .. } = change {
            whole &= fork(opening);
        }
    }
    if whole {
        return Ok(());
    }
    Err(ServiceError::refused("not_forked", "the run is a branch of another task", "fork the task that it belongs to"))
}

/// Whether a person has said something that an agent may not say.
fn is_word_of_person(event: &Event) -> bool {
    let said = matches!(
        event.what,
        EventKind::Reported { .. } | EventKind::Resumed { .. } | EventKind::Noted { .. } | EventKind::Bypassed { .. }
    );
    said && Caller { by: event.by.clone(), can_ask: false }.is_person()
}

fn needs_person() -> ServiceError {
    let message = "only a person may fork a run in which a person has decided something";
    let help = "a person runs `portolan runs fork` in a terminal that no agent's program has opened";
    ServiceError::of(ErrorKind::NeedsPerson, "needs_person", message, help)
}

fn may_be_forked(run: &Run) -> Result<(), ServiceError> {
    if run.is_over() {
        let help = "choose an earlier record: `portolan runs events` lists them";
        return Err(ServiceError::refused("over", "the run was over by that record", help));
    }
    let positions = run.positions();
    if positions.iter().any(|(_, frame)| matches!(frame.place, Place::Gathering { .. })) {
        let message = "by that record the run waits for branches that are tasks of their own";
        return Err(ServiceError::refused("not_forked", message, "choose a record before the fork, or after its join"));
    }
    Ok(())
}

fn no_record(past: &Past, seq: u64) -> ServiceError {
    let message = format!("`{}` has no record {seq}", past.address);
    ServiceError::refused("unknown_record", message, format!("its records are numbered from 1 to {}", past.head))
}

/// What expressions saw in each frame: what its nodes had come to, and variables.
fn seen(definition: &Definition, run: &Run, hidden: &Redaction) -> Vec<(String, Value)> {
    let mut told = context(&definition.workflow, run, hidden);
    let frames: Vec<FramePath> = run.positions().into_iter().map(|(path, _)| run.owner(&path)).collect();
    for path in frames {
        let variables = run.variables(&path);
        if variables.is_empty() {
            continue;
        }
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), hidden.value(value)));
        let variables: serde_json::Map<String, Value> = variables.collect();
        match told.iter_mut().find(|(name, _)| *name == path.text()) {
            Some((_, Value::Object(known))) => known.extend(variables),
            _ => told.push((path.text(), Value::Object(variables))),
        }
    }
    told.retain(|(_, value)| value.as_object().is_none_or(|values| !values.is_empty()));
    told
}

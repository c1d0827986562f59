//! A run at any moment of its past.
//!
//! Nothing is executed for that: the journal is folded. A fold is kept at intervals, so that not every moment needs the
//! whole journal.

use std::sync::Arc;

use portolan_core::present::{Overlay, Redaction, Trail, context};
use portolan_core::run::{FramePath, Run};
use portolan_core::value::Timestamp;
use serde_json::Value;

use super::request::RunAddress;
use super::{Caller, Service};
use crate::carrier::Address;
use crate::definition::Definition;
use crate::error::ServiceError;
use crate::store::{Digest, Record, store_error};
use crate::view::View;

/// The number of records between two kept folds.
const APART: usize = 250;
/// The number of records read at once.
const PAGE: usize = 1_000;

/// The past of a run, as far as it was read.
pub struct Past {
    address: Address,
    definition: Arc<Definition>,
    /// The definitions of the run before its migrations, each with the last record that it applies to.
    earlier: Vec<(u64, Arc<Definition>)>,
    hidden: Redaction,
    /// The folds by number of records, in order. The first has no records.
    folds: Vec<(u64, Trail)>,
    latest: Trail,
    head: u64,
}

impl Past {
    /// Returns the number of the last record read.
    pub fn head(&self) -> u64 {
        self.head
    }

    /// Returns the definition of the run at a record.
    pub(super) fn definition_at(&self, seq: u64) -> &Arc<Definition> {
        let earlier = self.earlier.iter().find(|(last, _)| seq <= *last);
        earlier.map_or(&self.definition, |(_, definition)| definition)
    }

    /// Returns the definition of the run.
    pub fn definition(&self) -> &Arc<Definition> {
        &self.definition
    }

    /// Returns the values of the run that must be hidden.
    pub fn hidden(&self) -> &Redaction {
        &self.hidden
    }

    /// Returns the run as it is.
    pub fn trail(&self) -> &Trail {
        &self.latest
    }

    /// Returns the latest fold before the last `most` visits of a node up to the record `seq`. Records are read from
    /// there, so that a few visits do not need all of a long journal.
    pub fn before_visits(&self, node: &str, seq: u64, most: u32) -> EarlierRecords {
        let folds = || self.folds.iter().rev().filter(|(fold, _)| *fold <= seq);
        let visited = folds().next().map_or(0, |(_, trail)| trail.visits(node));
        let lies_before = |trail: &Trail| trail.visits(node) == 0 || trail.visits(node).saturating_add(most) <= visited;
        let before = folds().find(|(fold, trail)| *fold < seq && lies_before(trail));
        let to_records = |(fold, trail): &(u64, Trail)| EarlierRecords {
            seq: *fold,
            run: trail.run().cloned(),
            visits: trail.visits(node),
        };
        before.map(to_records).unwrap_or_default()
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

/// The state before the records that are read.
#[derive(Clone, Debug, Default)]
pub struct EarlierRecords {
    /// The number of the last earlier record.
    pub seq: u64,
    /// The run after that record. `None` if there is none.
    pub run: Option<Run>,
    /// The number of visits of the node by then.
    pub visits: u32,
}

/// A run at one moment.
pub struct Moment {
    /// The number of the record.
    pub seq: u64,
    /// The time of the record.
    pub at: Timestamp,
    /// The situation after the record.
    pub view: View,
    /// The execution so far, on the drawing.
    pub overlay: Overlay,
    /// The results of the nodes and the variables of each frame, the root first.
    pub values: Vec<(String, Value)>,
}

impl Service {
    /// Returns the past of a run.
    ///
    /// # Errors
    /// The run is unknown, or its journal or its definition cannot be read.
    pub async fn past(&self, address: &Address) -> Result<Past, ServiceError> {
        let held = self.peek(address).await?;
        let hidden = self.hidden_of(&held);
        let mut earlier = Vec::new();
        for carried in held.run.opening.origin.iter().flat_map(|origin| &origin.carried) {
            let digest = Digest::try_from(carried.from.clone()).ok();
            let known = match &digest {
                Some(digest) => self.pinned(digest).await?,
                None => None,
            };
            earlier.push((carried.seq, known.ok_or_else(|| forgotten(&carried.from))?));
        }
        let mut past = Past {
            address: address.clone(),
            definition: held.definition,
            earlier,
            hidden,
            folds: vec![(0, Trail::default())],
            latest: Trail::default(),
            head: 0,
        };
        self.read_on(&mut past).await?;
        Ok(past)
    }

    /// Reads the records since the last read.
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

    /// Returns up to `limit` records of a run, in order, from the one after `after`.
    ///
    /// # Errors
    /// The run is unknown, or its journal cannot be read.
    pub async fn page(&self, address: &Address, after: u64, limit: usize) -> Result<Vec<Record>, ServiceError> {
        match address.handle() {
            Some(id) => self.store().records(id, after, limit).await.map_err(store_error),
            None => {
                let records = self.records(address).await?;
                Ok(records.into_iter().filter(|record| record.seq > after).take(limit).collect())
            }
        }
    }

    /// Returns a run as it was after the record `seq`.
    ///
    /// # Errors
    /// There is no such record, or it cannot be read.
    pub async fn moment(&self, past: &Past, seq: u64, caller: &Caller) -> Result<Moment, ServiceError> {
        let (trail, at) = self.trail_at(past, seq).await?;
        let definition = past.definition_at(seq);
        let overlay = trail.overlay(&definition.workflow);
        let run = trail.run().expect("a run begins with its first record").clone();
        let values = visible_values(definition, &run, &past.hidden);
        let mut held = self.peek(&past.address).await?;
        (held.definition, held.run, held.seq) = (definition.clone(), run, seq);
        let view = self.present(&RunAddress::of(held, None), None, caller)?;
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
}

fn forgotten(digest: &str) -> ServiceError {
    let message = format!("the definition `{digest}`, which the run used before, is no longer stored");
    ServiceError::failed("definition_damaged", message, "restore the store from a backup")
}

pub(super) fn no_record(past: &Past, seq: u64) -> ServiceError {
    let message = format!("`{}` has no record {seq}", past.address);
    ServiceError::refused("unknown_record", message, format!("its records are numbered from 1 to {}", past.head))
}

/// Returns the values that expressions see in each frame: the results of its nodes, and variables.
fn visible_values(definition: &Definition, run: &Run, hidden: &Redaction) -> Vec<(String, Value)> {
    let mut by_frame = context(&definition.workflow, run, hidden);
    let frames: Vec<FramePath> = run.positions().into_iter().map(|(path, _)| run.owner(&path)).collect();
    for path in frames {
        let variables = run.variables(&path);
        if variables.is_empty() {
            continue;
        }
        let variables = variables.into_iter().map(|(name, value)| (name.to_owned(), hidden.value(value)));
        let variables: serde_json::Map<String, Value> = variables.collect();
        match by_frame.iter_mut().find(|(name, _)| *name == path.text()) {
            Some((_, Value::Object(known))) => known.extend(variables),
            _ => by_frame.push((path.text(), Value::Object(variables))),
        }
    }
    by_frame.retain(|(_, value)| value.as_object().is_none_or(|values| !values.is_empty()));
    by_frame
}

//! A run at any moment of its past.
//!
//! Nothing is done again for that: the journal is folded. So that not all of it need be for each moment, the fold is kept
//! every so many records.

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

/// How many records lie between two folds that are kept.
const APART: usize = 250;
/// How many records are read at once.
const PAGE: usize = 1_000;

/// The past of a run, as far as it was read.
pub struct Past {
    address: Address,
    definition: Arc<Definition>,
    /// What the run was held to before it was carried over to that, each with the last record that is of it.
    earlier: Vec<(u64, Arc<Definition>)>,
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

    /// The definition that the run was held to at a record.
    pub(super) fn definition_at(&self, seq: u64) -> &Arc<Definition> {
        let earlier = self.earlier.iter().find(|(last, _)| seq <= *last);
        earlier.map_or(&self.definition, |(_, definition)| definition)
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
    pub fn before_visits(&self, node: &str, seq: u64, most: u32) -> EarlierRecords {
        let folds = || self.folds.iter().rev().filter(|(fold, _)| *fold <= seq);
        let visited = folds().next().map_or(0, |(_, trail)| trail.visits(node));
        let lies_before = |trail: &Trail| trail.visits(node) == 0 || trail.visits(node).saturating_add(most) <= visited;
        let before = folds().find(|(fold, trail)| *fold < seq && lies_before(trail));
        let told = |(fold, trail): &(u64, Trail)| EarlierRecords {
            seq: *fold,
            run: trail.run().cloned(),
            visits: trail.visits(node),
        };
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
pub struct EarlierRecords {
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
        let definition = past.definition_at(seq);
        let overlay = trail.overlay(&definition.workflow);
        let run = trail.run().expect("a run begins with its first record").clone();
        let values = seen(definition, &run, &past.hidden);
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
    let message = format!("the definition `{digest}`, which the run was held to before, is not kept any more");
    ServiceError::failed("definition_damaged", message, "restore the store from a backup")
}

pub(super) fn no_record(past: &Past, seq: u64) -> ServiceError {
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

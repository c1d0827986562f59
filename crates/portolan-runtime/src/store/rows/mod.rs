//! The texts in which a database keeps runs: JSON, sealed if a run has secrets. Knows no database.

pub(super) mod json;
mod read;
mod sizes;

use portolan_core::run::{Frame, Opening, Run, Tallies};
use serde::Serialize;

use super::seal::{Part, Sealer};
use super::summary::step;
use super::{NewRun, Record, RunId, RunStatus, StoreError};
pub(super) use read::{Reader, Unread, complete, intact, missing, no_position, summary};
pub(super) use sizes::Sizes;

/// A record and the resulting position of its run.
pub(super) struct Row {
    pub(super) id: RunId,
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) status: RunStatus,
    pub(super) step: String,
    /// The time from which workers may drive the run.
    pub(super) due: Option<i64>,
    pub(super) texts: Texts,
}

/// The texts of a row.
pub(super) struct Texts {
    pub(super) event: String,
    pub(super) changes: String,
    /// The whole run, if it is written with this record.
    pub(super) snapshot: Option<String>,
}

/// The rows of a new run.
pub(super) struct NewRows {
    pub(super) opening: String,
    /// The readable part of the opening. With it, everything else is to be sealed.
    pub(super) cover: Option<String>,
    pub(super) earlier: Vec<Row>,
    /// The last record, with the whole run.
    pub(super) last: Row,
}

/// The changing parts of a run. Its opening is stored separately.
#[derive(Serialize)]
struct Snapshot<'r> {
    revision: u64,
    executed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    tallies: Option<&'r Tallies>,
    root: &'r Frame,
}

impl Row {
    /// Returns the row of a record, with the whole run if it is to be written with this record.
    pub(super) fn of(id: &RunId, record: &Record, run: &Run, sizes: &Sizes) -> Row {
        let mut row = Row::without_snapshot(id, record, run);
        row.texts.snapshot = (!sizes.suffices(id, row.texts.event.len() + row.texts.changes.len())).then(|| {
            let (revision, executed, root) = (run.revision, run.executed, &run.root);
            let whole = json::write(&Snapshot { revision, executed, tallies: run.tallies.as_deref(), root });
            sizes.written(id, whole.len());
            whole
        });
        row
    }

    fn without_snapshot(id: &RunId, record: &Record, run: &Run) -> Row {
        let (event, changes) = (json::write(&record.event), json::write(&record.changes));
        Row {
            id: id.clone(),
            seq: i64::try_from(record.seq).expect("no run has 2^63 records"),
            at: record.event.at.0,
            status: RunStatus::of(run),
            step: step(run),
            due: record.due(run).map(|due| due.0),
            texts: Texts { event, changes, snapshot: None },
        }
    }

    /// Returns the sealed texts.
    pub(super) fn sealed(&self, sealer: &Sealer<'_>) -> Result<Texts, StoreError> {
        let seq = self.seq.unsigned_abs();
        Ok(Texts {
            event: sealer.seal(seq, Part::Event, &self.texts.event)?,
            changes: sealer.seal(seq, Part::Changes, &self.texts.changes)?,
            snapshot: self.texts.snapshot.as_ref().map(|text| sealer.seal(seq, Part::Snapshot, text)).transpose()?,
        })
    }
}

impl NewRows {
    pub(super) fn of(new: &NewRun, sizes: &Sizes) -> NewRows {
        let (last, earlier) = new.records.split_last().expect("a run is created with its first record");
        // Another run may have this handle. A new run is written whole.
        sizes.forget(&new.id);
        NewRows {
            opening: json::write(&new.run.opening),
            cover: new.cover.as_ref().map(|cover: &Opening| json::write(cover)),
            earlier: earlier.iter().map(|record| Row::without_snapshot(&new.id, record, &new.run)).collect(),
            // Its creator drives it.
            last: Row { due: None, ..Row::of(&new.id, last, &new.run, sizes) },
        }
    }

    /// Returns all rows, in order.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.earlier.iter().chain([&self.last])
    }

    pub(super) fn first(&self) -> &Row {
        self.earlier.first().unwrap_or(&self.last)
    }

    /// Returns the sealed opening and the sealed texts of all rows.
    pub(super) fn sealed(&self, sealer: &Sealer<'_>) -> Result<(String, Vec<Texts>), StoreError> {
        let opening = sealer.seal(self.first().seq.unsigned_abs(), Part::Opening, &self.opening)?;
        let texts = self.rows().map(|row| row.sealed(sealer)).collect::<Result<_, _>>()?;
        Ok((opening, texts))
    }
}

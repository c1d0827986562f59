//! Takes the runs of an archive over into a store.

use std::io::{BufRead, Seek};
use std::sync::Arc;

use portolan_core::run::Opening;

use super::reader::{Archive, ArchivedRun};
use super::{LeftOuts, check_loads};
use crate::error::ServiceError;
use crate::store::fold::{Fold, FoldedRun};
use crate::store::{Digest, NewRun, Store, StoreError, store_error};

/// The result of an import.
#[derive(Clone, Debug, Default)]
pub struct ImportResult {
    /// The number of runs that were stored.
    pub runs: u64,
    /// The number of their records.
    pub records: u64,
    /// The number of runs that the store had already, with the same content.
    pub equal: u64,
    /// The runs that were refused.
    pub left_out: LeftOuts,
    /// The reason why the import ended early. What was stored until then stays.
    pub stopped: Option<ServiceError>,
}

/// The number of records that are compared at once.
const RECORDS: usize = 100;

/// The part of the opening of a run that may be stored readable, if the run has secrets, or the reason why the run cannot
/// be stored.
pub(crate) type Cover<'c> = dyn FnMut(&Digest, &Arc<str>, &Opening) -> Result<Option<Opening>, String> + 'c;

/// Stores the runs of an archive.
pub(crate) async fn import<R: BufRead + Seek>(
    store: &dyn Store,
    archive: &mut Archive<R>,
    cover: &mut Cover<'_>,
) -> ImportResult {
    let mut imported = ImportResult::default();
    loop {
        let run = match archive.next(|_| true) {
            Ok(Some(run)) => run,
            Ok(None) => return imported,
            Err(error) => return ImportResult { stopped: Some(error), ..imported },
        };
        if let Err(error) = add(store, run, cover, &mut imported).await {
            return ImportResult { stopped: Some(store_error(error)), ..imported };
        }
    }
}

async fn add(
    store: &dyn Store,
    run: ArchivedRun,
    cover: &mut Cover<'_>,
    imported: &mut ImportResult,
) -> Result<(), StoreError> {
    let id = run.id.clone();
    let new = match new_run(run, cover) {
        Ok(new) => new,
        Err(why) => {
            imported.left_out.add(id.as_str(), "run_invalid", why);
            return Ok(());
        }
    };
    match store.create(new.clone()).await {
        Ok(()) => {
            imported.runs += 1;
            imported.records += new.records.len() as u64;
        }
        Err(StoreError::Taken) => match difference(store, &new).await? {
            None => imported.equal += 1,
            Some(why) => imported.left_out.add(new.id.as_str(), "run_differs", why),
        },
        Err(error) => return Err(error),
    }
    Ok(())
}

/// Folds the records of a run, or returns why they are not a journal.
pub(crate) fn new_run(archived: ArchivedRun, cover: &mut Cover<'_>) -> Result<NewRun, String> {
    let ArchivedRun { id, definition, definition_text, records } = archived;
    let mut fold = Fold::default();
    records.iter().try_for_each(|record| fold.add(record))?;
    let FoldedRun { run, .. } = fold.finish().ok_or("it has no records")?;
    check_loads(&run)?;
    let cover = cover(&definition, &definition_text, &run.opening)?;
    Ok(NewRun { id, definition, definition_text, cover, run, records })
}

/// Returns how the stored run with the same handle differs. `None` if it is the same.
async fn difference(store: &dyn Store, new: &NewRun) -> Result<Option<String>, StoreError> {
    let stored = match store.load(&new.id).await {
        Ok(stored) => stored,
        Err(StoreError::Unavailable(why) | StoreError::Corrupt(why)) => {
            return Ok(Some(format!("the store has a run with this handle that cannot be read ({why})")));
        }
        Err(error) => return Err(error),
    };
    let count = new.records.len() as u64;
    if stored.seq != count {
        return Ok(Some(format!(
            "the store has a run with this handle at record {}, and the archive has it at record {count}",
            stored.seq
        )));
    }
    if stored.definition != new.definition {
        return Ok(Some("the store has a run with this handle and another definition".to_owned()));
    }
    for expected in new.records.chunks(RECORDS) {
        let after = expected[0].seq - 1;
        let found = store.records(&new.id, after, expected.len()).await?;
        let mut pairs = expected.iter().zip(&found);
        let differs = pairs.find(|(expected, found)| expected != found).map(|(expected, _)| expected.seq);
        if let Some(seq) = differs.or((found.len() < expected.len()).then_some(after + 1)) {
            return Ok(Some(format!("the store has a run with this handle and another record {seq}")));
        }
    }
    Ok(None)
}

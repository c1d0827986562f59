//! What the file says about itself. It is opened for reading only, because a look must not migrate it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

use super::connect::{self, Place};
use super::fault::Trouble;
use crate::disk;
use crate::store::{RunId, SchemaVersion, StoreError, StoreStatus};

/// The time for which another process may be writing while it is determined whether the file can be written.
const PATIENCE: Duration = Duration::from_secs(1);

/// Returns the state of the file. `locks` is the folder of the locks of runs that are driven.
pub(super) fn status(place: &Place, locks: &Path) -> Result<StoreStatus, StoreError> {
    if !place.path.exists() {
        return Ok(StoreStatus::default());
    }
    let status = counted(place).map_err(|trouble| trouble.into_error(place))?;
    Ok(StoreStatus { unwritable: unwritable(place), driven: Some(driven(locks)), ..status })
}

/// Returns the version of the file, or `None` if there is no file.
pub(super) fn version(place: &Place) -> Result<Option<usize>, StoreError> {
    let version = || connect::version(&*opened(place)?.transaction()?);
    let version = || version().map_err(|trouble| trouble.into_error(place));
    place.path.exists().then(version).transpose()
}

fn opened(place: &Place) -> Result<Connection, Trouble> {
    let db =
        Connection::open_with_flags(&place.path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(place.patience)?;
    Ok(db)
}

fn counted(place: &Place) -> Result<StoreStatus, Trouble> {
    let mut db = opened(place)?;
    let db = db.transaction()?;
    let version = connect::version(&db)?;
    let schema = SchemaVersion { found: version, known: connect::newest() };
    let status =
        StoreStatus { exists: true, schema: Some(schema), bytes: Some(bytes(&place.path)), ..StoreStatus::default() };
    if version == 0 {
        return Ok(StoreStatus { definitions: Some(0), ..status });
    }
    // Journals have no gaps, so that the number of a run's last record is their count.
    let sql = "SELECT count(*) FILTER (WHERE status <> 'ended'), count(*) FILTER (WHERE status = 'ended'),
               coalesce(sum(seq), 0), (SELECT count(*) FROM definitions) FROM positions";
    let counts: [i64; 4] = db.query_row(sql, [], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?]))?;
    let [open, ended, records, definitions] = counts.map(i64::unsigned_abs);
    Ok(StoreStatus { open, ended, records, definitions: Some(definitions), ..status })
}

/// Returns the size of the file with its log.
fn bytes(path: &Path) -> u64 {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    let size = |path: &Path| fs::metadata(path).map_or(0, |found| found.len());
    size(path) + size(Path::new(&log))
}

/// Returns the reason why the file cannot be written.
fn unwritable(place: &Place) -> Option<StoreError> {
    let attempt = || -> Result<(), rusqlite::Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(&place.path, flags)?;
        db.busy_timeout(PATIENCE)?;
        db.execute_batch("BEGIN IMMEDIATE; ROLLBACK")
    };
    match attempt() {
        // Another process writes it.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => None,
        Err(error) => Some(Trouble::from(error).into_error(place)),
        Ok(()) => None,
    }
}

/// Returns the runs whose lock somebody has. A lock that was left behind is free.
fn driven(locks: &Path) -> Vec<RunId> {
    let names =
        fs::read_dir(locks).into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let ids = names.filter_map(|name| RunId::parse(name.strip_suffix(".lock")?));
    let is_locked = |id: &RunId| {
        let lock = disk::open_itself(&locks.join(format!("{id}.lock")));
        // Shared, so that two commands that look do not see each other.
        lock.is_ok_and(|lock| matches!(lock.try_lock_shared(), Err(fs::TryLockError::WouldBlock)))
    };
    let mut driven: Vec<RunId> = ids.filter(is_locked).collect();
    driven.sort();
    driven
}

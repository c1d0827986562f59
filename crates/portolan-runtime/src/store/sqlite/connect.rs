//! Opens a reliable connection for a path: the directory, the owner of the file, the schema, the settings.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::fault::{self, Trouble};
use super::read;
use crate::project_folder;
use crate::store::StoreError;

/// The location of a store, and how it is opened.
pub(super) struct Place {
    /// The file.
    pub(super) path: PathBuf,
    /// The maximum time that another process may keep the file locked.
    pub(super) patience: Duration,
    /// The size of a simulated full disk in pages; 0 for a real disk.
    #[cfg(test)]
    pub(super) pages: std::sync::atomic::AtomicU32,
}

impl Place {
    pub(super) fn new(path: PathBuf) -> Place {
        // An absolute path stays the same if the process changes its directory, and is never parsed as a URI.
        let path = std::path::absolute(&path).unwrap_or(path);
        Place {
            path,
            patience: Duration::from_secs(10),
            #[cfg(test)]
            pages: 0.into(),
        }
    }
}

/// The behaviour if there is no file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Absent {
    /// Creates one.
    Create,
    /// Continues without one: a read leaves no trace.
    Leave,
}

/// One thread's connection to a store. It is opened when it is needed, and again if it becomes unreliable.
pub(super) struct Link {
    place: Arc<Place>,
    open: Option<OpenDatabase>,
    /// How often it was opened.
    opened: u64,
}

struct OpenDatabase {
    db: Connection,
    file: Option<FileId>,
}

impl Link {
    pub(super) fn to(place: &Arc<Place>) -> Link {
        Link { place: Arc::clone(place), open: None, opened: 0 }
    }

    /// Returns a number that changes with every commit of another connection, also to another file at the same path.
    pub(super) fn version(&mut self) -> Result<u64, StoreError> {
        let of_file = self.with(Absent::Leave, |db| read::version(db.map(|db| &*db)))?;
        Ok(self.across_files(of_file))
    }

    /// Returns [`version`](Self::version) if the file is open and no other process has to be waited for.
    pub(super) fn version_at_once(&mut self) -> Option<u64> {
        let db = &self.open.as_ref().filter(|open| open.file == file_id(&self.place.path))?.db;
        db.busy_timeout(Duration::ZERO).ok()?;
        let of_file = read::version(Some(db)).ok();
        db.busy_timeout(self.place.patience).ok()?;
        of_file.map(|of_file| self.across_files(of_file))
    }

    /// Makes the counter of the present connection, which has 32 bits and begins anew with each, differ from earlier ones.
    fn across_files(&self, of_file: u64) -> u64 {
        (self.opened << 32) + of_file
    }

    /// Runs a job with the connection. The job gets `None` if there is no file and none is to be created.
    pub(super) fn with<T>(
        &mut self,
        absent: Absent,
        job: impl FnOnce(Option<&mut Connection>) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        let result = self.connection(absent).and_then(job);
        if matches!(result, Err(Trouble::Database(_))) {
            self.open = None;
        }
        result.map_err(|trouble| trouble.into_error(&self.place))
    }

    fn connection(&mut self, absent: Absent) -> Result<Option<&mut Connection>, Trouble> {
        let found = file_id(&self.place.path);
        // A deleted or replaced file (`git clean`) would still accept writes, and they would be lost.
        if self.open.as_ref().is_some_and(|open| open.file != found) {
            self.open = None;
        }
        if self.open.is_none() {
            if found.is_none() {
                match absent {
                    Absent::Leave => return Ok(None),
                    Absent::Create => {
                        make_home(&self.place.path)?;
                        make_file(&self.place.path);
                    }
                }
            }
            let db = open(&self.place, absent)?;
            self.open = Some(OpenDatabase { db, file: file_id(&self.place.path) });
            self.opened += 1;
        }
        Ok(self.open.as_mut().map(|open| &mut open.db))
    }
}

/// The file to which a path leads at present.
#[derive(Clone, Copy, PartialEq, Eq)]
struct FileId(u64, u64);

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|found| FileId(found.dev(), found.ino()))
}

/// Elsewhere an open file cannot be deleted.
#[cfg(not(unix))]
fn file_id(path: &Path) -> Option<FileId> {
    path.exists().then_some(FileId(0, 0))
}

/// Creates the directory of the file, and keeps it out of version control if it is the project's `.portolan`.
fn make_home(path: &Path) -> Result<(), StoreError> {
    let Some(home) = path.parent().filter(|home| !home.is_dir()) else { return Ok(()) };
    make_directory(home).map_err(|error| fault::of_io(home, &error))
}

/// Creates the empty file, private to its owner. SQLite gives its logs the mode of their file. If this fails, SQLite
/// creates the file or reports why not.
fn make_file(path: &Path) {
    let Some(home) = path.parent() else { return };
    // Closed before it gets its name: closing a file that SQLite has open elsewhere drops the locks on it.
    let made = tempfile::NamedTempFile::new_in(home).map(tempfile::NamedTempFile::into_temp_path);
    let _ = made.map(|made| made.persist_noclobber(path));
}

fn make_directory(home: &Path) -> io::Result<()> {
    project_folder::make(home)?;
    // SQLite syncs the files of a directory. The directory itself must be synced by its creator.
    #[cfg(unix)]
    if let Some(around) = home.parent() {
        File::open(around)?.sync_all()?;
    }
    Ok(())
}

fn open(place: &Place, absent: Absent) -> Result<Connection, Trouble> {
    let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    flags.set(OpenFlags::SQLITE_OPEN_CREATE, absent == Absent::Create);
    let mut db = Connection::open_with_flags(&place.path, flags)?;
    db.busy_timeout(place.patience)?;
    // Checked before anything is written: the file may belong to another program. In a transaction, so that a file that
    // another process is creating is not seen half-made.
    let version = version(&*db.transaction()?)?;
    db.execute_batch(SETTINGS)?;
    // With it a plan does not depend on what a statement is given. Without it SQLite makes the plan of a query beside a
    // partial index anew for each call.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    #[cfg(test)]
    limit(&db, place)?;
    enter_wal(&db)?;
    if version < MIGRATIONS.len() {
        migrate(&mut db)?;
    }
    Ok(db)
}

/// Returns the number of migrations of the file, or 0 for a new one. Refuses files of other programs and of newer
/// releases.
pub(super) fn version(db: &Connection) -> Result<usize, Trouble> {
    let application: i64 = db.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    let is_empty: bool = db.query_row("SELECT NOT EXISTS (SELECT 1 FROM sqlite_schema)", [], |row| row.get(0))?;
    match (application, is_empty) {
        (APPLICATION, false) => known_version(db),
        (0, true) => Ok(0),
        (_, _) => refuse(db, "is the database of another program: name another file"),
    }
}

/// Returns the version of a Portolan file, if this release knows it.
///
/// Checked in each transaction, because a newer release may migrate the file while this one has it open.
pub(super) fn known_version(db: &Connection) -> Result<usize, Trouble> {
    let version: i64 = db.prepare_cached("PRAGMA user_version")?.query_one([], |row| row.get(0))?;
    let known = MIGRATIONS.len();
    match usize::try_from(version) {
        Ok(version) if version <= known => Ok(version),
        _ => refuse(
            db,
            &format!(
                "is a run store of version {version}, and this release knows versions up to {known}: \
                 use a newer release of portolan, or name another file"
            ),
        ),
    }
}

/// Returns the version of this release.
pub(super) fn newest() -> usize {
    MIGRATIONS.len()
}

fn refuse<T>(db: &Connection, why: &str) -> Result<T, Trouble> {
    let path = db.path().unwrap_or("the file");
    Err(StoreError::Unavailable(format!("`{path}` {why}")).into())
}

/// Switches to the write-ahead log: reads continue during a write, and a commit needs one flush.
fn enter_wal(db: &Connection) -> Result<(), Trouble> {
    // The switch does not wait for other processes, so this loop does. Each round waits for one of them.
    for _ in 0..100 {
        match db.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
            Ok(mode) if mode == "wal" => return Ok(()),
            Ok(_) => return refuse(db, "is on a disk where processes cannot share a file: keep runs on a local disk"),
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                db.execute_batch("BEGIN EXCLUSIVE; ROLLBACK")?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    refuse(db, "is kept locked by other processes: try again when they are done")
}

fn migrate(db: &mut Connection) -> Result<(), Trouble> {
    let transaction = db.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have migrated it while this one waited.
    let done = version(&transaction)?;
    for migration in &MIGRATIONS[done..] {
        transaction.execute_batch(migration)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION)?;
    transaction.pragma_update(None, "user_version", i64::try_from(MIGRATIONS.len()).expect("migrations are few"))?;
    transaction.commit()?;
    Ok(())
}

#[cfg(test)]
fn limit(db: &Connection, place: &Place) -> Result<(), Trouble> {
    let pages = place.pages.load(std::sync::atomic::Ordering::SeqCst);
    if pages > 0 {
        db.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    Ok(())
}

/// "Port", in the header of every Portolan file.
const APPLICATION: i64 = 0x506f_7274;

/// The schema, version by version. A released one is never edited: add another.
const MIGRATIONS: &[&str] = &[
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
];

/// `FULL` flushes each commit; the two settings after it extend that to macOS. The file may have come with a
/// repository, so its schema is not trusted. The page cache is small: most reads are of the last run that was written.
const SETTINGS: &str = "
    PRAGMA synchronous = FULL;
    PRAGMA fullfsync = ON;
    PRAGMA checkpoint_fullfsync = ON;
    PRAGMA foreign_keys = ON;
    PRAGMA trusted_schema = OFF;
    PRAGMA cache_size = -512;
    PRAGMA journal_size_limit = 8388608;
";

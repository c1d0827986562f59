//! Runs in one SQLite file, shared by any number of processes. Knows SQL and nothing of workflows.
//!
//! One thread writes: it takes all queued requests, decides each request's conflict inside one transaction, and replies
//! when that transaction is on disk, so that concurrent callers share one flush. Another thread reads on its own
//! connection, and is never blocked by the writer. Both open the file at their first request.

mod connect;
mod fault;
mod lane;
mod read;
mod status;
#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::run::Run;
use portolan_core::value::Timestamp;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::definitions::Definitions;
use super::lease::DrivenRuns;
use super::rows::Sizes;
use super::{
    Digest, Entry, Keyring, Lease, ListFilter, NewRun, PageRequest, Record, Reply, RunId, SchemaVersion, Store,
    StoreError, StoreStatus, StoredRun, Summary,
};
use connect::{Link, Place};
use fault::Trouble;
use lane::Lane;
use write::Write;

/// A store in an SQLite file.
///
/// Dropping it waits for the requested writes, and leaves all data in the one file.
pub struct SqliteStore {
    place: Arc<Place>,
    keyring: Arc<Keyring>,
    definitions: Definitions,
    driven: DrivenRuns,
    sizes: Sizes,
    writer: Lane<write::Request>,
    reader: Lane<ReadJob>,
    /// The connection for the version alone: what different connections count cannot be compared.
    version_link: Arc<Mutex<Link>>,
}

type ReadJob = Box<dyn FnOnce(&mut Link) + Send>;

impl SqliteStore {
    /// Returns the store in the file `path`, which need not exist: the first stored run creates it and its directory.
    /// Runs with secrets are sealed with the newest key of `keyring`.
    ///
    /// Nothing is opened yet, so this cannot fail. The first request reports any fault of the file.
    pub fn at(path: impl Into<PathBuf>, keyring: Keyring) -> SqliteStore {
        SqliteStore::in_place(Place::new(path.into()), keyring)
    }

    fn in_place(place: Place, keyring: Keyring) -> SqliteStore {
        let (place, keyring) = (Arc::new(place), Arc::new(keyring));
        let (to_write, to_read, sealing) = (Arc::clone(&place), Arc::clone(&place), Arc::clone(&keyring));
        SqliteStore {
            definitions: Definitions::in_folder(place.path.with_file_name("definitions")),
            version_link: Arc::new(Mutex::new(Link::to(&place))),
            driven: DrivenRuns::default(),
            place,
            keyring,
            sizes: Sizes::default(),
            writer: Lane::new("store-writer", move |requests| {
                write::serve(&requests, Link::to(&to_write), &sealing);
            }),
            reader: Lane::new("store-reader", move |jobs| {
                let mut link = Link::to(&to_read);
                jobs.iter().for_each(|job: ReadJob| job(&mut link));
            }),
        }
    }

    /// Returns the store with the definitions of runs outside it in `folder`, instead of `definitions` beside the file.
    #[must_use]
    pub fn definitions_in(mut self, folder: PathBuf) -> SqliteStore {
        self.definitions = Definitions::in_folder(folder);
        self
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.place.path
    }

    /// Returns the folder of the locks of runs that are driven.
    fn locks(&self) -> PathBuf {
        let mut folder = self.path().file_name().unwrap_or_default().to_owned();
        folder.push(".driven");
        self.path().with_file_name(folder)
    }

    async fn write(&self, id: &RunId, write: Write) -> Result<(), StoreError> {
        let is_last = write.is_last();
        let answer = self.answered(write).await;
        if is_last || answer.is_err() {
            self.sizes.forget(id);
        }
        answer
    }

    async fn answered(&self, write: Write) -> Result<(), StoreError> {
        let (reply, answer) = oneshot::channel();
        self.writer.send(write::Request::Write { write: Box::new(write), reply })?;
        answer.await.unwrap_or_else(|_| Err(lane::ended()))
    }

    /// Does something on the thread that reads, without its connection.
    async fn beside<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.reader.send(Box::new(move |_| {
            let _ = reply.send(job());
        }))?;
        answer.await.unwrap_or_else(|_| Err(lane::ended()))
    }

    async fn read<T, J>(&self, job: J) -> Result<T, StoreError>
    where
        T: Send + 'static,
        J: FnOnce(Option<&Connection>) -> Result<T, Trouble> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        self.reader.send(Box::new(move |link| {
            // The caller may be gone, and nothing else needs the result.
            let _ = reply.send(link.with(connect::Absent::Leave, |db| job(db.map(|db| &*db))));
        }))?;
        answer.await.unwrap_or_else(|_| Err(lane::ended()))
    }
}

impl Store for SqliteStore {
    fn create(&self, new: NewRun) -> Reply<'_, ()> {
        super::assert_begins(&new);
        Box::pin(async move { self.write(&new.id, Write::create(&new, &self.sizes)).await })
    }

    fn append<'a>(&'a self, id: &'a RunId, expected_seq: u64, record: &'a Record, run_after: &'a Run) -> Reply<'a, ()> {
        super::assert_follows(record, expected_seq);
        Box::pin(async move { self.write(id, Write::append(id, record, run_after, &self.sizes)).await })
    }

    fn load<'a>(&'a self, id: &'a RunId) -> Reply<'a, StoredRun> {
        let (id, keyring) = (id.clone(), Arc::clone(&self.keyring));
        Box::pin(self.read(move |db| read::load(db, &keyring, &id)))
    }

    fn records<'a>(&'a self, id: &'a RunId, after_seq: u64, limit: usize) -> Reply<'a, Vec<Record>> {
        let (id, keyring) = (id.clone(), Arc::clone(&self.keyring));
        Box::pin(self.read(move |db| read::records(db, &keyring, &id, after_seq, limit)))
    }

    fn list(&self, filter: ListFilter) -> Reply<'_, Vec<Summary>> {
        Box::pin(self.read(move |db| read::list(db, filter)))
    }

    fn version(&self) -> Reply<'_, Option<u64>> {
        Box::pin(async move {
            // The thread that reads would be woken for every call that a gate judges.
            let at_once = self.version_link.try_lock().ok().and_then(|mut link| link.version_at_once());
            if at_once.is_some() {
                return Ok(at_once);
            }
            let link = Arc::clone(&self.version_link);
            self.beside(move || link.lock().unwrap_or_else(PoisonError::into_inner).version()).await.map(Some)
        })
    }

    fn definition<'a>(&'a self, digest: &'a Digest) -> Reply<'a, Arc<str>> {
        let wanted = digest.clone();
        Box::pin(self.definitions.or_else(digest, self.read(move |db| read::definition(db, &wanted))))
    }

    fn definition_like<'a>(&'a self, beginning: &'a str) -> Reply<'a, Option<Digest>> {
        Box::pin(async move { Ok(self.definitions.beginning_with(beginning)) })
    }

    fn keep_definition<'a>(&'a self, digest: &'a Digest, text: &'a Arc<str>) -> Reply<'a, ()> {
        Box::pin(async move { self.definitions.keep(digest, text) })
    }

    /// Locks a file in the folder beside the store with the store's name and `.driven`, as a lease between processes.
    fn lease<'a>(&'a self, id: &'a RunId) -> Reply<'a, Box<dyn Lease>> {
        Box::pin(async move {
            let wanted = id.clone();
            self.read(move |db| read::number_of(db, &wanted).map(drop)).await?;
            Ok(Box::new(self.driven.take_among(&self.locks(), id)?) as Box<dyn Lease>)
        })
    }

    fn page<'a>(&'a self, request: &'a PageRequest) -> Reply<'a, Vec<Entry>> {
        let (request, place) = (request.clone(), Arc::clone(&self.place));
        Box::pin(self.read(move |db| read::page(db, &place, &request)))
    }

    fn remove<'a>(&'a self, id: &'a RunId, expected_seq: u64) -> Reply<'a, ()> {
        Box::pin(async move {
            let lease = self.lease(id).await?;
            let removed = self.write(id, Write::Remove { id: id.clone(), expected_seq }).await;
            drop(lease);
            removed
        })
    }

    fn remove_unused_definitions(&self) -> Reply<'_, u64> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            self.writer.send(write::Request::Tidy(reply))?;
            answer.await.unwrap_or_else(|_| Err(lane::ended()))
        })
    }

    fn claim(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<(RunId, Box<dyn Lease>)>> {
        Box::pin(async move {
            let (mut claimed, locks) = (Vec::new(), self.locks());
            for id in self.read(move |db| read::due(db, now)).await? {
                if claimed.len() >= limit {
                    break;
                }
                match self.driven.take_among(&locks, &id) {
                    Ok(lease) => claimed.push((id, Box::new(lease) as Box<dyn Lease>)),
                    Err(StoreError::UnderWay { .. }) => {}
                    Err(error) => return Err(error),
                }
            }
            if !claimed.is_empty() {
                // Whoever had a lease until just now may have put the run off before.
                let due = self.read(move |db| read::due(db, now)).await?;
                claimed.retain(|(id, _)| due.contains(id));
            }
            Ok(claimed)
        })
    }

    fn defer<'a>(&'a self, id: &'a RunId, until: Option<Timestamp>) -> Reply<'a, ()> {
        let write = Write::Defer { id: id.clone(), due: until.map(|until| until.0) };
        Box::pin(self.answered(write))
    }

    fn status(&self) -> Reply<'_, StoreStatus> {
        let (place, locks) = (Arc::clone(&self.place), self.locks());
        Box::pin(self.beside(move || status::status(&place, &locks)))
    }

    fn migrate(&self) -> Reply<'_, Option<SchemaVersion>> {
        Box::pin(async move {
            let place = Arc::clone(&self.place);
            let Some(found) = self.beside(move || status::version(&place)).await? else { return Ok(None) };
            self.read(|_| Ok(())).await?;
            Ok(Some(SchemaVersion { found, known: connect::newest() }))
        })
    }

    fn integrity(&self) -> Reply<'_, Vec<String>> {
        Box::pin(self.read(read::integrity))
    }
}

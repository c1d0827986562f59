//! The stores that runs of a project may be in, for processes that are started without the name of a store: hooks, and
//! commands about the project's task. The project notes the name of the store beside the run.
//!
//! Whoever can write the project could note the address of any server. So a process asks only a store in which this user
//! has worked in this project, and the record of that is in the user's data folder.

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Options, Service, StoreAt, data_of};
use crate::digest::Digest;
use crate::disk::{self, Fresh};
use crate::error::ServiceError;
use crate::trust;

/// The folder of the record.
const FOLDER: &str = "known-stores";
/// The largest entry that is read, in bytes.
const MAX_BYTES: u64 = 64 << 10;

/// A store in which this user has worked in a project.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct KnownStore {
    project: PathBuf,
    store: String,
}

/// A service that reads runs: the own one, or that of another store of the same project.
pub(super) enum Reader<'s> {
    Own(&'s Service),
    Other(Arc<Service>),
}

impl Reader<'_> {
    pub(super) fn is_other(&self) -> bool {
        matches!(self, Reader::Other(_))
    }
}

impl Deref for Reader<'_> {
    type Target = Service;

    fn deref(&self) -> &Service {
        match self {
            Reader::Own(service) => service,
            Reader::Other(service) => service,
        }
    }
}

/// Returns the name of the store in which a project's runs usually are.
pub(super) fn usual_store(project: &Path) -> String {
    project.join(".portolan").join("runs.db").to_string_lossy().into_owned()
}

impl Service {
    /// Creates the service of the store that the project's task is in. Without a task, it is that of the options.
    ///
    /// # Errors
    /// As for [`Service::new`], or the note of the task cannot be read, or this user has not worked in its store.
    pub fn of_task(options: Options) -> Result<Service, ServiceError> {
        let service = Service::new(options)?;
        match super::flow::store_of_task(service.project())? {
            Some(store) => Service::new(service.options_at(&store)?),
            None => Ok(service),
        }
    }

    /// Returns the file or the address of the store, without what is secret. `None` if no other process can open it.
    pub(super) fn store_name(&self) -> Option<String> {
        match &self.options.store {
            StoreAt::Memory | StoreAt::Custom(_) => None,
            StoreAt::File(path) => {
                // The file may not be there yet.
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
                let real = folder.zip(path.file_name()).map(|(folder, name)| folder.join(name));
                Some(real.unwrap_or(path).to_string_lossy().into_owned())
            }
            address @ (StoreAt::Postgres(_) | StoreAt::Restate(_)) => Some(address.to_string()),
        }
    }

    /// Returns the name of the store for notes of the project. `None` if the project's runs usually are there.
    pub(super) fn other_store(&self) -> Option<String> {
        self.store_name().filter(|name| *name != usual_store(self.project()))
    }

    /// Records that this user works in a store, so that other processes of the user may ask it.
    ///
    /// # Errors
    /// It cannot be recorded.
    pub(super) fn note_store(&self, store: &str) -> Result<(), ServiceError> {
        let known = KnownStore { project: self.project().to_owned(), store: store.to_owned() };
        let path = self.known_store(&known)?;
        if is_noted(&path, &known) {
            return Ok(());
        }
        let folder = path.parent().unwrap_or(&path);
        let text = serde_json::to_vec_pretty(&known).expect("texts are JSON");
        let written = disk::private_folder(folder);
        let written = written.and_then(|()| Fresh::beside(&path, &text)?.synced()?.replace(&path));
        written.map_err(|error| {
            let message = format!("`{}` cannot be written: {error}", path.display());
            ServiceError::failed("not_bound", message, "make the folder writable, or set `PORTOLAN_DATA_DIR`")
        })
    }

    /// Returns a service of this project that reads the runs of a noted store. What is secret comes from the environment.
    ///
    /// # Errors
    /// This user has not worked in that store, or its address is malformed.
    pub(super) fn at_store(&self, store: &str) -> Result<Reader<'_>, ServiceError> {
        if self.store_name().as_deref() == Some(store) {
            return Ok(Reader::Own(self));
        }
        let mut others = self.others.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(other) = others.get(store) {
            return Ok(Reader::Other(Arc::clone(other)));
        }
        let other = Arc::new(Service::new(self.options_at(store)?)?);
        others.insert(store.to_owned(), Arc::clone(&other));
        Ok(Reader::Other(other))
    }

    /// Returns the options of a service for a noted store.
    fn options_at(&self, store: &str) -> Result<Options, ServiceError> {
        let known = KnownStore { project: self.project().to_owned(), store: store.to_owned() };
        if store != usual_store(self.project()) && !is_noted(&self.known_store(&known)?, &known) {
            let message = format!("nobody has worked in the store `{store}` with this user's data folder");
            let help = "if the project does use that store, continue the run or the task with `--store` for it, as the \
                same user and with the same `PORTOLAN_DATA_DIR`";
            return Err(ServiceError::failed("unknown_store", message, help));
        }
        Ok(Options { store: StoreAt::of_environment(Path::new(store))?, ..self.options.clone() })
    }

    fn known_store(&self, known: &KnownStore) -> Result<PathBuf, ServiceError> {
        let data = data_of(&self.options)?;
        let folder = trust::outside(&data.join(FOLDER), self.project()).map_err(super::hold::trust_error)?;
        let name = Digest::of_parts([known.project.as_os_str().as_encoded_bytes(), known.store.as_bytes()]);
        Ok(folder.join(format!("{name}.json")))
    }
}

fn is_noted(path: &Path, known: &KnownStore) -> bool {
    let text = disk::bytes(path, MAX_BYTES).ok().flatten();
    text.and_then(|text| serde_json::from_slice::<KnownStore>(&text).ok()).is_some_and(|found| found == *known)
}

//! What the operator of a store does with it: looks at it, verifies, copies and tidies it.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;

use portolan_core::run::Opening;
use tempfile::NamedTempFile;

use super::Service;
use super::create::cover;
use crate::definition::Definition;
use crate::disk::{self, folder_of, sync_folder};
use crate::error::{ServiceError, plain};
use crate::store::{
    self, Archive, Digest, ExportError, ExportResult, ImportResult, MemoryStore, RunId, SchemaVersion, Selection,
    Store, StoreStatus, Verification, store_error,
};

/// The state of the store of a service.
#[derive(Clone, Debug)]
pub struct StoreReport {
    /// The file, or the address without its password.
    pub place: String,
    /// The kind: `memory`, `sqlite`, `postgres` or `custom`.
    pub kind: &'static str,
    /// Its state.
    pub status: StoreStatus,
    /// The reason why it cannot be written, if it can only be read.
    pub unwritable: Option<ServiceError>,
}

impl Service {
    /// Returns the state of the store, and changes nothing.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn store_status(&self) -> Result<StoreReport, ServiceError> {
        let status = self.store().status().await.map_err(store_error)?;
        let (place, kind) = (self.options.store.to_string(), self.options.store.kind());
        Ok(StoreReport { place, kind, unwritable: status.unwritable.clone().map(store_error), status })
    }

    /// Brings the tables of the store to the version of this release. Returns the version before, or `None` if there is
    /// no store yet.
    ///
    /// # Errors
    /// The store cannot be written, or has a newer version.
    pub async fn migrate_store(&self) -> Result<Option<SchemaVersion>, ServiceError> {
        self.store().migrate().await.map_err(store_error)
    }

    /// Verifies every run: folds its journal and compares the result with everything that is stored beside it.
    ///
    /// # Errors
    /// The store cannot be read. A fault of a run is no error.
    pub async fn verify_store(&self) -> Result<Verification, ServiceError> {
        store::verify(self.store()).await.map_err(store_error)
    }

    /// Writes runs with their journals and definitions to `out`, in the form that [`import_runs`](Service::import_runs)
    /// reads. Runs with secrets are left out.
    ///
    /// # Errors
    /// The store cannot be read, or the output cannot be written.
    pub async fn export_runs(&self, selection: &Selection, out: &mut dyn Write) -> Result<ExportResult, ExportError> {
        store::export(self.store(), selection, self.now(), out).await
    }

    /// Does the same into a new file that only its owner can read. The file appears when it is complete.
    ///
    /// # Errors
    /// The store cannot be read, the file exists, or it cannot be written.
    pub async fn export_runs_to(&self, selection: &Selection, path: &Path) -> Result<ExportResult, ServiceError> {
        if path.symlink_metadata().is_ok() {
            return Err(file_exists(path));
        }
        let file = NamedTempFile::new_in(folder_of(path)).map_err(|error| not_written(path, &error))?;
        let mut out = BufWriter::new(file);
        let exported = self.export_runs(selection, &mut out).await.map_err(|error| match error {
            ExportError::Store(error) => error,
            ExportError::Write(error) => not_written(path, &error),
        })?;
        let place = || -> io::Result<()> {
            let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            file.as_file().sync_all()?;
            file.persist_noclobber(path).map_err(|error| error.error)?;
            sync_folder(folder_of(path))
        };
        match place() {
            Ok(()) => Ok(exported),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(file_exists(path)),
            Err(error) => Err(not_written(path, &error)),
        }
    }

    /// Stores the runs of a file that [`export_runs`](Service::export_runs) has written. Each run is verified first, and is
    /// skipped if the store has it with the same content, so that an import can be repeated.
    ///
    /// # Errors
    /// The file cannot be opened.
    pub async fn import_runs(&self, path: &Path) -> Result<ImportResult, ServiceError> {
        let mut archive = open_archive(path)?;
        let mut last: Option<(Digest, Definition)> = None;
        let mut cover = |digest: &Digest, text: &Arc<str>, opening: &Opening| {
            if last.as_ref().is_none_or(|(known, _)| known != digest) {
                last = Some((digest.clone(), Definition::from_text(text)?));
            }
            Ok(last.as_ref().and_then(|(_, definition)| cover(&definition.workflow, opening)))
        };
        Ok(store::import(self.store(), &mut archive, &mut cover).await)
    }
}

/// Returns a store in memory with one run of an archive, to look at it.
///
/// # Errors
/// The archive cannot be read, or does not have the run, or has it damaged.
pub async fn archived_run(path: &Path, run: &RunId) -> Result<Arc<dyn Store>, ServiceError> {
    let mut archive = open_archive(path)?;
    let Some(archived) = archive.next(|id| id == run)? else {
        return Err(ServiceError::refused(
            "unknown_run",
            format!("`{}` has no run `{run}`", path.display()),
            "name another file, or leave out `--archive` for the runs of the store",
        ));
    };
    let new = store::new_run(archived, &mut |_, _, _| Ok(None)).map_err(|why| {
        let message = format!("the run `{run}` of `{}` is damaged: {why}", path.display());
        ServiceError::refused("run_invalid", message, "restore the file from a copy")
    })?;
    let store = MemoryStore::default();
    store.create(new).await.map_err(store_error)?;
    Ok(Arc::new(store))
}

fn open_archive(path: &Path) -> Result<Archive<BufReader<File>>, ServiceError> {
    let name = path.display().to_string();
    let file = disk::open(path).map_err(|error| unreadable(&name, &error))?;
    match file.metadata() {
        Ok(found) if found.is_file() => Ok(Archive::new(BufReader::new(file), name)),
        Ok(_) => Err(ServiceError::refused(
            "archive_unreadable",
            format!("`{name}` is not a file"),
            "write the export to a file first, and name that file",
        )),
        Err(error) => Err(unreadable(&name, &error)),
    }
}

fn unreadable(name: &str, error: &io::Error) -> ServiceError {
    let message = format!("`{name}` cannot be read: {}", plain(error));
    ServiceError::failed("archive_unreadable", message, "name a file that `portolan store export` has written")
}

fn file_exists(path: &Path) -> ServiceError {
    let message = format!("`{}` exists already", path.display());
    ServiceError::refused("file_exists", message, "name another file, or move it away")
}

pub(super) fn not_written(path: &Path, error: &io::Error) -> ServiceError {
    let message = format!("`{}` cannot be written: {}", path.display(), plain(error));
    ServiceError::failed("not_written", message, "name a file in a folder that you can write to, or free some space")
}

//! Removes runs that ended long ago, after they were put into an archive.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufWriter};
use std::path::Path;

use portolan_core::value::Timestamp;

use super::Service;
use super::operate::not_written;
use crate::disk::{folder_of, sync_folder};
use crate::error::ServiceError;
use crate::store::{
    ArchiveWriter, Entry, ExportError, LeftOuts, PageRequest, RunId, StoreError, ends_complete, store_error,
};

/// Which runs to remove, and what becomes of them.
#[derive(Clone, Copy, Debug)]
pub struct Prune<'p> {
    /// Runs that are over and whose last event was before this time.
    pub before: Timestamp,
    /// The archive to append them to before they are removed.
    pub archive: Option<&'p Path>,
    /// Whether nothing is removed and written, but only counted.
    pub is_dry_run: bool,
}

/// The result of a removal of runs.
#[derive(Clone, Debug, Default)]
pub struct PruneResult {
    /// The number of runs that were removed, or would be.
    pub runs: u64,
    /// The number of their records.
    pub records: u64,
    /// The first of these runs.
    pub named: Vec<String>,
    /// The number of definitions that were removed because no run is pinned to them any more.
    pub definitions: u64,
    /// The runs that are old enough and stay.
    pub left_out: LeftOuts,
    /// The reason why it ended early. What was removed until then stays removed.
    pub stopped: Option<ServiceError>,
}

/// The number of runs that are archived and removed at once.
const RUNS: usize = 200;
/// The maximum number of runs that are named.
const MOST_NAMED: usize = 1_000;

impl PruneResult {
    fn add(&mut self, run: &str, records: u64) {
        self.runs += 1;
        self.records += records;
        if self.named.len() < MOST_NAMED {
            self.named.push(run.to_owned());
        }
    }
}

impl Service {
    /// Removes runs that are over. A run that is open or driven is never removed, and with an archive no run is removed
    /// before it is in the archive, on disk.
    ///
    /// # Errors
    /// The archive cannot be used, or the store cannot be read.
    pub async fn prune_runs(&self, prune: &Prune<'_>) -> Result<PruneResult, ServiceError> {
        let mut archive = match prune.archive.filter(|_| !prune.is_dry_run) {
            Some(path) => Some(ArchiveFile::open(path)?),
            None => None,
        };
        let driven = match prune.is_dry_run {
            true => self.store().status().await.map_err(store_error)?.driven.unwrap_or_default(),
            false => Vec::new(),
        };
        let driven: BTreeSet<RunId> = driven.into_iter().collect();
        let mut pruned = PruneResult::default();
        let mut request = PageRequest { ended_before: Some(prune.before), ..PageRequest::first(RUNS) };
        loop {
            let page = self.store().page(&request).await.map_err(store_error)?;
            let Some(last) = page.last() else { break };
            request.after.clone_from(&last.handle);
            let done = match prune.is_dry_run {
                true => {
                    foresee(&page, prune, &driven, &mut pruned);
                    Ok(())
                }
                false => self.prune_page(&page, archive.as_mut(), &mut pruned).await,
            };
            if let Err(error) = done {
                return Ok(PruneResult { stopped: Some(error), ..pruned });
            }
        }
        if !prune.is_dry_run && pruned.runs > 0 {
            match self.store().remove_unused_definitions().await {
                Ok(count) => pruned.definitions = count,
                Err(error) => pruned.stopped = Some(store_error(error)),
            }
        }
        Ok(pruned)
    }

    async fn prune_page(
        &self,
        page: &[Entry],
        archive: Option<&mut ArchiveFile<'_>>,
        pruned: &mut PruneResult,
    ) -> Result<(), ServiceError> {
        let runs = match archive {
            Some(archive) => self.archive_page(page, archive, pruned).await?,
            None => page.iter().filter_map(|entry| last_record(entry, pruned)).collect(),
        };
        for (id, seq) in runs {
            match self.store().remove(&id, seq).await {
                Ok(()) => pruned.add(id.as_str(), seq),
                Err(StoreError::NotFound { .. }) => {}
                Err(StoreError::UnderWay { .. }) => pruned.left_out.add(id.as_str(), "under_way", "it is driven now"),
                Err(StoreError::Conflict { .. }) => {
                    pruned.left_out.add(id.as_str(), "run_moved", "it has moved meanwhile");
                }
                Err(error) => return Err(store_error(error)),
            }
        }
        Ok(())
    }

    /// Appends the runs of a page to the archive, durably. Returns those that are in it.
    async fn archive_page(
        &self,
        page: &[Entry],
        archive: &mut ArchiveFile<'_>,
        pruned: &mut PruneResult,
    ) -> Result<Vec<(RunId, u64)>, ServiceError> {
        let length = archive.file.metadata().map_err(|error| not_written(archive.path, &error))?.len();
        let appended = self.append(page, archive).await;
        let (runs, left_out) = appended.map_err(|error| {
            // Otherwise nothing could be appended to it any more.
            let _cut = archive.file.set_len(length);
            match error {
                ExportError::Store(error) => error,
                ExportError::Write(error) => not_written(archive.path, &error),
            }
        })?;
        pruned.left_out.extend(left_out);
        Ok(runs)
    }

    async fn append(
        &self,
        page: &[Entry],
        archive: &ArchiveFile<'_>,
    ) -> Result<(Vec<(RunId, u64)>, LeftOuts), ExportError> {
        let mut out = BufWriter::new(&archive.file);
        let mut writer = ArchiveWriter::begin(self.store(), self.now(), &mut out)?;
        let mut runs = Vec::new();
        for entry in page {
            if let (Some(seq), Some(id)) = (writer.add(entry).await?, RunId::parse(&entry.handle)) {
                runs.push((id, seq));
            }
        }
        let exported = writer.finish()?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        Ok((runs, exported.left_out))
    }
}

/// Counts the runs of a page that would be removed.
fn foresee(page: &[Entry], prune: &Prune<'_>, driven: &BTreeSet<RunId>, pruned: &mut PruneResult) {
    for entry in page {
        let Some((id, seq)) = last_record(entry, pruned) else { continue };
        if driven.contains(&id) {
            pruned.left_out.add(id.as_str(), "under_way", "it is driven now");
        } else if prune.archive.is_some() && entry.is_sealed {
            pruned.left_out.add_sealed(id.as_str());
        } else {
            pruned.add(id.as_str(), seq);
        }
    }
}

/// Returns the number of the last record of a run. A damaged run stays.
fn last_record(entry: &Entry, pruned: &mut PruneResult) -> Option<(RunId, u64)> {
    match &entry.summary {
        Ok(run) => Some((run.id.clone(), run.seq)),
        Err(error) => {
            pruned.left_out.add(&entry.handle, "run_damaged", error.to_string());
            None
        }
    }
}

/// An archive that is appended to. It is locked, so that two processes do not mix their lines.
struct ArchiveFile<'p> {
    path: &'p Path,
    file: File,
}

impl<'p> ArchiveFile<'p> {
    fn open(path: &'p Path) -> Result<ArchiveFile<'p>, ServiceError> {
        let failed = |error: io::Error| not_written(path, &error);
        let mut file = append_to(path).map_err(failed)?;
        if !file.metadata().map_err(failed)?.is_file() {
            let message = format!("`{}` is not a file", path.display());
            return Err(ServiceError::refused("not_written", message, "name a file to append to"));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let message = format!("another process appends to `{}`", path.display());
                return Err(ServiceError::refused(
                    "archive_in_use",
                    message,
                    "wait until it is done, or name another file",
                ));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        if !ends_complete(&mut file).map_err(failed)? {
            return Err(ServiceError::refused(
                "archive_incomplete",
                format!("`{}` is not an archive of runs, or ends in the middle of an export", path.display()),
                "name another file: runs that are incomplete in an archive have not been removed",
            ));
        }
        sync_folder(folder_of(path)).map_err(failed)?;
        Ok(ArchiveFile { path, file })
    }
}

/// Opens a file to append to. A new one can be read by its owner alone.
fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    options.open(path)
}

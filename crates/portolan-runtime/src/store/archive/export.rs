//! Writes runs to an archive.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::sync::Arc;

use portolan_core::value::Timestamp;

use super::{DefinitionLine, Header, LeftOuts, Line, MAX_LINE, MAX_RECORDS, MAX_RUN, RunLine, SEALED, Totals, VERSION};
use crate::clock::rfc3339;
use crate::error::ServiceError;
use crate::store::fold::Fold;
use crate::store::{Digest, Entry, PageRequest, RunId, Store, StoreError, store_error};

/// The runs to export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// These runs, or all.
    pub runs: Option<Vec<RunId>>,
    /// Only those that are over and whose last event was before this time.
    pub ended_before: Option<Timestamp>,
}

/// The result of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExportResult {
    /// The number of runs in the export.
    pub runs: u64,
    /// The number of their records.
    pub records: u64,
    /// The number of definitions in the export.
    pub definitions: u64,
    /// The runs that are not in it.
    pub left_out: LeftOuts,
}

/// The reason why an export ended early.
#[derive(Debug)]
pub enum ExportError {
    /// The store cannot be read.
    Store(ServiceError),
    /// The archive cannot be written.
    Write(io::Error),
}

impl From<StoreError> for ExportError {
    fn from(error: StoreError) -> ExportError {
        ExportError::Store(store_error(error))
    }
}

impl From<io::Error> for ExportError {
    fn from(error: io::Error) -> ExportError {
        ExportError::Write(error)
    }
}

/// The number of runs that are read at once.
const RUNS: usize = 200;
/// The number of records that are read at once.
const RECORDS: usize = 100;

/// Writes one export with the selected runs.
pub(crate) async fn export(
    store: &dyn Store,
    selection: &Selection,
    at: Timestamp,
    out: &mut dyn Write,
) -> Result<ExportResult, ExportError> {
    let mut writer = ArchiveWriter::begin(store, at, out)?;
    match &selection.runs {
        Some(runs) => {
            for id in runs {
                let page = PageRequest { ended_before: selection.ended_before, ..PageRequest::only(id) };
                let found = store.page(&page).await?;
                match found.iter().find(|entry| entry.handle == id.as_str()) {
                    Some(entry) => drop(writer.add(entry).await?),
                    None => return Err(StoreError::no_run(id).into()),
                }
            }
        }
        None => {
            let mut request = PageRequest { ended_before: selection.ended_before, ..PageRequest::first(RUNS) };
            loop {
                let page = store.page(&request).await?;
                let Some(last) = page.last() else { break };
                request.after.clone_from(&last.handle);
                for entry in &page {
                    writer.add(entry).await?;
                }
            }
        }
    }
    writer.finish()
}

/// One export that is being written.
pub(crate) struct ArchiveWriter<'w> {
    store: &'w dyn Store,
    out: &'w mut dyn Write,
    written: BTreeSet<Digest>,
    exported: ExportResult,
}

impl<'w> ArchiveWriter<'w> {
    pub(crate) fn begin(
        store: &'w dyn Store,
        at: Timestamp,
        out: &'w mut dyn Write,
    ) -> Result<ArchiveWriter<'w>, ExportError> {
        let by = concat!("portolan ", env!("CARGO_PKG_VERSION")).to_owned();
        out.write_all(&line(&Line::Export(Header { version: VERSION, at: rfc3339(at), by })))?;
        Ok(ArchiveWriter { store, out, written: BTreeSet::new(), exported: ExportResult::default() })
    }

    /// Adds a run. Returns the number of its last record in the export, or `None` if it was left out.
    pub(crate) async fn add(&mut self, entry: &Entry) -> Result<Option<u64>, ExportError> {
        match self.read(entry).await? {
            Ok(Some((run, definition))) => {
                self.write(&run, definition)?;
                Ok(Some(run.head.records))
            }
            Ok(None) => Ok(None),
            Err((code, why)) => {
                self.exported.left_out.add(&entry.handle, code, why);
                Ok(None)
            }
        }
    }

    fn write(&mut self, run: &RunText, definition: Option<Vec<u8>>) -> Result<(), ExportError> {
        if let Some(text) = definition {
            self.out.write_all(&text)?;
            self.written.insert(run.head.definition.clone());
            self.exported.definitions += 1;
        }
        self.out.write_all(&run.text)?;
        self.exported.runs += 1;
        self.exported.records += run.head.records;
        Ok(())
    }

    /// Returns the lines of a run, and that of its definition unless it is written already; `None` for a run that was
    /// removed meanwhile, or else the code and the reason why it cannot be exported.
    async fn read(&self, entry: &Entry) -> Result<Result<Option<(RunText, Option<Vec<u8>>)>, Why>, StoreError> {
        if entry.is_sealed {
            return Ok(Err((SEALED, "it has secrets, which would be readable in the file".to_owned())));
        }
        let Some(id) = RunId::parse(&entry.handle) else { return Ok(Err(unreadable("its handle is not valid"))) };
        let text = match self.text(&id).await {
            Ok(Ok(text)) => text,
            Ok(Err(why)) => return Ok(Err(why)),
            Err(StoreError::NotFound { .. }) if entry.summary.is_ok() => return Ok(Ok(None)),
            Err(error) => return of_damage(error).map(Err),
        };
        if self.written.contains(&text.head.definition) {
            return Ok(Ok(Some((text, None))));
        }
        let digest = text.head.definition.clone();
        let definition = match self.store.definition(&digest).await {
            Ok(definition) => definition,
            Err(error) => return of_damage(error).map(Err),
        };
        if Digest::of(&*definition) != digest {
            return Ok(Err(unreadable(&format!("the text of its definition `{digest}` was changed"))));
        }
        let definition = line(&Line::Definition(DefinitionLine { digest, text: definition_text(definition) }));
        Ok(if definition.len() > MAX_LINE { Err(too_large()) } else { Ok(Some((text, Some(definition)))) })
    }

    /// Returns the lines of a run, as far as they are a journal that leads to the stored run.
    async fn text(&self, id: &RunId) -> Result<Result<RunText, Why>, StoreError> {
        let stored = self.store.load(id).await?;
        if stored.seq > MAX_RECORDS {
            return Ok(Err(too_large()));
        }
        let head = RunLine { id: id.clone(), definition: stored.definition, records: stored.seq };
        let mut text = line(&Line::Run(RunLine { id: id.clone(), definition: head.definition.clone(), ..head }));
        let mut fold = Fold::default();
        while fold.seq() < stored.seq {
            let limit = usize::try_from(stored.seq - fold.seq()).unwrap_or(usize::MAX).min(RECORDS);
            let page = self.store.records(id, fold.seq(), limit).await?;
            if page.is_empty() {
                return Ok(Err(unreadable("its last records are missing")));
            }
            for record in page {
                if let Err(why) = fold.add(&record) {
                    return Ok(Err(unreadable(&why)));
                }
                let record = line(&Line::Record(Box::new(record)));
                if record.len() > MAX_LINE || text.len() + record.len() > MAX_RUN {
                    return Ok(Err(too_large()));
                }
                text.extend(record);
            }
        }
        match fold.finish() {
            Some(folded) if folded.run == stored.run => Ok(Ok(RunText { head, text })),
            _ => Ok(Err(unreadable("its snapshot is not the fold of its records"))),
        }
    }

    /// Ends the export.
    pub(crate) fn finish(self) -> Result<ExportResult, ExportError> {
        let ExportResult { runs, records, .. } = self.exported;
        self.out.write_all(&line(&Line::End(Totals { runs, records })))?;
        self.out.flush()?;
        Ok(self.exported)
    }
}

/// The lines of a run.
struct RunText {
    head: RunLine,
    text: Vec<u8>,
}

/// The code and the reason why a run is left out.
type Why = (&'static str, String);

fn unreadable(why: &str) -> Why {
    ("run_damaged", format!("{why}: `portolan store verify` lists all faults"))
}

fn too_large() -> Why {
    let why = format!(
        "it is larger than an archive may hold ({} MiB for a record or a definition, {} MiB for a run)",
        MAX_LINE >> 20,
        MAX_RUN >> 20
    );
    ("run_too_large", why)
}

/// Returns why a damaged run is left out. Any other error ends the export.
fn of_damage(error: StoreError) -> Result<Why, StoreError> {
    match error {
        StoreError::Corrupt(why) => Ok(("run_damaged", why)),
        StoreError::NotFound { what } => Ok(unreadable(&format!("its {what} is missing"))),
        error => Err(error),
    }
}

fn definition_text(text: Arc<str>) -> String {
    text.as_ref().to_owned()
}

fn line(line: &Line) -> Vec<u8> {
    let mut text = serde_json::to_vec(line).expect("lines consist of structs, lists, texts and numbers");
    text.push(b'\n');
    text
}

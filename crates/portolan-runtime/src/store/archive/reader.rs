//! Reads archives. A file from elsewhere may contain anything: each line, each run and everything that is remembered of
//! the file is bounded.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Seek, SeekFrom};
use std::sync::Arc;

use serde::Deserialize;

use super::{DefinitionLine, Line, MAX_DEFINITIONS, MAX_LINE, MAX_RECORDS, MAX_RUN, RunLine, Totals, VERSION};
use crate::error::{ServiceError, plain};
use crate::nesting;
use crate::store::{Digest, Record, RunId};

/// A run of an archive, as its lines have it.
pub(crate) struct ArchivedRun {
    pub(crate) id: RunId,
    pub(crate) definition: Digest,
    pub(crate) definition_text: Arc<str>,
    pub(crate) records: Vec<Record>,
}

/// An archive that is being read.
pub(crate) struct Archive<R> {
    input: R,
    /// The name of the file, for messages.
    name: String,
    /// The number of the line that was read last.
    line: u64,
    /// The place of the next line.
    offset: u64,
    buffer: Vec<u8>,
    /// The places of the definitions.
    definitions: BTreeMap<Digest, u64>,
    /// The definition that was read last. Most runs have that of the run before.
    last: Option<(Digest, Arc<str>)>,
    /// What the present export has so far. `None` between two exports.
    totals: Option<Totals>,
    has_export: bool,
}

/// The fields of the first line that every version has.
#[derive(Deserialize)]
struct AnyHeader {
    export: AnyVersion,
}

#[derive(Deserialize)]
struct AnyVersion {
    version: u64,
}

impl<R: BufRead + Seek> Archive<R> {
    pub(crate) fn new(input: R, name: impl Into<String>) -> Archive<R> {
        Archive {
            input,
            name: name.into(),
            line: 0,
            offset: 0,
            buffer: Vec::new(),
            definitions: BTreeMap::new(),
            last: None,
            totals: None,
            has_export: false,
        }
    }

    /// Returns the next run that `is_wanted`, or `None` at the end of a complete archive.
    ///
    /// # Errors
    /// The file cannot be read, or it is no archive, or it ends early.
    pub(crate) fn next(&mut self, is_wanted: impl Fn(&RunId) -> bool) -> Result<Option<ArchivedRun>, ServiceError> {
        loop {
            if !self.read_line()? {
                return match (&self.totals, self.has_export) {
                    (None, true) => Ok(None),
                    (None, false) => Err(self.refused("is empty")),
                    (Some(_), _) => Err(self.ends_early()),
                };
            }
            if self.totals.is_none() {
                self.header()?;
                continue;
            }
            match self.parsed()? {
                Line::Definition(definition) => self.definition(definition)?,
                Line::Run(head) => {
                    let is_wanted = is_wanted(&head.id);
                    if let Some(run) = self.run(head, is_wanted)? {
                        return Ok(Some(run));
                    }
                }
                Line::End(end) => self.end(end)?,
                Line::Record(_) => return Err(self.wrong("has a record outside of a run")),
                Line::Export(_) => return Err(self.wrong("begins an export inside of another one")),
            }
        }
    }

    fn header(&mut self) -> Result<(), ServiceError> {
        let header: Option<AnyHeader> = nesting::read(&self.buffer).ok();
        let Some(AnyHeader { export: AnyVersion { version } }) = header else {
            return Err(match self.has_export {
                true => self.wrong("does not begin an export"),
                false => self.refused("is not an archive of runs"),
            });
        };
        if version != u64::from(VERSION) {
            return Err(ServiceError::refused(
                "archive_version",
                format!("`{}` is an archive of version {version}, and this release reads version {VERSION}", self.name),
                "use the release of portolan that wrote it, or a newer one",
            ));
        }
        let Line::Export(_) = self.parsed()? else { return Err(self.wrong("does not begin an export")) };
        (self.totals, self.has_export) = (Some(Totals::default()), true);
        Ok(())
    }

    fn definition(&mut self, definition: DefinitionLine) -> Result<(), ServiceError> {
        let DefinitionLine { digest, text } = definition;
        if Digest::of(&text) != digest {
            return Err(self.wrong("has a definition whose text was changed"));
        }
        if self.definitions.len() >= MAX_DEFINITIONS && !self.definitions.contains_key(&digest) {
            return Err(self.wrong(&format!("has more than {MAX_DEFINITIONS} definitions")));
        }
        self.definitions.insert(digest.clone(), self.offset - self.buffer.len() as u64);
        self.last = Some((digest, text.into()));
        Ok(())
    }

    /// Reads the records of a run.
    fn run(&mut self, head: RunLine, is_wanted: bool) -> Result<Option<ArchivedRun>, ServiceError> {
        let RunLine { id, definition, records: count } = head;
        if !(1..=MAX_RECORDS).contains(&count) {
            return Err(self.wrong(&format!("has a run of {count} records; a run has 1 to {MAX_RECORDS}")));
        }
        if !self.definitions.contains_key(&definition) {
            return Err(self.wrong("has a run whose definition is not before it"));
        }
        let (mut records, mut length) = (Vec::new(), 0);
        for _ in 0..count {
            if !self.read_line()? {
                return Err(self.ends_early());
            }
            if !is_wanted {
                continue;
            }
            length += self.buffer.len();
            if length > MAX_RUN {
                return Err(self.wrong(&format!("belongs to a run of more than {} MiB", MAX_RUN >> 20)));
            }
            match self.parsed()? {
                Line::Record(record) => records.push(*record),
                _ => return Err(self.wrong(&format!("is not one of the {count} records of run `{id}`"))),
            }
        }
        let totals = self.totals.get_or_insert_default();
        (totals.runs, totals.records) = (totals.runs + 1, totals.records + count);
        if !is_wanted {
            return Ok(None);
        }
        let definition_text = self.definition_text(&definition)?;
        Ok(Some(ArchivedRun { id, definition, definition_text, records }))
    }

    /// Returns the text of a definition that was read before.
    fn definition_text(&mut self, digest: &Digest) -> Result<Arc<str>, ServiceError> {
        if let Some((last, text)) = &self.last
            && last == digest
        {
            return Ok(Arc::clone(text));
        }
        let (line, offset) = (self.line, self.offset);
        let place = self.definitions.get(digest).copied().unwrap_or_default();
        self.go_to(place)?;
        self.read_line()?;
        let Line::Definition(DefinitionLine { text, .. }) = self.parsed()? else {
            return Err(self.refused("changes while it is read"));
        };
        if Digest::of(&text) != *digest {
            return Err(self.refused("changes while it is read"));
        }
        self.go_to(offset)?;
        self.line = line;
        let text: Arc<str> = text.into();
        self.last = Some((digest.clone(), Arc::clone(&text)));
        Ok(text)
    }

    fn go_to(&mut self, offset: u64) -> Result<(), ServiceError> {
        self.input.seek(SeekFrom::Start(offset)).map_err(|error| unreadable(&self.name, &error))?;
        self.offset = offset;
        Ok(())
    }

    fn end(&mut self, end: Totals) -> Result<(), ServiceError> {
        let totals = self.totals.take().unwrap_or_default();
        if end != totals {
            return Err(self.wrong(&format!(
                "ends an export of {} runs with {} records, and it has {} with {}",
                end.runs, end.records, totals.runs, totals.records
            )));
        }
        Ok(())
    }

    /// Reads the next line into the buffer. Returns `false` at the end of the file.
    fn read_line(&mut self) -> Result<bool, ServiceError> {
        self.buffer.clear();
        let most = MAX_LINE as u64 + 1;
        let read = (&mut self.input).take(most).read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|error| unreadable(&self.name, &error))?;
        self.line += u64::from(read > 0);
        self.offset += read as u64;
        if read > MAX_LINE {
            return Err(self.wrong(&format!("is longer than {} MiB", MAX_LINE >> 20)));
        }
        if read > 0 && self.buffer.last() != Some(&b'\n') {
            return Err(self.ends_early());
        }
        Ok(read > 0)
    }

    fn parsed(&self) -> Result<Line, ServiceError> {
        nesting::read(&self.buffer).map_err(|why| self.wrong(&format!("is not a line of an archive ({why})")))
    }

    fn ends_early(&self) -> ServiceError {
        if !self.has_export {
            return self.refused("is not an archive of runs");
        }
        ServiceError::refused(
            "archive_incomplete",
            format!("`{}` ends after line {}, in the middle of an export", self.name, self.line),
            "export the runs again: those that are complete here can be imported, and are skipped the next time",
        )
    }

    fn wrong(&self, why: &str) -> ServiceError {
        ServiceError::refused(
            "archive_damaged",
            format!("line {} of `{}` {why}", self.line, self.name),
            "export the runs again, or restore the file from a copy",
        )
    }

    fn refused(&self, why: &str) -> ServiceError {
        ServiceError::refused(
            "not_an_archive",
            format!("`{}` {why}", self.name),
            "name a file that `portolan store export` has written",
        )
    }
}

/// The maximum length of the line that ends an export.
const MAX_END: i64 = 1_024;

/// Checks whether a file is empty, or ends with a complete export.
pub(crate) fn ends_complete(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    let length = file.seek(SeekFrom::End(0))?;
    if length == 0 {
        return Ok(true);
    }
    let tail = i64::try_from(length).unwrap_or(i64::MAX).min(MAX_END);
    file.seek(SeekFrom::End(-tail))?;
    let mut text = Vec::new();
    file.take(MAX_END.unsigned_abs()).read_to_end(&mut text)?;
    let Some(text) = text.strip_suffix(b"\n") else { return Ok(false) };
    let last = text.rsplit(|byte| *byte == b'\n').next().unwrap_or(text);
    Ok(matches!(nesting::read(last), Ok(Line::End(_))))
}

/// Returns the error for an archive that cannot be read.
pub(crate) fn unreadable(name: &str, error: &io::Error) -> ServiceError {
    ServiceError::failed(
        "archive_unreadable",
        format!("`{name}` cannot be read: {}", plain(error)),
        "name a file that you can read",
    )
}

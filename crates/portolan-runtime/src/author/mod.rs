//! Writes definitions for an author who cannot see them: an agent, one tool of a file of graphs at a time, or one piece
//! of a file of any format.
//!
//! Every change is checked before it is written, as `portolan check` does. The file is replaced as a whole, and the
//! rest of its text does not change. Drafts are never written. Knows files and graphs, and no protocol.

mod change;
mod checks;
mod draft;
mod edit;
mod file;
mod operations;
mod places;
mod save;
mod servers;
mod template;
#[cfg(test)]
mod tests;
mod whole;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use portolan_core::source::Source;
use serde_json::Value;

use crate::definition::{Definition, DefinitionError, Findings};
use crate::error::ServiceError;
use crate::graphs::GraphVersion;
use crate::library::{FunctionFiles, FunctionSet, Library};
use crate::servers::PoolOptions;
use crate::service::Service;

pub use change::{Change, Present, ToolName};
pub use edit::{Edit, EditResult};
pub(crate) use file::LockedFile;
pub use operations::MAX_OPERATIONS;
pub use places::{MoveTarget, Places, forget, keep};
pub(crate) use save::MARK;
pub use save::{OnDisk, SaveResult, save};
pub use servers::ServerList;
pub use template::template;
pub use whole::{Whole, edge_names};

/// One definition, and the servers for trying things out.
pub struct Author {
    file: PathBuf,
    mcp: Option<PathBuf>,
    options: PoolOptions,
    pool: Mutex<Option<servers::Pool>>,
}

/// Returns the error for a request that was not performed. Nothing was written.
fn refused(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> DefinitionError {
    ServiceError::refused(code, message, help).into()
}

/// A change that was written.
#[derive(Debug)]
pub struct AppliedChange {
    /// The tool.
    pub name: String,
    /// The revision of the tool's text after the change. `None` if the tool was deleted.
    pub revision: Option<String>,
    /// The findings in the file that did not prevent the change, new and old.
    pub findings: Findings,
    /// Whether it can be run: earlier faults of the file may remain.
    pub sound: bool,
}

impl Author {
    /// Returns the author of a file, which need not exist yet, or of the one definition of a folder. `mcp` is the
    /// user's own file of servers.
    ///
    /// # Errors
    /// The path is no file, its folder does not exist, or the folder has not exactly one definition.
    pub fn new(file: PathBuf, mcp: Option<PathBuf>, options: PoolOptions) -> Result<Author, ServiceError> {
        let file = if file.is_dir() { whole::file_in(&file)? } else { file };
        file::place(&file)?;
        Ok(Author { file, mcp, options, pool: Mutex::default() })
    }

    /// Returns the file as it was named.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the present file.
    ///
    /// # Errors
    /// It cannot be read, or is no file of graphs.
    pub fn present(&self) -> Result<Present, DefinitionError> {
        let text = file::read(&self.file)?;
        Present::of(&self.file, text.as_deref())
    }

    /// Writes a change, unless it brings errors. `revision` is that of the tool as the caller knows it.
    ///
    /// # Errors
    /// The change cannot be made, brings errors, or the tool has been changed meanwhile. Nothing was written.
    pub async fn write(
        &self,
        library: &Library,
        change: Change,
        revision: Option<&str>,
    ) -> Result<AppliedChange, DefinitionError> {
        let mut locked = file::LockedFile::wait(&self.file).await?;
        loop {
            let text = locked.read()?;
            let present = Present::of(&self.file, text.as_deref())?;
            present.expect(&change, revision)?;
            let planned = present.planned(&change)?;
            let checked = self.checked(library, &present, &planned)?;
            if locked.replace(text.as_deref(), &present.whole(&planned.text))? {
                let after = Present::of(&self.file, Some(&planned.text))?;
                let revision = after.tool(&planned.name).ok().and_then(|tool| after.revision(&tool));
                let checks::FileFindings { findings, sound } = checked;
                return Ok(AppliedChange { name: planned.name, revision, findings, sound });
            }
        }
    }

    /// Returns the functions and servers of the present file.
    ///
    /// # Errors
    /// It has faults.
    pub fn loaded(&self, service: &Service) -> Result<GraphVersion, DefinitionError> {
        self.load(service, &self.present()?, None)
    }

    /// Returns the functions and servers of the file with `tool` in it, in the place of one of the same name, and the
    /// tool's definition.
    ///
    /// # Errors
    /// The draft, or the rest of the file, has faults.
    pub fn drafted(&self, service: &Service, tool: Value) -> Result<(GraphVersion, Arc<Definition>), DefinitionError> {
        let present = self.present()?;
        let draft = present.draft(tool)?;
        let loaded = self.load(service, &present, Some(&draft.source))?;
        let definition = Arc::clone(loaded.functions.called(Some(&draft.name))?);
        Ok((loaded, definition))
    }

    fn load(
        &self,
        service: &Service,
        present: &Present,
        text: Option<&Source>,
    ) -> Result<GraphVersion, DefinitionError> {
        let servers = self.servers(service, present)?;
        match self.functions(service.library(), text.unwrap_or(&present.source)) {
            Ok(functions) => Ok(GraphVersion { functions, servers }),
            Err(DefinitionError { findings, .. }) if !findings.is_empty() => {
                Err(checks::faulty("the definition has faults, and was not run", findings))
            }
            Err(error) => Err(error),
        }
    }

    /// Reads the functions of a text, as if it were in the file.
    fn functions(&self, library: &Library, text: &Source) -> Result<FunctionSet, DefinitionError> {
        let files = std::slice::from_ref(&self.file);
        library.functions(FunctionFiles { text: Some(text), ..FunctionFiles::served(files, self.mcp.as_deref()) })
    }
}

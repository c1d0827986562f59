//! A definition is written by somebody who cannot see it: an agent, one tool of a file of graphs at a time, or one piece
//! of a file of any format.
//!
//! Every change is checked before it is written, as `portolan check` does; the file is replaced as a whole, and keeps
//! whatever the change does not concern. What is tried out is never written. Knows files and graphs, and no protocol.

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
pub use edit::{Edit, Edited};
pub(crate) use file::Locked;
pub use operations::MAX_OPERATIONS;
pub use places::{Moving, Places, forget, keep};
pub(crate) use save::MARK;
pub use save::{OnDisk, Saved, save};
pub use servers::ServerList;
pub use template::template;
pub use whole::{Whole, edge_names};

/// One definition, and who may be called to try things out.
pub struct Author {
    file: PathBuf,
    mcp: Option<PathBuf>,
    options: PoolOptions,
    pool: Mutex<Option<servers::Pool>>,
}

/// A request that was not done. Nothing was written.
fn refused(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> DefinitionError {
    ServiceError::refused(code, message, help).into()
}

/// A change that was written.
#[derive(Debug)]
pub struct AppliedChange {
    /// The tool.
    pub name: String,
    /// What its text is known by afterwards; nothing when it is gone.
    pub revision: Option<String>,
    /// What was found in the file that keeps nothing from being written: what the change brings, and what was there.
    pub findings: Findings,
    /// Whether it can be run: what was wrong with the file before may still be.
    pub sound: bool,
}

impl Author {
    /// The author of a file, which need not exist yet, or of the one definition of a folder. `mcp` is the user's own file
    /// of servers.
    ///
    /// # Errors
    /// What stands there is no file, its folder does not exist, or there is not one definition in the folder.
    pub fn new(file: PathBuf, mcp: Option<PathBuf>, options: PoolOptions) -> Result<Author, ServiceError> {
        let file = if file.is_dir() { whole::file_in(&file)? } else { file };
        file::place(&file)?;
        Ok(Author { file, mcp, options, pool: Mutex::default() })
    }

    /// The file as it was named.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The file as it is now.
    ///
    /// # Errors
    /// It cannot be read, or is no file of graphs.
    pub fn present(&self) -> Result<Present, DefinitionError> {
        let text = file::read(&self.file)?;
        Present::of(&self.file, text.as_deref())
    }

    /// Writes a change, when the file is sound with it. `revision` is that of the tool as the caller knows it.
    ///
    /// # Errors
    /// The change cannot be made, has faults, or somebody else has changed the tool. Nothing was written.
    pub async fn write(
        &self,
        library: &Library,
        change: Change,
        revision: Option<&str>,
    ) -> Result<AppliedChange, DefinitionError> {
        let mut locked = file::Locked::wait(&self.file).await?;
        loop {
            let text = locked.read()?;
            let present = Present::of(&self.file, text.as_deref())?;
            present.expect(&change, revision)?;
            let planned = present.planned(&change)?;
            let checked = self.checked(library, &present, &planned)?;
            if locked.replace(text.as_deref(), &present.whole(&planned.text))? {
                let after = Present::of(&self.file, Some(&planned.text))?;
                let revision = after.tool(&planned.name).ok().and_then(|tool| after.revision(&tool));
                let checks::Checked { findings, sound } = checked;
                return Ok(AppliedChange { name: planned.name, revision, findings, sound });
            }
        }
    }

    /// What the file comes to as it is now.
    ///
    /// # Errors
    /// It has faults.
    pub fn loaded(&self, service: &Service) -> Result<GraphVersion, DefinitionError> {
        self.load(service, &self.present()?, None)
    }

    /// What the file would come to with `tool` in it, in the place of one of the same name; and its function.
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

    /// What a text comes to, as if it stood in the file.
    fn functions(&self, library: &Library, text: &Source) -> Result<FunctionSet, DefinitionError> {
        let files = std::slice::from_ref(&self.file);
        library.functions(FunctionFiles { text: Some(text), ..FunctionFiles::served(files, self.mcp.as_deref()) })
    }
}

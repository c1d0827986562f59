//! The findings in the project's attachments to workflows, across all workflows.

use std::path::{Path, PathBuf};

use portolan_core::diagnostic::Diagnostic;
use portolan_core::dialect::verify;
use portolan_core::graph::Graph;

use super::{DefinitionReview, Library, read_definition};
use crate::attachments::{self, Origins};
use crate::definition::ParsedText;
use crate::error::ServiceError;

impl Library {
    /// Returns the places where the project's attachments are written now.
    pub fn origins(&self) -> Origins {
        Origins::of(&self.project)
    }

    /// Returns all findings in the file. `None` if the project has none. `functions` are files of functions besides
    /// those of the project. Entries that match nothing are reported once the file has no faults.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn review_attachments(&self, functions: &[PathBuf]) -> Result<Option<DefinitionReview>, ServiceError> {
        let Some(source) = attachments::source(&self.project)? else { return Ok(None) };
        let (attachments, mut faults) = verify::read(&source);
        if !faults.iter().any(Diagnostic::is_error) {
            let graphs = self.all_graphs(functions);
            faults.extend(attachments.unmatched(&graphs.iter().collect::<Vec<_>>()));
        }
        Ok(Some(DefinitionReview { source, faults }))
    }

    /// Returns every workflow that can be drawn, as it is written, under the name by which it is run.
    fn all_graphs(&self, functions: &[PathBuf]) -> Vec<Graph> {
        let known = self.ids().into_iter().filter_map(|(id, _)| Some((Some(id.clone()), self.text(&id).ok()?.0)));
        let read = |path: &Path| read_definition(path).ok();
        let besides = functions.iter().filter_map(|path| Some((None, read(path)?)));
        let graphs = known.chain(besides).flat_map(|(id, source)| {
            let (mut file, _) = ParsedText::all(&source, self.strictness);
            if let ([one], Some(id)) = (file.as_mut_slice(), id)
                && one.graph.interface.is_none()
            {
                one.graph.id.value = id;
            }
            file.into_iter().map(|one| one.graph)
        });
        graphs.collect()
    }
}

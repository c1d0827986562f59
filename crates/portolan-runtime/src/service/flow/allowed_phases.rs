//! Restricts the phases with which a task may begin, if hooks are installed: shipped phases, or those of the project
//! that a person has agreed to. An agent may write workflows, and phases of its own would not restrict it.

use std::path::Path;

use super::Flow;
use crate::catalog;
use crate::definition::Definition;
use crate::error::ServiceError;
use crate::pins::Pins;
use crate::trust::phases_digest;

impl Flow<'_> {
    /// Refuses phases that no person has agreed to. The run keeps their texts: the task continues unchanged if the file
    /// changes.
    pub(super) fn are_agreed(&self, name: &str, definition: &Definition) -> Result<(), ServiceError> {
        let Some(digest) = phases_digest(&definition.workflow, &definition.texts_digest()) else { return Ok(()) };
        // Without hooks, phases do not restrict an agent anyway. An unreadable state may be an installation.
        let is_installed = !matches!(Pins::around(self.service.project()), Ok(None));
        if !is_installed || is_shipped(definition) {
            return Ok(());
        }
        match self.service.trust.is_trusted(&digest) {
            Ok(true) => return Ok(()),
            Err(error) if error.is_of_store() => {
                return Err(ServiceError::refused("not_trusted", error.message, error.help));
            }
            // A trust record that cannot be read trusts nothing.
            Ok(false) | Err(_) => {}
        }
        let path = self.service.library.path(name);
        let path = path.as_deref().map(|path| path.strip_prefix(self.service.project()).unwrap_or(path));
        Err(not_agreed(name, path.unwrap_or(Path::new(name))))
    }
}

fn not_agreed(name: &str, path: &Path) -> ServiceError {
    let path = path.display();
    let hides = if catalog::workflow(name).is_some() { " and hide the shipped ones" } else { "" };
    let message = format!(
        "the phases of `{name}` come from `{path}`{hides}, and no person has accepted them in their current form"
    );
    let help = format!("ask the person to review them and to run `portolan trust {path}`, or begin with shipped ones");
    ServiceError::refused("not_trusted", message, help)
}

/// Checks whether every text of a definition is the catalogue's text of that name.
fn is_shipped(definition: &Definition) -> bool {
    let bundle = &definition.bundle;
    bundle.activities.is_empty()
        && bundle.workflows.iter().all(|(id, text)| catalog::workflow(id).is_some_and(|entry| entry.text == text))
}

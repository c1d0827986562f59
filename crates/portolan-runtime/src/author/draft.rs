//! Definitions that are tried out: they are never written to the file.

use portolan_core::source::Source;
use serde_json::{Value, json};

use super::change::{Change, Present, name_of, tools};
use crate::definition::DefinitionError;

/// A file with a draft in it.
pub(super) struct Draft {
    pub(super) source: Source,
    pub(super) name: String,
}

/// The name of a draft without a name.
const UNNAMED: &str = "draft";

impl Present {
    /// Returns the file with `tool` in the place of the one of its name, or after all others.
    pub(super) fn draft(&self, mut tool: Value) -> Result<Draft, DefinitionError> {
        let name = match name_of(&tool)? {
            Some(name) => name,
            None => {
                tool["name"] = json!(UNNAMED);
                UNNAMED.to_owned()
            }
        };
        let text = self.with_draft(&name, &tool);
        Ok(Draft { source: Source::new(&*self.source.name, text), name })
    }

    /// Returns the text as it would be written, so that faults have their later positions, or else any text of the same
    /// value.
    fn with_draft(&self, name: &str, tool: &Value) -> String {
        let known = self.tools().iter().any(|known| known.name == name);
        let change = match known {
            true => Change::Update(name.to_owned(), tool.clone()),
            false => Change::Add(tool.clone()),
        };
        if let Ok(planned) = self.planned(&change) {
            return planned.text;
        }
        let mut file = self.value();
        if let Some(fields) = file.as_object_mut().filter(|fields| fields.contains_key("nodes")) {
            // Nodes beside the tools allow only one tool: the draft runs with only the servers of the file.
            fields.shift_remove("nodes");
            fields.insert("tools".to_owned(), json!([]));
        }
        let all = tools(&mut file);
        match all.iter_mut().find(|known| known["name"] == name) {
            Some(known) => *known = tool.clone(),
            None => all.push(tool.clone()),
        }
        format!("{file:#}")
    }
}

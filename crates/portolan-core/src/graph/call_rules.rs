//! Rules for calls of tools that a definition carries, as it writes them. The core keeps them with their places and does
//! not read them: whoever judges calls reads them, reports their faults, and applies them.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::source::Tree;

/// The fields of a definition or of a node that hold rules for calls.
pub const CALL_RULES: [&str; 2] = ["guards", "results"];

/// Rules for calls of tools, by the names of their fields, as written.
#[derive(Clone, Debug, Default)]
pub struct CallRules {
    /// The fields that are present, in the order of [`CALL_RULES`], each with its value.
    pub fields: Vec<(&'static str, Tree)>,
}

impl CallRules {
    /// Returns the value of a field.
    pub fn get(&self, name: &str) -> Option<&Tree> {
        self.fields.iter().find(|(known, _)| *known == name).map(|(_, tree)| tree)
    }
}

impl Serialize for CallRules {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.fields.len()))?;
        for (name, tree) in &self.fields {
            map.serialize_entry(name, &tree.value())?;
        }
        map.end()
    }
}

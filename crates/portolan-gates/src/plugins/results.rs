//! Filters of what tools of other servers return: data that says what a model does not get.

use super::guard::is_about;

/// A filter of results, declared in `.portolan/plugins.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultFilter {
    /// Its name.
    pub id: String,
    /// The tools, as patterns of their names. Empty means all.
    pub tools: Vec<String>,
    /// Whether texts that look like keys, tokens and passwords are masked.
    pub redact: bool,
    /// Whether images and audio are left out.
    pub drop_media: bool,
    /// The maximum size of all texts, in bytes. Longer ones are cut.
    pub max_bytes: Option<usize>,
}

impl ResultFilter {
    /// Checks whether it is about a tool with these names, as [`tool_names`](super::tool_names) returns them.
    pub fn is_about(&self, names: &[String]) -> bool {
        is_about(&self.tools, names)
    }
}

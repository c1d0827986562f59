//! Rules that say which calls are kept whole: data that names tools, and for how long.

use super::guard::is_about;

/// A rule by which calls are kept with their arguments and results, declared in `.portolan/plugins.yaml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordRule {
    /// Its name.
    pub id: String,
    /// The tools, as patterns of their names. Empty means all.
    pub tools: Vec<String>,
    /// The largest text of arguments or of a result that is kept, in bytes. Longer ones are cut.
    pub max_bytes: usize,
    /// The number of days for which a call is kept. `None` means until somebody removes it.
    pub keep_days: Option<u32>,
}

impl RecordRule {
    /// The value of `max_bytes` if a rule has none.
    pub const USUAL_BYTES: usize = 1 << 20;
    /// The largest value of `max_bytes`.
    pub const MOST_BYTES: usize = 16 << 20;

    /// Checks whether it is about a tool with these names, as [`tool_names`](super::tool_names) returns them.
    pub fn is_about(&self, names: &[String]) -> bool {
        is_about(&self.tools, names)
    }
}

//! The catalogue: workflows and agent templates that come with the program.

use portolan_core::dialect::{self, RunAs};
use portolan_core::source::Source;

/// A file of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct CatalogEntry {
    /// The identifier: the stem of the file name.
    pub id: &'static str,
    /// The extension of the file name.
    pub ending: &'static str,
    /// The dialect of the workflow, or `None` if the file is no workflow.
    pub dialect: Option<&'static str>,
    /// The text.
    pub text: &'static str,
}

impl CatalogEntry {
    /// Returns the text with its file name.
    pub fn source(&self) -> Source {
        Source::new(format!("{}.{}", self.id, self.ending), self.text)
    }

    /// Returns how the workflow is run, or `None` if the file is no workflow.
    pub fn run_as(&self) -> Option<RunAs> {
        self.dialect.and_then(dialect::named).map(|dialect| dialect.run_as)
    }
}

/// Embeds the files of a catalogue folder in the binary.
macro_rules! entries {
    ($folder:literal, $extension:literal, $dialect:expr, [$($id:literal),* $(,)?]) => {
        &[$(CatalogEntry {
            id: $id,
            ending: $extension,
            dialect: $dialect,
            text: include_str!(concat!("../catalog/", $folder, "/", $id, ".", $extension)),
        }),*]
    };
}

/// The workflows, in alphabetical order.
pub const WORKFLOWS: &[CatalogEntry] = entries!(
    "workflows",
    "json",
    Some("navigator"),
    [
        "agile-task",
        "batch-process",
        "bug-fix",
        "bug-hunt",
        "build-review-murder-board",
        "build-review-quick",
        "context-gather",
        "context-optimization",
        "execute",
        "feature-development",
        "hitl-test",
        "odd-even-test",
        "quick-task",
        "refactor",
        "test-coverage",
        "ui-reconstruction",
    ]
);

/// The workflows of phases, in alphabetical order.
pub const PHASES: &[CatalogEntry] = entries!("phases", "yaml", Some("phases"), ["delivery", "sdlc-simple"]);

/// The workflows of states, on which language models work, in alphabetical order.
pub const STATES: &[CatalogEntry] = entries!("states", "yaml", Some("states"), ["ooda"]);

/// Returns every workflow: those of steps first, then phases, then states.
pub fn all() -> impl Iterator<Item = CatalogEntry> {
    WORKFLOWS.iter().chain(PHASES).chain(STATES).copied()
}

/// Returns the workflows that agents are navigated through.
pub fn workflows() -> impl Iterator<Item = CatalogEntry> {
    all().filter(|entry| entry.run_as() != Some(RunAs::Calls))
}

/// Returns the workflows that are run like functions.
pub fn functions() -> impl Iterator<Item = CatalogEntry> {
    all().filter(|entry| entry.run_as() == Some(RunAs::Calls))
}

/// The agent templates, in alphabetical order.
pub const AGENTS: &[CatalogEntry] = entries!(
    "agents",
    "md",
    None,
    ["architect", "context-engineer", "developer", "investigator", "planner", "reviewer", "tester"]
);

/// Returns the workflow called `id`.
pub fn workflow(id: &str) -> Option<CatalogEntry> {
    all().find(|entry| entry.id == id)
}

/// Returns the agent template called `id`.
pub fn agent(id: &str) -> Option<CatalogEntry> {
    AGENTS.iter().copied().find(|entry| entry.id == id)
}

/// The front matter of an agent template.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCard {
    /// The name by which workflows refer to it.
    pub name: String,
    /// When to delegate to it.
    pub description: String,
    /// The model that it requests.
    pub model: Option<String>,
}

impl AgentCard {
    /// Parses the front matter: lines of `key: value` between two lines of `---`.
    pub fn read(entry: &CatalogEntry) -> AgentCard {
        let mut card = AgentCard { name: entry.id.to_owned(), ..AgentCard::default() };
        let front =
            entry.text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---")).map_or("", |(front, _)| front);
        for (key, value) in front.lines().filter_map(|line| line.split_once(':')) {
            let value = value.trim().to_owned();
            match key.trim() {
                "name" => card.name = value,
                "description" => card.description = value,
                "model" => card.model = Some(value),
                _ => {}
            }
        }
        card
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_catalogue_is_carried() {
        for (folder, entries) in [("workflows", WORKFLOWS), ("phases", PHASES), ("states", STATES), ("agents", AGENTS)]
        {
            let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("catalog").join(folder);
            let mut files: Vec<String> = std::fs::read_dir(folder)
                .expect("the folder")
                .map(|file| file.expect("a file").path().file_stem().expect("a stem").to_string_lossy().into_owned())
                .collect();
            files.sort();
            assert_eq!(files, entries.iter().map(|entry| entry.id).collect::<Vec<_>>());
        }
    }

    #[test]
    fn every_workflow_is_written_in_the_dialect_that_it_says() {
        for entry in all() {
            assert_eq!(dialect::of(&entry.source()).map(|dialect| dialect.name), entry.dialect, "{}", entry.id);
        }
    }

    #[test]
    fn every_agent_says_when_to_use_it() {
        for entry in AGENTS {
            let card = AgentCard::read(entry);
            assert!(card.name != entry.id && card.description.len() > 20, "{card:?}");
        }
    }
}

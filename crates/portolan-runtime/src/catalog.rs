//! The catalogue: workflows and agent templates that come with the program.

use std::sync::OnceLock;

use portolan_core::dialect::Strictness;
use portolan_core::source::Source;

use crate::definition::Parsed;
use crate::library::{Listed, Origin};

/// A file of the catalogue.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its identifier: the stem of its file.
    pub id: &'static str,
    /// The ending of its file.
    pub ending: &'static str,
    /// Its text.
    pub text: &'static str,
}

impl Entry {
    /// Its text, under the name of its file.
    pub fn source(&self) -> Source {
        Source::new(format!("{}.{}", self.id, self.ending), self.text)
    }
}

/// Names the files of a catalogue folder, so that the binary carries them.
macro_rules! entries {
    ($folder:literal, $extension:literal, [$($id:literal),* $(,)?]) => {
        &[$(Entry { id: $id, ending: $extension, text: include_str!(concat!("../catalog/", $folder, "/", $id, ".", $extension)) }),*]
    };
}

/// The workflows, in alphabetical order.
pub const WORKFLOWS: &[Entry] = entries!(
    "workflows",
    "json",
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

/// The workflows that are phases, in alphabetical order.
pub const PHASES: &[Entry] = entries!("phases", "yaml", ["delivery", "sdlc-simple"]);

/// The workflows of states, which language models work on, in alphabetical order.
pub const STATES: &[Entry] = entries!("states", "yaml", ["ooda"]);

/// The workflows that agents are led through: the steps first, then the phases.
pub fn workflows() -> impl Iterator<Item = Entry> {
    WORKFLOWS.iter().chain(PHASES).copied()
}

/// The same, and then those that are run like functions.
pub fn all() -> impl Iterator<Item = Entry> {
    workflows().chain(STATES.iter().copied())
}

/// The agent templates, in alphabetical order.
pub const AGENTS: &[Entry] = entries!(
    "agents",
    "md",
    ["architect", "context-engineer", "developer", "investigator", "planner", "reviewer", "tester"]
);

/// The workflow called `id`.
pub fn workflow(id: &str) -> Option<Entry> {
    all().find(|entry| entry.id == id)
}

/// The agent template called `id`.
pub fn agent(id: &str) -> Option<Entry> {
    AGENTS.iter().copied().find(|entry| entry.id == id)
}

/// The workflows that agents are led through, as lists show them. They are read once.
pub fn listed() -> &'static [Listed] {
    static LISTED: OnceLock<Vec<Listed>> = OnceLock::new();
    LISTED.get_or_init(|| workflows().filter_map(|entry| shown(&entry)).collect())
}

/// A workflow, as lists show it.
pub fn shown(entry: &Entry) -> Option<Listed> {
    let parsed = Parsed::read(entry.source(), Strictness::Strict).ok()?;
    Some(Listed::of(entry.id, &parsed, Origin::Catalog))
}

/// What the front matter of an agent template says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentCard {
    /// The name that workflows call it by.
    pub name: String,
    /// When to delegate to it.
    pub description: String,
    /// The model that it asks for.
    pub model: Option<String>,
}

impl AgentCard {
    /// Reads the front matter: lines of `key: value` between two lines of `---`.
    pub fn read(entry: &Entry) -> AgentCard {
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
    fn every_agent_says_when_to_use_it() {
        for entry in AGENTS {
            let card = AgentCard::read(entry);
            assert!(card.name != entry.id && card.description.len() > 20, "{card:?}");
        }
    }
}

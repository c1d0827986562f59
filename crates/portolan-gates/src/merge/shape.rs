//! What sort of change it is, by the types of its commits.

use serde::Serialize;

/// The sorts of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Something new.
    Feature,
    /// Something mended.
    Fix,
    /// The same, said differently.
    Refactor,
    /// Tests alone.
    Test,
    /// Words alone.
    Docs,
    /// Upkeep.
    Chore,
}

impl Shape {
    /// All of them, the weightiest first: a change of several sorts has the first.
    pub const ALL: [Shape; 6] = [Shape::Feature, Shape::Fix, Shape::Refactor, Shape::Test, Shape::Docs, Shape::Chore];

    /// Its name in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Feature => "feature",
            Shape::Fix => "fix",
            Shape::Refactor => "refactor",
            Shape::Test => "test",
            Shape::Docs => "docs",
            Shape::Chore => "chore",
        }
    }

    /// The sort that a first line `type(scope)!: …` tells of, and whether it has the mark of what breaks.
    pub(super) fn of_subject(subject: &str) -> Option<(Shape, bool)> {
        let (head, _) = subject.split_once(':')?;
        let breaks = head.ends_with('!');
        let word = head.trim_end_matches('!').split('(').next().unwrap_or_default();
        let shape = match word.to_ascii_lowercase().as_str() {
            "feat" | "feature" => Shape::Feature,
            "fix" | "perf" | "revert" | "hotfix" => Shape::Fix,
            "refactor" | "style" => Shape::Refactor,
            "test" => Shape::Test,
            "docs" => Shape::Docs,
            "chore" | "ci" | "build" => Shape::Chore,
            _ => return None,
        };
        Some((shape, breaks))
    }
}

//! The shape of a change, by the types of its commits.

use serde::Serialize;

/// The shape of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A new feature.
    Feature,
    /// A fix.
    Fix,
    /// A refactoring without a change in behaviour.
    Refactor,
    /// Tests alone.
    Test,
    /// Documentation alone.
    Docs,
    /// Maintenance.
    Chore,
}

impl Shape {
    /// All shapes, the weightiest first. A change of several shapes has the first of them.
    pub const ALL: [Shape; 6] = [Shape::Feature, Shape::Fix, Shape::Refactor, Shape::Test, Shape::Docs, Shape::Chore];

    /// Returns its name in a policy.
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

    /// Returns the shape that a first line `type(scope)!: …` declares, and whether it is marked as breaking.
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

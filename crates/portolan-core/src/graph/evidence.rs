//! What work leaves behind, which can be looked at without running anything: changed files, commits, values.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::Schema;

/// The most faults of a value that are told at once.
const MOST_TOLD: usize = 5;

/// What must be there when a step is left, and since when it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// What must be there.
    #[serde(flatten)]
    pub fact: Fact,
    /// Since when.
    #[serde(default)]
    pub since: Since,
}

/// Since when evidence counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// Since the step began. A gate looks at what was done at the step of work before it.
    #[default]
    Step,
    /// Since the run began.
    Run,
}

/// What must be there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Fact {
    /// Files have changed.
    Changed {
        /// Patterns of paths: of each at least one file has changed. Where nothing else is said either, any file will do.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        must: Vec<String>,
        /// Patterns of paths: nothing else has changed, but for what must. Nothing allows everything.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        may: Option<Vec<String>>,
        /// Patterns of paths: nothing of these has changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        must_not: Vec<String>,
    },
    /// A commit has been made.
    Commit,
    /// The remote has the commit that is checked out.
    Pushed,
    /// A test has come or has changed.
    TestsTouched,
    /// No test has gone, is skipped or asserts less.
    TestsNotWeakened,
    /// No file that has changed has the marks of a conflict left in it.
    NoConflictMarks,
    /// A file has been written.
    File {
        /// Its path, relative to the project.
        path: String,
        /// What it must be as JSON; nothing where any text will do.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Arc<Value>>,
    },
    /// The report gives a value.
    Output {
        /// The variable that it is given to.
        name: String,
        /// What it must be.
        schema: Arc<Value>,
    },
    /// Somebody else than the author has looked at it.
    ReviewedByAnother,
    /// A person says that it is so.
    Person,
}

impl Evidence {
    /// What must be there, as a part of a sentence.
    pub fn told(&self) -> String {
        let since = match self.since {
            _ if !self.fact.is_told_by_before() => return self.fact.told(),
            Since::Step => "the step began",
            Since::Run => "the run began",
        };
        format!("since {since}, {}", self.fact.told())
    }
}

impl Fact {
    /// The gates that look at evidence.
    pub const GATES: [&'static str; 11] = [
        "changed",
        "commit",
        "pushed",
        "tests-touched",
        "tests-not-weakened",
        "no-conflict-marks",
        "file",
        "json",
        "output",
        "reviewed-by-another",
        "person",
    ];

    /// The gate that definitions write it as: one of [`Fact::GATES`].
    pub fn gate(&self) -> &'static str {
        match self {
            Fact::Changed { .. } => "changed",
            Fact::Commit => "commit",
            Fact::Pushed => "pushed",
            Fact::TestsTouched => "tests-touched",
            Fact::TestsNotWeakened => "tests-not-weakened",
            Fact::NoConflictMarks => "no-conflict-marks",
            Fact::File { schema: None, .. } => "file",
            Fact::File { schema: Some(_), .. } => "json",
            Fact::Output { .. } => "output",
            Fact::ReviewedByAnother => "reviewed-by-another",
            Fact::Person => "person",
        }
    }

    fn told(&self) -> String {
        match self {
            Fact::Changed { must, may, must_not } => {
                let must = (!must.is_empty()).then(|| format!("files have changed that are {}", quoted(must, " and ")));
                let may = may.as_ref().map(|may| match may.as_slice() {
                    [] => "no other has".to_owned(),
                    may => format!("of others only {}", quoted(may, " or ")),
                });
                let must_not = (!must_not.is_empty()).then(|| format!("none that is {}", quoted(must_not, " or ")));
                let told: Vec<String> = [must, may, must_not].into_iter().flatten().collect();
                if told.is_empty() { "a file has changed".to_owned() } else { told.join(", ") }
            }
            Fact::File { path, schema: None } => format!("the file `{path}` has been written and is not empty"),
            Fact::File { path, schema: Some(_) } => format!("the file `{path}` has been written and fits its schema"),
            Fact::Output { name, .. } => format!("the report gives `{name}`, which fits its schema"),
            other => super::Gate::named(other.gate()).map_or_else(String::new, |gate| gate.wants.to_owned()),
        }
    }

    /// Whether it may need to be known how the files stood before: who leads a run notes that when a step begins.
    pub fn needs_before(&self) -> bool {
        !matches!(self, Fact::Pushed | Fact::Output { .. } | Fact::Person)
    }

    /// Whether it is told by that alone: a review may be somebody's word as well.
    fn is_told_by_before(&self) -> bool {
        self.needs_before() && *self != Fact::ReviewedByAnother
    }

    /// Since when it counts where nothing is said of it. A review is of all that a run has changed.
    pub fn usually_since(&self) -> Since {
        match self {
            Fact::ReviewedByAnother => Since::Run,
            _ => Since::Step,
        }
    }

    /// What is wrong with a value that must fit the schema of the fact, in one sentence; nothing where it fits, or there is
    /// no schema.
    pub fn misfit(&self, value: &Value) -> Option<String> {
        let (Fact::File { schema: Some(schema), .. } | Fact::Output { schema, .. }) = self else { return None };
        let faults = match Schema::compile(schema) {
            Ok(schema) => schema.check(value),
            Err(faults) => faults,
        };
        let told: Vec<String> = faults.iter().take(MOST_TOLD).map(ToString::to_string).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// The value that the report must give, and what it must be.
    pub fn output(&self) -> Option<(&str, &Value)> {
        match self {
            Fact::Output { name, schema } => Some((name, schema)),
            _ => None,
        }
    }
}

fn quoted(patterns: &[String], between: &str) -> String {
    patterns.iter().map(|pattern| format!("`{pattern}`")).collect::<Vec<_>>().join(between)
}

//! Results of work that can be inspected without running anything: changed files, commits, values.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::schema::Schema;

/// The maximum number of faults of a value that are reported at once.
const MOST_TOLD: usize = 5;

/// A fact that must hold when a step is left, and the time from which it counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Evidence {
    /// The fact.
    #[serde(flatten)]
    pub fact: Fact,
    /// The time from which it counts.
    #[serde(default)]
    pub since: Since,
}

/// The time from which evidence counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Since {
    /// Since the step began. At a gate: since the step of work before it began.
    #[default]
    Step,
    /// Since the run began.
    Run,
}

/// A fact that must hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "fact", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum Fact {
    /// Files have changed.
    Changed {
        /// Patterns of paths: at least one file of each has changed. If nothing else is given either, any changed file
        /// counts.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        must: Vec<String>,
        /// Patterns of paths: of other files than those of `must`, only these have changed. `None` allows all.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        may: Option<Vec<String>>,
        /// Patterns of paths: no file of these has changed.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        must_not: Vec<String>,
    },
    /// A commit has been made.
    Commit,
    /// The remote has the commit that is checked out.
    Pushed,
    /// A test was added or changed.
    TestsTouched,
    /// No test was removed, is skipped or asserts less.
    TestsNotWeakened,
    /// No changed file contains conflict markers.
    NoConflictMarks,
    /// A file was written.
    File {
        /// Its path, relative to the project.
        path: String,
        /// The JSON Schema that it must match; `None` if any text is valid.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        schema: Option<Arc<Value>>,
    },
    /// The report sets a variable.
    Output {
        /// The variable.
        name: String,
        /// The JSON Schema of the value.
        schema: Arc<Value>,
    },
    /// A person or model other than the author has reviewed it.
    ReviewedByAnother,
    /// A person confirms it.
    Person,
}

impl Evidence {
    /// Returns the requirement as part of a sentence.
    pub fn description(&self) -> String {
        let since = match self.since {
            _ if !self.fact.is_told_by_before() => return self.fact.description(),
            Since::Step => "the step began",
            Since::Run => "the run began",
        };
        format!("since {since}, {}", self.fact.description())
    }
}

impl Fact {
    /// The gates that check evidence.
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

    /// Returns its gate in definitions: one of [`Fact::GATES`].
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

    fn description(&self) -> String {
        match self {
            Fact::Changed { must, may, must_not } => {
                let must = (!must.is_empty()).then(|| format!("files matching {} have changed", quoted(must, " and ")));
                let may = may.as_ref().map(|may| match may.as_slice() {
                    [] => "no other file has changed".to_owned(),
                    may => format!("no other file has changed except files matching {}", quoted(may, " or ")),
                });
                let must_not = (!must_not.is_empty())
                    .then(|| format!("no file matching {} has changed", quoted(must_not, " or ")));
                let clauses: Vec<String> = [must, may, must_not].into_iter().flatten().collect();
                if clauses.is_empty() { "a file has changed".to_owned() } else { clauses.join(", ") }
            }
            Fact::File { path, schema: None } => format!("the file `{path}` has been written and is not empty"),
            Fact::File { path, schema: Some(_) } => format!("the file `{path}` has been written and fits its schema"),
            Fact::Output { name, .. } => format!("the report gives `{name}`, which fits its schema"),
            other => super::Gate::named(other.gate()).map_or_else(String::new, |gate| gate.wants.to_owned()),
        }
    }

    /// Checks whether it may need the earlier state of the files, which the driver of a run records when a step begins.
    pub fn needs_before(&self) -> bool {
        !matches!(self, Fact::Pushed | Fact::Output { .. } | Fact::Person)
    }

    /// Checks whether the earlier state of the files alone decides it: a review may also rest on somebody's word.
    fn is_told_by_before(&self) -> bool {
        self.needs_before() && *self != Fact::ReviewedByAnother
    }

    /// Returns the time from which it counts by default. A review covers all that a run has changed.
    pub fn usually_since(&self) -> Since {
        match self {
            Fact::ReviewedByAnother => Since::Run,
            _ => Since::Step,
        }
    }

    /// Describes in one sentence why a value does not match the schema of the fact; `None` if it matches, or there is
    /// no schema.
    pub fn misfit(&self, value: &Value) -> Option<String> {
        let (Fact::File { schema: Some(schema), .. } | Fact::Output { schema, .. }) = self else { return None };
        let faults = match Schema::compile(schema) {
            Ok(schema) => schema.check(value),
            Err(faults) => faults,
        };
        let texts: Vec<String> = faults.iter().take(MOST_TOLD).map(ToString::to_string).collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }

    /// Returns the variable that the report must set, and the schema of its value.
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

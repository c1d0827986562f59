//! The zones of a repository, and the requirements for changes in them.

use serde::Serialize;

use super::glob;

/// A part of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its name.
    pub name: String,
    /// The globs of its paths.
    pub paths: Vec<String>,
    /// The requirement for a change in it.
    pub require: Require,
    /// The reason.
    pub rationale: Option<String>,
}

/// The requirement for a change in a zone. A later variant is stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Require {
    /// The gate passes it, or a person does.
    GatePassOrHuman,
    /// The gate passes it.
    GatePass,
    /// A person reviews it, whatever the gate decides.
    HumanReview,
}

impl Require {
    /// All requirements.
    pub const ALL: [Require; 3] = [Require::GatePassOrHuman, Require::GatePass, Require::HumanReview];

    /// Returns its name in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Require::GatePassOrHuman => "gate-pass-or-human",
            Require::GatePass => "gate-pass",
            Require::HumanReview => "human-review",
        }
    }
}

/// The files that make up the gates. A change in them could weaken the rules that it is judged by, so a person reviews
/// it whatever the policy is.
const GUARDS: &[&str] = &[
    ".portolan/**",
    ".xcoder/**",
    ".flow/**",
    ".github/workflows/**",
    ".github/actions/**",
    "**/CODEOWNERS",
    ".gitlab-ci.yml",
    ".githooks/**",
    ".husky/**",
    "lefthook.y*ml",
    ".lefthook.y*ml",
    ".claude/settings*.json",
    ".codex/**",
    ".cursor/hooks*",
    ".gemini/settings*.json",
    ".opencode/plugins/**",
    "**/.gitattributes",
];

/// The zone of a path, with its requirement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Belongs<'z> {
    pub(super) zone: &'z str,
    pub(super) require: Require,
}

/// Returns the zone of a path: the one with the most specific pattern, the first among equals.
pub(super) fn of<'z>(zones: &'z [Zone], path: &str) -> Belongs<'z> {
    let fitting = zones.iter().flat_map(|zone| {
        zone.paths.iter().filter(|pattern| glob::fits(pattern, path)).map(move |pattern| (glob::weight(pattern), zone))
    });
    let best = fitting.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let found = match best {
        Some((_, zone)) => Belongs { zone: &zone.name, require: zone.require },
        // The policy does not cover this path, so a person must decide.
        None => Belongs { zone: "unmatched", require: Require::HumanReview },
    };
    let guards = GUARDS.iter().any(|pattern| glob::fits(pattern, path));
    if guards && found.require < Require::HumanReview {
        return Belongs { zone: "guards", require: Require::HumanReview };
    }
    found
}

//! Parts of a repository, and what a change in them needs.

use serde::Serialize;

use super::glob;

/// A part of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Its name.
    pub name: String,
    /// What belongs to it: globs.
    pub paths: Vec<String>,
    /// What a change in it needs.
    pub require: Require,
    /// Why.
    pub rationale: Option<String>,
}

/// What a change in a zone needs. The later one is the stricter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Require {
    /// The gate passes it, or else a person does.
    GatePassOrHuman,
    /// The gate passes it.
    GatePass,
    /// A person looks at it, whatever the gate says.
    HumanReview,
}

impl Require {
    /// All of them.
    pub const ALL: [Require; 3] = [Require::GatePassOrHuman, Require::GatePass, Require::HumanReview];

    /// Its name in a policy.
    pub fn name(self) -> &'static str {
        match self {
            Require::GatePassOrHuman => "gate-pass-or-human",
            Require::GatePass => "gate-pass",
            Require::HumanReview => "human-review",
        }
    }
}

/// What the gates themselves are made of. A change in it could weaken what it is judged by, so that a person looks at it
/// whatever a policy says.
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

/// What a path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Belongs<'z> {
    pub(super) zone: &'z str,
    pub(super) require: Require,
}

/// The zone of a path: that with the pattern which says most, the first among equals.
pub(super) fn of<'z>(zones: &'z [Zone], path: &str) -> Belongs<'z> {
    let fitting = zones.iter().flat_map(|zone| {
        zone.paths.iter().filter(|pattern| glob::fits(pattern, path)).map(move |pattern| (glob::weight(pattern), zone))
    });
    let best = fitting.reduce(|best, next| if next.0 > best.0 { next } else { best });
    let found = match best {
        Some((_, zone)) => Belongs { zone: &zone.name, require: zone.require },
        // Nobody said what it is: that is for a person to say.
        None => Belongs { zone: "unmatched", require: Require::HumanReview },
    };
    let guards = GUARDS.iter().any(|pattern| glob::fits(pattern, path));
    if guards && found.require < Require::HumanReview {
        return Belongs { zone: "guards", require: Require::HumanReview };
    }
    found
}

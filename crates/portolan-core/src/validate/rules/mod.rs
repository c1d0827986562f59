//! The table of rules. Adding one is a file and a line here; `docs/diagnostics.md` is generated from it.

mod branches;
mod edges;
mod ends;
mod forks;
mod outputs;
mod reach;
mod retries;
mod starts;
pub(super) mod subflows;

use super::map::Map;
use crate::diagnostic::Diagnostic;

/// A rule that a graph must keep.
pub struct Rule {
    /// The codes it reports, each with what it means and how to mend it.
    pub codes: &'static [Code],
    pub(super) check: fn(&Map<'_>, &mut Vec<Diagnostic>),
}

/// What a diagnostic code means.
pub struct Code {
    /// The code.
    pub code: &'static str,
    /// What is wrong, and why it matters.
    pub what: &'static str,
    /// How to mend it.
    pub fix: &'static str,
}

/// All rules that look at one graph by itself.
pub const RULES: &[Rule] =
    &[starts::RULE, edges::RULE, outputs::RULE, ends::RULE, forks::RULE, branches::RULE, retries::RULE, reach::RULE];

/// Every code that a definition can be reported with, in alphabetical order.
pub fn codes() -> Vec<&'static Code> {
    let rules = RULES.iter().flat_map(|rule| rule.codes);
    let mut codes: Vec<&Code> = rules.chain(subflows::CODES).chain(FORMAT_CODES).collect();
    codes.sort_by_key(|code| code.code);
    codes
}

/// What reading a file can report before any rule looks at the graph.
const FORMAT_CODES: &[Code] = &[
    Code {
        code: "syntax",
        what: "The text is not strict JSON, or nests deeper than 512 levels.",
        fix: "Mend the text at the place shown; comments and trailing commas are not JSON.",
    },
    Code {
        code: "too-large",
        what: "A file, a workflow, or a list of checks or outputs is larger than what is read.",
        fix: "Split it; a subflow can stand in a file of its own.",
    },
    Code {
        code: "wrong-type",
        what: "A field holds another type of value than it must.",
        fix: "Write the type that the message names.",
    },
    Code { code: "missing-field", what: "A field that must be there is not.", fix: "Add it." },
    Code {
        code: "unknown-field",
        what: "A field means nothing at this place, so that what it was meant to do would silently not happen.",
        fix: "Correct the spelling, move it to the node it belongs to, or keep it under `metadata`.",
    },
    Code {
        code: "unknown-value",
        what: "A field holds a word that is not one of its values.",
        fix: "Write one of the values that the message lists.",
    },
    Code {
        code: "unknown-type",
        what: "A node has a type that does not exist.",
        fix: "Write `start`, `end`, `task`, `gate`, `fork`, `join` or `subflow`.",
    },
    Code {
        code: "duplicate-key",
        what: "An object has the same key twice; readers of JSON disagree on which one counts.",
        fix: "Remove one of the two.",
    },
    Code {
        code: "duplicate-id",
        what: "Two nodes, two checks of a node, or two files of one folder have the same id.",
        fix: "Rename one of them.",
    },
    Code {
        code: "bad-id",
        what: "An id is empty, longer than 200 bytes, or holds characters that steer the display instead of being seen.",
        fix: "Use letters, digits, `_` and `-`.",
    },
    Code {
        code: "bad-check",
        what: "An acceptance check could not be performed as written.",
        fix: "Give it either `run`, a program and its arguments, or `file`, a path inside the project.",
    },
    Code {
        code: "id-file-name",
        what: "The workflow's `id` and the name of its file differ; it is found by the name of the file.",
        fix: "Give both the same name.",
    },
    Code {
        code: "inert-field",
        what: "A field is allowed but steers nothing.",
        fix: "Remove it, or use what the help names.",
    },
];

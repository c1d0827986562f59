//! The codes that only this dialect reports.

use crate::diagnostic::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "not-one-way",
        what: "The phases do not follow each other in one row: two follow the same one, or some are never reached.",
        fix: "Change `after`, or leave it out where the order written is meant.",
    },
    Code {
        code: "unknown-phase",
        what: "`after`, `back`, `from` or `until` names a phase that there is not.",
        fix: "Correct the name, or add the phase.",
    },
    Code {
        code: "back-is-ahead",
        what: "A phase goes back to itself or to a later one, or a field begins after its last phase.",
        fix: "Name an earlier phase; exchange `from` and `until`.",
    },
    Code {
        code: "gate-without-claim",
        what: "A gate looks at what a task claims, and the phases have no field in which it can be claimed.",
        fix: "Add the field that the help names.",
    },
    Code {
        code: "claimed-too-late",
        what: "A gate of a phase looks at a field that can only be given a value in a later phase: it would never pass.",
        fix: "Let `from` name that phase or an earlier one, or leave it out.",
    },
];

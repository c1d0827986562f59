//! The codes that only this dialect reports.

use crate::diagnostic::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "not-one-way",
        what: "The phases do not form one sequence: two phases follow the same phase, no phase is the first, or some \
               phases are never reached.",
        fix: "Change `after`, or remove it if you mean the order in the file.",
    },
    Code {
        code: "unknown-phase",
        what: "`after`, `back`, `from` or `until` names a phase that does not exist.",
        fix: "Correct the name, or add the phase.",
    },
    Code {
        code: "back-is-ahead",
        what: "The `back` of a phase names the phase itself or a later one, or the `from` of a field names a later \
               phase than its `until`.",
        fix: "Name an earlier phase in `back`, or exchange `from` and `until`.",
    },
    Code {
        code: "gate-without-claim",
        what: "A gate checks a value that the task claims, but `fields` has no field for this claim.",
        fix: "Add the field that the help names to `fields`.",
    },
    Code {
        code: "claimed-too-late",
        what: "A gate of a phase checks a field that can only be set in a later phase, so the gate would never pass.",
        fix: "Change `from` of the field to the phase of the gate or an earlier one, or remove `from`.",
    },
];

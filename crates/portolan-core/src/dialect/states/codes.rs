//! The codes that only this dialect reports.

use crate::diagnostic::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "several-initials",
        what: "More than one state says that a run begins there.",
        fix: "Keep `is_initial` on one of them.",
    },
    Code {
        code: "unknown-state",
        what: "A transition leaves or leads to a state that is not defined.",
        fix: "Correct the name, or add the state.",
    },
    Code {
        code: "no-transition",
        what: "A state has no transition and is not final: a run ends there, which may not be meant.",
        fix: "Add a transition, or `is_final: true`.",
    },
    Code {
        code: "inert-transition",
        what: "A final state has a transition, which is never taken.",
        fix: "Remove the transition, or `is_final`.",
    },
    Code {
        code: "several-kinds",
        what: "What stands under `states` is to be two things at once, such as a `call` and a `transform`.",
        fix: "Make a state of each, and lead from one to the next.",
    },
    Code {
        code: "shadowing-state",
        what: "A state has the name of something that expressions see, such as `input`: they then see its output instead.",
        fix: "Give the state another name.",
    },
];

//! The codes that only this dialect reports.

use crate::diagnostic::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "several-initials",
        what: "More than one state has `is_initial`. A run begins at one state.",
        fix: "Keep `is_initial` on one of them.",
    },
    Code {
        code: "unknown-state",
        what: "A transition starts at or leads to a state that is not defined, or `parallel` or `on_failure` names \
               such a state.",
        fix: "Correct the name, or add the state.",
    },
    Code {
        code: "no-transition",
        what: "A state has no transition and is not final. A run ends there, which may not be intended.",
        fix: "Add a transition, or `is_final: true`.",
    },
    Code {
        code: "inert-transition",
        what: "A final state has a transition, which is never taken; or a state with `parallel`, which always \
               continues at its join, has a transition or `is_final`.",
        fix: "Remove the transition or `is_final`. For a `parallel`, write the transition of its join.",
    },
    Code {
        code: "several-kinds",
        what: "An entry under `states` is of several kinds at once, such as a `call` and a `transform`.",
        fix: "Make a separate state of each, with a transition from one to the next.",
    },
    Code {
        code: "shadowing-state",
        what: "A state has a name that already has a meaning in expressions: `input`, `output`, `shared`, `attempt`, \
               `calls` or `feedback`. Expressions after the state read its output under this name instead.",
        fix: "Rename the state.",
    },
];

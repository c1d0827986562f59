//! The codes that only this dialect reports.

use crate::diagnostic::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "no-entry",
        what: "A tool has no node of the type `entry`, so that it has nowhere to begin.",
        fix: "Add one, and lead it to the first step.",
    },
    Code {
        code: "no-exit",
        what: "A tool has no node of the type `exit`, so that it can never come to a result.",
        fix: "Add one, and lead the last step to it.",
    },
    Code {
        code: "several-entries",
        what: "A tool has more than one node of the type `entry`.",
        fix: "Keep one of them.",
    },
    Code {
        code: "several-exits",
        what: "A tool has more than one node of the type `exit`.",
        fix: "Keep one of them, and lead the others' ways to it.",
    },
    Code {
        code: "missing-schema",
        what: "A tool has no `inputSchema` or no `outputSchema`: nothing is held against one.",
        fix: "Add it.",
    },
    Code {
        code: "mixed-shapes",
        what: "A file of tool graphs has nodes beside its tools and inside one of them.",
        fix: "Keep the nodes of a tool inside it, under its `nodes`.",
    },
    Code {
        code: "unknown-name",
        what: "An expression asks for the output of a node that its tool does not have; the answer is always nothing.",
        fix: "Correct the name; an id with `-` or `.` in it stands in backticks.",
    },
    Code {
        code: "switch-result",
        what: "A switch leads to the exit, so that the result of the tool is the id that the switch chose.",
        fix: "Put a `transform` between them that makes the result.",
    },
];

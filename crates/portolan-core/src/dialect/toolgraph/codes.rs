//! The codes that only this dialect reports.

use crate::diagnostic::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "no-entry",
        what: "A tool has no node of the type `entry`, so a call of it cannot begin.",
        fix: "Add an `entry` node, and set its `next` to the first step.",
    },
    Code {
        code: "no-exit",
        what: "A tool has no node of the type `exit`, so it can never return a result.",
        fix: "Add an `exit` node, and set the `next` of the last step to it.",
    },
    Code {
        code: "several-entries",
        what: "A tool has more than one node of the type `entry`. A call begins at one node.",
        fix: "Keep one of them.",
    },
    Code {
        code: "several-exits",
        what: "A tool has more than one node of the type `exit`. A tool has only one.",
        fix: "Keep one of them, and change every `next` that names another exit to it.",
    },
    Code {
        code: "missing-schema",
        what: "A tool has no `inputSchema` or no `outputSchema`, so its arguments or its result are not validated.",
        fix: "Add the schema, such as `inputSchema: { type: object }`.",
    },
    Code {
        code: "mixed-shapes",
        what: "A file of tool graphs has nodes beside its tools and also inside a tool. Only one of these layouts can \
               be used in a file.",
        fix: "Move the nodes of each tool under its `nodes`, and keep none beside the tools.",
    },
    Code {
        code: "unknown-name",
        what: "An expression reads the output of a node that its tool does not have, so the value is always missing. \
               Or the `when` of a guard in `.portolan/plugins.yaml` reads an unknown name.",
        fix: "Correct the name. Put backticks around an id that contains `-` or `.`.",
    },
    Code {
        code: "switch-result",
        what: "A switch leads directly to the exit. The output of a switch is the id of the node that it chose, so the \
               result of the tool is the id of the exit.",
        fix: "Put a `transform` node between them that makes the result.",
    },
];

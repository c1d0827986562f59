//! The codes that several dialects report.

use crate::diagnostic::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "unknown-format",
        what: "The text is not a workflow of any known format: the fields that identify the formats are missing.",
        fix: "Add the fields that the help names, or use another file.",
    },
    Code {
        code: "duplicate-id",
        what: "Two elements have the same id or name, such as two nodes, two checks of a node or two files of one \
               folder; or a loop names the same step twice. The id must identify one element.",
        fix: "Rename one of them, or remove the repetition.",
    },
    Code {
        code: "bad-id",
        what: "An id or name is empty, is too long, or contains characters that the format does not allow. Every \
               format rejects more than 200 bytes and invisible control characters; workflows of activities and of \
               phases reject more. An answer cannot have the id `failed`.",
        fix: "Use letters, digits, `_` and `-`, and start with a letter. The help names the exact rule of the format.",
    },
    Code {
        code: "bad-version",
        what: "A version is not valid. The `version` of a workflow of activities, or of an activity, is three numbers \
               with dots between them; the `version` of a file of states is `2.0`.",
        fix: "Write the version like `1.0.0`, or `\"2.0\"` in a file of states.",
    },
    Code {
        code: "id-file-name",
        what: "The `id` of the workflow differs from the name of its file or folder. The workflow is found by the name \
               of the file or folder, not by its `id`.",
        fix: "Use the same name for both.",
    },
    Code {
        code: "inert-field",
        what: "A field is allowed but has no effect.",
        fix: "Remove the field, or use the alternative that the help names.",
    },
    Code {
        code: "old-spelling",
        what: "A part of the file uses the syntax of an earlier version of the format. It still works.",
        fix: "Use the current syntax, which the help shows.",
    },
    Code {
        code: "unknown-option",
        what: "The `defaultOption` of a checkpoint is not one of its options; or, in a file of states, a question has \
               a branch for an answer that is not in its `options`.",
        fix: "Name one of the options, or add the option to `options`.",
    },
    Code {
        code: "unknown-type",
        what: "The `type` of a node, or the `kind` of a step, does not exist.",
        fix: "Use one of the types that the help lists. For a node of a graph with `nodes` and `edges`, these are \
              `start`, `end`, `task`, `gate`, `fork`, `join` and `subflow`.",
    },
];

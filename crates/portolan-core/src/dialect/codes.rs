//! The codes that several dialects report.

use crate::diagnostic::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "unknown-format",
        what: "The text holds no workflow of any format: the fields that tell the formats apart are missing.",
        fix: "Write the fields that the help names, or give another file.",
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
        code: "bad-version",
        what: "A version is not three numbers with dots between.",
        fix: "Write it like `1.0.0`.",
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
    Code {
        code: "old-spelling",
        what: "Something is written as an earlier version of the format had it. It works.",
        fix: "Write it as the message says.",
    },
    Code {
        code: "unknown-option",
        what: "A checkpoint falls back on an option that it does not have.",
        fix: "Name one of its options.",
    },
    Code {
        code: "unknown-type",
        what: "A node has a type that does not exist.",
        fix: "Write `start`, `end`, `task`, `gate`, `fork`, `join` or `subflow`.",
    },
];

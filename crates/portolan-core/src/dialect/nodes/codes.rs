//! The codes that the readers shared by dialects report.

use crate::diagnostic::Code;

pub(in crate::dialect) const CODES: &[Code] = &[
    Code {
        code: "bad-expression",
        what: "A JSONata expression cannot be read.",
        fix: "Mend it at the place shown; `portolan eval jsonata` tries it.",
    },
    Code {
        code: "bad-rule",
        what: "A JSON Logic rule cannot be read, or has an operator that does not exist.",
        fix: "Mend it; `portolan eval jsonlogic` tries it.",
    },
    Code {
        code: "bad-arguments",
        what: "An object with `expr` has other fields beside it: it is unclear whether it is an expression.",
        fix: "Leave `expr` alone in its object, or give the field another name.",
    },
    Code {
        code: "literal-expression",
        what: "A text that looks like an expression is sent as it stands.",
        fix: "If an expression is meant, write `{ expr: … }`.",
    },
    Code {
        code: "bad-schema",
        what: "An `inputSchema` or `outputSchema` is no JSON Schema, or refers to something outside it.",
        fix: "Write it in JSON Schema 2020-12, with all that it refers to inside it.",
    },
    Code {
        code: "bad-pointer",
        what: "Something in `redact` is neither the name of a field nor a JSON pointer, and would hide nothing.",
        fix: "Write the name alone, or a pointer such as `/user/token`.",
    },
    Code {
        code: "inert-pointer",
        what: "A pointer in `redact` begins with the id of a node. It begins inside of a value, whichever node it is of.",
        fix: "Leave the id of the node out.",
    },
    Code {
        code: "bad-limit",
        what: "A limit is no number from 0, or has more digits than can be counted.",
        fix: "Write a whole number, for `usd` with up to six digits after the point, for `seconds` with up to three.",
    },
    Code {
        code: "unknown-tool",
        what: "A node calls a tool that the file does not have.",
        fix: "Correct the name, or name another file's workflow with `workflow`.",
    },
    Code {
        code: "unpaired-join",
        what: "A join belongs to no `parallel` node.",
        fix: "Name it as `join` of the `parallel` whose branches it collects.",
    },
    Code {
        code: "not-imported",
        what: "A state names a module of Python with `execute_module`. A file is no program: nothing is imported.",
        fix: "Register a function, and name it with `execute`.",
    },
];

//! The codes that the readers shared by dialects report.

use crate::diagnostic::Code;

pub(in crate::dialect) const CODES: &[Code] = &[
    Code {
        code: "bad-expression",
        what: "An expression cannot be parsed, so it cannot be evaluated. Expressions are JSONata; the `check` of a \
               key result can also be Python.",
        fix: "Fix the expression at the position shown. Test a JSONata expression with `portolan eval jsonata`.",
    },
    Code {
        code: "bad-rule",
        what: "A JSON Logic rule cannot be parsed, or uses an operator that does not exist.",
        fix: "Fix the rule, and test it with `portolan eval jsonlogic`.",
    },
    Code {
        code: "bad-arguments",
        what: "An object with `expr` has other fields beside it. It is unclear whether the object is an expression or \
               a literal value.",
        fix: "Keep `expr` as the only field of its object, or rename `expr` if the object is a literal value.",
    },
    Code {
        code: "literal-expression",
        what: "A text starts with `$` and looks like an expression, but is sent literally and not evaluated.",
        fix: "If you mean an expression, write `{ expr: … }`.",
    },
    Code {
        code: "bad-schema",
        what: "A schema, such as an `inputSchema` or `outputSchema`, is not a valid JSON Schema, or refers to a schema \
               outside itself, which is not fetched. The `type` of a tool's `inputSchema` can only be `object`.",
        fix: "Write it in JSON Schema 2020-12, and copy every schema that it refers to under `$defs`.",
    },
    Code {
        code: "bad-pointer",
        what: "An entry of `redact` is neither the name of a field nor a JSON pointer, so it would hide nothing.",
        fix: "Write the name of the field alone, or a pointer such as `/user/token`.",
    },
    Code {
        code: "inert-pointer",
        what: "A pointer in `redact` starts with the id of a node, so it hides nothing. A pointer applies to the \
               values of every node, and starts inside the value.",
        fix: "Remove the id of the node from the pointer.",
    },
    Code {
        code: "bad-limit",
        what: "A limit is not a decimal number from 0, or has too many digits to be stored exactly.",
        fix: "Write a whole number. `usd` can have up to six digits after the point, `seconds` up to three.",
    },
    Code {
        code: "unknown-tool",
        what: "A node calls a `tool` that the file does not define; or `breaking` or `waiting` of a state names a tool \
               that is not among its `tools`; or a test names a tool that does not exist.",
        fix: "Correct the name, or add the tool. For a workflow of another file, use `workflow` instead of `tool`.",
    },
    Code {
        code: "unpaired-join",
        what: "No `parallel` names this join, so it has no branches to collect.",
        fix: "Name the join as `join` of the `parallel` whose branches it collects.",
    },
    Code {
        code: "not-imported",
        what: "A state names a Python module with `execute_module`, but a file of states cannot import modules. \
               Without `execute`, a model works on the state.",
        fix: "Register a function, and name it with `execute`.",
    },
];

//! The codes that parsing any text can report, whatever its content.

use crate::diagnostic::Code;

pub(crate) const CODES: &[Code] = &[
    Code {
        code: "syntax",
        what: "The text is empty, is neither strict JSON nor YAML 1.2, holds more than one YAML document, contains \
               something that JSON cannot represent, or nests deeper than 512 levels. Portolan cannot read such a \
               text.",
        fix: "Correct the text at the location shown. JSON allows no comments and no trailing commas; YAML allows no \
              tabs as indentation.",
    },
    Code {
        code: "too-large",
        what: "A file, a workflow, a list such as the checks or outputs of a node, or a nesting of loops exceeds the \
               limit of what Portolan reads. A file may have 4 MiB, and its YAML aliases may repeat as much.",
        fix: "Split it: move a subflow into a file of its own, or an inner loop into a workflow of its own. Shorten a \
              list that is too long.",
    },
    Code {
        code: "wrong-type",
        what: "A field holds a value of the wrong type, or a number outside the allowed range.",
        fix: "Write a value of the type and in the range that the message names.",
    },
    Code {
        code: "missing-field",
        what: "A required field is absent, `null` or empty.",
        fix: "Add the field that the message names.",
    },
    Code {
        code: "unknown-field",
        what: "A field has no meaning at this location. Ignoring it silently would lose the effect that the author \
               intended.",
        fix: "Correct the spelling, move the field to the node that it belongs to, or keep it under `metadata` where \
              the format has that field.",
    },
    Code {
        code: "unknown-value",
        what: "A field holds a word that is not one of its allowed values.",
        fix: "Write one of the allowed values. The help lists them or suggests the closest one.",
    },
    Code {
        code: "duplicate-key",
        what: "An object has the same key twice. Readers disagree on which value counts.",
        fix: "Remove one of the two.",
    },
    Code {
        code: "bad-duration",
        what: "A time is neither a number of milliseconds nor a text such as `500ms`, `2s`, `1m` or `1h`, or it is out \
               of bounds. An `estimatedTime` is neither a number nor a range, with or without a unit, such as `30m` or \
               `1-4h`.",
        fix: "Write the time in one of these forms, within the bounds that the help names.",
    },
];

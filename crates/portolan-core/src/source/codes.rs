//! The codes that parsing any text can report, whatever its content.

use crate::diagnostic::Code;

pub(crate) const CODES: &[Code] = &[
    Code {
        code: "syntax",
        what: "The text is neither strict JSON nor YAML 1.2, says what JSON cannot say, or nests deeper than 512 levels.",
        fix: "Mend the text at the place shown; comments and trailing commas are not JSON, and tabs indent no YAML.",
    },
    Code {
        code: "too-large",
        what: "A file, a workflow, or a list of checks or outputs is larger than what is read.",
        fix: "Split it; a subflow can stand in a file of its own.",
    },
    Code {
        code: "wrong-type",
        what: "A field holds another type of value than it must.",
        fix: "Write the type that the message names.",
    },
    Code { code: "missing-field", what: "A field that must be there is not.", fix: "Add it." },
    Code {
        code: "unknown-field",
        what: "A field means nothing at this place, so that what it was meant to do would silently not happen.",
        fix: "Correct the spelling, move it to the node it belongs to, or keep it under `metadata`.",
    },
    Code {
        code: "unknown-value",
        what: "A field holds a word that is not one of its values.",
        fix: "Write one of the values that the message lists.",
    },
    Code {
        code: "duplicate-key",
        what: "An object has the same key twice; readers disagree on which one counts.",
        fix: "Remove one of the two.",
    },
    Code {
        code: "bad-duration",
        what: "A time is no number of milliseconds and no text such as `500ms`, `2s` or `1m`, or is out of bounds.",
        fix: "Write one of these, within the bounds that the help names.",
    },
];

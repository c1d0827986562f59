//! The codes that only this dialect reports.

use crate::diagnostic::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "bad-condition",
        what: "A condition cannot be read.",
        fix: "Write it as the help says: `state == done && !(retries > 2)`, or as an object with a `type`.",
    },
    Code {
        code: "bad-path",
        what: "A path names no value: it goes by numbers, or is no path at all.",
        fix: "Name a variable, and with dots what is inside it.",
    },
    Code {
        code: "bad-file-name",
        what: "A definition in the folder of activities is not called like the file of one, so that it is not read.",
        fix: "Call it by two digits, a dash and a name, such as `01-look-around.yaml`, or move it away.",
    },
    Code {
        code: "unreadable-file",
        what: "The file of an activity, or the folder of them, cannot be read.",
        fix: "Mend what the message says: permissions, encoding, size, or a link that leads elsewhere.",
    },
    Code {
        code: "always-there",
        what: "A condition asks whether a variable has a value that has one from the beginning.",
        fix: "Compare its value, or take its `default` and `required` away.",
    },
    Code {
        code: "unbounded-loop",
        what: "A loop has no `maxIterations`, and nothing inside it can change what says how long it goes on: once begun, it goes on until it has made 100 passes.",
        fix: "Set the variable inside the loop, with an action or the output of a step, or write `maxIterations`.",
    },
    Code {
        code: "inert-final-activity",
        what: "`finalActivity` names the last activity, and something leads on from there.",
        fix: "Remove what leads on, or the field.",
    },
    Code {
        code: "loop-recursion",
        what: "A loop over activities goes through one that it stands in itself.",
        fix: "Name other activities; a transition leads back to an earlier one.",
    },
    Code {
        code: "either-or",
        what: "Two fields say the same in two spellings, so that one of them would silently not count.",
        fix: "Keep one of them.",
    },
    Code {
        code: "answers-itself",
        what: "A checkpoint takes an answer that nobody gave. Under `--human verified` it waits for a person all the same.",
        fix: "Remove `defaultOption` and `autoAdvanceMs` where the answer matters.",
    },
    Code {
        code: "not-blocking",
        what: "A checkpoint is said not to block, and has no answer that counts when nobody gives one: it waits all the same.",
        fix: "Give it `defaultOption` and `autoAdvanceMs`, so that it answers itself, or remove the field.",
    },
    Code {
        code: "never-by-itself",
        what: "A checkpoint has one of `defaultOption` and `autoAdvanceMs` and lacks the other, so that it does not answer itself.",
        fix: "Give both of them, or neither.",
    },
    Code { code: "several-defaults", what: "More than one way out is the default.", fix: "Keep one of them." },
    Code {
        code: "undecided-branch",
        what: "A branch of a decision has neither a condition nor is it the default: nothing ever chooses it.",
        fix: "Give it a condition, or make it the default.",
    },
    Code {
        code: "unknown-activity",
        what: "Something names an activity that the workflow does not have.",
        fix: "Correct the name, or add the activity.",
    },
    Code {
        code: "unknown-checkpoint",
        what: "A checkpoint refers to a shared one that is not there.",
        fix: "Correct the name, or add it under `fragments.checkpoints`.",
    },
    Code {
        code: "unknown-rules",
        what: "A workflow refers to shared rules that are not there.",
        fix: "Correct the name, or add them under `fragments.rules`; of another workflow, keep that beside this one.",
    },
    Code {
        code: "unknown-mode",
        what: "An activity is changed for a mode that the workflow does not have.",
        fix: "Correct the name, or add the mode under `modes`.",
    },
    Code {
        code: "unknown-step",
        what: "Something stands beside a step, or goes through one, that its activity does not have.",
        fix: "Correct the name, or add the step.",
    },
    Code {
        code: "unknown-variable",
        what: "A condition reads, or an effect sets, a variable that is not declared: nobody knows its type, and it may never have a value.",
        fix: "Declare it under `variables`, or correct the name.",
    },
    Code {
        code: "set-to-other-type",
        what: "A variable is set to a value that is not of the type it is declared with. It then holds values of any type.",
        fix: "Give it a value of its type, or change its type.",
    },
];

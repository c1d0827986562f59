//! The codes that only this dialect reports.

use crate::diagnostic::Code;

pub(super) const CODES: &[Code] = &[
    Code {
        code: "bad-condition",
        what: "A condition cannot be evaluated: it has a syntax error, nests deeper than 100 levels, or applies an \
               operator to a value that the operator cannot compare.",
        fix: "Write a text such as `state == done && !(retries > 2)`, or an object whose `type` is `simple`, `and`, \
              `or` or `not`.",
    },
    Code {
        code: "bad-path",
        what: "A path to a value is not a name or names joined with dots: in `list.0`, for example, a number is used \
               as a name. Or a folder or file of activities lies outside the folders that the workflow may use.",
        fix: "Write the name of a variable, followed by dots and names for a value inside it, such as `review.state`. \
              Put the folder or file of activities itself into the folder of the workflow.",
    },
    Code {
        code: "bad-file-name",
        what: "A definition in the folder of activities does not have the name of an activity file, so it is not read.",
        fix: "Rename it to two digits, a dash and a name, such as `01-look-around.yaml`, or move it to another folder.",
    },
    Code {
        code: "unreadable-file",
        what: "The file of an activity, or the folder of activities, is missing or cannot be read. The workflow then \
               lacks these activities.",
        fix: "Fix the cause that the message names: a missing file, permissions, an encoding other than UTF-8, the \
              size, or a broken link. Check the folder of the workflow, not its text alone.",
    },
    Code {
        code: "always-there",
        what: "A condition tests with `exists` or `notExists` a variable that has a `default` or is `required`. The \
               variable has a value from the start of the run, so the test does not show whether a step has set it.",
        fix: "Compare the value of the variable, or remove `default` and `required` from its declaration.",
    },
    Code {
        code: "unbounded-loop",
        what: "A `while` or `doWhile` loop has no `maxIterations`, and nothing inside it sets a variable of its \
               `condition` or `breakCondition`. The results of these conditions never change, so a loop that repeats \
               once continues to the default limit of 100 passes.",
        fix: "Set the variable inside the loop with an action, an output of a step or an option of a checkpoint, or \
              add `maxIterations`.",
    },
    Code {
        code: "inert-final-activity",
        what: "`finalActivity` names an activity from which a transition or a branch leads to another activity. The \
               field does not end the workflow: the run follows the transition or branch.",
        fix: "Remove the transitions and branches that lead to other activities, or remove `finalActivity`.",
    },
    Code {
        code: "loop-recursion",
        what: "A loop over activities names an activity that contains the loop. The loop would contain itself.",
        fix: "Name other activities. To return to an earlier activity, use a transition.",
    },
    Code {
        code: "either-or",
        what: "Two fields that exclude each other are both present, such as `when` and `condition`, or `ref` and \
               `message`; or the workflow has `activities` as well as a folder of activities. One of the two would \
               silently have no effect.",
        fix: "Keep one of the two, and remove the other.",
    },
    Code {
        code: "answers-itself",
        what: "A checkpoint has `defaultOption` and `autoAdvanceMs`, so after that time it takes the default option \
               without an answer. Under `--human verified` it still waits for a person.",
        fix: "Remove `defaultOption` and `autoAdvanceMs` if the answer matters.",
    },
    Code {
        code: "not-blocking",
        what: "A checkpoint has `blocking: false`, but lacks `defaultOption` or `autoAdvanceMs`. Without both of them \
               it has no answer to continue with, so it still waits for one.",
        fix: "Add `defaultOption` and `autoAdvanceMs`, so that the checkpoint answers itself after that time, or \
              remove `blocking`.",
    },
    Code {
        code: "never-by-itself",
        what: "A checkpoint has only one of `defaultOption` and `autoAdvanceMs`. It needs both to answer itself, so it \
               waits for an answer.",
        fix: "Add the missing field, or remove the other one.",
    },
    Code {
        code: "several-defaults",
        what: "More than one transition of an activity, or more than one branch of a decision, has `isDefault: true`. \
               Only one of them can be the default.",
        fix: "Keep `isDefault: true` on one of them.",
    },
    Code {
        code: "undecided-branch",
        what: "A branch of a decision has neither a condition nor `isDefault: true`, so it is never taken.",
        fix: "Add a `condition`, or write `isDefault: true`.",
    },
    Code {
        code: "unknown-activity",
        what: "A field such as `to`, `transitionTo`, `skipActivities` or `initialActivity` names an activity that the \
               workflow does not have.",
        fix: "Correct the name, or add the activity.",
    },
    Code {
        code: "unknown-checkpoint",
        what: "The `ref` of a checkpoint names a shared checkpoint that does not exist, so the checkpoint has no \
               question.",
        fix: "Correct the name, or add the checkpoint under `fragments.checkpoints`. If another workflow defines it, \
              keep that workflow beside this one.",
    },
    Code {
        code: "unknown-rules",
        what: "A `ref` in the rules of a workflow or an activity names shared rules that do not exist.",
        fix: "Correct the name, or add the rules under `fragments.rules`. If another workflow defines them, keep that \
              workflow beside this one.",
    },
    Code {
        code: "unknown-mode",
        what: "The `modeOverrides` of an activity name a mode that the workflow does not have, so they never apply.",
        fix: "Correct the name, or add the mode under `modes`.",
    },
    Code {
        code: "unknown-step",
        what: "The `before` or `after` of a checkpoint or loop names a step that its activity does not have, or a loop \
               names a step or activity that does not exist.",
        fix: "Correct the name, or add the step or activity.",
    },
    Code {
        code: "unknown-variable",
        what: "A condition, an effect, an action, a loop or a mode uses a variable that is not declared. Its type is \
               unknown, and it may never have a value.",
        fix: "Declare the variable under `variables`, or correct the name.",
    },
    Code {
        code: "set-to-other-type",
        what: "A variable is set to a value that does not have its declared type. The variable then accepts values of \
               any type.",
        fix: "Set a value of the declared type, or change the `type` of the variable.",
    },
];

//! The table of rules. Adding one is a file and a line here; `docs/diagnostics.md` is generated from it.

mod branches;
mod conditions;
pub(super) mod depth;
mod edges;
mod ends;
mod failing;
mod forks;
pub(super) mod inputs;
mod outputs;
mod reach;
mod reads;
mod retries;
mod rounds;
mod starts;
pub(super) mod subflows;

use super::map::Map;
use crate::diagnostic::Diagnostic;

/// A rule that a graph must keep.
pub struct Rule {
    /// The codes it reports, each with what it means and how to mend it.
    pub codes: &'static [Code],
    pub(super) check: fn(&Map<'_>, &mut Vec<Diagnostic>),
}

/// What a diagnostic code means.
pub struct Code {
    /// The code.
    pub code: &'static str,
    /// What is wrong, and why it matters.
    pub what: &'static str,
    /// How to mend it.
    pub fix: &'static str,
}

/// All rules that look at one graph by itself.
pub const RULES: &[Rule] = &[
    starts::RULE,
    edges::RULE,
    outputs::RULE,
    ends::RULE,
    forks::RULE,
    branches::RULE,
    retries::RULE,
    failing::RULE,
    reach::RULE,
    rounds::RULE,
    reads::RULE,
    conditions::RULE,
];

/// Every code that a definition can be reported with, in alphabetical order.
pub fn codes() -> Vec<&'static Code> {
    let rules = RULES.iter().flat_map(|rule| rule.codes);
    let linked = [subflows::CODES, inputs::CODES, depth::CODES, super::servers::CODES, FORMAT_CODES];
    let mut codes: Vec<&Code> = rules.chain(linked.into_iter().flatten()).collect();
    codes.sort_by_key(|code| code.code);
    codes
}

/// What reading a file can report before any rule looks at the graph.
const FORMAT_CODES: &[Code] = &[
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
        code: "unknown-format",
        what: "The text holds no workflow of any format: the fields that tell the formats apart are missing.",
        fix: "Write the fields that the help names, or give another file.",
    },
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
        code: "bad-version",
        what: "A version is not three numbers with dots between.",
        fix: "Write it like `1.0.0`.",
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
        code: "not-one-way",
        what: "The phases do not follow each other in one row: two follow the same one, or some are never reached.",
        fix: "Change `after`, or leave it out where the order written is meant.",
    },
    Code {
        code: "unknown-phase",
        what: "`after`, `back`, `from` or `until` names a phase that there is not.",
        fix: "Correct the name, or add the phase.",
    },
    Code {
        code: "back-is-ahead",
        what: "A phase goes back to itself or to a later one, or a field begins after its last phase.",
        fix: "Name an earlier phase; exchange `from` and `until`.",
    },
    Code {
        code: "unknown-gate",
        what: "A check names a gate that there is not.",
        fix: "Name one of those that the help lists; a command of your own is `run`.",
    },
    Code {
        code: "gate-without-claim",
        what: "A gate looks at what a task claims, and the phases have no field in which it can be claimed.",
        fix: "Add the field that the help names.",
    },
    Code {
        code: "claimed-too-late",
        what: "A gate of a phase looks at a field that can only be given a value in a later phase: it would never pass.",
        fix: "Let `from` name that phase or an earlier one, or leave it out.",
    },
    Code {
        code: "bad-pattern",
        what: "A text in `allow` or `deny` is no pattern of tools: it is empty, or too long.",
        fix: "Write the name of a tool, with `*` for any text.",
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
        what: "A checkpoint is said not to block, which none does.",
        fix: "Remove the field; `defaultOption` with `autoAdvanceMs` has it answer itself.",
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
        code: "unknown-mode",
        what: "An activity is changed for a mode that the workflow does not have.",
        fix: "Correct the name, or add the mode under `modes`.",
    },
    Code {
        code: "unknown-option",
        what: "A checkpoint falls back on an option that it does not have.",
        fix: "Name one of its options.",
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
        code: "unknown-type",
        what: "A node has a type that does not exist.",
        fix: "Write `start`, `end`, `task`, `gate`, `fork`, `join` or `subflow`.",
    },
    Code {
        code: "duplicate-key",
        what: "An object has the same key twice; readers disagree on which one counts.",
        fix: "Remove one of the two.",
    },
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
        code: "bad-schema",
        what: "An `inputSchema` or `outputSchema` is no JSON Schema, or refers to something outside it.",
        fix: "Write it in JSON Schema 2020-12, with all that it refers to inside it.",
    },
    Code {
        code: "missing-schema",
        what: "A tool has no `inputSchema` or no `outputSchema`: nothing is held against one.",
        fix: "Add it.",
    },
    Code {
        code: "old-spelling",
        what: "Something is written as an earlier version of the format had it. It works.",
        fix: "Write it as the message says.",
    },
    Code {
        code: "literal-expression",
        what: "A text that looks like an expression is sent as it stands.",
        fix: "If an expression is meant, write `{ expr: … }`.",
    },
    Code {
        code: "unknown-tool",
        what: "A node calls a tool that the file does not have.",
        fix: "Correct the name, or name another file's workflow with `workflow`.",
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
        code: "switch-result",
        what: "A switch leads to the exit, so that the result of the tool is the id that the switch chose.",
        fix: "Put a `transform` between them that makes the result.",
    },
    Code {
        code: "unpaired-join",
        what: "A join belongs to no `parallel` node.",
        fix: "Name it as `join` of the `parallel` whose branches it collects.",
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
        code: "bad-check",
        what: "An acceptance check could not be performed as written.",
        fix: "Give it either `run`, a program and its arguments, or `file`, a path inside the project.",
    },
    Code {
        code: "bad-server",
        what: "The entry of an MCP server does not say how it is started or reached, or says it twice.",
        fix: "Give it one of `command`, `url` and `builtin`, and what the help names.",
    },
    Code {
        code: "bad-duration",
        what: "A time is no number of milliseconds and no text such as `500ms`, `2s` or `1m`, or is out of bounds.",
        fix: "Write one of these, within the bounds that the help names.",
    },
    Code {
        code: "short-timeout",
        what: "A bare number counts milliseconds, and this one is so small that seconds seem to be meant.",
        fix: "Write the unit: `30s`.",
    },
    Code {
        code: "id-file-name",
        what: "The workflow's `id` and the name of its file differ; it is found by the name of the file.",
        fix: "Give both the same name.",
    },
    Code {
        code: "several-initials",
        what: "More than one state says that a run begins there.",
        fix: "Keep `is_initial` on one of them.",
    },
    Code {
        code: "unknown-state",
        what: "A transition leaves or leads to a state that is not defined.",
        fix: "Correct the name, or add the state.",
    },
    Code {
        code: "no-transition",
        what: "A state has no transition and is not final: a run ends there, which may not be meant.",
        fix: "Add a transition, or `is_final: true`.",
    },
    Code {
        code: "inert-transition",
        what: "A final state has a transition, which is never taken.",
        fix: "Remove the transition, or `is_final`.",
    },
    Code {
        code: "several-kinds",
        what: "What stands under `states` is to be two things at once, such as a `call` and a `transform`.",
        fix: "Make a state of each, and lead from one to the next.",
    },
    Code {
        code: "not-imported",
        what: "A state names a module of Python with `execute_module`. A file is no program: nothing is imported.",
        fix: "Register a function, and name it with `execute`.",
    },
    Code {
        code: "shadowing-state",
        what: "A state has the name of something that expressions see, such as `input`: they then see its output instead.",
        fix: "Give the state another name.",
    },
    Code {
        code: "bad-limit",
        what: "A limit is no number from 0, or has more digits than can be counted.",
        fix: "Write a whole number, for `usd` with up to six digits after the point, for `seconds` with up to three.",
    },
    Code {
        code: "inert-field",
        what: "A field is allowed but steers nothing.",
        fix: "Remove it, or use what the help names.",
    },
];

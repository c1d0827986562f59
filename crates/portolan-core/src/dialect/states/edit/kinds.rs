//! The kinds of entries under `states`, and their forms.

use crate::dialect::editing::state::{
    EXECUTE, KEY_RESULTS, LIMITS, MAX_RETRIES, MAX_TURNS, MODEL, OBJECTIVE, ON_FAILURE, OUTPUT_SCHEMA, PROMPT, RETRY,
    SET, SYSTEM, TOOLS,
};
use crate::dialect::editing::{FieldKind, FormField, NodeForm, field, form, retries};

pub(super) const OWN: &[FormField] = &[
    field("name", "Name", FieldKind::Text, "The display name of the workflow."),
    field("description", "Description", FieldKind::Long, "What it is for, and when to use it."),
    field("objective", "Objective", FieldKind::Long, "The objective of the whole workflow; every judge is told it."),
    field("model", "Model", FieldKind::Text, "The model that works on its states, as `provider:name`."),
    field("judge", "Judge", FieldKind::Json, "Who judges key results: a model, or an object with `model` and `votes`."),
    field("input_schema", "Arguments", FieldKind::Json, "The JSON Schema of a run's arguments."),
    field("output_schema", "Result", FieldKind::Json, "The JSON Schema of a run's result."),
    field("limits", "Limits", FieldKind::Json, "What a run can use in total, such as `steps`, `tokens` or `usd`."),
    field("mcpServers", "Servers", FieldKind::Json, "The servers whose tools states use, by their names."),
    field("redact", "Hidden", FieldKind::List, "The fields whose values are never shown, by their names."),
];

const DESCRIPTION: FormField = field("description", "Description", FieldKind::Long, "What it is for, in one sentence.");
const FINAL: FormField = field("is_final", "Ends the run", FieldKind::Boolean, "Whether a run ends here.");
const FAILURE: FormField =
    field("on_failure.go_to", "When it fails", FieldKind::Text, "The state that a failure leads to.");

const RETRIES: [FormField; 4] =
    retries(["call.retry.max", "call.retry.backoff", "call.retry.factor", "call.retry.maxDelay"]);

pub(super) const KINDS: &[NodeForm] = &[
    form(
        "state",
        "State",
        "An objective that is worked on, usually by a model, until its key results hold.",
        &[
            OBJECTIVE,
            DESCRIPTION,
            KEY_RESULTS,
            TOOLS,
            PROMPT,
            SYSTEM,
            MODEL,
            OUTPUT_SCHEMA,
            MAX_RETRIES,
            RETRY,
            ON_FAILURE,
            EXECUTE,
            SET,
            LIMITS,
            MAX_TURNS,
            FINAL,
        ],
    )
    .with_outcomes(),
    form(
        "call",
        "Tool call",
        "Calls a tool of a server.",
        &[
            DESCRIPTION,
            field("call.server", "Server", FieldKind::Text, "The server that provides the tool.").required().asked(),
            field("call.tool", "Tool", FieldKind::Text, "The tool that is called.").required().asked(),
            field(
                "call.args",
                "Arguments",
                FieldKind::Json,
                "Its arguments; an object with only `expr` is an expression.",
            ),
            field("call.postTransform.expr", "Then", FieldKind::Expression, "Computes the result from the answer."),
            field("call.timeout", "Longest", FieldKind::Text, "How long a call may take, such as `10s`."),
            RETRIES[0],
            RETRIES[1],
            RETRIES[2],
            RETRIES[3],
            field("call.idempotent", "Repeatable", FieldKind::Boolean, "Whether it is safe to call it twice."),
            FAILURE,
            FINAL,
        ],
    )
    .with_outcomes(),
    form(
        "transform",
        "Transform",
        "Computes a value from earlier outputs.",
        &[
            DESCRIPTION,
            field("transform", "Expression", FieldKind::Expression, "The value, in JSONata or JSON Logic.")
                .required()
                .asked(),
            FAILURE,
            FINAL,
        ],
    )
    .with_outcomes(),
    form(
        "run",
        "Workflow",
        "Runs another workflow.",
        &[
            DESCRIPTION,
            field("run", "Workflow", FieldKind::Text, "The workflow to run.").required().asked(),
            field("args", "Arguments", FieldKind::Json, "What it is given; what came before, where it is left out."),
            FAILURE,
            FINAL,
        ],
    )
    .with_outcomes(),
    form(
        "ask",
        "Question",
        "Asks a person; each answer is a transition.",
        &[
            DESCRIPTION,
            field("ask", "Question", FieldKind::Long, "What the person is asked.").required().asked(),
            field("options", "Answers", FieldKind::Json, "The answers, each with a display text."),
            FINAL,
        ],
    )
    .with_outcomes(),
    form(
        "parallel",
        "Side by side",
        "Opens a branch for each of several states, which all lead to its join.",
        &[
            DESCRIPTION,
            field("join", "Join", FieldKind::Text, "The state that collects the branches.").required(),
            field("max_concurrency", "At once", FieldKind::Number, "How many branches may be open at once."),
            FAILURE,
        ],
    )
    .with_outcomes()
    .wrapping(),
    form(
        "join",
        "Join",
        "Collects branches; it is added together with the state that opens them.",
        &[
            DESCRIPTION,
            field("join", "Continues when", FieldKind::Choice, "When the branches count as done.")
                .of(&["all", "any"])
                .required(),
            FINAL,
        ],
    )
    .with_outcomes()
    .with_others(),
];

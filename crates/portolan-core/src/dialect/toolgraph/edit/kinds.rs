//! The kinds of node in a graph of tool calls, and their forms.

use crate::dialect::editing::state::{
    EXECUTE, KEY_RESULTS, LIMITS, MAX_RETRIES, MAX_TURNS, MODEL, OBJECTIVE, ON_FAILURE, OUTPUT_SCHEMA, PROMPT, RETRY,
    SET, SYSTEM, TOOLS,
};
use crate::dialect::editing::{FieldKind, FormField, NodeForm, field, form, retries};

pub(super) const CONDITION: FormField = field(
    "condition",
    "Condition",
    FieldKind::Expression,
    "JSONata such as `$.list.count > 3`, or a rule of JSON Logic; without one, the edge is taken if no condition holds.",
);

/// The fields of the file, which all its tools share.
pub(super) const OF_FILE: &[&str] = &["version", "server", "mcpServers", "servers", "executionLimits", "redact"];

pub(super) const OWN: &[FormField] = &[
    field("title", "Title", FieldKind::Text, "The display name of the tool."),
    field("description", "Description", FieldKind::Long, "What it is for, and when to call it.").required(),
    field("inputSchema", "Arguments", FieldKind::Json, "The JSON Schema of its arguments."),
    field("outputSchema", "Result", FieldKind::Json, "The JSON Schema of its result."),
    field("annotations", "Hints", FieldKind::Json, "Additional hints for clients, such as `readOnlyHint`."),
    field("server.title", "Server", FieldKind::Text, "The display name of the file as a server."),
    field("server.instructions", "Instructions", FieldKind::Long, "The instructions for clients of the file."),
    field("mcpServers", "Servers", FieldKind::Json, "The servers that its tools call, by their names."),
    field("executionLimits.maxNodeExecutions", "Most nodes", FieldKind::Number, "How many nodes one run may execute."),
    field(
        "executionLimits.maxExecutionTimeMs",
        "Longest run",
        FieldKind::Number,
        "How long one run may take, in milliseconds.",
    ),
    field("redact", "Hidden", FieldKind::List, "The fields whose values are never shown, by their names."),
];

const NAME: FormField = field("name", "Name", FieldKind::Text, "The display name of the step.");
const DESCRIPTION: FormField = field("description", "Description", FieldKind::Long, "What it is for, in one sentence.");
const ARGS: FormField =
    field("args", "Arguments", FieldKind::Json, "Its arguments; an object with only `expr` is an expression.");
const TOOL: FormField = field("tool", "Tool", FieldKind::Text, "The tool of this file that is called.");
const WORKFLOW: FormField =
    field("workflow", "Workflow", FieldKind::Text, "The workflow that is run instead of a tool of this file.");

const RETRIES: [FormField; 4] = retries(["retry.max", "retry.backoff", "retry.factor", "retry.maxDelay"]);

pub(super) const KINDS: &[NodeForm] = &[
    form(
        "mcp",
        "Tool call",
        "Calls a tool of a server.",
        &[
            NAME,
            DESCRIPTION,
            field("server", "Server", FieldKind::Text, "The server that provides the tool.").required().asked(),
            field("tool", "Tool", FieldKind::Text, "The tool that is called.").required().asked(),
            ARGS,
            field(
                "postTransform.expr",
                "Then",
                FieldKind::Expression,
                "Computes the result from the answer, which is `$output` there.",
            ),
            field("timeout", "Longest", FieldKind::Text, "How long a call may take, such as `10s`."),
            RETRIES[0],
            RETRIES[1],
            RETRIES[2],
            RETRIES[3],
            field("idempotent", "Repeatable", FieldKind::Boolean, "Whether it is safe to call it twice."),
        ],
    )
    .with_outcomes(),
    form(
        "transform",
        "Transform",
        "Computes a value from earlier outputs.",
        &[
            NAME,
            DESCRIPTION,
            field("transform.expr", "Expression", FieldKind::Expression, "The value, in JSONata.").required().asked(),
        ],
    )
    .with_outcomes(),
    form(
        "switch",
        "Switch",
        "Takes the first edge whose condition holds, or else `next`.",
        &[
            NAME,
            DESCRIPTION,
            field(
                "conditions",
                "Conditions",
                FieldKind::Json,
                "The edges, each with a `rule` in JSON Logic and its `next`.",
            )
            .required(),
        ],
    )
    .with_outcomes()
    .with_conditions(),
    form(
        "parallel",
        "Parallel",
        "Opens parallel branches, which all lead to its join.",
        &[
            NAME,
            DESCRIPTION,
            field("join", "Join", FieldKind::Text, "The node that collects the branches.").required(),
            field("maxConcurrency", "At once", FieldKind::Number, "How many branches may be open at once."),
        ],
    )
    .with_outcomes()
    .wrapping(),
    form(
        "join",
        "Join",
        "Collects the branches of a parallel node, and is added with it.",
        &[
            NAME,
            DESCRIPTION,
            field("strategy", "Continues when", FieldKind::Choice, "When the branches count as done.")
                .of(&["all", "any"]),
        ],
    )
    .with_outcomes()
    .with_others(),
    form(
        "forEach",
        "For each",
        "Calls a tool of this file, or a workflow, for each item of a list.",
        &[
            NAME,
            DESCRIPTION,
            field("items.expr", "Items", FieldKind::Expression, "The list, in JSONata.").required().asked(),
            TOOL,
            WORKFLOW,
            ARGS,
            field("concurrency", "At once", FieldKind::Number, "How many calls may run at once."),
        ],
    )
    .with_outcomes(),
    form("call", "Call", "Calls a tool of this file, or a workflow, once.", &[NAME, DESCRIPTION, TOOL, WORKFLOW, ARGS])
        .with_outcomes(),
    form(
        "state",
        "State",
        "Lets a language model work until its key results are met.",
        &[
            NAME,
            DESCRIPTION,
            OBJECTIVE,
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
        ],
    )
    .with_outcomes(),
    form("entry", "Entry", "Takes the arguments; a tool has exactly one.", &[NAME, DESCRIPTION]).with_others(),
    form("exit", "Exit", "Ends the run with the preceding output; a tool has exactly one.", &[NAME, DESCRIPTION])
        .with_others(),
];

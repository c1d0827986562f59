//! The fields of a state at which a model works, in any dialect.

use super::forms::{FieldKind, FormField, column, field};
use crate::graph::DEFAULT_STATE_RETRIES;

pub(in crate::dialect) const OBJECTIVE: FormField = field(
    "objective",
    "Objective",
    FieldKind::Long,
    "What is to be achieved; the agent that works on it is told this.",
)
.required();
pub(in crate::dialect) const KEY_RESULTS: FormField = field(
    "key_results",
    "Key results",
    FieldKind::Json,
    "The conditions on the output, each with `name`, `description` and optionally `check`; without a check, a model judges.",
)
.rows(&[column("name", "Name"), column("description", "What must be true"), column("check", "Check")]);
pub(in crate::dialect) const TOOLS: FormField = field(
    "tools",
    "Tools",
    FieldKind::List,
    "The tools that the model may use: `server/tool`, `run:workflow`, or a registered function.",
);
pub(in crate::dialect) const PROMPT: FormField =
    field("prompt", "Prompt", FieldKind::Json, "What the model is asked: a text, or `expr` with an expression.");
pub(in crate::dialect) const SYSTEM: FormField =
    field("system", "Role", FieldKind::Json, "What the model is told before the prompt; by default the objective.");
pub(in crate::dialect) const MODEL: FormField =
    field("model", "Model", FieldKind::Text, "The model that works on it, as `provider:name`.");
pub(in crate::dialect) const OUTPUT_SCHEMA: FormField = field(
    "output_schema",
    "Answer format",
    FieldKind::Json,
    "The JSON Schema of the answer, which is then parsed as JSON.",
);
pub(in crate::dialect) const MAX_RETRIES: FormField = field(
    "max_retries",
    "Retries",
    FieldKind::Number,
    "How many times the model tries again if its key results do not hold: 2 means three attempts at most. Left empty: 3.",
)
.by_default(DEFAULT_STATE_RETRIES);
pub(in crate::dialect) const RETRY: FormField =
    field("retry", "A retry", FieldKind::Choice, "Whether a retry continues the conversation or starts a new one.")
        .of(&["continue", "restart"]);
pub(in crate::dialect) const ON_FAILURE: FormField = field(
    "on_failure",
    "When it fails",
    FieldKind::Json,
    "What happens when no attempt is left: `fail`, `best`, `ask`, or `go_to` with the node to continue at.",
);
pub(in crate::dialect) const EXECUTE: FormField = field(
    "execute",
    "Done by",
    FieldKind::Text,
    "A registered function that does the work, or `none` to pass the input on; by default a model.",
);
pub(in crate::dialect) const SET: FormField =
    field("set", "Variables", FieldKind::Json, "Variables that get a value when the state is left, by their names.");
pub(in crate::dialect) const LIMITS: FormField = field(
    "limits",
    "Limits",
    FieldKind::Json,
    "What it can use in total over all of its visits, such as `tokens` or `usd`.",
);
pub(in crate::dialect) const MAX_TURNS: FormField = field(
    "max_turns",
    "Turns",
    FieldKind::Number,
    "How often the model is called in one attempt, with tool calls in between.",
);

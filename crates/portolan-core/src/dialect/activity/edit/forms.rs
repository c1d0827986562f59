//! The forms of activities and of their contents, in both generations of the format.

use crate::dialect::editing::{DefaultPosition, FieldKind, FormField, GUARDS, NodeForm, RESULTS, column, field, form};
use crate::graph::Kind;

pub(super) const OWN: &[FormField] = &[
    field("title", "Title", FieldKind::Text, "The display name of the workflow.").or("name").required(),
    field("description", "Description", FieldKind::Long, "What it is for, and when to use it."),
    field("version", "Version", FieldKind::Text, "Three numbers separated by dots.").required(),
    field("author", "Author", FieldKind::Text, "Who wrote it."),
    field("tags", "Tags", FieldKind::List, "Words for finding it."),
    field("rules", "Rules", FieldKind::Json, "What the agent is told throughout the workflow."),
    field(
        "variables",
        "Variables",
        FieldKind::Json,
        "The values that a run of it stores, each with a name and a type.",
    )
    .rows(&[column("name", "Name"), column("type", "Type"), column("description", "What it says")]),
    GUARDS,
    RESULTS,
];

const NAME: FormField = field("name", "Name", FieldKind::Text, "Its display name.");
const DESCRIPTION: FormField = field("description", "Description", FieldKind::Long, "What it is for, in one sentence.");
const GUIDE: FormField = field("guide", "Guide", FieldKind::Long, "How to do it, at length.");
const TECHNIQUE: FormField =
    field("technique", "Technique", FieldKind::Json, "How it is done: the name of a technique.").or("skill");
const WHEN: FormField =
    field("when", "Only when", FieldKind::Expression, "The condition under which it is done.").or("condition");
pub(super) const CONDITION: FormField = field(
    "condition",
    "Condition",
    FieldKind::Expression,
    "Over the variables, such as `state == done && !late`; without one, the edge is always open. The first open one is taken.",
);
const REQUIRED: FormField =
    field("required", "Required", FieldKind::Boolean, "Whether it must be done; otherwise it can be skipped.");
const OUTPUTS: FormField = field(
    "outputs",
    "Reports",
    FieldKind::List,
    "The names of the variables that it sets. A new step declares new ones.",
)
.asked();
const EFFECTIVITIES: FormField =
    field("effectivities", "Needs", FieldKind::List, "The abilities that the agent needs for it.");
const ACTIONS: FormField =
    field("actions", "Actions", FieldKind::Json, "What happens when it is done, such as setting variables.");
const ACCEPT: FormField = field("accept", "Checks", FieldKind::Json, "What must hold before it counts as done.");
const ALLOW: FormField = field("allow", "Tools allowed", FieldKind::List, "The only tools allowed in this step.");
const DENY: FormField = field("deny", "Tools denied", FieldKind::List, "Tools not allowed in this step.");

const fn step(technique: FormField) -> [FormField; 14] {
    [
        NAME,
        DESCRIPTION,
        OUTPUTS,
        GUIDE,
        technique,
        WHEN,
        REQUIRED,
        EFFECTIVITIES,
        ACTIONS,
        ACCEPT,
        ALLOW,
        DENY,
        GUARDS,
        RESULTS,
    ]
}

const STEP: &[FormField] = &step(TECHNIQUE);
const TECHNIQUE_STEP: &[FormField] = &step(TECHNIQUE.required());

pub(super) const KINDS: &[NodeForm] = &[
    form("step", "Step", "Work that the agent does and reports.", STEP)
        .without_position(DefaultPosition::Nowhere)
        .unsaid(|node| matches!(node.kind, Kind::Work { .. })),
    form("technique", "Technique", "A step that follows a technique.", TECHNIQUE_STEP)
        .without_position(DefaultPosition::Nowhere),
    form("action", "Action", "A step whose purpose is its actions.", STEP).without_position(DefaultPosition::Nowhere),
    form(
        "checkpoint",
        "Checkpoint (a person)",
        "A question that a person answers before the work continues.",
        &[
            NAME,
            DESCRIPTION,
            field("message", "Question", FieldKind::Long, "What is asked. A new one asks its name if this is empty.")
                .required()
                .asked(),
            field("options", "Answers", FieldKind::Json, "The possible answers, each with its effect.")
                .required()
                .rows(&[column("id", "Id"), column("label", "Answer"), column("effect.transitionTo", "Leads to")]),
            field("prerequisite", "First", FieldKind::Long, "What should be true before it is asked."),
            WHEN,
            REQUIRED,
            field(
                "scope",
                "Asked",
                FieldKind::Choice,
                "Whether it is asked once per visit of the activity, or once per run.",
            )
            .of(&["visit", "run"]),
            field(
                "defaultOption",
                "Without an answer",
                FieldKind::Text,
                "The answer that is used if there is no other.",
            ),
            field("autoAdvanceMs", "Waits for", FieldKind::Number, "How long it waits for an answer, in milliseconds."),
        ],
    )
    .with_outcomes()
    .apart()
    .without_position(DefaultPosition::Nowhere)
    .unsaid(|node| matches!(node.kind, Kind::Checkpoint { .. })),
    form(
        "loop",
        "Loop",
        "Repeats its steps.",
        &[
            NAME,
            DESCRIPTION,
            field("loopType", "Repeats", FieldKind::Choice, "For each item of an array, or while a condition holds.")
                .of(&["forEach", "while", "doWhile"])
                .or("type")
                .required(),
            field("over", "Over", FieldKind::Text, "The variable with the array whose items it goes through.").asked(),
            field("variable", "Item", FieldKind::Text, "The name of each item in the loop."),
            field("maxIterations", "Maximum passes", FieldKind::Number, "The maximum number of passes. Default: 100."),
            field("condition", "Condition", FieldKind::Expression, "The condition for another pass."),
            field("when", "Only when", FieldKind::Expression, "The condition under which it begins."),
            field("breakCondition", "Ends when", FieldKind::Expression, "What ends it early."),
            field("atLimit", "At the limit", FieldKind::Choice, "Whether the loop fails there, or the work continues.")
                .of(&["fail", "continue"]),
            REQUIRED,
        ],
    )
    .apart()
    .wrapping()
    .without_position(DefaultPosition::Nowhere)
    .unsaid(|node| matches!(node.kind, Kind::Loop(_))),
    form(
        "activity",
        "Activity",
        "A part of the work with steps of its own.",
        &[
            NAME,
            DESCRIPTION,
            field("problem", "Problem", FieldKind::Long, "The problem that it solves."),
            field("outcome", "Outcome", FieldKind::List, "What is true when it is done."),
            field("rules", "Rules", FieldKind::Json, "What the agent that works on it is told."),
            field("techniques", "Techniques", FieldKind::List, "The techniques that it uses."),
            field("estimatedTime", "Takes", FieldKind::Text, "How long it takes, such as `30m` or `1-4h`."),
            field("required", "Required", FieldKind::Boolean, "Whether it must be done; this is only shown to people."),
            field("notes", "Notes", FieldKind::List, "What else is worth knowing."),
        ],
    )
    .with_conditions()
    .apart()
    .unsaid(|node| matches!(node.kind, Kind::Activity)),
];

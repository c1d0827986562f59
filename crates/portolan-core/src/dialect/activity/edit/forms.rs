//! The forms of activities and of their contents, in both generations of the format.

use crate::dialect::editing::{FieldKind, FormField, NodeForm, field, form};
use crate::graph::Kind;

pub(super) const OWN: &[FormField] = &[
    field("title", "Title", FieldKind::Text, "What people call the workflow.").or("name").required(),
    field("description", "Description", FieldKind::Long, "What it is for, and when to use it."),
    field("version", "Version", FieldKind::Text, "Three numbers with dots between.").required(),
    field("author", "Author", FieldKind::Text, "Who wrote it."),
    field("tags", "Tags", FieldKind::List, "Words to find it by."),
    field("rules", "Rules", FieldKind::Json, "What whoever works on it is told, all along."),
    field("variables", "Variables", FieldKind::Json, "What a run of it remembers, each with a name and a type."),
];

const NAME: FormField = field("name", "Name", FieldKind::Text, "What people call it.");
const DESCRIPTION: FormField = field("description", "Description", FieldKind::Long, "What it is for, in one sentence.");
const GUIDE: FormField = field("guide", "Guide", FieldKind::Long, "How to do it, at length.");
const TECHNIQUE: FormField =
    field("technique", "Technique", FieldKind::Json, "How it is done: the name of a technique.").or("skill");
const WHEN: FormField = field("when", "Only when", FieldKind::Expression, "When it is done at all.").or("condition");
const REQUIRED: FormField =
    field("required", "Required", FieldKind::Boolean, "Whether it must be done; otherwise it may be skipped.");
const OUTPUTS: FormField = field("outputs", "Reports", FieldKind::Json, "The variables that doing it gives values to.");
const EFFECTIVITIES: FormField =
    field("effectivities", "Needs", FieldKind::List, "What the agent must be able to do for it.");
const ACTIONS: FormField =
    field("actions", "Actions", FieldKind::Json, "What happens when it is done, such as setting variables.");
const ACCEPT: FormField = field("accept", "Checks", FieldKind::Json, "What must hold before it counts as done.");
const ALLOW: FormField = field("allow", "Tools allowed", FieldKind::List, "The only tools that may be used at it.");
const DENY: FormField = field("deny", "Tools denied", FieldKind::List, "Tools that may not be used at it.");

const STEP: &[FormField] =
    &[NAME, DESCRIPTION, GUIDE, TECHNIQUE, WHEN, REQUIRED, OUTPUTS, EFFECTIVITIES, ACTIONS, ACCEPT, ALLOW, DENY];

pub(super) const KINDS: &[NodeForm] = &[
    form("step", "Step", "Something to do, which the agent reports.", STEP)
        .unsaid(|node| matches!(node.kind, Kind::Work { .. })),
    form(
        "technique",
        "Technique",
        "A step that is done as a technique says.",
        &[
            NAME,
            DESCRIPTION,
            GUIDE,
            TECHNIQUE.required(),
            WHEN,
            REQUIRED,
            OUTPUTS,
            EFFECTIVITIES,
            ACTIONS,
            ACCEPT,
            ALLOW,
            DENY,
        ],
    ),
    form("action", "Action", "A step that is told for what happens with it.", STEP),
    form(
        "checkpoint",
        "Checkpoint",
        "A question that a person answers before the work goes on.",
        &[
            NAME,
            DESCRIPTION,
            field("message", "Question", FieldKind::Long, "What is asked.").required(),
            field("options", "Answers", FieldKind::Json, "What can be answered, each with what it does.").required(),
            field("prerequisite", "First", FieldKind::Long, "What should be so before it is asked."),
            WHEN,
            REQUIRED,
            field("scope", "Asked", FieldKind::Choice, "Whether once in a visit of the activity, or once in a run.")
                .of(&["visit", "run"]),
            field(
                "defaultOption",
                "Without an answer",
                FieldKind::Text,
                "The answer that is taken when nobody answers.",
            ),
            field("autoAdvanceMs", "Waits for", FieldKind::Number, "How long it waits for an answer, in milliseconds."),
        ],
    )
    .with_outcomes()
    .apart()
    .unsaid(|node| matches!(node.kind, Kind::Checkpoint { .. })),
    form(
        "loop",
        "Loop",
        "Goes through its steps again and again.",
        &[
            NAME,
            DESCRIPTION,
            field("loopType", "Goes", FieldKind::Choice, "Over the items of an array, or while a condition holds.")
                .of(&["forEach", "while", "doWhile"])
                .or("type")
                .required(),
            field("over", "Over", FieldKind::Text, "The array whose items it goes over."),
            field("variable", "Item", FieldKind::Text, "What each item is called in the loop."),
            field("condition", "Condition", FieldKind::Expression, "While it holds there is another pass."),
            field("when", "Only when", FieldKind::Expression, "When it is begun at all."),
            field("breakCondition", "Ends when", FieldKind::Expression, "What ends it early."),
            field(
                "maxIterations",
                "Passes at most",
                FieldKind::Number,
                "How many passes there may be; 100 where nothing is said.",
            ),
            field("atLimit", "At the limit", FieldKind::Choice, "Whether it has failed there, or the work goes on.")
                .of(&["fail", "continue"]),
            REQUIRED,
        ],
    )
    .apart()
    .unsaid(|node| matches!(node.kind, Kind::Loop(_))),
    form(
        "activity",
        "Activity",
        "A part of the work with steps of its own.",
        &[
            NAME,
            DESCRIPTION,
            field("problem", "Problem", FieldKind::Long, "What somebody has who needs it."),
            field("outcome", "Outcome", FieldKind::List, "What is so when it is done."),
            field("rules", "Rules", FieldKind::Json, "What whoever works on it is told."),
            field("techniques", "Techniques", FieldKind::List, "The techniques that it is done with."),
            field("estimatedTime", "Takes", FieldKind::Text, "How long it takes, such as `30m` or `1-4h`."),
            field("required", "Required", FieldKind::Boolean, "Whether it must be done, for people."),
            field("notes", "Notes", FieldKind::List, "What else is worth knowing."),
        ],
    )
    .apart()
    .unsaid(|node| matches!(node.kind, Kind::Activity)),
];

//! Edits Navigator files piece by piece: nodes are the members of an object, edges the items of a list.

use serde_json::{Map, Value, json};

use crate::diagnostic::clip;
use crate::dialect::editing::{
    EditError, Editing, Edits, FieldKind, FormField, GUARDS, NodeForm, Operation, OperationResult, Page, Pen, Place,
    RESULTS, field, filled, form, fresh, identifier,
};
use crate::graph::{DEFAULT_RETRIES, Kind};
use crate::source::{Edit, PathStep, Tree};
use crate::value::{FAILED, PASSED};

pub(super) const EDITING: Editing = Editing { kind_field: Some("type"), ..Editing::of(KINDS, OWN, edits) };

const OWN: &[FormField] = &[
    field("name", "Name", FieldKind::Text, "The display name of the workflow."),
    field("description", "Description", FieldKind::Long, "What it is for, and when to use it."),
    GUARDS,
    RESULTS,
];

const NAME: FormField = field("name", "Name", FieldKind::Text, "The display name of the step.");
const DESCRIPTION: FormField = field("description", "Description", FieldKind::Long, "What it is for, in one sentence.");
const INSTRUCTIONS: FormField =
    field("instructions", "Instructions", FieldKind::Long, "What to do, when it is done, and what to pass on.").asked();
const AGENT: FormField = field("agent", "Agent", FieldKind::Text, "Who should do it.");
const STAGE: FormField = field("stage", "Stage", FieldKind::Text, "The part of the work that it belongs to.");
const EMOJI: FormField = field("emoji", "Picture", FieldKind::Text, "A picture for diagrams.");
const FILES: FormField = field("context_files", "Read first", FieldKind::List, "Files to read first.");
const OUTPUTS: FormField = field(
    "outputs",
    "Outcomes",
    FieldKind::List,
    "The outcomes that can be reported, if `passed` and `failed` are not enough.",
);
const RETRIES: FormField = field(
    "maxRetries",
    "Retries",
    FieldKind::Number,
    "How many times the step is tried again after a failure: 2 means three attempts at most. Then the run takes the edge on `failed` that leads out, or asks a person if there is none. Left empty: 3, or 0 if the step has an edge on `failed`.",
)
.by_default(DEFAULT_RETRIES);
const ACCEPT: FormField = field(
    "accept",
    "Checks",
    FieldKind::Json,
    "What must hold before the step counts as done: commands with `run`, files with `file`.",
);
const ALLOW: FormField = field("allow", "Tools allowed", FieldKind::List, "The only tools allowed in this step.");
const DENY: FormField = field("deny", "Tools denied", FieldKind::List, "Tools not allowed in this step.");

/// Returns the fields of work. Those that change most often come first.
const fn work(first: [FormField; 5]) -> [FormField; 14] {
    let [a, b, c, d, e] = first;
    [a, b, c, d, e, OUTPUTS, DESCRIPTION, STAGE, FILES, ALLOW, DENY, GUARDS, RESULTS, EMOJI]
}

const WORK: &[FormField] = &work([NAME, INSTRUCTIONS, AGENT, ACCEPT, RETRIES]);
const JUDGING: &[FormField] = &work([NAME, RETRIES, ACCEPT, INSTRUCTIONS, AGENT]);

const KINDS: &[NodeForm] = &[
    form("task", "Task", "Work that an agent does.", WORK).with_outcomes().with_labels(),
    form("gate", "Gate", "Work that judges the step before it: a failure leads back there.", JUDGING)
        .with_outcomes()
        .with_labels(),
    form(
        "end",
        "End",
        "Where a run ends; with an outgoing edge and the escalation `hitl`, it asks a person instead.",
        &[
            NAME,
            DESCRIPTION,
            field("result", "Result", FieldKind::Choice, "How the run ends here.")
                .of(&["success", "failure", "blocked", "cancelled"])
                .required(),
            field(
                "escalation",
                "Tells",
                FieldKind::Choice,
                "Who is notified: a person at once, those who watch alerts, or a ticket system.",
            )
            .of(&["hitl", "alert", "ticket"]),
        ],
    )
    .with_outcomes()
    .with_labels(),
    form(
        "fork",
        "Fork",
        "Opens a branch for each edge that leaves it.",
        &[
            NAME,
            DESCRIPTION,
            field("join", "Join", FieldKind::Text, "The node that collects the branches.").required(),
            field("maxConcurrency", "At once", FieldKind::Number, "How many branches may be open at once."),
        ],
    )
    .wrapping(),
    form(
        "join",
        "Join",
        "Collects the branches of a fork; it is added together with its fork.",
        &[
            NAME,
            DESCRIPTION,
            field("fork", "Fork", FieldKind::Text, "The fork whose branches it collects.").required(),
            field("strategy", "Passes when", FieldKind::Choice, "When the branches count as passed.")
                .of(&["all-pass", "any-pass"]),
            RETRIES,
        ],
    )
    .with_outcomes()
    .with_labels()
    .with_others(),
    form(
        "subflow",
        "Subflow",
        "Runs another workflow.",
        &[
            NAME,
            DESCRIPTION,
            field("workflow", "Workflow", FieldKind::Text, "The workflow to run.").required().asked(),
            RETRIES,
            AGENT,
            STAGE,
            GUARDS,
            RESULTS,
        ],
    )
    .with_outcomes()
    .with_labels(),
    form("start", "Start", "Where a run begins; there is exactly one.", &[NAME, DESCRIPTION])
        .with_labels()
        .with_others(),
];

fn edits(page: &Page<'_>, operation: &Operation) -> Edits {
    match operation {
        Operation::Add { kind, id, after, on, edge, values } => {
            add(page, kind, id.as_deref(), &Behind { after: after.as_deref(), on: on.as_deref(), edge: *edge }, values)
        }
        Operation::Connect { from, to, on } => connect(page, from, to, on.as_deref()),
        Operation::Disconnect { edge } => {
            Ok(OperationResult::here(vec![Edit::Remove { at: written(page, *edge)?.at }]))
        }
        Operation::Reconnect { edge, to } => {
            page.node(to)?;
            let place = written(page, *edge)?.with("to");
            Ok(OperationResult::here(vec![Edit::Set { at: place.at, value: json!(to) }]))
        }
        Operation::Outcome { edge, on } => set_on_edge(page, *edge, "on", on.as_deref()),
        Operation::Label { edge, text } => {
            set_on_edge(page, *edge, "label", text.as_deref().map(str::trim).filter(|text| !text.is_empty()))
        }
        Operation::Rename { node, to } => rename(page, node, to),
        Operation::Delete { nodes } => delete(page, nodes),
        Operation::Duplicate { node } => duplicate(page, node),
        Operation::Wrap { node, id, values, .. } => wrap(page, node, id.as_deref(), values.as_ref()),
        Operation::Move { .. } => Err(EditError::not_here("a node is moved")),
        Operation::Set { .. } | Operation::Kind { .. } => unreachable!("all formats set fields alike"),
    }
}

fn nodes() -> Place {
    Place { file: 0, at: vec!["nodes".into()] }
}

fn edges() -> Place {
    Place { file: 0, at: vec!["edges".into()] }
}

/// Returns the place of an edge; refuses an edge that comes from the `branches` of a fork.
fn written(page: &Page<'_>, edge: usize) -> Result<Place, EditError> {
    let found = page.item_at(&edges(), page.edge(edge)?.span);
    let nth = found
        .ok_or_else(|| EditError::new("the edge is a branch that its fork lists", "edit the `branches` of the fork"))?;
    Ok(edges().with(nth))
}

fn edge_of(from: &str, to: &str, on: Option<&str>) -> Value {
    let mut edge = json!({ "from": from, "to": to });
    if let (Some(on), Some(fields)) = (on, edge.as_object_mut()) {
        fields.insert("on".to_owned(), json!(on));
    }
    edge
}

/// Returns the index for a new edge from `from`: after the last edge that leaves it, or at the end.
fn behind_those_of(page: &Page<'_>, from: &str) -> usize {
    let items = page.items(&edges());
    let last = items.iter().rposition(|edge| edge.get("from").and_then(Tree::as_str) == Some(from));
    last.map_or(items.len(), |at| at + 1)
}

/// The predecessor of a new node.
struct Behind<'b> {
    after: Option<&'b str>,
    on: Option<&'b str>,
    edge: Option<usize>,
}

fn add(
    page: &Page<'_>,
    kind: &str,
    id: Option<&str>,
    behind: &Behind<'_>,
    values: &Option<Map<String, Value>>,
) -> Edits {
    let is_taken = |id: &str| page.tree(&nodes().with(id)).is_some();
    let id = match id {
        Some(id) if is_taken(id) => {
            return Err(EditError::new(format!("the node `{id}` already exists"), "give it another identifier"));
        }
        Some(id) => id.to_owned(),
        None => fresh(kind, &is_taken),
    };
    let cut = behind.edge.map(|edge| Ok::<_, EditError>((written(page, edge)?, page.edge(edge)?))).transpose()?;
    let after = cut.as_ref().map(|(_, edge)| edge.from.value.as_str()).or(behind.after);
    let next = after.and_then(|after| page.key_behind(&nodes(), after));
    let back = cut.as_ref().filter(|_| kind == "gate").map(|(_, edge)| edge.from.value.as_str());
    let back = back.filter(|from| page.node(from).is_ok_and(|node| matches!(node.kind, Kind::Work { .. })));
    let mut edits = Vec::new();
    let mut put = |id: &str, value: Value| {
        edits.push(Edit::Insert { at: nodes().with(id).at, before: next.clone(), value });
    };
    if kind == "fork" {
        let join = fresh(&format!("{id}_join"), &is_taken);
        put(&id, json!({ "type": "fork", "join": join }));
        put(&join, json!({ "type": "join", "fork": id }));
    } else {
        let mut node = filled(Map::from_iter([("type".to_owned(), json!(kind))]), values.as_ref());
        if kind == "end" && node.get("result").is_none() {
            node["result"] = json!("success");
        }
        // A way back needs a bound.
        if back.is_some() && node.get("maxRetries").is_none() {
            node["maxRetries"] = json!(DEFAULT_RETRIES);
        }
        put(&id, node);
    }
    match (&cut, behind.after) {
        (Some((place, edge)), _) => {
            edits.push(Edit::Set { at: place.with("to").at, value: json!(id) });
            let Some(PathStep::Item(nth)) = place.at.last() else { return Err(EditError::unknown("edge", "")) };
            let onward = edge_of(&id, edge.to.value.as_str(), (kind == "gate").then_some("passed"));
            let failed = back.map(|back| edge_of(&id, back, Some("failed")));
            // Of several items at one place, the last one inserted stands first.
            let at = edges().with(nth + 1).at;
            edits.extend(failed.into_iter().chain([onward]).map(|value| Edit::Insert {
                at: at.clone(),
                before: None,
                value,
            }));
        }
        (None, Some(after)) => {
            page.node(after)?;
            let at = edges().with(behind_those_of(page, after)).at;
            edits.push(Edit::Insert { at, before: None, value: edge_of(after, &id, behind.on) });
        }
        (None, None) => {}
    }
    Ok(OperationResult::here(edits).selecting(id))
}

fn connect(page: &Page<'_>, from: &str, to: &str, on: Option<&str>) -> Edits {
    page.node(from)?;
    page.node(to)?;
    let at = edges().with(behind_those_of(page, from)).at;
    Ok(OperationResult::here(vec![Edit::Insert { at, before: None, value: edge_of(from, to, on) }]))
}

fn set_on_edge(page: &Page<'_>, edge: usize, field: &str, text: Option<&str>) -> Edits {
    let place = written(page, edge)?.with(field);
    let edit = match text {
        Some(text) => Edit::Set { at: place.at, value: json!(text) },
        None if page.tree(&place).is_none() => return Ok(OperationResult::default()),
        None => Edit::Remove { at: place.at },
    };
    Ok(OperationResult::here(vec![edit]))
}

/// Returns every place that names a node, besides its own key.
fn named(page: &Page<'_>, node: &str) -> Vec<Place> {
    let mut found = Vec::new();
    let is_it = |place: &Place| page.tree(place).and_then(Tree::as_str) == Some(node);
    for nth in 0..page.items(&edges()).len() {
        let edge = edges().with(nth);
        found.extend([edge.with("from"), edge.with("to")].into_iter().filter(is_it));
    }
    let members = page.tree(&nodes()).and_then(Tree::entries).unwrap_or_default();
    for member in members {
        let own = nodes().with(member.key.value.as_str());
        found.extend([own.with("join"), own.with("fork")].into_iter().filter(is_it));
        let branches = own.with("branches");
        for branch in page.tree(&branches).and_then(Tree::entries).unwrap_or_default() {
            found.extend([branches.with(branch.key.value.as_str()).with("entryStep")].into_iter().filter(is_it));
        }
    }
    found
}

fn rename(page: &Page<'_>, node: &str, to: &str) -> Edits {
    page.node(node)?;
    if node == to {
        return Ok(OperationResult::default().selecting(to));
    }
    let mut edits: Vec<Edit> =
        named(page, node).into_iter().map(|place| Edit::Set { at: place.at, value: json!(to) }).collect();
    // Last, because the places above contain the old key.
    edits.push(Edit::Rename { at: nodes().with(node).at, to: to.to_owned() });
    Ok(OperationResult::here(edits).selecting(to))
}

fn delete(page: &Page<'_>, gone: &[String]) -> Edits {
    let mut edits = Vec::new();
    let names_one = |edge: &Tree| {
        ["from", "to"].iter().any(|end| {
            let end = edge.get(end).and_then(Tree::as_str);
            end.is_some_and(|end| gone.iter().any(|node| node == end))
        })
    };
    let items = page.items(&edges());
    for nth in (0..items.len()).rev().filter(|nth| names_one(&items[*nth])) {
        edits.push(Edit::Remove { at: edges().with(nth).at });
    }
    for node in gone {
        page.node(node)?;
        edits.push(Edit::Remove { at: nodes().with(node.as_str()).at });
    }
    Ok(OperationResult::here(edits))
}

/// Puts a node between a new fork and its join. What led to the node leads to the fork, and the join leads on.
fn wrap(page: &Page<'_>, node: &str, id: Option<&str>, values: Option<&Map<String, Value>>) -> Edits {
    if !matches!(page.node(node)?.kind, Kind::Work { .. } | Kind::Subflow { .. }) {
        let message = format!("`{node}` cannot be a branch");
        return Err(EditError::new(message, "wrap a task, a gate or a subflow"));
    }
    let is_taken = |id: &str| page.tree(&nodes().with(id)).is_some();
    let fork = identifier(id, "fork", &is_taken)?;
    let join = fresh(&format!("{fork}_join"), &|other| other == fork || is_taken(other));
    let mut pen = Pen::default();
    for place in named(page, node) {
        let leaves = place.key() == Some("from");
        if let Some(on) = place.parent().filter(|_| leaves).and_then(|edge| page.text(&edge.with("on")))
            && ![PASSED, FAILED].contains(&on)
        {
            let message = format!("`{node}` leads on by `{}`, and a join only by `{PASSED}` and `{FAILED}`", clip(on));
            return Err(EditError::new(message, "lead that edge from another node first"));
        }
        pen.set(&place, if leaves { join.as_str() } else { fork.as_str() });
    }
    pen.insert(
        &nodes().with(fork.as_str()),
        Some(node.to_owned()),
        filled(json!({ "type": "fork", "join": join }), values),
    );
    let behind = page.key_behind(&nodes(), node);
    pen.insert(&nodes().with(join.as_str()), behind, json!({ "type": "join", "fork": fork }));
    let at = behind_those_of(page, node);
    for (nth, edge) in [edge_of(&fork, node, None), edge_of(node, &join, None)].into_iter().enumerate() {
        pen.insert(&edges().with(at + nth), None, edge);
    }
    Ok(pen.done().selecting(fork))
}

fn duplicate(page: &Page<'_>, node: &str) -> Edits {
    page.node(node)?;
    let place = nodes().with(node);
    let value = page.value(&place).ok_or_else(|| EditError::unknown("node", node))?;
    let id = fresh(node, &|id| page.tree(&nodes().with(id)).is_some());
    let before = page.key_behind(&nodes(), node);
    Ok(OperationResult::here(vec![Edit::Insert { at: nodes().with(id.as_str()).at, before, value }]).selecting(id))
}

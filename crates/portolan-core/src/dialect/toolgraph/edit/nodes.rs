//! Adds and copies nodes.

use serde_json::{Map, Value, json};

use super::{Sheet, branch, condition, ends, names, no_such_outcome};
use crate::dialect::editing::{EditError, Edits, Page, Pen, Place, filled, fresh, identifier};
use crate::graph::{Kind, Node};
use crate::source::Tree;
use crate::value::{FAILED, PASSED};

/// The predecessor of a new node.
pub(super) struct Lead<'l> {
    pub(super) after: Option<&'l str>,
    pub(super) on: Option<&'l str>,
    pub(super) edge: Option<usize>,
}

pub(super) fn add(
    sheet: &Sheet<'_>,
    kind: &str,
    id: Option<&str>,
    lead: &Lead<'_>,
    values: Option<&Map<String, Value>>,
) -> Edits {
    let is_taken = |id: &str| sheet.is_taken(id);
    let id = identifier(id, kind, &is_taken)?;
    let mut pen = Pen::default();
    let (behind, onward) = match (lead.edge, lead.after) {
        (Some(edge), _) => {
            let edge = sheet.page.edge(edge)?;
            pen.set(&sheet.written(edge)?, id.as_str());
            (Some(edge.from.value.as_str()), Some(edge.to.value.to_string()))
        }
        (None, Some(after)) => (Some(after), taken_over(sheet, &mut pen, after, lead.on, &id)?),
        (None, None) if sheet.beside => return Err(unreached()),
        (None, None) => (None, None),
    };
    let at = match behind {
        Some(behind) => sheet.place(behind)?.number().map(|nth| nth + 1),
        None => None,
    };
    let at = at.unwrap_or(sheet.items().len());
    let mut nodes = Vec::new();
    if kind == "parallel" {
        let join = fresh(&format!("{id}_join"), &|other| other == id || is_taken(other));
        nodes.push(filled(json!({ "id": id, "type": kind, "branches": [join], "join": join }), values));
        nodes.push(json!({ "id": join, "type": "join" }));
    } else {
        nodes.push(filled(begun(sheet, kind, &id), values));
    }
    if let (Some(Value::Object(last)), Some(onward)) = (nodes.last_mut(), onward) {
        last.insert("next".to_owned(), onward.into());
    }
    for (nth, node) in nodes.into_iter().enumerate() {
        pen.insert(&sheet.list.with(at + nth), None, node);
    }
    Ok(pen.done().selecting(id))
}

fn unreached() -> EditError {
    let message = "a node beside the tools belongs to the tool that reaches it, and no tool would reach this one";
    EditError::new(message, "add it after a node, or between two")
}

/// Redirects `after` to the new node; returns its previous target.
fn taken_over(
    sheet: &Sheet<'_>,
    pen: &mut Pen,
    after: &str,
    on: Option<&str>,
    id: &str,
) -> Result<Option<String>, EditError> {
    let node = sheet.page.node(after)?;
    let led = |place: &Place| sheet.page.text(place).map(str::to_owned);
    Ok(match (&node.kind, on.filter(|on| *on != PASSED)) {
        (Kind::End { .. }, _) => return Err(ends(after)),
        (_, Some(FAILED)) => {
            let place = sheet.failing(node)?;
            pen.set(&place, id);
            // A new handler of a failure continues where success does.
            led(&place).or_else(|| way(sheet, node))
        }
        (Kind::Switch, Some(on)) => {
            condition(sheet, pen, node, on, id)?;
            way(sheet, node)
        }
        (_, Some(on)) => return Err(no_such_outcome(on)),
        (Kind::Fork { join, .. }, None) => {
            branch(sheet, pen, node, id)?;
            Some(join.value.to_string())
        }
        (_, None) => {
            let place = sheet.onward(node)?;
            pen.set(&place, id);
            led(&place)
        }
    })
}

/// Returns the unconditional successor of a node; that of a fork is the successor of its join.
pub(super) fn way(sheet: &Sheet<'_>, node: &Node) -> Option<String> {
    let node = match &node.kind {
        Kind::Fork { join, .. } => sheet.page.node(join.value.as_str()).ok()?,
        Kind::End { .. } => return None,
        _ => node,
    };
    sheet.page.text(&sheet.onward(node).ok()?).map(str::to_owned)
}

/// Returns the initial content of a node of a kind, just enough to be readable. Required fields are empty, which is
/// reported.
fn begun(sheet: &Sheet<'_>, kind: &str, id: &str) -> Value {
    let node = json!({ "id": id, "type": kind });
    let fields = match kind {
        "mcp" => {
            let own = sheet.page.own();
            let named = ["mcpServers", "servers"].into_iter().find_map(|key| sheet.page.first_key(&own.with(key)));
            json!({ "server": named.unwrap_or("filesystem"), "tool": "" })
        }
        "transform" => json!({ "transform": { "expr": "{}" } }),
        "switch" => json!({ "conditions": [] }),
        "forEach" => {
            let mut fields = called(sheet);
            fields["items"] = json!({ "expr": "[]" });
            fields
        }
        "call" => called(sheet),
        "state" => json!({ "objective": "" }),
        _ => json!({}),
    };
    filled(node, fields.as_object())
}

/// Returns what a node of another kind begins with.
pub(super) fn of_kind(page: &Page<'_>, node: &Node, kind: &str) -> Result<Value, EditError> {
    let is_apart = matches!(node.kind, Kind::Start | Kind::End { .. } | Kind::Fork { .. } | Kind::Join { .. });
    if is_apart || kind == "parallel" {
        let message = format!("`{}` cannot be changed to `{kind}`", node.id);
        return Err(EditError::new(message, "add a new node of that kind, and delete this one"));
    }
    if !page.items(&page.place_of(node)?.with("conditions")).is_empty() {
        let message = format!("the edges of `{}` have conditions, which only a switch can have", node.id);
        return Err(EditError::new(message, "delete these edges first"));
    }
    Ok(begun(&Sheet::of(page)?, kind, node.id.as_str()))
}

/// Returns a call of another tool of the file, or of a workflow if there is none.
fn called(sheet: &Sheet<'_>) -> Value {
    let tools = sheet.page.items(&sheet.page.own().with("tools")).iter();
    let mut names = tools.filter_map(|tool| tool.get("name").and_then(Tree::as_str));
    match names.find(|name| *name != sheet.page.graph.id.value.as_str()) {
        Some(name) => json!({ "tool": name }),
        None => json!({ "workflow": "" }),
    }
}

/// Puts a node between a new fork and its join. What led to the node leads to the fork, and the join leads on.
pub(super) fn wrap(sheet: &Sheet<'_>, id: &str, fork: Option<&str>, values: Option<&Map<String, Value>>) -> Edits {
    let node = sheet.page.node(id)?;
    if matches!(
        node.kind,
        Kind::Start | Kind::End { .. } | Kind::Fork { .. } | Kind::Join { .. } | Kind::Switch | Kind::Checkpoint { .. }
    ) {
        return Err(EditError::new(
            format!("`{id}` cannot be a branch"),
            "wrap a node that computes or calls something",
        ));
    }
    let place = sheet.page.place_of(node)?;
    let fails = [place.with("onError"), place.with("on_failure").with("go_to")];
    if fails.iter().any(|place| sheet.page.tree(place).is_some()) {
        let message = format!("the edge of `{id}` on `{FAILED}` would leave its branch");
        return Err(EditError::new(message, "remove that edge first, and add it to the new node afterwards"));
    }
    let fork = identifier(fork, "parallel", &|id| sheet.is_taken(id))?;
    let join = fresh(&format!("{fork}_join"), &|other| other == fork || sheet.is_taken(other));
    let mut pen = Pen::default();
    let next = place.with("next");
    for led in names::named(sheet, id).into_iter().filter(|led| ![&place.with("id"), &next].contains(&led)) {
        pen.set(&led, fork.as_str());
    }
    let mut collects = json!({ "id": join, "type": "join" });
    if let Some(to) = sheet.page.value(&next) {
        collects["next"] = if to == id { fork.as_str().into() } else { to };
    }
    pen.set(&next, join.as_str());
    let at = place.number().unwrap_or(sheet.items().len());
    let opens = json!({ "id": fork, "type": "parallel", "branches": [id], "join": join });
    pen.insert(&sheet.list.with(at), None, filled(opens, values));
    pen.insert(&sheet.list.with(at + 2), None, collects);
    Ok(pen.done().selecting(fork))
}

pub(super) fn duplicate(sheet: &Sheet<'_>, id: &str) -> Edits {
    let node = sheet.page.node(id)?;
    if matches!(node.kind, Kind::Start | Kind::End { .. } | Kind::Join { .. }) {
        let message = format!("`{id}` must be the only one of its kind");
        return Err(EditError::new(message, "duplicate another node; a join is copied with its `parallel`"));
    }
    if sheet.beside {
        return Err(unreached());
    }
    let place = sheet.page.place_of(node)?;
    let at = place.number().map_or(sheet.items().len(), |nth| nth + 1);
    let copy = fresh(id, &|id| sheet.is_taken(id));
    let mut pen = Pen::default();
    let mut nodes = vec![without_edges(sheet, &place, &copy)?];
    if let Kind::Fork { join, .. } = &node.kind {
        let place = sheet.place(join.value.as_str())?;
        let join = fresh(join.value.as_str(), &|id| id == copy || sheet.is_taken(id));
        nodes[0]["branches"] = json!([join]);
        nodes[0]["join"] = json!(join);
        nodes.push(without_edges(sheet, &place, &join)?);
    }
    for (nth, node) in nodes.into_iter().enumerate() {
        pen.insert(&sheet.list.with(at + nth), None, node);
    }
    Ok(pen.done().selecting(copy))
}

fn without_edges(sheet: &Sheet<'_>, place: &Place, id: &str) -> Result<Value, EditError> {
    let mut node = sheet.page.value(place).ok_or_else(|| EditError::unknown("node", id))?;
    if let Some(fields) = node.as_object_mut() {
        fields.insert("id".to_owned(), id.into());
        for key in ["next", "onError"] {
            fields.shift_remove(key);
        }
        if fields.contains_key("conditions") {
            fields.insert("conditions".to_owned(), json!([]));
        }
        if fields.get("on_failure").is_some_and(Value::is_object) {
            fields.shift_remove("on_failure");
        }
    }
    Ok(node)
}

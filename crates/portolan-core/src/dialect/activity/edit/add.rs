//! Adds a step after another in its list, and an activity after another on its outgoing edge.

use serde_json::{Map, Value, json};

use super::super::lower::is_name;
use super::take::{names_steps, naming_loops};
use super::ways::{Way, leaving, open, way_of};
use super::{WrittenNode, sound, taken, written};
use super::{files, names};
use crate::dialect::editing::{Changes, EditError, Edits, Page, Place, filled, fresh, text_of};
use crate::graph::{Edge, Kind, Node};
use crate::source::{PathStep, Tree};
use crate::value::{PASS, PASSED, SKIPPED};

/// The new element and its position.
pub(super) struct Addition<'a> {
    pub(super) kind: &'a str,
    pub(super) id: Option<&'a str>,
    pub(super) after: Option<&'a str>,
    pub(super) on: Option<&'a str>,
    pub(super) edge: Option<usize>,
    pub(super) values: Option<&'a Map<String, Value>>,
}

pub(super) fn add(page: &Page<'_>, adding: &Addition<'_>) -> Edits {
    if adding.on.is_some_and(|on| on != PASSED) {
        return Err(EditError::not_here("something is added after one outcome"));
    }
    if adding.kind == "activity" {
        return add_activity(page, adding);
    }
    let spot = spot(page, adding)?;
    let id = step_id(page, &spot.activity, adding.kind, adding.id)?;
    let mut made = made(page, adding.kind, &id, &spot);
    let given = |key| adding.values.and_then(|values| values.get(key));
    if let (Some(_), Some(name), None) = (made.get("message"), given("name"), given("message")) {
        made.insert("message".to_owned(), name.clone());
    }
    let value = match adding.kind {
        "loop" => filled_loop(page, made, adding.values)?,
        _ => filled(made, adding.values),
    };
    let mut changes = put(page, &spot, &id, value);
    declare(page, given("outputs"), &mut changes);
    Ok(changes.done(page).selecting(format!("{}.{id}", spot.prefix)))
}

/// Declares the variables that a new step reports and that are not declared: strings, as the verdicts of reviews are.
fn declare(page: &Page<'_>, reported: Option<&Value>, changes: &mut Changes) {
    let list = page.own().with("variables");
    let known = page.items(&list);
    let is_known = |name: &str| known.iter().any(|variable| text_of(variable, "name") == Some(name));
    let names = reported.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
    let new: Vec<Value> = names
        .filter(|name| is_name(name) && !is_known(name))
        .map(|name| json!({ "name": name, "type": "string" }))
        .collect();
    if known.is_empty() && !new.is_empty() {
        changes.set(list, new);
        return;
    }
    new.into_iter().rev().for_each(|variable| changes.put(page, &list, known.len(), variable));
}

/// Returns the id of a new step: the wanted one if it is valid and free, or a free one if none is wanted.
pub(super) fn step_id(
    page: &Page<'_>,
    activity: &Place,
    kind: &str,
    wanted: Option<&str>,
) -> Result<String, EditError> {
    let is_taken = |id: &str| names::is_taken(page, activity, id);
    let Some(id) = wanted else { return Ok(fresh(kind, &is_taken)) };
    sound(id, "a step")?;
    if is_taken(id) { Err(taken("a step", id)) } else { Ok(id.to_owned()) }
}

/// The position of a new step.
pub(super) struct Spot {
    pub(super) list: Place,
    pub(super) nth: usize,
    pub(super) activity: Place,
    /// The prefix of its id in the graph.
    pub(super) prefix: String,
    /// The step that it follows, if loops beside the steps may name that one.
    pub(super) behind: Option<String>,
}

fn spot(page: &Page<'_>, adding: &Addition<'_>) -> Result<Spot, EditError> {
    let Some(edge) = adding.edge else {
        let nowhere = || EditError::new("a step must be in an activity", "say what to add it after");
        return behind(page, adding.after.ok_or_else(nowhere)?);
    };
    let edge = page.edge(edge)?;
    let from = page.node(edge.from.value.as_str())?;
    let on = edge.on.outcome().map(|on| on.as_str());
    if matches!(from.kind, Kind::Loop(_)) && on == Some(PASS) {
        return inside(page, &written(page, from.id.as_str())?);
    }
    let is_answer = matches!(from.kind, Kind::Checkpoint { .. }) && matches!(way_of(page, edge), Ok(Way::Answer(_)));
    if is_answer || (from.kind == Kind::Activity && on == Some(SKIPPED)) {
        let message = format!("no step can be added between `{}` and `{}`", edge.from.value, edge.to.value);
        return Err(EditError::new(message, "add it after a step, or add an activity"));
    }
    behind(page, from.id.as_str())
}

/// Returns the first position in a loop.
fn inside(page: &Page<'_>, looping: &WrittenNode<'_>) -> Result<Spot, EditError> {
    let list = looping.place.with("steps");
    if page.items(&list).first().is_none_or(|first| first.as_str().is_some()) {
        let message = format!("`{}` repeats what is defined elsewhere", looping.node.id);
        return Err(EditError::new(message, "add it after one of the steps that it repeats"));
    }
    let prefix = looping.prefix().to_owned();
    Ok(Spot { list, nth: 0, activity: looping.activity.clone(), prefix, behind: None })
}

pub(super) fn behind(page: &Page<'_>, node: &str) -> Result<Spot, EditError> {
    if let Kind::Start | Kind::End { .. } = page.node(node)?.kind {
        let message = format!("a step must be in an activity, and `{node}` is in none");
        return Err(EditError::new(message, "add it after an activity or a step"));
    }
    let written = written(page, node)?;
    let (activity, prefix) = (written.activity.clone(), written.prefix().to_owned());
    if written.is_activity() {
        return Ok(Spot { list: activity.with("steps"), nth: 0, activity, prefix, behind: None });
    }
    match written.listed() {
        Some((list, nth)) if list.at.last() == Some(&PathStep::from("steps")) => {
            let behind = (list == activity.with("steps")).then(|| written.id().to_owned());
            Ok(Spot { list, nth: nth + 1, activity, prefix, behind })
        }
        _ => {
            let message = format!("`{node}` is in a list of its own, beside the steps");
            Err(EditError::new(message, "add it after a step, or edit the text"))
        }
    }
}

/// Inserts a value; loops beside the steps that go through the step before it go through it as well.
fn put(page: &Page<'_>, spot: &Spot, id: &str, value: Value) -> Changes {
    let mut changes = Changes::default();
    for (list, nth) in spot.behind.iter().flat_map(|behind| naming_loops(page, &spot.activity, behind)) {
        changes.put(page, &list, nth + 1, json!(id));
    }
    changes.put(page, &spot.list, spot.nth, value);
    changes
}

/// Returns the required fields of a kind. In a list of the first generation a step has no `kind`.
pub(super) fn made(page: &Page<'_>, kind: &str, id: &str, spot: &Spot) -> Map<String, Value> {
    let items = page.items(&spot.list);
    let is_first = !items.is_empty() && items.iter().all(|item| item.get("kind").is_none());
    let mut made = Map::from_iter([("id".to_owned(), json!(id))]);
    if kind != "step" || !is_first {
        made.insert("kind".to_owned(), json!(kind));
    }
    let more = match kind {
        "technique" => json!({ "technique": id }),
        "checkpoint" => {
            let mut no = json!({ "id": "no", "label": "No" });
            // Behind a step, `no` has the activity done again: an answer that continues as `yes` does decides nothing.
            if spot.behind.is_some() {
                no["effect"] = json!({ "transitionTo": spot.prefix });
            }
            json!({ "message": "Should the work continue?", "options": [{ "id": "yes", "label": "Yes" }, no] })
        }
        "loop" => {
            let step = fresh("step", &|step| step == id || names::is_taken(page, &spot.activity, step));
            json!({ "loopType": "forEach", "steps": [{ "id": step, "kind": "step" }] })
        }
        _ => json!({}),
    };
    made.extend(more.as_object().cloned().unwrap_or_default());
    made
}

/// Fills in the fields of a loop. If nothing says what it goes through, it is the first variable with an array.
pub(super) fn filled_loop(
    page: &Page<'_>,
    mut made: Map<String, Value>,
    values: Option<&Map<String, Value>>,
) -> Result<Value, EditError> {
    let given = |key| values.and_then(|values| values.get(key)).filter(|value| !value.is_null());
    if given("loopType").is_none_or(|kind| kind == "forEach") && given("over").is_none() {
        let variables = page.items(&page.own().with("variables"));
        let array = variables.iter().find(|variable| text_of(variable, "type") == Some("array"));
        let name = array.and_then(|variable| text_of(variable, "name")).ok_or_else(|| {
            let help = "declare one with the type `array`, or name in `over` what holds one";
            EditError::new("there is no variable with an array that the loop could go through", help)
        })?;
        made.insert("over".to_owned(), json!(name));
    }
    // The steps stand last, as people write them.
    let steps = made.shift_remove("steps");
    let mut value = filled(made, values);
    if let (Some(steps), Some(fields)) = (steps, value.as_object_mut()) {
        fields.entry("steps").or_insert(steps);
    }
    Ok(value)
}

fn is_activity(page: &Page<'_>, id: &str) -> bool {
    names::activity(page, id).is_some()
}

fn add_activity(page: &Page<'_>, adding: &Addition<'_>) -> Edits {
    let id = match adding.id {
        Some(id) if is_activity(page, id) => return Err(taken("an activity", id)),
        Some(id) => sound(id, "an activity").map(|()| id.to_owned())?,
        None => fresh("activity", &|id| is_activity(page, id)),
    };
    let mut value = filled(Map::from_iter([("id".to_owned(), json!(id))]), adding.values);
    let way = match (adding.edge, adding.after) {
        (Some(edge), _) => Some(way_along(page, page.edge(edge)?)?),
        (None, Some(after)) => Some(way_behind(page, page.node(after)?)?),
        (None, None) => None,
    };
    let mut changes = Changes::default();
    let list = names::list();
    let last = page.items(&list).len();
    let nth = match &way {
        None => last,
        Some(Way::Initial) => 0,
        Some(Way::Transition(at) | Way::Branch(at) | Way::Answer(at) | Way::Override(at) | Way::Nothing(at)) => {
            match at.at.get(1) {
                Some(PathStep::Item(nth)) => nth + 1,
                _ => last,
            }
        }
    };
    if let Some(way) = &way {
        if let (Some(to), Some(fields)) = (led_to(page, way), value.as_object_mut()) {
            fields.insert("transitions".to_owned(), json!([{ "to": to }]));
        }
        // Without `initialActivity` the first of the list is the initial one; a new file is the last one.
        let is_said = !matches!(way, Way::Initial)
            || files::holds_activities(page)
            || page.tree(&page.own().with("initialActivity")).is_some();
        if is_said {
            way.lead(page, &id, &mut changes);
        }
    }
    match files::holds_activities(page) {
        true => {
            let name = files::name_for(page, &id)?;
            let text = files::written_out(&name, &value)?;
            changes.bring(name, text);
        }
        false => changes.put(page, &list, nth, value),
    }
    Ok(changes.done(page).selecting(id))
}

/// Returns the place of an edge. An edge past a skipped activity is the activity's own outgoing edge.
fn way_along(page: &Page<'_>, edge: &Edge) -> Result<Way, EditError> {
    let from = page.node(edge.from.value.as_str())?;
    let is_past = from.kind == Kind::Activity && edge.on.outcome().is_some_and(|on| on.as_str() == SKIPPED);
    if is_past { way_behind(page, from) } else { way_of(page, edge) }
}

/// Returns the edge after a node that is taken if no condition holds.
fn way_behind(page: &Page<'_>, node: &Node) -> Result<Way, EditError> {
    if node.kind == Kind::Start {
        return Ok(Way::Initial);
    }
    let activity = leaving(page, node)?;
    Ok(open(page, &activity).unwrap_or(Way::Nothing(activity)))
}

/// Returns the previous target of an edge.
fn led_to(page: &Page<'_>, way: &Way) -> Option<String> {
    let text = |place: Place| page.tree(&place).and_then(Tree::as_str).map(str::to_owned);
    match way {
        Way::Initial => {
            let first = page
                .graph
                .edges
                .iter()
                .find(|edge| matches!(page.graph.node(&edge.from.value), Some(node) if node.kind == Kind::Start))?;
            let to = page.graph.node(&first.to.value)?;
            (to.kind == Kind::Activity).then(|| to.id.to_string())
        }
        Way::Transition(place) => text(place.with("to")),
        Way::Branch(place) => text(place.with("transitionTo")),
        Way::Answer(place) => text(place.with("effect").with("transitionTo")),
        Way::Override(place) => text(place.with("transitionOverride")),
        Way::Nothing(_) => None,
    }
}

pub(super) fn duplicate(page: &Page<'_>, node: &str) -> Edits {
    let written = written(page, node)?;
    let mut value = page.value(&written.place).ok_or_else(|| EditError::unknown("node", node))?;
    if written.is_activity() {
        return duplicate_activity(page, &written, value);
    }
    let Some((list, nth)) = written.listed() else { return Err(EditError::unknown("step", node)) };
    if page.tree(&written.place).is_some_and(names_steps) {
        let message = format!("`{node}` repeats steps that are defined beside it, and a step can be in only one loop");
        return Err(EditError::new(message, "define the steps inside the loop, and copy that"));
    }
    let mut ids = Vec::new();
    rename_all(page, &written.activity, &mut value, Some(written.id()), &mut ids);
    let Some(id) = ids.first().cloned() else { return Err(EditError::unknown("step", node)) };
    let behind = (list == written.activity.with("steps")).then(|| written.id().to_owned());
    let (activity, prefix) = (written.activity.clone(), written.prefix().to_owned());
    let spot = Spot { list, nth: nth + 1, activity, prefix, behind };
    Ok(put(page, &spot, &id, value).done(page).selecting(format!("{}.{id}", spot.prefix)))
}

/// Gives a copy and the steps in it new ids. `own` is the id of an element whose text has none.
fn rename_all(page: &Page<'_>, activity: &Place, value: &mut Value, own: Option<&str>, ids: &mut Vec<String>) {
    let Some(fields) = value.as_object_mut() else { return };
    let own = fields.get("id").and_then(Value::as_str).or(own).map(str::to_owned);
    if let Some(own) = own.or_else(|| Some(fields.get("technique")?.as_str()?.rsplit("::").next()?.to_owned())) {
        let id = fresh(&own, &|id| ids.iter().any(|known| known == id) || names::is_taken(page, activity, id));
        let at = if fields.contains_key("id") { fields.len() } else { 0 };
        match fields.get_mut("id") {
            Some(known) => *known = json!(id),
            None => drop(fields.shift_insert(at, "id".to_owned(), json!(id))),
        }
        ids.push(id);
    }
    if let Some(Value::Array(steps)) = fields.get_mut("steps") {
        steps.iter_mut().for_each(|step| rename_all(page, activity, step, None, ids));
    }
}

/// Copies an activity without its incoming and outgoing edges.
fn duplicate_activity(page: &Page<'_>, written: &WrittenNode<'_>, mut value: Value) -> Edits {
    let id = fresh(written.id(), &|id| is_activity(page, id));
    let mut changes = Changes::default();
    if written.place.file > 0 {
        let name = files::name_for(page, &id)?;
        let text = files::copied(page, &written.place, &name, &id, &["transitions", "decisions"])?;
        changes.bring(name, text);
        return Ok(changes.done(page).selecting(id));
    }
    if let Some(fields) = value.as_object_mut() {
        fields.insert("id".to_owned(), json!(id));
        ["transitions", "decisions"].iter().for_each(|key| drop(fields.shift_remove(*key)));
    }
    let Some((list, nth)) = written.listed() else { return Err(EditError::unknown("activity", written.id())) };
    changes.put(page, &list, nth + 1, value);
    Ok(changes.done(page).selecting(id))
}

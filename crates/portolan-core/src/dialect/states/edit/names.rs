//! Renames a state, wherever it is named.

use super::{Sheet, Way, is_choice};
use crate::dialect::editing::{EditError, Edits, Mentions, OperationResult, Pen, Place, identifier};
use crate::dialect::states::syntax::SEEN;
use crate::source::{Edit, Tree};

pub(super) fn rename(sheet: &Sheet<'_>, node: &str, to: &str) -> Edits {
    sheet.written(node)?;
    if node == to {
        return Ok(OperationResult::default().selecting(to));
    }
    identifier(Some(to), "", &|id| sheet.is_taken(id))?;
    if let Some(name) = [node, to].into_iter().find(|name| SEEN.contains(name) || *name == "history") {
        let message = format!("expressions may use the name `{name}` for something else");
        return Err(EditError::new(message, "rename it in the text, and check the expressions"));
    }
    let mut pen = Pen::default();
    for place in named(sheet, node) {
        pen.set(&place, to);
    }
    pen.extend(expressions(sheet, node, to)?);
    // Last, because the places above contain the old key.
    for place in [sheet.state(node), sheet.transition(node), sheet.page.own().with("graph_layout").with(node)] {
        if sheet.page.tree(&place).is_some() {
            pen.rename(&place, to);
        }
    }
    Ok(pen.done().selecting(to))
}

/// Returns every place whose value is the name of a state.
pub(super) fn named(sheet: &Sheet<'_>, node: &str) -> Vec<Place> {
    let page = sheet.page;
    let mut places = Vec::new();
    for id in sheet.ids() {
        let state = sheet.state(id);
        places.push(state.with("on_failure").with("go_to"));
        let branches = state.with("parallel");
        if page.tree(&branches).is_some() {
            places.push(state.with("join"));
            places.extend((0..page.items(&branches).len()).map(|nth| branches.with(nth)));
        }
    }
    for entry in page.tree(&sheet.transitions).and_then(Tree::entries).unwrap_or_default() {
        let place = sheet.transition(&entry.key.value);
        match entry.value.entries() {
            None => places.push(place),
            Some(_) if is_choice(&entry.value) => {
                let to = place.with("to");
                places.extend((0..page.items(&to).len()).map(|nth| to.with(nth)));
            }
            Some(branches) => places.extend(branches.iter().map(|branch| place.with(branch.key.value.as_str()))),
        }
    }
    places.retain(|place| page.text(place) == Some(node));
    places
}

fn expressions(sheet: &Sheet<'_>, node: &str, to: &str) -> Result<Vec<(usize, Edit)>, EditError> {
    let page = sheet.page;
    let joins = sheet.ids().filter(|fork| {
        let branches = page.items(&sheet.state(fork).with("parallel"));
        branches.iter().any(|branch| branch.as_str() == Some(node))
    });
    let joins = joins.filter_map(|fork| page.text(&sheet.state(fork).with("join"))).map(str::to_owned).collect();
    let mut mentions = Mentions::of(page, node, to, joins);
    for id in sheet.ids() {
        let state = sheet.state(id);
        mentions.state(&state);
        let call = state.with("call");
        mentions.template(&call.with("args"), false);
        mentions.jsonata(&call.with("postTransform").with("expr"));
        mentions.template(&state.with("args"), false);
        let transform = state.with("transform");
        match page.text(&transform) {
            Some(_) => mentions.jsonata(&transform),
            None => mentions.computed(&transform),
        }
        if matches!(sheet.way(id), Way::Choose) {
            mentions.chosen(&sheet.transition(id).with("choose"));
        }
    }
    mentions.edits()
}

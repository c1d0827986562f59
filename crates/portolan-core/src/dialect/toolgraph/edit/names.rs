//! Renames a node, wherever it is named.

use super::Sheet;
use crate::dialect::editing::{EditError, Edits, Mentions, OperationResult, Pen, Place, identifier};
use crate::dialect::nodes::Dollar;
use crate::dialect::toolgraph::syntax::dollar;
use crate::source::Tree;

/// The reserved names in expressions.
const SEEN: [&str; 2] = ["input", "shared"];

pub(super) fn rename(sheet: &Sheet<'_>, node: &str, to: &str) -> Edits {
    sheet.page.node(node)?;
    if node == to {
        return Ok(OperationResult::default().selecting(to));
    }
    identifier(Some(to), "", &|id| sheet.is_taken(id))?;
    if SEEN.contains(&to) {
        let message = format!("expressions may use the name `{to}` for something else");
        return Err(EditError::new(message, "give it another identifier"));
    }
    let mut pen = Pen::default();
    for place in named(sheet, node) {
        pen.set(&place, to);
    }
    pen.extend(expressions(sheet, node, to)?);
    Ok(pen.done().selecting(to))
}

/// Returns every place with the name of a node, apart from expressions.
pub(super) fn named(sheet: &Sheet<'_>, node: &str) -> Vec<Place> {
    let page = sheet.page;
    let mut places = Vec::new();
    for nth in 0..sheet.items().len() {
        let own = sheet.list.with(nth);
        places.extend(["id", "next", "onError", "join"].map(|key| own.with(key)));
        places.push(own.with("on_failure").with("go_to"));
        let branches = own.with("branches");
        places.extend((0..page.items(&branches).len()).map(|nth| branches.with(nth)));
        let conditions = own.with("conditions");
        for nth in 0..page.items(&conditions).len() {
            places.extend(["next", "target"].map(|key| conditions.with(nth).with(key)));
        }
    }
    let tools = page.own().with("tools");
    for nth in 0..page.items(&tools).len() {
        let tool = tools.with(nth);
        if sheet.beside || tool == sheet.tool {
            places.extend(["entryNode", "exitNode"].map(|key| tool.with(key)));
        }
    }
    places.retain(|place| page.text(place) == Some(node));
    places
}

/// Returns the joins whose output contains the node's name, because it is the first of a branch.
fn joins(sheet: &Sheet<'_>, node: &str) -> Vec<String> {
    let begins = |fork: &&usize| {
        let branches = sheet.page.items(&sheet.list.with(**fork).with("branches"));
        branches.iter().any(|branch| branch.as_str() == Some(node))
    };
    let forks: Vec<usize> = (0..sheet.items().len()).collect();
    let joins = forks.iter().filter(begins).filter_map(|fork| sheet.items()[*fork].get("join").and_then(Tree::as_str));
    joins.map(str::to_owned).collect()
}

fn expressions(sheet: &Sheet<'_>, node: &str, to: &str) -> Result<Vec<(usize, crate::source::Edit)>, EditError> {
    let page = sheet.page;
    let mut mentions = Mentions::of(page, node, to, joins(sheet, node));
    let texts_too = page.tree(&page.own()).is_some_and(|tree| dollar(tree, sheet.beside) != Dollar::Text);
    for nth in 0..sheet.items().len() {
        let own = sheet.list.with(nth);
        for key in ["transform", "postTransform", "items"] {
            mentions.jsonata(&own.with(key).with("expr"));
        }
        mentions.template(&own.with("args"), texts_too);
        let conditions = own.with("conditions");
        for nth in 0..page.items(&conditions).len() {
            mentions.rule(&conditions.with(nth).with("rule"));
        }
        mentions.state(&own);
    }
    mentions.edits()
}

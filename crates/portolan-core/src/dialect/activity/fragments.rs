//! Rules and checkpoints that a workflow imports from another one, as `other::name`.
//!
//! A bare name is looked up in the workflow itself, and then in the workflows beside it with which it was read.

use std::collections::BTreeSet;

use super::activities::Activity;
use super::checkpoints::{Body, Checkpoint};
use super::loops;
use super::reader::Reader;
use super::rules::Rule;
use super::steps::Item;
use super::syntax::File;
use crate::diagnostic::{Diagnostic, clip};
use crate::source::fields::FaultList;
use crate::source::{self, Entry, Source, Spanned, Tree, TreeKind, placed};

/// The workflow whose fragments every workflow may name without a prefix.
const FOR_ALL: &str = "meta";

/// Returns the workflows from which a text imports fragments that it does not have itself. `from` are the workflows
/// from which it imports activities: the fragments that these name are in their own workflow.
pub fn taken_over(source: &Source, from: &BTreeSet<String>) -> BTreeSet<String> {
    let Some(tree) = source::parse(source).0 else { return BTreeSet::new() };
    let mut copied = 0;
    let parts = source.read_parts().filter_map(|part| source::parse_part(source, part, &mut copied).0);
    let mut refs = BTreeSet::new();
    references(&tree, &mut refs);
    parts.for_each(|part| references(&part, &mut refs));
    let mut wanted = BTreeSet::new();
    for name in refs {
        match name.split_once("::") {
            Some((workflow, _)) => drop(wanted.insert(workflow.to_owned())),
            None if has(&tree, &name) => {}
            None => wanted.extend(from.iter().cloned().chain([FOR_ALL.to_owned()])),
        }
    }
    let own = tree.get("id").and_then(Tree::as_str);
    wanted.retain(|name| Some(name.as_str()) != own);
    wanted
}

/// Collects every name under `ref`.
fn references(tree: &Tree, found: &mut BTreeSet<String>) {
    match &tree.kind {
        TreeKind::Array(items) => items.iter().for_each(|item| references(item, found)),
        TreeKind::Object(entries) => {
            found.extend(tree.get("ref").and_then(Tree::as_str).map(str::to_owned));
            entries.iter().for_each(|entry| references(&entry.value, found));
        }
        _ => {}
    }
}

/// Returns whether a workflow has shared rules or a shared checkpoint of a name.
fn has(tree: &Tree, name: &str) -> bool {
    KINDS.iter().any(|kind| fragment(tree, kind, name).is_some())
}

const KINDS: [&str; 2] = [RULES, CHECKPOINTS];
const RULES: &str = "rules";
const CHECKPOINTS: &str = "checkpoints";

fn fragment<'t>(tree: &'t Tree, kind: &str, name: &str) -> Option<&'t Tree> {
    tree.get("fragments")?.get(kind)?.get(name)
}

/// Reads the imported fragments, each under the name by which it is referenced. Missing rules are reported here,
/// missing checkpoints at the reference.
pub(super) fn take_over(source: &Source, file: &mut File, faults: &mut FaultList) {
    let (mut rules, mut checkpoints) = (Vec::new(), Vec::new());
    let every = [&file.rules.workflow, &file.rules.activity, &file.rules.universal];
    every.into_iter().for_each(|list| rules.extend(shared_rules(list)));
    for activity in file.activities.iter().flatten() {
        rules.extend(shared_rules(&activity.rules));
        activity.mode_overrides.iter().for_each(|over| rules.extend(shared_rules(&over.rules)));
        asked(activity, &mut checkpoints);
    }
    let own = file.id.as_ref().map(|id| format!("{}::", id.value));
    let is_own = |name: &str, has: &dyn Fn(&str) -> bool| {
        has(name) || own.as_ref().and_then(|own| name.strip_prefix(own.as_str())).is_some_and(has)
    };
    rules.retain(|name| !is_own(&name.value, &|name| file.shared_rules.iter().any(|it| it.name.value == name)));
    checkpoints
        .retain(|name| !is_own(&name.value, &|name| file.shared_checkpoints.iter().any(|it| it.id.value == name)));
    if rules.is_empty() && checkpoints.is_empty() {
        return;
    }
    let others: Vec<(&str, Tree)> = source
        .beside()
        .iter()
        .filter_map(|beside| Some((beside.id.as_str(), source::parse(&Source::new(&*beside.name, &beside.text)).0?)))
        .collect();
    let find = |kind: &str, name: &Spanned<String>| {
        let (of, bare) = name.value.split_once("::").map_or((None, name.value.as_str()), |(of, bare)| (Some(of), bare));
        let mut found = others.iter().filter(|(id, _)| of.is_none_or(|of| of == *id));
        found.find_map(|(_, tree)| fragment(tree, kind, bare)).map(|tree| one(name, placed(tree, name.span)))
    };
    let mut rule_names = BTreeSet::new();
    for name in rules.iter().filter(|name| rule_names.insert(name.value.clone())) {
        match find(RULES, name) {
            Some(tree) => file.shared_rules.extend(Reader::new(source, &mut FaultList::default()).shared_rules(&tree)),
            None => faults.push(unknown(name)),
        }
    }
    let mut checkpoint_names = BTreeSet::new();
    for name in checkpoints.iter().filter(|name| checkpoint_names.insert(name.value.clone())) {
        let Some(tree) = find(CHECKPOINTS, name) else { continue };
        let mut reader = Reader::new(source, faults);
        reader.is_elsewhere = true;
        file.shared_checkpoints.extend(reader.shared_checkpoints(&tree));
        reader.settle();
    }
}

/// Returns an object that contains only the imported fragment, under the name by which it is referenced.
fn one(name: &Spanned<String>, tree: Tree) -> Tree {
    let span = name.span;
    Tree { kind: TreeKind::Object(vec![Entry { key: name.clone(), value: tree }]), span }
}

fn shared_rules(rules: &[Rule]) -> impl Iterator<Item = Spanned<String>> {
    rules.iter().filter_map(|rule| match rule {
        Rule::Shared(name) => Some(name.clone()),
        Rule::Text(_) => None,
    })
}

/// Collects the shared checkpoints that an activity refers to.
fn asked(activity: &Activity, found: &mut Vec<Spanned<String>>) {
    let overrides = &activity.mode_overrides;
    let placed = activity.checkpoints.iter().chain(overrides.iter().flat_map(|over| &over.checkpoints));
    placed.for_each(|placed| found.extend(shared(&placed.item)));
    items(&activity.steps, found);
    overrides.iter().for_each(|over| items(&over.steps, found));
    for placed in &activity.loops {
        if let loops::Body::Items(inner) = &placed.item.body {
            items(inner, found);
        }
    }
}

fn items(list: &[Item], found: &mut Vec<Spanned<String>>) {
    for item in list {
        match item {
            Item::Checkpoint(checkpoint) => found.extend(shared(checkpoint)),
            Item::Loop(looping) => {
                if let loops::Body::Items(inner) = &looping.body {
                    items(inner, found);
                }
            }
            Item::Step(_) => {}
        }
    }
}

fn shared(checkpoint: &Checkpoint) -> Option<Spanned<String>> {
    match &checkpoint.body {
        Body::Shared(name) => Some(name.clone()),
        Body::Own(_) => None,
    }
}

fn unknown(name: &Spanned<String>) -> Diagnostic {
    let message = format!("there are no shared rules `{}`", clip(&name.value));
    let fault = Diagnostic::error("unknown-rules", message).at(name.span);
    let help = "define them under `fragments.rules`, or keep the workflow that defines them next to this one";
    fault.help(help).repaired("they are left out")
}

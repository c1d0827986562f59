//! Text in; an outline of what was read, or the diagnostics with their locations, out.

mod conditions;
mod faults;
mod first;
mod mixed;
mod outline;
mod properties;
mod today;

use outline::Outline;

use super::activities::read_activity;
use super::syntax::read;
use crate::source::fields::FaultList;
use crate::source::{self, Source};

/// Returns the outline of a workflow and its diagnostics.
fn workflow(text: &str) -> String {
    story(text, |source, tree, faults| read(source, tree, faults).map(|file| Outline::of_file(&file)))
}

/// Returns the outline of an activity in a file of its own, and its diagnostics.
fn activity(text: &str) -> String {
    story(text, |source, tree, faults| read_activity(source, tree, faults).map(|read| Outline::of_activity(&read)))
}

/// Returns only the diagnostics of an activity; `rest` follows its id.
fn diagnostics(rest: &str) -> String {
    let text = format!("id: a\n{rest}");
    let story = activity(&text);
    story
        .lines()
        .filter(|line| line.contains(" error ") || line.contains(" warning ") || line.starts_with("    help"))
        .map(|line| format!("{line}\n"))
        .collect()
}

fn story(text: &str, read: impl FnOnce(&Source, &source::Tree, &mut FaultList) -> Option<String>) -> String {
    let source = Source::new(if text.trim_start().starts_with('{') { "w.json" } else { "w.yaml" }, text);
    let (tree, unread) = source::parse(&source);
    assert_eq!(unread, [], "the text itself cannot be read");
    let mut faults = FaultList::default();
    let outline = read(&source, &tree.expect("a tree"), &mut faults);
    let mut story = outline.unwrap_or_else(|| "nothing\n".to_owned());
    let mut faults = faults.0;
    faults.sort_by_key(|fault| fault.span.map_or(0, |span| span.start));
    for fault in &faults {
        let at = source.location(fault.span.expect("every finding has a place").start);
        let kind = if fault.is_error() { "error" } else { "warning" };
        let repair = fault.repair.map_or(String::new(), |repair| format!(" ({repair})"));
        story += &format!("{}:{} {kind} {}: {}{repair}\n", at.line, at.column, fault.code, fault.message);
        story += &fault.help.as_ref().map(|help| format!("    help: {help}\n")).unwrap_or_default();
    }
    story
}

//! What the values of the guidelines may be: a word that cannot mean anything would hold nobody to anything.

use super::{Level, Who};
use crate::acceptance::is_below;
use crate::names::is_branch;

pub(super) const LEVELS: [(&str, Level); 3] = [("block", Level::Block), ("warn", Level::Warn), ("off", Level::Off)];

/// The first word for a value is the one that is written; `anyone` is what earlier files say.
pub(super) const WHO: [(&str, Who); 4] =
    [("agent", Who::Anyone), ("human-only", Who::HumanOnly), ("never", Who::Never), ("anyone", Who::Anyone)];

/// What stands, among the rules that `bypass` names, for all that it does not name.
pub(super) const OTHERS: &str = "others";

/// The places in the pattern of a branch's name.
const PLACES: [&str; 3] = ["{prefix}", "{issue}", "{slug}"];

/// Why a value cannot be meant; nothing when it can.
pub(super) type Fault = Option<&'static str>;

/// A branch or a glob of branches.
pub(super) fn branch(text: &str) -> Fault {
    let plain = text.replace(['*', '?'], "x");
    (!is_branch(&plain)).then_some("write the name of a branch, or a glob such as `release/*`")
}

/// What a branch's name begins with.
pub(super) fn prefix(text: &str) -> Fault {
    let sound = !text.is_empty() && is_branch(&format!("{text}x"));
    (!sound).then_some("write what the name of a branch can begin with, such as `feat/`")
}

/// What a branch's whole name looks like.
pub(super) fn branch_pattern(text: &str) -> Fault {
    let plain = PLACES.iter().fold(text.to_owned(), |text, place| text.replace(place, "x"));
    // The prefix may bring the slash that the name goes on behind.
    let sound = !plain.contains(['{', '}']) && is_branch(&plain);
    (!sound).then_some("make it of `{prefix}`, `{issue}`, `{slug}` and what the name of a branch may hold")
}

/// A folder of the project.
pub(super) fn folder(text: &str) -> Fault {
    (!is_below(text) || text.trim().is_empty()).then_some("write a folder relative to the project, without `..`")
}

/// A glob of paths of the project.
pub(super) fn glob(text: &str) -> Fault {
    match text {
        text if !is_below(text) || text.trim().is_empty() => Some("write a glob relative to the project, without `..`"),
        text if text.contains(['[', ']', '{', '}', '\\', '!']) => {
            Some("only `*`, `?` and `**` stand for something here; write a glob such as `specs/**/*.md`")
        }
        text if text.contains("***") => Some("write `**` for any folders, and `*` for any name"),
        _ => None,
    }
}

/// A type of Conventional Commits.
pub(super) fn commit_type(text: &str) -> Fault {
    let sound = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    (!sound).then_some("write one word, such as `feat`")
}

/// A scope of Conventional Commits.
pub(super) fn scope(text: &str) -> Fault {
    (text.trim().is_empty() || text.contains(['(', ')'])).then_some("write what stands between the parentheses")
}

/// What stands before the number in a tracker's key.
pub(super) fn tracker(text: &str) -> Fault {
    (!crate::references::is_key(&format!("{text}-1"))).then_some("write capitals and digits, such as `ABC`")
}

/// The name of a model.
pub(super) fn model(text: &str) -> Fault {
    let is_named = text.split_once(':').is_some_and(|(provider, model)| {
        !provider.is_empty() && !model.is_empty() && !text.contains(char::is_whitespace) && text.len() <= 2_048
    });
    (!is_named).then_some("write it as `provider:model`, such as `anthropic:claude-sonnet-4-5`")
}

/// Any text that says something.
pub(super) fn text(text: &str) -> Fault {
    text.trim().is_empty().then_some("write some text, or leave it out")
}

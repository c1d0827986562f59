//! The valid values of the guidelines. A rule with an invalid value would not be enforced.

use super::{Level, Who};
use crate::acceptance::is_below;
use crate::names::is_branch;

pub(super) const LEVELS: [(&str, Level); 3] = [("block", Level::Block), ("warn", Level::Warn), ("off", Level::Off)];

/// The first word for a value is the one that is written. `anyone` occurs in older files.
pub(super) const WHO: [(&str, Who); 4] =
    [("agent", Who::Anyone), ("human-only", Who::HumanOnly), ("never", Who::Never), ("anyone", Who::Anyone)];

/// The key in `bypass` for all rules that it does not name.
pub(super) const OTHERS: &str = "others";

/// The placeholders in the pattern of a branch name.
const PLACES: [&str; 3] = ["{prefix}", "{issue}", "{slug}"];

/// Why a value is invalid; `None` if it is valid.
pub(super) type Fault = Option<&'static str>;

/// Checks a branch or a glob of branches.
pub(super) fn branch(text: &str) -> Fault {
    let plain = text.replace(['*', '?'], "x");
    (!is_branch(&plain)).then_some("write a branch name, or a glob such as `release/*`")
}

/// Checks the prefix of a branch name.
pub(super) fn prefix(text: &str) -> Fault {
    let sound = !text.is_empty() && is_branch(&format!("{text}x"));
    (!sound).then_some("write text that a branch name can begin with, such as `feat/`")
}

/// Checks the pattern of a whole branch name.
pub(super) fn branch_pattern(text: &str) -> Fault {
    let plain = PLACES.iter().fold(text.to_owned(), |text, place| text.replace(place, "x"));
    // The prefix may end in the slash, as in `feat/`.
    let sound = !plain.contains(['{', '}']) && is_branch(&plain);
    (!sound).then_some("build it from `{prefix}`, `{issue}`, `{slug}` and characters that a branch name can contain")
}

/// Checks a folder of the project.
pub(super) fn folder(text: &str) -> Fault {
    (!is_below(text) || text.trim().is_empty()).then_some("write a folder relative to the project, without `..`")
}

/// Checks a glob of project paths.
pub(super) fn glob(text: &str) -> Fault {
    match text {
        text if !is_below(text) || text.trim().is_empty() => Some("write a glob relative to the project, without `..`"),
        text if text.contains(['[', ']', '{', '}', '\\', '!']) => {
            Some("only `*`, `?` and `**` are wildcards here; write a glob such as `specs/**/*.md`")
        }
        text if text.contains("***") => Some("write `**` for any folders, and `*` for any name"),
        _ => None,
    }
}

/// Checks a type of Conventional Commits.
pub(super) fn commit_type(text: &str) -> Fault {
    let sound = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    (!sound).then_some("write one word, such as `feat`")
}

/// Checks a scope of Conventional Commits.
pub(super) fn scope(text: &str) -> Fault {
    (text.trim().is_empty() || text.contains(['(', ')'])).then_some("write only what goes between the parentheses")
}

/// Checks the part before the number in a tracker's key.
pub(super) fn tracker(text: &str) -> Fault {
    (!crate::references::is_key(&format!("{text}-1"))).then_some("write capital letters and digits, such as `ABC`")
}

/// Checks the name of a model.
pub(super) fn model(text: &str) -> Fault {
    let is_named = text.split_once(':').is_some_and(|(provider, model)| {
        !provider.is_empty() && !model.is_empty() && !text.contains(char::is_whitespace) && text.len() <= 2_048
    });
    (!is_named).then_some("write it as `provider:model`, such as `anthropic:claude-sonnet-4-5`")
}

/// Checks that a text is not blank.
pub(super) fn text(text: &str) -> Fault {
    text.trim().is_empty().then_some("write some text, or leave it out")
}

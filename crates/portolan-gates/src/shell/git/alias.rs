//! Expands aliases of git. One that begins with `!` is shell text, and is read as such.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::super::read::{PendingText, doubt, read};
use super::super::{Command, Reading, ShellContext, Why, Word};
use super::actions::Action;
use super::{Invocation, invocation, joined, subcommands};

/// The longest chain of aliases, and the most aliases of one reading.
const MAX_STEPS: usize = 16;
const MAX_ALIASES: usize = 64;

/// Returns `reading` with every alias of git expanded. `aliases` maps the names of the configuration to their texts
/// (`alias.ci` is `ci`). Git's own commands are never aliases. An alias that leads back to itself, that is not only
/// words, or that the text itself may set, is a doubt.
#[must_use]
pub fn expand(reading: &Reading, aliases: &BTreeMap<String, String>) -> Reading {
    let mut expanded = Reading { commands: Vec::new(), doubts: reading.doubts.clone() };
    let sets = reading.commands.iter().filter_map(invocation).any(|call| sets_alias(&call));
    let mut waiting: Vec<(Command, usize)> =
        reading.commands.iter().rev().map(|command| (command.clone(), 0)).collect();
    let mut found = 0;
    while let Some((command, steps)) = waiting.pop() {
        let call = invocation(&command).filter(|call| !call.name.is_empty() && !subcommands::is_own(&call.name));
        // Configuration keys ignore case.
        let named = |call: &Invocation| aliases.iter().find(|(key, _)| key.eq_ignore_ascii_case(&call.name));
        let text = call.as_ref().and_then(named).map(|(_, text)| text);
        let (Some(call), Some(text), false) = (&call, text, sets) else {
            expanded.doubts.extend(call.filter(|_| sets).map(|call| doubt(Why::Alias, &call.name)));
            expanded.commands.push(command);
            continue;
        };
        found += 1;
        match meant(&command, call, text) {
            Some(meant) if steps < MAX_STEPS && found <= MAX_ALIASES => {
                expanded.doubts.extend(meant.doubts);
                waiting.extend(meant.commands.into_iter().rev().map(|command| (command, steps + 1)));
            }
            _ => expanded.doubts.push(doubt(Why::Alias, &call.name)),
        }
    }
    expanded
}

/// Checks whether a call sets an alias, for itself or in the configuration.
fn sets_alias(call: &Invocation) -> bool {
    let written = matches!(&call.action, Action::Config(write) if write.key.starts_with("alias."));
    written || call.config.iter().any(|(key, _)| key.starts_with("alias."))
}

/// Expands the alias, with the arguments of the call.
fn meant(command: &Command, call: &Invocation, text: &str) -> Option<Reading> {
    if let Some(text) = text.strip_prefix('!') {
        // It runs at the top of the repository, and its last command gets the arguments.
        let arguments = call.arguments.iter().map(|word| match word.known() {
            Some(_) => joined([word, &"".into()].into_iter()),
            None => "\"$1\"".into(),
        });
        let words: Vec<String> = arguments.filter_map(|word| word.known().map(str::to_owned)).collect();
        return Some(read(PendingText {
            carried: Arc::new(command.carried.iter().chain(&command.assignments).cloned().collect()),
            folders: vec![Word::Dynamic],
            after: command.after.clone(),
            ..PendingText::new(&format!("{text} {}", words.join(" ")), ShellContext::default())
        }));
    }
    if text.contains(['\'', '"', '\\', '$']) {
        return None;
    }
    let split = text.split_whitespace().map(Into::into);
    let words = command.words[..call.at].iter().cloned().chain(split).chain(call.arguments.iter().cloned());
    Some(Reading { commands: vec![Command { words: words.collect(), ..command.clone() }], doubts: Vec::new() })
}

//! Expands aliases of git. One that begins with `!` is shell text, and is read as such.

use std::collections::BTreeMap;

use std::sync::Arc;

use super::super::read::{MAX_COMMANDS, PendingText, doubt, read};
use super::super::{Command, Reading, Why, Word};
use super::actions::{Action, ConfigWrite};

/// The longest chain of aliases.
const MAX_STEPS: usize = 16;
/// The most alias texts that are read for one reading.
const MAX_TEXTS: usize = 64;

/// Returns `reading` with every alias of git expanded. `aliases` maps the names of the configuration to their texts
/// (`alias.ci` is `ci`). Aliases given by `-c alias.ci=…`, and those that the text itself writes with `git config`,
/// count as well. Git's own commands are never aliases. An alias that leads back to itself is a doubt.
#[must_use]
pub fn expand(reading: &Reading, aliases: &BTreeMap<String, String>) -> Reading {
    let mut expanded = Reading { commands: Vec::new(), doubts: reading.doubts.clone() };
    let mut texts = 0;
    let mut written = Vec::new();
    let mut waiting: Vec<(Command, usize)> =
        reading.commands.iter().rev().map(|command| (command.clone(), 0)).collect();
    while let Some((command, steps)) = waiting.pop() {
        written.extend(writes(&command));
        let found = found(&command, aliases, &written);
        if found.is_empty() {
            expanded.commands.push(command);
            continue;
        }
        for text in found {
            texts += 1;
            if steps >= MAX_STEPS || texts > MAX_TEXTS || expanded.commands.len() > MAX_COMMANDS {
                expanded.doubts.push(doubt(Why::AliasLoop, &text.name));
                break;
            }
            let Some(meant) = text.text.known().and_then(|known| meant(&command, &text, known)) else {
                let (why, what) =
                    text.text.known().map_or((Why::DynamicText, &*text.name), |text| (Why::Unparsed, text));
                expanded.doubts.push(doubt(why, what));
                expanded.commands.push(command.clone());
                continue;
            };
            expanded.doubts.extend(meant.doubts);
            waiting.extend(meant.commands.into_iter().rev().map(|command| (command, steps + 1)));
        }
    }
    expanded
}

struct Alias {
    name: String,
    text: Word,
    at: usize,
}

/// Returns the alias that a command writes to the configuration, by its key.
fn writes(command: &Command) -> Option<(String, Word)> {
    match super::invocation(command)?.action {
        Action::Config(ConfigWrite { key, value: Some(value) }) if key.starts_with("alias.") => Some((key, value)),
        _ => None,
    }
}

/// Returns the possible texts of an alias: the one given with the call, or else the configured one and those written
/// before.
fn found(command: &Command, aliases: &BTreeMap<String, String>, written: &[(String, Word)]) -> Vec<Alias> {
    let Some(globals) = super::globals(command) else { return Vec::new() };
    let Some((Word::Known(name), _)) = globals.subcommand.as_ref() else { return Vec::new() };
    if super::subcommands::is_own(name) {
        return Vec::new();
    }
    let key = format!("alias.{}", name.to_lowercase());
    let given = globals.config.iter().rev().find(|(given, _)| *given == key).map(|(_, value)| value.clone());
    let texts: Vec<Word> = match given {
        Some(given) => vec![given],
        None => {
            let mut texts: Vec<Word> =
                written.iter().filter(|(to, _)| *to == key).map(|(_, text)| text.clone()).take(MAX_TEXTS + 1).collect();
            texts.extend(named(aliases, name).map(Word::from));
            texts
        }
    };
    texts.into_iter().map(|text| Alias { name: name.clone(), text, at: globals.at }).collect()
}

/// Returns an alias by name. Configuration keys ignore case.
fn named<'a>(aliases: &'a BTreeMap<String, String>, name: &str) -> Option<&'a str> {
    aliases.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, text)| text.as_str())
}

/// Expands the alias, and appends the arguments of the call.
fn meant(command: &Command, alias: &Alias, text: &str) -> Option<Reading> {
    let arguments = command.words.get(alias.at + 1..).unwrap_or_default();
    let carried: Arc<Vec<_>> = Arc::new(command.carried.iter().chain(&command.assignments).cloned().collect());
    let pending = |text: &str, folders: Vec<Word>| PendingText {
        text: text.to_owned(),
        folders,
        carried: carried.clone(),
        after: command.after.clone(),
        level: command.level,
        around: Arc::default(),
    };
    match text.strip_prefix('!') {
        // It runs at the top of the repository, and its last command gets the arguments.
        Some(text) => {
            let mut reading = read(pending(text, vec![Word::Dynamic]));
            if let Some(last) = reading.commands.last_mut() {
                last.words.extend(arguments.iter().cloned());
            }
            Some(reading)
        }
        // Its words are split as in a shell, but nothing in them is run.
        None => {
            let mut split = read(pending(text, command.folders.clone()));
            let mut words: Vec<Word> = command.words[..alias.at].to_vec();
            match (split.commands.len(), split.commands.pop()) {
                (1, Some(inner)) if split.doubts.iter().all(|doubt| doubt.why != Why::Unparsed) => {
                    words.extend(inner.words)
                }
                _ => return None,
            }
            words.extend(arguments.iter().cloned());
            Some(Reading { commands: vec![Command { words, ..command.clone() }], doubts: Vec::new() })
        }
    }
}

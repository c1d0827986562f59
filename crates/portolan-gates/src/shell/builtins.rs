//! Programs of the shell itself that change what it remembers: `cd`, `pushd`, `read`, `unset` and their like.

use std::sync::Arc;

use super::memory::Memory;
use super::walk::{Folders, Walk, join};
use super::{Assignment, Command, Word, programs};

/// How many variables of one command are looked at.
const MAX_GIVEN: usize = 16;

impl Walk<'_> {
    /// Where the shell is once `command` has moved it.
    pub(super) fn moved(&mut self, command: &Command, folders: &Folders) -> Option<Folders> {
        let to = programs::moves_to(command)?;
        // A folder that may not have been left is none to come back to.
        let sure = folders.len() == 1;
        let nowhere = || vec![Word::Dynamic];
        let memory = Arc::make_mut(&mut self.memory);
        let success = match to {
            programs::To::Folder(folder) => folders.iter().map(|from| join(from, &folder)).collect(),
            programs::To::Matching(pattern) => folders.iter().map(|from| matching(from, &pattern)).collect(),
            programs::To::Home => vec![memory.value("HOME").cloned().unwrap_or(Word::Dynamic)],
            programs::To::Previous if sure => memory.previous(),
            programs::To::Popped if sure => memory.pop().unwrap_or_else(nowhere),
            programs::To::Previous | programs::To::Popped | programs::To::Anywhere => nowhere(),
        };
        memory.leave(folders, command.program() == Some("pushd"));
        Some(success)
    }

    /// Forgets the variables that a program of the shell gives values which only the run will know.
    pub(super) fn forgets(&mut self, command: &Command) {
        let arguments = command.words.get(1..).unwrap_or_default();
        let memory = Arc::make_mut(&mut self.memory);
        match command.program() {
            Some("trap") if !arguments.is_empty() => memory.lose(),
            Some("read" | "mapfile" | "readarray" | "unset" | "let" | "getopts" | "printf" | "wait") => {
                if arguments.iter().any(|word| word.known().is_none()) && command.program() != Some("printf") {
                    memory.forget_all();
                }
                for text in arguments.iter().filter_map(Word::known) {
                    memory.forget_named(text);
                }
                self.given(command.program() == Some("printf"), arguments);
            }
            _ => {}
        }
    }

    /// Variables that have a value now which only the run will know, where git or the search for programs goes by them.
    fn given(&mut self, only_behind_option: bool, arguments: &[Word]) {
        let mut names: Vec<&str> = arguments.iter().filter_map(Word::known).collect();
        if only_behind_option {
            let at = names.iter().position(|word| *word == "-v");
            names = at.and_then(|at| names.get(at + 1)).copied().into_iter().collect();
        }
        let leads =
            |name: &&str| name.starts_with("GIT_") || matches!(*name, "PATH" | "HOME" | "BASH_ENV" | "LD_PRELOAD");
        let all = names.into_iter().filter(leads).take(MAX_GIVEN);
        let given = all.map(|name| Assignment { name: name.to_owned(), value: Word::Dynamic });
        self.carry(given.collect::<Vec<_>>());
    }

    /// What is known to a text that is read on its own, by this shell or by another program.
    pub(super) fn memory_of(&self, own: bool, assignments: &[Assignment]) -> Arc<Memory> {
        if own && assignments.is_empty() {
            return self.memory.clone();
        }
        let mut memory = if own { Memory::clone(&self.memory) } else { self.memory.of_child() };
        for given in assignments {
            memory.set(&given.name, &given.value, true);
        }
        Arc::new(memory)
    }
}

/// A folder whose name matches, seen from `from`.
fn matching(from: &Word, pattern: &str) -> Word {
    match from {
        _ if pattern.starts_with('/') => Word::Pattern(pattern.to_owned()),
        Word::Known(from) if from == "." => Word::Pattern(pattern.to_owned()),
        Word::Known(from) => Word::Pattern(format!("{from}/{pattern}")),
        Word::Dynamic | Word::Spread | Word::Pattern(_) => Word::Dynamic,
    }
}

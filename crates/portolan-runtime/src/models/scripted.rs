//! A model with written answers. It needs no provider, and always answers the same.

use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use portolan_core::chat::script::{self, ScriptedModelAnswer};
use portolan_core::chat::{ModelAnswer, ModelError, Role};
use portolan_core::diagnostic::clip;
use portolan_core::source::Source;

use super::{AnswerFuture, Model, ModelQuestion, OpenError, Sink, read_file};

/// Answers that are played in their order. Each request gets the first remaining answer for it, or else the first
/// remaining answer for any request.
///
/// An answer for the asker's name takes precedence over one for a text. So concurrent branches get the same answers in
/// any order, if their answers are written by name.
pub struct Script {
    name: String,
    lines: Vec<ScriptedModelAnswer>,
    /// Which of them were given.
    given: Mutex<Vec<bool>>,
}

impl Script {
    /// Plays these answers.
    pub fn new(name: impl Into<String>, lines: Vec<ScriptedModelAnswer>) -> Script {
        let given = Mutex::new(vec![false; lines.len()]);
        Script { name: name.into(), lines, given }
    }

    /// Plays the answers of a file.
    ///
    /// # Errors
    /// It cannot be read, or has faults. All of them are reported.
    pub fn open(path: &Path, name: &str) -> Result<Script, OpenError> {
        Script::read(&read_file(path)?, name)
    }

    /// Plays the answers of a text.
    ///
    /// # Errors
    /// It has faults. All of them are reported.
    pub fn read(source: &Source, name: &str) -> Result<Script, OpenError> {
        let (lines, faults) = script::answers(source);
        let lines = lines.ok_or_else(|| OpenError::of_faults("bad-script", source, &faults))?;
        Ok(Script::new(name, lines))
    }

    /// Returns the number of answers that were not requested.
    pub fn left(&self) -> usize {
        self.given.lock().unwrap_or_else(PoisonError::into_inner).iter().filter(|given| !**given).count()
    }

    fn next(&self, question: &ModelQuestion<'_>) -> Result<&ScriptedModelAnswer, ModelError> {
        let last_text = last_words(question);
        let mut given = self.given.lock().unwrap_or_else(PoisonError::into_inner);
        let named = |to: &Option<String>| to.is_some() && to.as_deref() == question.asker;
        let quoted = |to: &Option<String>| to.as_deref().is_some_and(|to| last_text.contains(to));
        let anybody = |to: &Option<String>| to.is_none();
        let find = |is_meant: &dyn Fn(&Option<String>) -> bool| {
            self.lines.iter().zip(given.iter()).position(|(line, given)| (line.repeat || !given) && is_meant(&line.to))
        };
        let at =
            find(&named).or_else(|| find(&quoted)).or_else(|| find(&anybody)).ok_or_else(|| unexpected(question))?;
        given[at] = true;
        Ok(&self.lines[at])
    }
}

/// Returns the last message of the user.
fn last_words<'q>(question: &ModelQuestion<'q>) -> &'q str {
    let user = question.request.messages.iter().rfind(|message| message.role == Role::User);
    user.and_then(|message| message.content.as_deref()).unwrap_or_default()
}

fn unexpected(question: &ModelQuestion<'_>) -> ModelError {
    let asker = question.asker.map(|asker| format!(" of `{}`", clip(asker))).unwrap_or_default();
    let last_text = clip(&last_words(question).replace(char::is_control, " "));
    let message =
        format!("no answer is left for a request{asker} that ends in `{last_text}`; write one, or let one `repeat`");
    ModelError::new("not-scripted", message)
}

impl Model for Script {
    fn name(&self) -> &str {
        &self.name
    }

    fn ask<'a>(&'a self, question: ModelQuestion<'a>, sink: Option<&'a dyn Sink>) -> AnswerFuture<'a> {
        // Chosen before the future is polled, so that answers follow the order of the calls.
        let line = self.next(&question);
        Box::pin(async move {
            let line = line?;
            if line.delay_ms > 0 {
                tokio::time::sleep(Duration::from_millis(line.delay_ms)).await;
            }
            let answer: ModelAnswer = line.says.clone()?;
            if let (Some(sink), Some(text)) = (sink, &answer.message.content) {
                sink.on_text(text);
            }
            Ok(answer)
        })
    }
}

//! Language models: of a provider, or played from written answers. Requests and answers are types of
//! [`portolan_core::chat`]. This module transports them, and decides nothing about them.
//!
//! A model is opened by its name ([`ModelName`]) and called through one trait, [`Model`]. [`RetryingModel`] retries
//! temporary failures, [`ModelRecorder`] records answers, and [`prices`] gives their costs. Dropping the future of a
//! request gives it up.

mod anthropic;
mod failure;
mod http;
mod key;
mod name;
mod openai;
pub mod prices;
mod providers;
mod recorder;
mod remote;
mod retry;
mod scripted;
#[cfg(test)]
mod tests;
mod wire;

use std::fmt;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use portolan_core::chat::{ModelAnswer, ModelError, Request, ToolSpec};
use portolan_core::diagnostic::Diagnostic;
use portolan_core::source::Source;

use crate::clock::Clock;

pub use http::ResponseLimits;
pub use key::Variables;
pub use name::ModelName;
pub use providers::{PROVIDERS, Protocol, Provider};
pub use recorder::ModelRecorder;
pub use remote::RemoteModel;
pub use retry::{RetryPolicy, RetryingModel};
pub use scripted::Script;

/// The future answer of a model.
pub type AnswerFuture<'a> = Pin<Box<dyn Future<Output = Result<ModelAnswer, ModelError>> + Send + 'a>>;

/// A language model.
pub trait Model: Send + Sync {
    /// Returns its name, as it was opened.
    fn name(&self) -> &str;

    /// Asks the model. With a sink, the text is also passed on as it arrives. The answer contains all of it.
    fn ask<'a>(&'a self, question: ModelQuestion<'a>, sink: Option<&'a dyn Sink>) -> AnswerFuture<'a>;
}

/// A question to a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelQuestion<'a> {
    /// The request. Its own `model` is only for choosing the model.
    pub request: &'a Request,
    /// The specifications of its tools.
    pub tools: &'a [ToolSpec],
    /// The asking state or node, for scripts that answer by it.
    pub asker: Option<&'a str>,
}

/// A listener of a model's streamed text.
pub trait Sink: Send + Sync {
    /// Receives the next part of the text.
    fn on_text(&self, text: &str);

    /// Discards the text so far: the model is asked again.
    fn on_restart(&self) {}
}

impl<F: Fn(&str) + Send + Sync> Sink for F {
    fn on_text(&self, text: &str) {
        self(text);
    }
}

/// The configuration for opening models.
#[derive(Clone, Debug)]
pub struct ModelSetup {
    /// The base folder of answer files.
    pub folder: PathBuf,
    /// The source of keys.
    pub variables: Variables,
    /// The limits of an answer's time and size.
    pub limits: ResponseLimits,
    /// The clock for the retry dates of providers.
    pub clock: Clock,
}

impl ModelSetup {
    /// Returns a setup with the environment of the process.
    pub fn of(folder: impl Into<PathBuf>) -> ModelSetup {
        ModelSetup {
            folder: folder.into(),
            variables: Variables::default(),
            limits: ResponseLimits::default(),
            clock: Clock::System,
        }
    }
}

/// Opens a model by its name. Nothing is sent before [`Model::ask`].
///
/// # Errors
/// The name is invalid, its key is not set, or its file of answers cannot be read.
pub fn open(name: &str, setup: &ModelSetup) -> Result<Arc<dyn Model>, OpenError> {
    Ok(match ModelName::parse(name)? {
        ModelName::Scripted(file) => Arc::new(Script::open(&setup.folder.join(file), name)?),
        ModelName::Provided { provider, model, base } => {
            Arc::new(RemoteModel::open(name, provider, model, base, setup)?)
        }
    })
}

/// The reason why a model, or a file of prices, cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError {
    /// A stable word: `bad-model-name`, `unknown-provider`, `no-key`, `unreadable`, `bad-script` or `bad-prices`.
    pub code: &'static str,
    /// The fault, in one sentence.
    pub message: String,
    /// The remedy.
    pub help: String,
    /// Every fault of a file, as `file:line:column: what`.
    pub faults: Vec<String>,
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)?;
        self.faults.iter().try_for_each(|fault| write!(f, "\n{fault}"))
    }
}

impl std::error::Error for OpenError {}

impl OpenError {
    pub(crate) fn new(code: &'static str, message: impl Into<String>, help: impl Into<String>) -> OpenError {
        OpenError { code, message: message.into(), help: help.into(), faults: Vec::new() }
    }

    /// Returns the error with all faults of a file.
    fn of_faults(code: &'static str, source: &Source, faults: &[Diagnostic]) -> OpenError {
        let describe = |fault: &Diagnostic| {
            let at = source.location(fault.span.map_or(0, |span| span.start));
            let help = fault.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
            format!("{}:{}:{}: {}{help}", source.name, at.line, at.column, fault.message)
        };
        let faults: Vec<String> = faults.iter().filter(|fault| fault.is_error()).map(describe).collect();
        let message = format!("`{}` has {} that must be corrected", source.name, counted(faults.len()));
        OpenError { faults, ..OpenError::new(code, message, "correct what is listed") }
    }
}

fn counted(faults: usize) -> String {
    if faults == 1 { "a fault".to_owned() } else { format!("{faults} faults") }
}

/// Reads a text file up to the size limit of sources.
fn read_file(path: &Path) -> Result<Source, OpenError> {
    use std::io::Read as _;

    let most = portolan_core::source::MAX_SOURCE_BYTES;
    let failed = |why: String| {
        let message = format!("`{}` cannot be read: {why}", path.display());
        OpenError::new("unreadable", message, "name a readable text file")
    };
    let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err(failed("it is not a regular file".to_owned()));
    }
    let mut text = String::new();
    file.take(most as u64 + 1).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
    if text.len() > most {
        return Err(failed(format!("it has more than {most} bytes")));
    }
    Ok(Source::new(path.display().to_string(), text))
}

//! Language models: asked at a provider, or played from answers that were written down. What is said and answered are
//! the words of [`portolan_core::chat`]; this module carries them, and decides nothing about them.
//!
//! A model is opened by its name ([`ModelName`]) and asked through one trait, [`Model`]. [`Retrying`] asks again what
//! may pass, [`ModelRecorder`] writes answers down, and [`prices`] tells what they cost. Dropping the future of a question
//! gives it up.

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
pub use retry::{RetryPolicy, Retrying};
pub use scripted::Script;

/// What a model comes to say, later.
pub type Answering<'a> = Pin<Box<dyn Future<Output = Result<ModelAnswer, ModelError>> + Send + 'a>>;

/// A language model.
pub trait Model: Send + Sync {
    /// Its name, as it was opened.
    fn name(&self) -> &str;

    /// Asks it. With a sink, what is said is passed on as it comes, and the answer has it all again.
    fn ask<'a>(&'a self, question: ModelQuestion<'a>, sink: Option<&'a dyn Sink>) -> Answering<'a>;
}

/// What is asked of a model.
#[derive(Clone, Copy, Debug)]
pub struct ModelQuestion<'a> {
    /// The request. Its own `model` is for whoever chose this model by it.
    pub request: &'a Request,
    /// The tools that its names stand for.
    pub tools: &'a [ToolSpec],
    /// Who asks: the state or node, for scripts that answer by it.
    pub asker: Option<&'a str>,
}

/// Who hears what a model says while it says it.
pub trait Sink: Send + Sync {
    /// More of the text.
    fn on_text(&self, text: &str);

    /// What was heard so far is void: the model is asked again.
    fn on_restart(&self) {}
}

impl<F: Fn(&str) + Send + Sync> Sink for F {
    fn on_text(&self, text: &str) {
        self(text);
    }
}

/// How models are opened.
#[derive(Clone, Debug)]
pub struct ModelSetup {
    /// The folder that files of answers are relative to.
    pub folder: PathBuf,
    /// Where keys are looked up.
    pub variables: Variables,
    /// How long an answer may take, and how large it may be.
    pub limits: ResponseLimits,
    /// The time by which providers say when to come again.
    pub clock: Clock,
}

impl ModelSetup {
    /// With the environment of the process.
    pub fn of(folder: impl Into<PathBuf>) -> ModelSetup {
        ModelSetup {
            folder: folder.into(),
            variables: Variables::default(),
            limits: ResponseLimits::default(),
            clock: Clock::System,
        }
    }
}

/// Opens a model by its name. Nothing is sent, and nobody is asked before [`Model::ask`].
///
/// # Errors
/// The name is none, its key is not set, or its file of answers cannot be read.
pub fn open(name: &str, setup: &ModelSetup) -> Result<Arc<dyn Model>, OpenError> {
    Ok(match ModelName::parse(name)? {
        ModelName::Scripted(file) => Arc::new(Script::open(&setup.folder.join(file), name)?),
        ModelName::Provided { provider, model, base } => {
            Arc::new(RemoteModel::open(name, provider, model, base, setup)?)
        }
    })
}

/// Why a model, or a file of prices, cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenError {
    /// A stable word: `bad-model-name`, `unknown-provider`, `no-key`, `unreadable`, `bad-script` or `bad-prices`.
    pub code: &'static str,
    /// What is wrong, in one sentence.
    pub message: String,
    /// What to do about it.
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

    /// The errors of a file, all of them.
    fn of_faults(code: &'static str, source: &Source, faults: &[Diagnostic]) -> OpenError {
        let told = |fault: &Diagnostic| {
            let at = source.location(fault.span.map_or(0, |span| span.start));
            let help = fault.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
            format!("{}:{}:{}: {}{help}", source.name, at.line, at.column, fault.message)
        };
        let faults: Vec<String> = faults.iter().filter(|fault| fault.is_error()).map(told).collect();
        let message = format!("`{}` has {} that must be corrected", source.name, counted(faults.len()));
        OpenError { faults, ..OpenError::new(code, message, "correct what is listed") }
    }
}

fn counted(faults: usize) -> String {
    if faults == 1 { "a fault".to_owned() } else { format!("{faults} faults") }
}

/// Reads a file that people write, as far as it is no longer than any of them.
fn read_file(path: &Path) -> Result<Source, OpenError> {
    use std::io::Read as _;

    let most = portolan_core::source::MAX_SOURCE_BYTES;
    let failed = |why: String| {
        let message = format!("`{}` cannot be read: {why}", path.display());
        OpenError::new("unreadable", message, "name a readable text file")
    };
    let file = std::fs::File::open(path).map_err(|error| failed(error.to_string()))?;
    if !file.metadata().is_ok_and(|meta| meta.is_file()) {
        return Err(failed("it is no regular file".to_owned()));
    }
    let mut text = String::new();
    file.take(most as u64 + 1).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
    if text.len() > most {
        return Err(failed(format!("it has more than {most} bytes")));
    }
    Ok(Source::new(path.display().to_string(), text))
}

//! Functions in Rust: they work on states, and are tools of models. Each run has its own registry.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use portolan_core::chat::{ToolSpec, Unanswered};
use portolan_core::engine::FunctionUse;
use portolan_core::run::{Completion, Done};
use portolan_core::schema::Schema;
use serde_json::{Map, Value};
use tokio::task::JoinSet;

/// What a function made of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Made {
    /// The output.
    pub output: Value,
    /// The variables that it gives a value.
    pub writes: Map<String, Value>,
}

impl From<Value> for Made {
    fn from(output: Value) -> Made {
        Made { output, writes: Map::new() }
    }
}

/// Why a function did not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionError {
    /// What went wrong, in one sentence.
    pub message: String,
    /// Whether trying it again may help.
    pub may_pass: bool,
}

impl FunctionError {
    /// Trying it again does not help.
    pub fn new(message: impl Into<String>) -> FunctionError {
        FunctionError { message: message.into(), may_pass: false }
    }
}

type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Works = Arc<dyn Fn(FunctionUse) -> Later<Result<Made, FunctionError>> + Send + Sync>;
type Answers = Arc<dyn Fn(Value) -> Later<Result<Done, FunctionError>> + Send + Sync>;

/// A tool in Rust.
#[derive(Clone)]
struct OwnTool {
    spec: ToolSpec,
    schema: Arc<Schema>,
    answers: Answers,
}

/// The functions of a run.
#[derive(Clone, Default)]
pub struct Functions {
    works: BTreeMap<String, Works>,
    tools: BTreeMap<String, OwnTool>,
}

impl Functions {
    /// The same, with a function that works on the states which name it; one of the same name is replaced.
    #[must_use]
    pub fn working<F, R>(mut self, name: &str, function: F) -> Functions
    where
        F: Fn(FunctionUse) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Made, FunctionError>> + Send + 'static,
    {
        self.works.insert(name.to_owned(), Arc::new(move |work| Box::pin(function(work))));
        self
    }

    /// The same, with a tool for models; one of the same name is replaced. `parameters` is the JSON Schema of its
    /// arguments, of the type `object`; what does not fit it never reaches the function.
    ///
    /// # Errors
    /// What is wrong with the schema.
    pub fn tool<F, R>(mut self, spec: ToolSpec, function: F) -> Result<Functions, FunctionError>
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<Done, FunctionError>> + Send + 'static,
    {
        let faults = |faults: Vec<portolan_core::schema::SchemaFault>| {
            let told: Vec<String> = faults.iter().take(5).map(ToString::to_string).collect();
            FunctionError::new(format!("the parameters of `{}` are no JSON Schema: {}", spec.name, told.join("; ")))
        };
        let schema = Arc::new(Schema::compile(&spec.parameters).map_err(faults)?);
        let answers: Answers = Arc::new(move |arguments| Box::pin(function(arguments)));
        self.tools.insert(spec.name.clone(), OwnTool { spec, schema, answers });
        Ok(self)
    }

    /// How a tool is shown to models; nothing where there is none of that name.
    pub(super) fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.get(name).map(|tool| &tool.spec)
    }

    pub(super) async fn answer(&self, name: &str, arguments: &Value) -> Option<Done> {
        let tool = self.tools.get(name)?;
        let faults = tool.schema.check(arguments);
        if !faults.is_empty() {
            let told: Vec<String> = faults.iter().take(5).map(ToString::to_string).collect();
            return Some(Done::Failed(format!("the arguments are not what `{name}` takes: {}", told.join("; "))));
        }
        let done = guarded((tool.answers)(arguments.clone())).await;
        Some(done.unwrap_or_else(|error| Done::Failed(error.message)))
    }

    pub(super) async fn work(&self, work: &FunctionUse) -> Completion {
        let Some(function) = self.works.get(&work.function) else {
            return Completion::Unanswered(unanswered(
                "unknown-function",
                format!("no function `{}` is registered, which `{}` is worked on by", work.function, work.node),
                false,
            ));
        };
        match guarded(function(work.clone())).await {
            Ok(Made { output, writes }) => {
                let writes = (!writes.is_empty()).then(|| Arc::new(Value::Object(writes)));
                Completion::Output { output: Arc::new(output), writes }
            }
            Err(error) => Completion::Unanswered(unanswered("function-failed", error.message, error.may_pass)),
        }
    }
}

/// What a function comes to. One that panics has failed, and takes nothing with it; dropping the future stops it.
async fn guarded<T: Send + 'static>(later: Later<Result<T, FunctionError>>) -> Result<T, FunctionError> {
    let mut alone = JoinSet::new();
    alone.spawn(later);
    match alone.join_next().await {
        Some(Ok(came)) => came,
        Some(Err(_)) | None => Err(FunctionError::new("the function panicked")),
    }
}

fn unanswered(code: &str, message: String, may_pass: bool) -> Unanswered {
    Unanswered { code: code.to_owned(), message, may_pass, retry_after_ms: None }
}

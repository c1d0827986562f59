//! Functions in Rust: they work on states, and are tools of models. Each run has its own registry.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use portolan_core::chat::{ModelError, ToolSpec};
use portolan_core::engine::FunctionUse;
use portolan_core::run::{Completion, Done};
use portolan_core::schema::Schema;
use portolan_core::value::NodeId;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

/// What a function made of a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionOutput {
    /// The output.
    pub output: Value,
    /// The variables that it gives a value.
    pub writes: Map<String, Value>,
}

impl From<Value> for FunctionOutput {
    fn from(output: Value) -> FunctionOutput {
        FunctionOutput { output, writes: Map::new() }
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

impl fmt::Display for FunctionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FunctionError {}

type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;
type Works = Arc<dyn Fn(FunctionUse) -> Later<Result<FunctionOutput, FunctionError>> + Send + Sync>;
type Answers = Arc<dyn Fn(Value) -> Later<Result<Done, FunctionError>> + Send + Sync>;

/// A tool in Rust.
#[derive(Clone)]
struct OwnTool {
    spec: ToolSpec,
    schema: Arc<Schema>,
    answers: Answers,
    then: Then,
}

/// What a run does when a tool has come to something.
#[derive(Clone, Copy, Default)]
enum Then {
    #[default]
    GoOn,
    Break,
    Wait,
}

/// The functions of a run.
///
/// ```
/// use portolan_runtime::schemars::JsonSchema;
/// use portolan_runtime::states::Functions;
/// use serde::Deserialize;
/// use serde_json::json;
///
/// /// What is added up.
/// #[derive(Deserialize, JsonSchema)]
/// #[schemars(crate = "portolan_runtime::schemars")]
/// struct Sum {
///     /// The numbers.
///     of: Vec<i64>,
/// }
///
/// let functions = Functions::default()
///     .typed("sum", "Adds numbers up", |sum: Sum| async move { Ok(sum.of.iter().sum::<i64>()) })?;
/// let spec = functions.specs().next().expect("it was registered");
/// assert_eq!(spec.parameters["properties"]["of"]["items"]["type"], "integer");
/// # Ok::<(), portolan_runtime::states::FunctionError>(())
/// ```
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
        R: Future<Output = Result<FunctionOutput, FunctionError>> + Send + 'static,
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
        if spec.parameters["type"] != "object" {
            let message = format!("the parameters of `{}` are no object; give its schema the type `object`", spec.name);
            return Err(FunctionError::new(message));
        }
        let schema = Arc::new(Schema::compile(&spec.parameters).map_err(faults)?);
        let answers: Answers = Arc::new(move |arguments| Box::pin(function(arguments)));
        self.tools.insert(spec.name.clone(), OwnTool { spec, schema, answers, then: Then::GoOn });
        Ok(self)
    }

    /// The same, with a tool whose parameters are derived from the type of its arguments, and which comes to what
    /// serializes. `A` is a struct with named fields; the comments of its fields are what models read of them.
    ///
    /// # Errors
    /// The type is no object in JSON.
    pub fn typed<A, T, F, R>(self, name: &str, description: &str, function: F) -> Result<Functions, FunctionError>
    where
        A: DeserializeOwned + JsonSchema,
        T: Serialize,
        F: Fn(A) -> R + Send + Sync + 'static,
        R: Future<Output = Result<T, FunctionError>> + Send + 'static,
    {
        let mut parameters = SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<A>().to_value();
        if let Some(fields) = parameters.as_object_mut() {
            // What is said of the type is for its readers; models are told what the tool is for.
            ["$schema", "title", "description"].iter().for_each(|key| drop(fields.shift_remove(*key)));
            if fields.get("type").is_some_and(|kind| kind == "object") {
                fields.entry("properties").or_insert_with(|| json!({}));
            }
        }
        let spec = ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters };
        self.tool(spec, move |arguments| {
            // What the schema lets through and the type does not: numbers that are too large, for one.
            let begun = serde_json::from_value(arguments).map(&function);
            async move {
                let came = begun.map_err(|error| FunctionError::new(error.to_string()))?.await?;
                let output = serde_json::to_value(came).map_err(|error| FunctionError::new(error.to_string()))?;
                Ok(Done::Output(Arc::new(output)))
            }
        })
    }

    /// The same, with a tool after which a run stops until somebody lets it go on. One that is not known changes nothing.
    #[must_use]
    pub fn breaking(self, name: &str) -> Functions {
        self.then(name, Then::Break)
    }

    /// The same, with a tool that has done something which somebody will answer: the run waits for that answer.
    #[must_use]
    pub fn waiting(self, name: &str) -> Functions {
        self.then(name, Then::Wait)
    }

    fn then(mut self, name: &str, then: Then) -> Functions {
        if let Some(tool) = self.tools.get_mut(name) {
            tool.then = then;
        }
        self
    }

    /// The tools as they are shown to models, by name.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|tool| &tool.spec)
    }

    /// Uses a tool. What does not fit its schema, and what it fails with, is [`Done::Failed`].
    ///
    /// # Errors
    /// There is no tool of that name.
    pub async fn call(&self, name: &str, arguments: &Value) -> Result<Done, FunctionError> {
        let done = self.answer(name, arguments).await;
        done.ok_or_else(|| FunctionError::new(format!("there is no tool `{name}`; register it first")))
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
        Some(match (done, tool.then) {
            (Ok(Done::Output(output)), Then::Break) => Done::Breaks(output),
            (Ok(Done::Output(output)), Then::Wait) => Done::Waits(output),
            (Ok(done), _) => done,
            (Err(error), _) => Done::Failed(error.message),
        })
    }

    pub(super) async fn work(&self, node: &NodeId, work: &FunctionUse) -> Completion {
        let Some(function) = self.works.get(&work.function) else {
            return Completion::Unanswered(unanswered(
                "unknown-function",
                format!("no function `{}` is registered, which `{node}` is worked on by", work.function),
                false,
            ));
        };
        match guarded(function(work.clone())).await {
            Ok(FunctionOutput { output, writes }) => {
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

fn unanswered(code: &str, message: String, may_pass: bool) -> ModelError {
    ModelError { code: code.to_owned(), message, may_pass, retry_after_ms: None }
}

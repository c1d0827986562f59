//! Functions in Rust: they work on states, and are tools of models. Each run has its own registry.

use std::collections::BTreeMap;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use portolan_core::chat::{ModelError, ToolSpec};
use portolan_core::engine::FunctionUse;
use portolan_core::run::{Completion, ToolCallResult};
use portolan_core::schema::Schema;
use portolan_core::value::NodeId;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::task::JoinSet;

/// The result of a function for a state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FunctionOutput {
    /// The output.
    pub output: Value,
    /// The variables that it sets.
    pub writes: Map<String, Value>,
}

impl From<Value> for FunctionOutput {
    fn from(output: Value) -> FunctionOutput {
        FunctionOutput { output, writes: Map::new() }
    }
}

/// The error of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionError {
    /// The reason, in one sentence.
    pub message: String,
    /// Whether a retry may help.
    pub may_pass: bool,
}

impl FunctionError {
    /// Returns an error for which a retry does not help.
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
type Answers = Arc<dyn Fn(Value) -> Later<Result<ToolCallResult, FunctionError>> + Send + Sync>;

/// A tool in Rust.
#[derive(Clone)]
struct OwnTool {
    spec: ToolSpec,
    schema: Arc<Schema>,
    answers: Answers,
    then: Then,
}

/// The effect of a tool's result on the run.
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
    /// Adds a function for the states that name it. It replaces one of the same name.
    #[must_use]
    pub fn working<F, R>(mut self, name: &str, function: F) -> Functions
    where
        F: Fn(FunctionUse) -> R + Send + Sync + 'static,
        R: Future<Output = Result<FunctionOutput, FunctionError>> + Send + 'static,
    {
        self.works.insert(name.to_owned(), Arc::new(move |work| Box::pin(function(work))));
        self
    }

    /// Adds a tool for models. It replaces one of the same name. `parameters` is the JSON Schema of its arguments, of
    /// the type `object`. Arguments that do not match it never reach the function.
    ///
    /// # Errors
    /// The schema is invalid.
    pub fn tool<F, R>(mut self, spec: ToolSpec, function: F) -> Result<Functions, FunctionError>
    where
        F: Fn(Value) -> R + Send + Sync + 'static,
        R: Future<Output = Result<ToolCallResult, FunctionError>> + Send + 'static,
    {
        let faults = |faults: Vec<portolan_core::schema::SchemaFault>| {
            let texts: Vec<String> = faults.iter().take(5).map(ToString::to_string).collect();
            FunctionError::new(format!(
                "the parameters of `{}` are not a valid JSON Schema: {}",
                spec.name,
                texts.join("; ")
            ))
        };
        if spec.parameters["type"] != "object" {
            let message =
                format!("the parameters of `{}` are not an object; give its schema the type `object`", spec.name);
            return Err(FunctionError::new(message));
        }
        let schema = Arc::new(Schema::compile(&spec.parameters).map_err(faults)?);
        let answers: Answers = Arc::new(move |arguments| Box::pin(function(arguments)));
        self.tools.insert(spec.name.clone(), OwnTool { spec, schema, answers, then: Then::GoOn });
        Ok(self)
    }

    /// Adds a tool whose parameters are derived from the type of its arguments, and whose result is serializable. `A`
    /// is a struct with named fields. Models see the comments of the fields.
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
            // The description of the type is for its readers. Models see that of the tool.
            ["$schema", "title", "description"].iter().for_each(|key| drop(fields.shift_remove(*key)));
            if fields.get("type").is_some_and(|kind| kind == "object") {
                fields.entry("properties").or_insert_with(|| json!({}));
            }
        }
        let spec = ToolSpec { name: name.to_owned(), description: description.to_owned(), parameters };
        self.tool(spec, move |arguments| {
            // The schema accepts some values that the type does not, such as too large numbers.
            let begun = serde_json::from_value(arguments).map(&function);
            async move {
                let came = begun.map_err(|error| FunctionError::new(error.to_string()))?.await?;
                let output = serde_json::to_value(came).map_err(|error| FunctionError::new(error.to_string()))?;
                Ok(ToolCallResult::Output(Arc::new(output)))
            }
        })
    }

    /// Makes a run stop after this tool until it is resumed. An unknown name changes nothing.
    #[must_use]
    pub fn breaking(self, name: &str) -> Functions {
        self.then(name, Then::Break)
    }

    /// Makes a run wait for an answer after this tool. An unknown name changes nothing.
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

    /// Returns the tools as they are shown to models, by name.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools.values().map(|tool| &tool.spec)
    }

    /// Calls a tool. Invalid arguments and its own failure give [`ToolCallResult::Failed`].
    ///
    /// # Errors
    /// There is no tool of that name.
    pub async fn call(&self, name: &str, arguments: &Value) -> Result<ToolCallResult, FunctionError> {
        let done = self.answer(name, arguments).await;
        done.ok_or_else(|| FunctionError::new(format!("there is no tool `{name}`; register it first")))
    }

    /// Returns how a tool is shown to models. `None` if there is none of that name.
    pub(super) fn spec(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.get(name).map(|tool| &tool.spec)
    }

    pub(super) async fn answer(&self, name: &str, arguments: &Value) -> Option<ToolCallResult> {
        let tool = self.tools.get(name)?;
        let faults = tool.schema.check(arguments);
        if !faults.is_empty() {
            let texts: Vec<String> = faults.iter().take(5).map(ToString::to_string).collect();
            return Some(ToolCallResult::Failed(format!(
                "the arguments are not valid for `{name}`: {}",
                texts.join("; ")
            )));
        }
        let done = guarded((tool.answers)(arguments.clone())).await;
        Some(match (done, tool.then) {
            (Ok(ToolCallResult::Output(output)), Then::Break) => ToolCallResult::Breaks(output),
            (Ok(ToolCallResult::Output(output)), Then::Wait) => ToolCallResult::Waits(output),
            (Ok(done), _) => done,
            (Err(error), _) => ToolCallResult::Failed(error.message),
        })
    }

    pub(super) async fn work(&self, node: &NodeId, work: &FunctionUse) -> Completion {
        let Some(function) = self.works.get(&work.function) else {
            return Completion::Unanswered(unanswered(
                "unknown-function",
                format!("the function `{}`, which works on `{node}`, is not registered", work.function),
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

/// Returns the result of a function. A panic is contained and counts as a failure. Dropping the future stops the
/// function.
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

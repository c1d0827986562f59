//! What the nodes of a function come to in a test: values for expressions while they are being written.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use portolan_core::run::Fault;
use serde_json::{Map, Value};

use super::Suite;
use super::run::{Tester, merged};
use super::save::test_file;
use crate::definition::DefinitionError;
use crate::drive::{ExecutionObserver, NodeEnd};
use crate::error::ServiceError;
use crate::library::Library;
use crate::tools::RecordedAnswers;

/// The values of a flow in a test.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestValues {
    /// The input of the test.
    pub input: Value,
    /// The latest output of each node of the flow.
    pub outputs: Map<String, Value>,
}

impl Suite {
    /// Reads the file of tests beside a file of functions. Returns `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read, or has faults.
    pub fn beside(graph: &Path, library: &Library) -> Result<Option<Suite>, DefinitionError> {
        let file = test_file(graph);
        if file.is_file() { Suite::open(&file, library).map(Some) } else { Ok(None) }
    }

    /// Returns the names of the tests, in the order written.
    pub fn names(&self) -> Vec<String> {
        self.script.cases.iter().map(|case| case.name.value.clone()).collect()
    }
}

impl Tester {
    /// Runs a test, and returns the values of one of its flows, which has one of these names: a function is named after
    /// its file, or after itself. Returns `None` if there is no such test. A failure of the run is not reported: what
    /// came before it has values.
    ///
    /// # Errors
    /// The run cannot be driven at all.
    pub async fn values(&self, suite: &Suite, test: &str, names: &[&str]) -> Result<Option<TestValues>, ServiceError> {
        let Some(case) = suite.script.cases.iter().find(|case| case.name.value == test) else { return Ok(None) };
        let definition = suite.functions.called(case.tool.as_ref().map(|tool| tool.value.as_str()))?;
        let written = RecordedAnswers::of(&merged(&suite.script.answers, &case.answers));
        let outputs = Outputs::default();
        self.come_to(definition, &case.input, Arc::new(written), Some(outputs.watch(names))).await?;
        Ok(Some(TestValues { input: case.input.clone(), outputs: outputs.take() }))
    }
}

/// Collects the outputs of the nodes of a flow.
#[derive(Clone, Default)]
struct Outputs(Arc<Mutex<Map<String, Value>>>);

impl Outputs {
    fn watch(&self, names: &[&str]) -> ExecutionObserver {
        let outputs = self.clone();
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let ended = move |ended: &NodeEnd<'_>| {
            // A failure that leads on is a value, too.
            let value = || ended.fault.map(Fault::as_output).or_else(|| ended.output.cloned());
            if let Some(value) = names.iter().any(|name| name == ended.flow.as_str()).then(value).flatten() {
                let mut outputs = outputs.0.lock().unwrap_or_else(PoisonError::into_inner);
                outputs.insert(ended.node.id.to_string(), value);
            }
        };
        ExecutionObserver::new(|_| {}, ended)
    }

    fn take(&self) -> Map<String, Value> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

//! Runs a file of tests.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use portolan_core::dialect::script::{Answers, Case, Expectation};
use portolan_core::run::{Actor, Fault};
use portolan_core::value::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::Suite;
use super::coverage::{Coverage, Ways};
use crate::clock::Clock;
use crate::definition::Definition;
use crate::drive::{Began, ExecutionObserver, Outcome};
use crate::error::ServiceError;
use crate::service::{FunctionRun, How, Options, Service, StoreAt};
use crate::tools::{RecordedAnswers, Tools};

/// The time in every test: 2001-09-09T01:46:40Z.
const NOW: Timestamp = Timestamp(1_000_000_000_000);

/// Runs tests.
pub struct Tester(Service);

/// The results of a file of tests.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TestReport {
    /// The file of tests.
    pub file: String,
    /// The file of functions.
    pub graph: String,
    /// The result of each test.
    pub tests: Vec<CaseReport>,
    /// Shared answers that no test asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<String>,
    /// The edges of each function.
    pub coverage: Vec<Coverage>,
    /// The percentage of edges that were taken.
    pub percent: u32,
    /// The minimum percentage.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<u32>,
}

/// The result of a test.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CaseReport {
    /// The name of the test.
    pub name: String,
    /// The line of the test.
    pub line: usize,
    /// Whether the outcome is the expected one.
    pub passed: bool,
    /// The expected outcome, if the test failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Value>,
    /// The actual outcome, if the test failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub got: Option<Value>,
    /// Calls without a written answer, by `function.node`. They fail the test, whatever the outcome.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unanswered: Vec<String>,
    /// The test's own answers that no call asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unused: Vec<String>,
}

/// The outcome of a run under test.
#[derive(Clone, Debug, PartialEq)]
pub enum CaseOutcome {
    /// An output; `undefined` is `null`.
    To(Value),
    /// A failure.
    Failed(Fault),
}

impl TestReport {
    /// Returns whether every test passed, and enough edges were taken.
    pub fn passed(&self) -> bool {
        self.tests.iter().all(|test| test.passed) && self.minimum.is_none_or(|minimum| self.percent >= minimum)
    }
}

impl Tester {
    /// Creates a tester for the functions of a project. Its runs are not stored.
    ///
    /// # Errors
    /// The project cannot be used.
    pub fn new(options: &Options) -> Result<Tester, ServiceError> {
        let (store, clock, seed) = (StoreAt::Memory, Clock::Still(NOW), Some(0));
        Ok(Tester(Service::new(Options { store, clock, seed, ..options.clone() })?))
    }

    /// Creates a tester for the functions of a service's project.
    ///
    /// # Errors
    /// The project cannot be used.
    pub fn beside(service: &Service) -> Result<Tester, ServiceError> {
        Tester::new(service.options())
    }

    /// Runs every test of a file, one after the other.
    ///
    /// # Errors
    /// A run cannot be driven at all.
    pub async fn run(&self, suite: &Suite) -> Result<TestReport, ServiceError> {
        let ways = Ways::default();
        let script = &suite.script;
        let mut unused: Vec<String> = script.answers.keys().cloned().collect();
        let mut tests = Vec::new();
        for case in &script.cases {
            let answers = merged(&script.answers, &case.answers);
            let written = Arc::new(RecordedAnswers::of(&answers));
            let unanswered = UnansweredCalls::of(&answers);
            let definition = suite.functions.called(case.tool.as_ref().map(|tool| tool.value.as_str()))?;
            let watch = ways.watch().and(unanswered.watch());
            let came = self.come_to(definition, &case.input, written.clone(), Some(watch)).await?;
            let idle: Vec<&str> = written.unused().collect();
            unused.retain(|name| case.answers.contains_key(name) || idle.contains(&name.as_str()));
            let own = case.answers.keys().filter(|name| idle.contains(&name.as_str())).cloned().collect();
            tests.push(CaseReport { unused: own, ..report(suite, case, came, unanswered.found()) });
        }
        let coverage = ways.of(&suite.functions);
        let (all, taken) =
            coverage.iter().fold((0, 0), |(all, taken), one| (all + one.edges.len(), taken + one.taken()));
        let percent = u32::try_from((taken * 100).checked_div(all).unwrap_or(100)).unwrap_or(100);
        Ok(TestReport {
            file: suite.source.name.to_string(),
            graph: suite.graph.display().to_string(),
            tests,
            unused,
            coverage,
            percent,
            minimum: script.min_edges.as_ref().map(|edges| edges.value),
        })
    }

    /// Runs a function with written answers.
    pub(super) async fn come_to(
        &self,
        definition: &Arc<Definition>,
        input: &Value,
        written: Arc<RecordedAnswers>,
        watch: Option<ExecutionObserver>,
    ) -> Result<CaseOutcome, ServiceError> {
        let how = How { watch, ..How::with(Arc::new(Tools::written(written))) };
        let (definition, input) = (definition.clone(), input.clone());
        let limits =
            definition.workflow.root().interface.as_ref().map(|interface| interface.limits).unwrap_or_default();
        let call = FunctionRun::Called { definition, input, by: Actor::Engine };
        // The run's clock stands still, so the run's own time limit never applies.
        let driven = tokio::time::timeout(Duration::from_millis(limits.max_ms), self.0.drive(call, how)).await;
        let failed = |code: &str, message: String| {
            CaseOutcome::Failed(Fault { node: String::new(), code: code.to_owned(), message, detail: String::new() })
        };
        match driven {
            Err(_) => Ok(failed(
                "limit-time",
                format!("the test took longer than the {} ms that a run is allowed", limits.max_ms),
            )),
            // A test may expect that the function refuses its input.
            Ok(Err(error)) if error.code == "bad_input" => Ok(failed("bad-input", error.message)),
            Ok(Err(error)) => Err(error),
            Ok(Ok(finished)) => Ok(match finished.outcome {
                Outcome::Done(output) => CaseOutcome::To(output.as_deref().cloned().unwrap_or(Value::Null)),
                Outcome::Failed(fault) => CaseOutcome::Failed(fault),
                Outcome::Cancelled => failed("cancelled", "the run was cancelled".to_owned()),
                Outcome::Waiting { node, why: Some(why) } => failed(
                    "waiting",
                    format!(
                        "the run stopped at `{node}`: {why}; a test has no models, but `portolan run --model scripted:…` does"
                    ),
                ),
                Outcome::Waiting { node, why: None } => failed(
                    "waiting",
                    format!("the run waits at `{node}` for an agent or a person, which a test does not have"),
                ),
            }),
        }
    }
}

/// Returns the answers of a test: its own, and the shared ones for other nodes.
pub(super) fn merged(shared: &Answers, own: &Answers) -> Answers {
    let node = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let hidden = |name: &str| own.keys().any(|mine| mine == name || *mine == node(name));
    let mut merged: Answers =
        shared.iter().filter(|(name, _)| !hidden(name)).map(|(n, a)| (n.clone(), a.clone())).collect();
    merged.extend(own.iter().map(|(name, answers)| (name.clone(), answers.clone())));
    merged
}

/// Records calls without a written answer. The function could catch their failure, and the test would pass without
/// having tested anything.
#[derive(Clone)]
struct UnansweredCalls {
    answered: Arc<BTreeSet<String>>,
    found: Arc<Mutex<BTreeSet<String>>>,
}

impl UnansweredCalls {
    fn of(answers: &Answers) -> UnansweredCalls {
        UnansweredCalls { answered: Arc::new(answers.keys().cloned().collect()), found: Arc::default() }
    }

    fn watch(&self) -> ExecutionObserver {
        let calls = self.clone();
        ExecutionObserver::new(move |began| calls.began(began), |_| {})
    }

    fn began(&self, began: &Began<'_>) {
        let name = format!("{}.{}", began.flow, began.node);
        let answered = self.answered.contains(&name) || self.answered.contains(began.node.as_str());
        if began.arguments.is_some() && !answered {
            self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(name);
        }
    }

    fn found(&self) -> Vec<String> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

fn report(suite: &Suite, case: &Case, came: CaseOutcome, unanswered: Vec<String>) -> CaseReport {
    let holds = holds(&case.expected, &came);
    CaseReport {
        name: case.name.value.clone(),
        line: suite.source.location(case.name.span.start).line,
        passed: holds && unanswered.is_empty(),
        expected: (!holds).then(|| wanted(&case.expected)),
        got: (!holds).then(|| outcome_json(&came)),
        unanswered,
        unused: Vec::new(),
    }
}

fn holds(expected: &Expectation, came: &CaseOutcome) -> bool {
    match (expected, came) {
        (Expectation::Success, CaseOutcome::To(_)) => true,
        (Expectation::Output(wanted), CaseOutcome::To(output)) => same(wanted, output),
        (Expectation::Failure { node, code, message }, CaseOutcome::Failed(fault)) => {
            node.as_ref().is_none_or(|node| *node == fault.node)
                && code.as_ref().is_none_or(|code| *code == fault.code)
                && message.as_ref().is_none_or(|part| fault.message.contains(part.as_str()))
        }
        (Expectation::Success | Expectation::Output(_), CaseOutcome::Failed(_))
        | (Expectation::Failure { .. }, CaseOutcome::To(_)) => false,
    }
}

/// Checks whether two values are equal: `2` equals `2.0`, and the order of fields does not matter.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

fn wanted(expected: &Expectation) -> Value {
    match expected {
        Expectation::Success => json!("any output"),
        Expectation::Output(output) => output.clone(),
        Expectation::Failure { node, code, message } => {
            let fields = [("node", node), ("code", code), ("message", message)];
            let fields = fields.into_iter().filter_map(|(name, text)| Some((name, text.as_ref()?)));
            json!({ "expectError": fields.collect::<std::collections::BTreeMap<_, _>>() })
        }
    }
}

fn outcome_json(came: &CaseOutcome) -> Value {
    match came {
        CaseOutcome::To(output) => output.clone(),
        CaseOutcome::Failed(fault) => json!({ "error": fault }),
    }
}

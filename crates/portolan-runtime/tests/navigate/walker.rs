//! An agent that holds a state, and sends offered actions back as they stand.

use std::path::Path;

use portolan_core::run::RaisedQuestion;
use portolan_core::value::{Outcome, PASSED};
use portolan_runtime::service::{Act, Caller, Open, Report, Request, RunCarrier, ServiceError, States, View};
use serde_json::{Map, Value, json};

use crate::common::words::Action;
use crate::common::words::navigation::{Guidance, guidance};
use crate::common::{World, agent, wait};

/// What an agent reads.
pub(crate) trait Led {
    fn guidance(&self) -> Guidance;
}

impl Led for View {
    fn guidance(&self) -> Guidance {
        guidance(self)
    }
}

/// The world of one workflow, whose agents hold what `states` says.
pub(crate) fn world(id: &str, yaml: &str, states: States) -> World {
    let mut world = World::new();
    world.write(&format!(".flow/workflows/{id}.yaml"), yaml);
    world.options.states = states;
    world
}

/// A definition of the cases of `check` that has no fault.
pub(crate) fn sound(case: &str) -> String {
    let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("../portolan-core/tests/cases/check");
    std::fs::read_to_string(cases.join(case).join("workflow.yaml")).expect("the case is there")
}

/// Begins a run.
pub(crate) fn begin(world: &World, workflow: &str, variables: Value) -> View {
    let is_given = variables.as_object().is_some_and(|variables| !variables.is_empty());
    let input = is_given.then(|| std::sync::Arc::new(variables));
    let wanted = Open { carrier: RunCarrier::State, workflow: Some(workflow.to_owned()), input, ..Open::default() };
    wait(world.service().open(&wanted, &agent())).unwrap_or_else(|refused| panic!("{workflow}: {}", refused))
}

pub(crate) fn look(world: &World, state: &str) -> Result<View, ServiceError> {
    let request = Request::led(state.to_owned());
    wait(world.service().view(&request, &agent()))
}

/// Does something, as `by`.
pub(crate) fn act(world: &World, state: &str, deed: &Act, by: &Caller) -> Result<View, ServiceError> {
    let request = Request::led(state.to_owned());
    wait(world.service().act(&request, deed, by))
}

/// Sends an action back, with its holes filled: the option is `option`.
pub(crate) fn send(world: &World, action: &Action, option: Option<&str>) -> Result<View, ServiceError> {
    let (request, deed) = call(action, option);
    wait(world.service().act(&request, &deed, &agent()))
}

pub(crate) fn call(action: &Action, option: Option<&str>) -> (Request, Act) {
    let text = |name: &str| action.arguments.get(name).and_then(Value::as_str).map(str::to_owned);
    let filled = |name: &'static str| action.fill.contains(&name).then(|| "as it was asked for".to_owned());
    let request = Request { workflow: text("workflow_id"), ..Request::led(text("state").expect("a state")) };
    let deed = match action.tool {
        "complete_step" => Act::Complete {
            step: text("step_id").expect("a step"),
            report: Report {
                note: filled("summary"),
                ..Report::of(text("result").unwrap_or_else(|| PASSED.to_owned()))
            },
        },
        "respond_to_checkpoint" => {
            let option = action.fill.contains(&"option_id").then(|| Outcome::from(option.expect("an option")));
            Act::Answer { checkpoint: text("checkpoint_id").expect("a checkpoint"), option, note: None, outputs: None }
        }
        "raise_checkpoint" => {
            let options = vec!["this".into(), "that".into()];
            Act::Raise(RaisedQuestion { question: filled("question").expect("a question"), options })
        }
        "end_workflow" => Act::End { reason: filled("reason").expect("a reason") },
        other => panic!("no tool of navigation: {other}"),
    };
    (request, deed)
}

/// The call that leads on.
pub(crate) fn required(now: &View) -> Action {
    now.guidance().available_actions.required.into_iter().next().expect("something leads on")
}

/// Every call that is offered, with each option of a question.
pub(crate) fn offered(guidance: &Guidance) -> Vec<(Action, Option<String>)> {
    let actions = guidance.available_actions.required.iter().chain(&guidance.available_actions.optional);
    let options: Vec<&str> =
        guidance.checkpoint.iter().flat_map(|asked| asked.options.iter().map(|option| option.id.as_str())).collect();
    let each = |action: &'_ Action| -> Vec<Option<String>> {
        match action.fill.contains(&"option_id") {
            true => options.iter().map(|option| Some((*option).to_owned())).collect(),
            false => vec![None],
        }
    };
    actions.flat_map(|action| each(action).into_iter().map(|option| (action.clone(), option))).collect()
}

/// Does what is required until nothing is, and tells the headlines.
pub(crate) fn obey(world: &World, mut now: View) -> (Vec<String>, View) {
    let mut told = Vec::new();
    while !now.guidance().complete {
        told.push(headline(&now));
        assert!(told.len() < 200, "it does not end: {told:?}");
        let option = now.guidance().checkpoint.map(|asked| asked.options[0].id.clone());
        let required = now.guidance().available_actions.required;
        let action = required.first().unwrap_or_else(|| panic!("stuck at {told:?}"));
        now = send(world, action, option.as_deref()).unwrap_or_else(|refused| panic!("{told:?}: {}", refused));
    }
    (told, now)
}

pub(crate) fn headline(now: &View) -> String {
    now.guidance().message.lines().next().unwrap_or_default().to_owned()
}

/// What an answer is as JSON: what an agent sees of it.
pub(crate) fn json_of(bearing: &View) -> Value {
    let mut value = serde_json::to_value(bearing.guidance()).expect("JSON");
    value["state"] = json!(bearing.state);
    value
}

pub(crate) fn outputs(value: Value) -> Option<std::sync::Arc<Value>> {
    let _object: &Map<String, Value> = value.as_object().expect("an object");
    Some(std::sync::Arc::new(value))
}

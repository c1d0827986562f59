//! Workflows of activities that others have written are walked to their ends: by an agent that does what is asked, and by
//! agents that do anything that is offered. They are no part of this repository: `WORKFLOW_CORPORA` says where they are,
//! and `CORPUS_WALKS` how many times chance leads through each.
#![expect(
    clippy::print_stderr,
    reason = "whoever runs the tests must know what they did not test, and how far walks went"
)]

use std::path::{Path, PathBuf};

use portolan_core::dialect::Strictness;
use portolan_core::graph::{Variable, VariableKind, VariableOwner, Workflow};
use portolan_core::value::Timestamp;
use portolan_runtime::clock::Clock;
use portolan_runtime::service::{Act, Open, RunCarrier, Service, StoreAt, View};
use serde_json::{Map, Value, json};

use crate::common::{World, agent, wait};
use crate::walker::{Led, call, headline, offered};

/// How many times chance leads through each workflow where nobody says.
const USUAL_WALKS: usize = 1;
/// After so many calls an agent gives up what it does.
const MOST_CALLS: usize = 20_000;

/// The folders of the corpora, each with workflows beside each other.
fn corpora() -> Vec<PathBuf> {
    let Some(folder) = std::env::var_os("WORKFLOW_CORPORA") else {
        eprintln!("NOT CHECKED: `WORKFLOW_CORPORA` names no folder");
        return Vec::new();
    };
    let entries = std::fs::read_dir(folder).expect("it is a folder");
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    folders.retain(|path| path.is_dir());
    folders.sort();
    folders
}

fn service(corpus: &Path, world: &mut World) -> Service {
    world.options.definitions = vec![corpus.to_owned()];
    world.options.strictness = Strictness::Lenient;
    world.options.store = StoreAt::Memory;
    world.options.clock = Clock::Still(Timestamp(0));
    world.service()
}

/// Numbers that look random and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }

    fn value(&mut self, kind: VariableKind) -> Value {
        let kinds = [VariableKind::String, VariableKind::Number, VariableKind::Boolean, VariableKind::Array];
        match kind {
            VariableKind::String => json!(["", "full", "one two"][self.below(3)]),
            VariableKind::Number => json!(self.below(4)),
            VariableKind::Boolean => json!(self.below(2) == 0),
            VariableKind::Array => {
                [json!([]), json!(["a"]), json!([{ "id": 1, "path": "a/b" }, { "id": 2 }])][self.below(3)].clone()
            }
            VariableKind::Object => json!({ "id": self.below(3), "path": "a/b" }),
            VariableKind::Any => {
                let kind = kinds[self.below(4)];
                self.value(kind)
            }
        }
    }
}

fn begin(service: &Service, id: &str, workflow: &Workflow, chance: &mut Chance) -> View {
    let required = workflow.root().variables.iter().filter(|it| it.required && it.default.is_none());
    let input: Map<String, Value> = required.map(|it| (it.name.value.clone(), chance.value(it.kind))).collect();
    let input = (!input.is_empty()).then(|| Value::Object(input).into());
    let wanted = Open { carrier: RunCarrier::State, workflow: Some(id.to_owned()), input, ..Open::default() };
    wait(service.open(&wanted, &agent())).unwrap_or_else(|refused| panic!("{id}: {refused}"))
}

/// Does what is offered, with values for some of the variables where the step takes them.
fn go_on(service: &Service, now: &View, (nth, given): (usize, Map<String, Value>)) -> View {
    let offers = offered(&now.guidance());
    let (action, option) = &offers[nth];
    let (request, deed) = call(action, option.as_deref());
    if let Act::Complete { step, report } = &deed
        && !given.is_empty()
    {
        let mut report = report.clone();
        report.outputs = Some(Value::Object(given).into());
        // Which values a step takes is said to the agent in words; where it takes none of these, none are given.
        if let Ok(view) = wait(service.act(&request, &Act::Complete { step: step.clone(), report }, &agent())) {
            return view;
        }
    }
    wait(service.act(&request, &deed, &agent())).unwrap_or_else(|refused| panic!("{}: {refused}", headline(now)))
}

fn some_of(variables: &[Variable], chance: &mut Chance) -> Map<String, Value> {
    let open = variables.iter().filter(|it| it.keeper == VariableOwner::Anyone);
    let drawn: Vec<&Variable> = open.filter(|_| chance.below(4) == 0).collect();
    drawn.into_iter().map(|it| (it.name.value.clone(), chance.value(it.kind))).collect()
}

/// Goes where chance leads until the run is over, or was given up.
fn wander(service: &Service, id: &str, workflow: &Workflow, seed: u64) -> usize {
    let mut chance = Chance(seed);
    let mut now = begin(service, id, workflow, &mut chance);
    for calls in 0..MOST_CALLS {
        if now.guidance().complete {
            return calls;
        }
        let offers = offered(&now.guidance());
        assert!(!offers.is_empty(), "{id}: stuck at {}", headline(&now));
        // Ending early would show little.
        let on: Vec<usize> = (0..offers.len()).filter(|nth| offers[*nth].0.tool != "end_workflow").collect();
        let nth = on.get(chance.below(on.len())).copied().unwrap_or(0);
        let given = some_of(&workflow.root().variables, &mut chance);
        now = go_on(service, &now, (nth, given));
    }
    panic!("{id}: {seed} does not end: {}", headline(&now));
}

/// Does what leads on, and answers each question with one option after the other.
fn obey(service: &Service, id: &str, workflow: &Workflow) -> (usize, String) {
    let mut chance = Chance(7);
    let mut now = begin(service, id, workflow, &mut chance);
    let mut asked = std::collections::BTreeMap::<String, usize>::new();
    for calls in 0..MOST_CALLS {
        let guidance = now.guidance();
        if guidance.complete {
            return (calls, guidance.message.lines().next().unwrap_or_default().to_owned());
        }
        let offers = offered(&guidance);
        let first = offers.first().unwrap_or_else(|| panic!("{id}: stuck at {}", headline(&now)));
        let same = offers.iter().filter(|(action, _)| action.tool == first.0.tool).count();
        let nth = match &guidance.checkpoint {
            Some(checkpoint) => {
                let times = asked.entry(checkpoint.id.clone()).or_default();
                *times += 1;
                (*times - 1) % same
            }
            None => 0,
        };
        let empty =
            workflow.root().variables.iter().filter(|it| it.keeper == VariableOwner::Anyone && it.default.is_none());
        let given = empty.map(|it| (it.name.value.clone(), chance.value(it.kind))).collect();
        now = go_on(service, &now, (nth, given));
    }
    panic!("{id}: it does not end: {}", headline(&now));
}

#[test]
fn whoever_obeys_and_whoever_does_not_comes_to_an_end_of_what_others_have_written() {
    let walks = std::env::var("CORPUS_WALKS").ok().and_then(|walks| walks.parse().ok()).unwrap_or(USUAL_WALKS);
    for corpus in corpora() {
        let mut world = World::new();
        let service = service(&corpus, &mut world);
        let mut led = 0;
        for id in service.library().given_ids() {
            let definition = service.library().definition(&id).unwrap_or_else(|refused| panic!("{id}: {refused}"));
            let (calls, end) = obey(&service, &id, &definition.workflow);
            let most = (0..walks).map(|nth| wander(&service, &id, &definition.workflow, nth as u64)).max();
            eprintln!("{id}: obeyed in {calls} calls ({end}); {walks} by chance, at most {most:?} calls");
            led += 1;
        }
        assert!(led > 0, "`{}` has workflows", corpus.display());
    }
}

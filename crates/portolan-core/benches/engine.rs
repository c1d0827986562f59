//! How many moves a second the engine makes on one core, and whether a long run is as fast a move as a short one.
//!
//! A move is `decide` and `apply` of all its changes. The workflow is `refactor` of the catalogue without its checks: 16
//! nodes, four of them gates with retries.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use portolan_core::dialect::{self, Strictness};
use portolan_core::engine::{decide, open};
use portolan_core::graph::Workflow;
use portolan_core::run::{Actor, EffectResult, Event, EventKind, FramePath, Opening, Run};
use portolan_core::source::Source;
use portolan_core::validate::{no_library, validate};
use portolan_core::value::{Outcome, Timestamp};

const REFACTOR: &str = include_str!("../../portolan-runtime/catalog/workflows/refactor.json");

fn refactor() -> Workflow {
    let mut definition: serde_json::Value = serde_json::from_str(REFACTOR).expect("JSON");
    for node in definition["nodes"].as_object_mut().expect("nodes").values_mut() {
        node.as_object_mut().expect("a node").shift_remove("accept");
    }
    let text = definition.to_string();
    let (graph, _) = dialect::parse(&Source::new("refactor.json", text), Strictness::Strict).first();
    let graph = graph.expect("the catalogue can be read");
    validate(&graph, &no_library, Strictness::Strict).0.expect("the catalogue is valid")
}

/// An agent at work: its reports quote the revision, as a client's do.
struct Agent<'w> {
    workflow: &'w Workflow,
    run: Run,
    report: Event,
}

impl<'w> Agent<'w> {
    fn new(workflow: &'w Workflow) -> Agent<'w> {
        let opening = Opening {
            description: Some("split the parser from the printer".to_owned()),
            ..Opening::of(workflow.id().clone())
        };
        let mut run = Run::fold(&open(workflow, &opening).expect("it opens")).expect("it is open");
        let begun = Event { at: Timestamp(0), by: Actor::Engine, what: EventKind::Begun { revision: None } };
        for change in decide(workflow, &run, &begun).expect("it begins") {
            run.apply(&change);
        }
        let what = EventKind::Reported {
            frame: FramePath::default(),
            outcome: Outcome::passed(),
            revision: None,
            note: None,
            outputs: None,
        };
        let report = Event { at: Timestamp(0), by: Actor::Agent("agent".to_owned()), what };
        Agent { workflow, run, report }
    }

    fn report(&mut self, said: &Outcome) {
        if let EventKind::Reported { outcome, revision, .. } = &mut self.report.what {
            outcome.clone_from(said);
            *revision = Some(self.run.root.since);
        }
        for change in decide(self.workflow, &self.run, &self.report).expect("the report is accepted") {
            self.run.apply(&change);
        }
        while let Some(effect) = self.run.passing() {
            let what = effect.settled(EffectResult::Due, 0);
            let event = Event { at: Timestamp(0), by: Actor::Engine, what };
            for change in decide(self.workflow, &self.run, &event).expect("what is pending is accepted") {
                self.run.apply(&change);
            }
        }
    }
}

/// From the start to the end without a failure.
fn walk(criterion: &mut Criterion) {
    let workflow = refactor();
    let passed = Outcome::passed();
    let mut agent = Agent::new(&workflow);
    let begun = agent.run.clone();
    let mut moves = 0;
    while !agent.run.is_over() {
        agent.report(&passed);
        moves += 1;
    }
    let mut group = criterion.benchmark_group("walk");
    group.throughput(Throughput::Elements(moves));
    group.bench_function("refactor, all passed", |bencher| {
        bencher.iter(|| {
            agent.run.clone_from(&begun);
            while !agent.run.is_over() {
                agent.report(&passed);
            }
        });
    });
}

/// Up to the plan's review, which fails until a person is asked, who sends the work round again, for ever.
fn long_run(criterion: &mut Criterion) {
    let workflow = refactor();
    let (passed, failed) = (Outcome::passed(), Outcome::failed());
    let mut group = criterion.benchmark_group("long run");
    group.sample_size(10);
    for moves in [1_000u64, 10_000, 100_000] {
        group.throughput(Throughput::Elements(moves));
        group.bench_with_input(BenchmarkId::from_parameter(moves), &moves, |bencher, &moves| {
            bencher.iter(|| {
                let mut agent = Agent::new(&workflow);
                for _ in 0..moves {
                    let reviewed = agent.run.root.place.node().as_str() == "plan_review";
                    agent.report(if reviewed { &failed } else { &passed });
                }
                agent.run
            });
        });
    }
}

criterion_group!(engine, walk, long_run);
criterion_main!(engine);

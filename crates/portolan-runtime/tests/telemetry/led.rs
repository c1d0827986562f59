//! Runs that agents are led through: one trace, whichever processes have moved them. Each call is made to a service that
//! knows only what is in the files.

use std::sync::Arc;

use expect_test::expect;
use opentelemetry_proto::tonic::trace::v1::Span;
use portolan_core::run::RaisedQuestion;
use portolan_core::value::{Outcome, Timestamp};
use portolan_runtime::carrier::Address;
use portolan_runtime::clock::Clock;
use portolan_runtime::service::{Act, Report, Request, View};
use portolan_runtime::telemetry::Telemetry;

use crate::collector::Collector;
use crate::common::{World, agent, person, wait};
use crate::world::{hex, named, says, tree};

/// A step that is checked, and one that is not.
const TRACED: &str = r#"start -> fix; fix -> review; review -> done
fix: accept [{"id": "ready", "run": ["test", "-e", "ready"]}]"#;

fn world(collector: &Collector) -> World {
    let mut world = World::with("traced", TRACED);
    world.trust("traced");
    world.options.telemetry = sender(collector, None);
    world
}

fn sender(collector: &Collector, sampler: Option<&str>) -> Option<Telemetry> {
    let (url, sampler) = (collector.url.clone(), sampler.map(str::to_owned));
    let variables = move |name: &str| match name {
        "OTEL_EXPORTER_OTLP_ENDPOINT" => Some(url.clone()),
        "OTEL_TRACES_SAMPLER" => sampler.clone(),
        _ => None,
    };
    Telemetry::of(&variables, Arc::new(|note| panic!("{note}")))
}

/// Moves a run to its end: sent back once by its check, and held up by a question of the agent's.
fn walk(world: &World, run: &Address) {
    let report = |view: &View, outcome: &str| {
        let act = Act::Report(Report::of(outcome));
        wait(world.service().act(&Request::at(view), &act, &agent())).expect("it is taken")
    };
    let at_fix = world.start(run).expect("it starts");
    let sent_back = report(&at_fix, "passed");
    let asked = Act::Raise(RaisedQuestion {
        question: "May I?".to_owned(),
        options: vec![Outcome::from("yes"), Outcome::from("no")],
    });
    let waiting = wait(world.service().act(&Request::at(&sent_back), &asked, &agent())).expect("it is asked");
    let answer = Act::Report(Report::of("yes"));
    let answered = wait(world.service().act(&Request::at(&waiting), &answer, &person())).expect("it is answered");
    world.write("ready", "");
    let at_review = report(&answered, "passed");
    let ended = report(&at_review, "passed");
    assert_eq!(ended.terminal, Some("success"));
}

/// The spans of a walk, once they are all there.
fn spans(world: &World, collector: &Collector) -> Vec<Span> {
    world.options.telemetry.as_ref().expect("it is traced").close();
    collector.spans()
}

#[test]
fn a_run_is_one_trace_of_its_steps_whoever_moves_it() {
    let collector = Collector::new(Vec::new());
    let world = world(&collector);
    let run = world.open("traced");
    walk(&world, &run);
    let found = spans(&world, &collector);
    expect![[r#"
        invoke_workflow traced  INTERNAL gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=traced portolan.outcome=success portolan.run=RUN
          fix  INTERNAL portolan.node.kind=task portolan.flow=traced portolan.attempts=2 portolan.outcome=passed
            attempt  INTERNAL ERROR portolan.attempt=1 error.type=sent_back portolan.outcome=passed
              check ready  INTERNAL ERROR portolan.verdict=broken error.type=not_held
            attempt  INTERNAL portolan.attempt=2 portolan.outcome=passed
              check ready  INTERNAL portolan.verdict=held
            wait  INTERNAL portolan.waits_for=raised
          review  INTERNAL portolan.node.kind=task portolan.flow=traced portolan.outcome=passed
    "#]].assert_eq(&tree(&found).replace(&run.to_string(), "RUN"));
}

#[test]
fn a_run_in_a_task_file_is_traced_alike() {
    let traced = |open: fn(&World) -> Address| {
        let collector = Collector::new(Vec::new());
        let world = world(&collector);
        let run = open(&world);
        walk(&world, &run);
        tree(&spans(&world, &collector)).replace(&format!(" portolan.run={run}"), "")
    };
    assert_eq!(traced(|world| world.begin("1", "traced")), traced(|world| world.open("traced")));
}

#[test]
fn a_fork_whose_branches_are_tasks_of_their_own_is_no_failure() {
    let collector = Collector::new(Vec::new());
    let mut world = World::with("forked", "start -> fork; fork -> a, b; a -> join; b -> join; join -> done");
    let parent = world.begin("1", "forked");
    for (name, branch) in [("2", "a"), ("3", "b")] {
        let child = world.init(&world.child_init(name, "forked", "1", branch)).expect("the branch begins").address;
        world.next(&child, "passed").expect("it reaches the join");
    }
    world.options.telemetry = sender(&collector, None);
    assert_eq!(world.next(&parent, "passed").expect("it goes on").terminal, Some("success"));
    expect![[r#"
        invoke_workflow forked  INTERNAL gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=forked portolan.outcome=success
          fork  INTERNAL portolan.node.kind=fork portolan.flow=forked
    "#]].assert_eq(&tree(&spans(&world, &collector)));
}

/// A question that answers itself after a second.
const ASKS: &str = include_str!("../fixtures/asks.yaml");

#[test]
fn a_question_that_times_out_is_no_failure() {
    let collector = Collector::new(Vec::new());
    let mut world = World::new();
    world.write(".flow/workflows/asks.yaml", ASKS);
    world.options.telemetry = sender(&collector, None);
    world.options.clock = Clock::Still(Timestamp(1_700_000_000_000));
    let run = world.open("asks");
    world.start(&run).expect("it starts");
    world.options.clock = Clock::Still(Timestamp(1_700_000_001_000));
    assert_eq!(world.current(&run).expect("it is there").terminal, Some("success"));
    let found = spans(&world, &collector);
    expect![[r#"
        invoke_workflow asks  INTERNAL gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=asks portolan.outcome=success portolan.run=RUN
          work.ask  INTERNAL portolan.node.kind=checkpoint portolan.flow=asks
    "#]].assert_eq(&tree(&found).replace(&run.to_string(), "RUN"));
}

#[test]
fn steps_arrive_while_the_run_goes_on_and_name_its_trace() {
    let collector = Collector::new(Vec::new());
    let mut world = world(&collector);
    let run = world.open("traced");
    world.start(&run).expect("it starts");
    world.write("ready", "");
    world.next(&run, "passed").expect("it holds");
    let early = spans(&world, &collector);
    assert!(early.iter().all(|span| span.name != "invoke_workflow traced"), "it is under way");

    // Another process, with a sender of its own.
    let later = Collector::new(Vec::new());
    world.options.telemetry = sender(&later, None);
    wait(world.service().act(&Request::of(run), &Act::End { reason: "enough".to_owned() }, &person()))
        .expect("it ends");
    let late = spans(&world, &later);
    let (fix, whole) = (named(&early, "fix"), named(&late, "invoke_workflow traced"));
    assert_eq!(hex(&fix.trace_id), hex(&whole.trace_id));
    assert_eq!(hex(&fix.parent_span_id), hex(&whole.span_id));
    expect![[r#"
        invoke_workflow traced  INTERNAL ERROR gen_ai.operation.name=invoke_workflow gen_ai.workflow.name=traced portolan.outcome=cancelled error.type=cancelled portolan.run=RUN
          review  INTERNAL ERROR portolan.node.kind=task portolan.flow=traced error.type=cancelled
    "#]].assert_eq(&tree(&late).replace(&says(whole, "portolan.run"), "RUN"));
}

#[test]
fn a_sampler_takes_all_of_a_run_or_nothing() {
    let collector = Collector::new(Vec::new());
    let mut world = world(&collector);
    world.options.telemetry = sender(&collector, Some("always_off"));
    walk(&world, &world.open("traced"));
    assert_eq!(spans(&world, &collector), []);
}

/// A function that computes, in a file of tools.
const COUNT: &str = r#"
version: "1.0"
server: {name: s, version: "1"}
tools:
  - name: count
    description: d
    inputSchema: {type: object}
    outputSchema: {}
    nodes:
      - {id: entry, type: entry, next: two}
      - {id: two, type: transform, transform: {expr: "1 + 1"}, next: exit}
      - {id: exit, type: exit}
"#;

#[test]
fn what_such_a_run_computes_is_in_its_trace() {
    let collector = Collector::new(Vec::new());
    let mut world = World::with("outer", "start -> one; one -> sub; sub: runs count; sub -> done");
    world.write(".flow/workflows/count.yaml", COUNT);
    world.options.telemetry = sender(&collector, None);
    let run = world.open("outer");
    world.start(&run).expect("it starts");
    assert_eq!(world.next(&run, "passed").expect("it goes on").terminal, Some("success"));
    // Nodes have the times of the machine, and steps those of the journal, whose clock is the test's: so no tree is drawn.
    let found = spans(&world, &collector);
    let whole = named(&found, "invoke_workflow outer");
    assert!(found.iter().all(|span| span.trace_id == whole.trace_id), "one trace: {found:#?}");
    let of_run = |span: &&Span| span.parent_span_id == whole.span_id;
    let mut parts: Vec<&str> = found.iter().filter(of_run).map(|span| span.name.as_str()).collect();
    parts.sort_unstable();
    expect![[r#"
        [
            "entry",
            "exit",
            "one",
            "two",
        ]
    "#]]
    .assert_debug_eq(&parts);
}

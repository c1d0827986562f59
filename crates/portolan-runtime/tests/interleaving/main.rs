//! Calls that are made at once through one service come each to what it comes to alone, in whichever order the tools
//! answer, whether their runs are kept or not, and whoever among them is called off.
//!
//! Graphs, inputs and the order of the answers are random, and nothing waits for time to pass: a tool's answer is held
//! back until every run that is under way waits for one, and the seed says whose turn it is.

#![cfg(unix)]

#[path = "../common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;
mod gate;
mod graph;
#[path = "../servers/support.rs"]
#[expect(dead_code, reason = "the web server needs the least of it")]
mod support;
#[path = "../servers/web.rs"]
#[expect(dead_code, reason = "the tests of the servers ask for more")]
mod web;

use calls::{Calls, FunctionCall};
use std::sync::Arc;

use portolan_core::run::Actor;
use portolan_runtime::definition::Definition;
use portolan_runtime::drive::{Control, Outcome};
use portolan_runtime::graphs::Graphs;
use portolan_runtime::servers::PoolOptions;
use portolan_runtime::service::{How, Options, Service};
use portolan_runtime::tools::Tools;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;
use tokio::task::JoinHandle;

use gate::{Gate, Order};
use graph::Block;

/// A call among others.
#[derive(Clone, Debug)]
struct Wanted {
    value: u16,
    kept: bool,
    /// After how many answers it is called off, and how.
    leaves: Option<(u8, Leaves)>,
}

#[derive(Clone, Copy, Debug)]
enum Leaves {
    /// Nobody waits for it any more.
    Dropped,
    /// It is stopped, and says so.
    Stopped,
}

/// What a call came to, and how many nodes that took.
type Came = (Outcome, u64);

/// A service of its own, with the graph and the tools' answers.
struct World {
    service: Arc<Service>,
    definition: Arc<Definition>,
    tools: Arc<Tools>,
    gate: Gate,
    _folder: TempDir,
}

impl World {
    async fn new(blocks: &[Block], order: Order) -> World {
        let gate = Gate::new(order).await;
        let folder = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).expect("there is room for a folder");
        let project = folder.path().join("project");
        std::fs::create_dir_all(&project).expect("there is room for a folder");
        let file = project.join("graph.yaml");
        std::fs::write(&file, graph::text(blocks, &gate.url())).expect("there is room for a file");
        let options = Options { trust: Some(folder.path().join("data")), seed: Some(1), ..Options::of(&project) };
        let service = Service::new(options).expect("a service");
        let opened = Graphs::open(vec![file], None, service.library(), PoolOptions::default());
        let graphs = opened.unwrap_or_else(|error| panic!("{:#?}\n{}", error, graph::text(blocks, "")));
        let loaded = graphs.loaded();
        let definition = loaded.functions.called(Some(graph::ROOT)).expect("it is there").clone();
        let tools = Arc::new(Tools::of(loaded.servers.clone()));
        World { service: Arc::new(service), definition, tools, gate, _folder: folder }
    }

    fn call(&self, who: usize, wanted: &Wanted, control: Option<Control>) -> JoinHandle<Came> {
        let how = How { control, ..How::with(self.tools.clone()) };
        let input = json!({"who": who, "v": wanted.value, "path": ""});
        let call =
            FunctionCall { definition: self.definition.clone(), input, by: Actor::Engine, how, kept: wanted.kept };
        let (service, gate) = (self.service.clone(), self.gate.clone());
        tokio::spawn(async move {
            let finished = service.call_function(call).await.expect("it is driven");
            gate.over(who);
            (finished.outcome, finished.executed)
        })
    }
}

/// What the call comes to where no other is made.
async fn alone(blocks: &[Block], who: usize, wanted: &Wanted) -> Came {
    let world = World::new(blocks, Order::AsTheyCome).await;
    world.call(who, wanted, None).await.expect("nobody panics")
}

/// What each of the calls comes to, made at once; nothing for those that left.
async fn together(blocks: &[Block], calls: &[Wanted], seed: u64) -> Vec<Option<Came>> {
    let world = World::new(blocks, Order::Chosen { runs: calls.len(), seed }).await;
    let controls: Vec<Control> = calls.iter().map(|_| Control::new(false, [])).collect();
    let under_way = calls.iter().zip(&controls).enumerate();
    let handles: Vec<_> =
        under_way.map(|(who, (wanted, control))| world.call(who, wanted, Some(control.clone()))).collect();
    let mut answered = 0_u8;
    loop {
        for (who, wanted) in calls.iter().enumerate() {
            match wanted.leaves {
                Some((after, Leaves::Dropped)) if after == answered => {
                    handles[who].abort();
                    world.gate.over(who);
                }
                // One that is over already has nothing to be stopped.
                Some((after, Leaves::Stopped)) if after == answered => drop(controls[who].stop()),
                _ => {}
            }
        }
        if !world.gate.answer_one().await {
            break;
        }
        answered = answered.saturating_add(1);
    }
    let mut came = Vec::new();
    for (handle, wanted) in handles.into_iter().zip(calls) {
        let ended = handle.await;
        came.push(match (wanted.leaves, ended) {
            (Some(_), _) => None,
            (None, ended) => Some(ended.expect("nobody panics")),
        });
    }
    came
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let how = prop_oneof![Just(Leaves::Dropped), Just(Leaves::Stopped)];
    let leaves = prop_oneof![3 => Just(None), 1 => (0..12_u8, how).prop_map(Some)];
    (0..1000_u16, any::<bool>(), leaves).prop_map(|(value, kept, leaves)| Wanted { value, kept, leaves })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn each_call_comes_to_what_it_comes_to_alone(
        blocks in graph::blocks(),
        calls in prop::collection::vec(wanted(), 2..=8),
        seed in any::<u64>(),
    ) {
        support::block_on(async {
            let came = together(&blocks, &calls, seed).await;
            for (who, (wanted, came)) in calls.iter().zip(came).enumerate() {
                let Some(came) = came else { continue };
                let expected = alone(&blocks, who, wanted).await;
                prop_assert_eq!(came, expected, "call {} of\n{}", who, graph::text(&blocks, "http://localhost:1"));
            }
            Ok(())
        })?;
    }
}

/// The generator makes what it promises: were it to make nothing but transforms, the property would hold for nothing.
#[test]
fn the_graphs_call_and_fail_and_branch() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let texts: Vec<String> = (0..64)
        .map(|_| graph::text(&graph::blocks().new_tree(&mut runner).expect("it can be drawn").current(), "u"))
        .collect();
    for kind in ["mcp", "switch", "parallel", "join", "forEach", "call", "transform"] {
        let with = texts.iter().filter(|text| text.contains(&format!("type: {kind},"))).count();
        assert!(with >= 10, "{with} of 64 have `{kind}`");
    }
    for word in ["retry:", "onError:", "fate: down", "concurrency: 3"] {
        assert!(texts.iter().any(|text| text.contains(word)), "none has `{word}`");
    }
}

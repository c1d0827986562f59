//! How long it takes to lay out a graph, and to do all that a change of its text asks for: to read it, to check it, to draw
//! it, and to find what its forms show.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use portolan_core::dialect::editing::Forms;
use portolan_core::dialect::{self, Strictness};
use portolan_core::graph::Graph;
use portolan_core::present::{DrawingInput, NodeOffsets, drawing};
use portolan_core::source::Source;
use portolan_core::validate::{no_library, validate};

/// A chain of so many nodes, in which each tenth is a gate that leads back.
fn chain(count: usize) -> Source {
    let (mut nodes, mut edges) = (String::from("\"start\": {\"type\": \"start\"}"), String::new());
    let mut last = "start".to_owned();
    for nth in 1..count - 1 {
        let kind = if nth % 10 == 0 { "gate" } else { "task" };
        let id = format!("{kind}_{nth}");
        let comma = if edges.is_empty() { "" } else { "," };
        let _ = write!(
            nodes,
            ",\n\"{id}\": {{\"type\": \"{kind}\", \"name\": \"Step {nth}\", \"instructions\": \"Do it.\"}}"
        );
        let _ = write!(edges, "{comma}\n{{\"from\": \"{last}\", \"to\": \"{id}\"}}");
        if kind == "gate" {
            let _ = write!(edges, ",\n{{\"from\": \"{id}\", \"to\": \"{last}\", \"on\": \"failed\"}}");
        }
        last = id;
    }
    let _ = write!(nodes, ",\n\"done\": {{\"type\": \"end\", \"result\": \"success\"}}");
    let _ = write!(edges, ",\n{{\"from\": \"{last}\", \"to\": \"done\"}}");
    Source::new("chain.json", format!("{{\"name\": \"Chain\", \"nodes\": {{{nodes}}}, \"edges\": [{edges}]}}"))
}

fn read(source: &Source) -> Graph {
    dialect::parse(source, Strictness::Strict).first().0.expect("it can be read")
}

fn drawn(graph: &Graph) -> usize {
    let none = BTreeSet::new();
    let drawing = drawing(&DrawingInput {
        graph,
        workflow: None,
        find: &|_| None,
        folded: &none,
        opened: &none,
        moved: &NodeOffsets::new(),
    });
    drawing.nodes.len() + drawing.edges.len()
}

fn layouts(c: &mut Criterion) {
    let mut group = c.benchmark_group("layout");
    for count in [100, 1_000, 9_000] {
        let graph = read(&chain(count));
        group.sample_size(20).bench_with_input(BenchmarkId::from_parameter(count), &graph, |bench, graph| {
            bench.iter(|| drawn(black_box(graph)));
        });
    }
    group.finish();
}

fn changes(c: &mut Criterion) {
    let mut group = c.benchmark_group("a change of the text");
    for count in [100, 1_000, 9_000] {
        let source = chain(count);
        let dialect = dialect::of(&source).expect("it is of a format");
        group.sample_size(20).bench_with_input(BenchmarkId::from_parameter(count), &source, |bench, source| {
            bench.iter(|| {
                let graph = read(black_box(source));
                let (_, faults) = validate(&graph, &no_library, Strictness::Strict);
                let forms = Forms::of(dialect, source, &graph).expect("it can be edited");
                let shown = graph.nodes.iter().filter_map(|node| forms.node(node)).count();
                faults.len() + shown + drawn(&graph)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, layouts, changes);
criterion_main!(benches);

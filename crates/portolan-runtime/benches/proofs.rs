//! How long the analysis of definitions takes, how many states it looks at, and how much memory: the catalogue, the
//! examples, what others have written where `WORKFLOW_CORPORA` says that there is some, workflows of a hundred nodes that
//! are drawn, and files as large as they may be.
//!
//! `cargo bench -p portolan-runtime --bench proofs`.

#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use portolan_core::dialect::Strictness;
use portolan_core::graph::Workflow;
use portolan_core::prove::Bound;
use portolan_runtime::library::{Library, workflow_files};
use portolan_runtime::proof::{Effort, analyse};

fn main() {
    // Without `--bench` this is a test run, which only sees that it works.
    let is_bench = std::env::args().any(|argument| argument == "--bench");
    let rounds = if is_bench { 5 } else { 1 };
    let effort = if is_bench { Effort::default() } else { Effort::WHILE_WRITING };
    println!("{:<44} {:>8} {:>11}", "definition", "states", "median");
    for (name, folders) in real() {
        let mut all = Vec::new();
        for workflow in folders.iter().flat_map(|folder| workflows(folder)) {
            let (time, states, bound) = measured(&workflow, effort, rounds);
            let why = bound.map(|bound| format!("  undecided: {}", bound.text())).unwrap_or_default();
            if is_bench && (bound.is_some() || time > Duration::from_millis(20)) {
                println!("{:<44} {states:>8} {time:>11.3?}{why}", workflow.id().as_str());
            }
            all.push((time, bound.is_none()));
        }
        print_times(&name, &all);
    }
    drawn("a hundred nodes of activities", if is_bench { 1_000 } else { 3 }, effort, &|seed| activities(100, seed));
    drawn("a hundred nodes, with failures and answers", if is_bench { 1_000 } else { 3 }, effort, &|seed| {
        graph(100, seed)
    });
    let most = if is_bench { 10_000 } else { 300 };
    for (name, text) in [("large.json", graph(most, 1)), ("large.yaml", activities(most, 1))] {
        let workflow = read(name, &text);
        let (time, states, bound) = measured(&workflow, effort, 1);
        let why = bound.map(|bound| format!("  undecided: {}", bound.text())).unwrap_or_default();
        println!("{:<44} {states:>8} {time:>11.3?}{why}", format!("{most} nodes, {name}"));
    }
    if let Some(peak) = peak() {
        println!("most memory of the whole program: {peak}");
    }
}

/// The folders of definitions, by what they are called in the table.
fn real() -> Vec<(String, Vec<PathBuf>)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("it lies in a folder");
    let of = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        folders.sort();
        folders
    };
    let mut real = vec![
        ("catalogue".to_owned(), of(&crates.join("portolan-runtime/catalog"))),
        ("examples/activities".to_owned(), vec![crates.join("../examples/activities")]),
        ("examples/navigator".to_owned(), of(&crates.join("../examples/navigator"))),
    ];
    for corpus in std::env::var_os("WORKFLOW_CORPORA").iter().flat_map(|corpora| of(Path::new(corpora))) {
        let name = corpus.file_name().expect("it has a name").to_string_lossy().into_owned();
        real.push((name, vec![corpus]));
    }
    real
}

/// The workflows of a folder that a run can be opened of.
fn workflows(folder: &Path) -> Vec<Workflow> {
    let Ok(files) = workflow_files(folder) else { return Vec::new() };
    let paths: Vec<PathBuf> = files.into_iter().map(|file| file.path).collect();
    let library = Library::new(folder, &paths, Strictness::Lenient).expect("they are files");
    let ids = library.given_ids();
    ids.iter().filter_map(|id| Some((*library.definition(id).ok()?.workflow).clone())).collect()
}

fn measured(workflow: &Workflow, effort: Effort, rounds: usize) -> (Duration, usize, Option<Bound>) {
    let mut times = Vec::new();
    let mut last = (0, None);
    for _ in 0..rounds {
        let from = Instant::now();
        let proof = analyse(workflow, effort);
        times.push(from.elapsed());
        last = (proof.states, proof.bound());
    }
    times.sort_unstable();
    (times[times.len() / 2], last.0, last.1)
}

fn print_times(name: &str, all: &[(Duration, bool)]) {
    let mut times: Vec<Duration> = all.iter().map(|(time, _)| *time).collect();
    times.sort_unstable();
    let Some(most) = times.last() else { return println!("{name}: none") };
    let decided = all.iter().filter(|(_, is_decided)| *is_decided).count();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!(
        "{name}: {decided} of {} decided; median {:.3?}, p99 {:.3?}, most {most:.3?}",
        all.len(),
        at(0.5),
        at(0.99)
    );
}

fn drawn(name: &str, count: u64, effort: Effort, text: &dyn Fn(u64) -> String) {
    let extension = |text: &str| if text.starts_with('{') { "drawn.json" } else { "drawn.yaml" };
    let all: Vec<(Duration, bool)> = (1..=count)
        .map(|seed| {
            let text = text(seed);
            let (time, _, bound) = measured(&read(extension(&text), &text), effort, 1);
            (time, bound.is_none())
        })
        .collect();
    print_times(&format!("{name}, {count} of them"), &all);
}

fn read(name: &str, text: &str) -> Workflow {
    Workflow::read(name, text).unwrap_or_else(|faults| panic!("{faults}\n{}", &text[..text.len().min(4_000)]))
}

/// Numbers that look random and are the same in every run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % most.max(1)
    }
}

/// A workflow of work, gates that send back, and questions.
fn graph(nodes: usize, seed: u64) -> String {
    let mut chance = Chance(seed);
    let mut parts =
        vec![r#""start":{"type":"start"}"#.to_owned(), r#""done":{"type":"end","result":"success"}"#.to_owned()];
    let mut edges = vec![r#"{"from":"start","to":"n0"}"#.to_owned()];
    let count = nodes - 2;
    for at in 0..count {
        let next = if at + 1 == count { "done".to_owned() } else { format!("n{}", at + 1) };
        match chance.below(4) {
            0 if at > 0 => {
                parts.push(format!(r#""n{at}":{{"type":"gate","maxRetries":3}}"#));
                let back = at - 1 - chance.below(at.min(8));
                edges.push(format!(r#"{{"from":"n{at}","to":"n{back}","on":"failed"}}"#));
            }
            1 => {
                parts.push(format!(r#""n{at}":{{"type":"task","outputs":["passed","other"]}}"#));
                let to = (at + 1 + chance.below(8)).min(count - 1);
                let to = if to <= at { "done".to_owned() } else { format!("n{to}") };
                edges.push(format!(r#"{{"from":"n{at}","to":"{to}","on":"other"}}"#));
            }
            _ => parts.push(format!(r#""n{at}":{{"type":"task"}}"#)),
        }
        edges.push(format!(r#"{{"from":"n{at}","to":"{next}"}}"#));
    }
    format!(r#"{{"nodes":{{{}}},"edges":[{}]}}"#, parts.join(","), edges.join(","))
}

/// A workflow of activities with variables, questions and ways back: five nodes each.
fn activities(nodes: usize, seed: u64) -> String {
    let mut chance = Chance(seed);
    let count = nodes / 5;
    let mut text = String::from("id: drawn\nversion: 1.0.0\ntitle: Drawn\nvariables:\n");
    for name in 0..6 {
        writeln!(text, "  - {{ name: b{name}, type: boolean, default: false }}").expect("it is written to memory");
    }
    text.push_str("  - { name: n, type: number, default: 0 }\nactivities:\n");
    for at in 0..count {
        let name = chance.below(6);
        let back = at - chance.below(at.min(4) + 1);
        let next = (at + 1).min(count - 1);
        write!(
            text,
            "  - id: a{at}\n    steps:\n      - {{ id: work, kind: step, outputs: [b{name}, n] }}\n      \
             - {{ id: sure, kind: checkpoint, message: Sure?, options: [{{ id: 'yes', label: 'Yes' }}, {{ id: 'no', label: 'No', effect: {{ setVariable: {{ b{}: true }} }} }}] }}\n",
            chance.below(6)
        )
        .expect("it is written to memory");
        if at + 1 < count {
            writeln!(
                text,
                "    transitions: [{{ to: a{back}, when: b{name} == true && n > {} }}, {{ to: a{next}, isDefault: true }}]",
                chance.below(4)
            )
            .expect("it is written to memory");
        }
    }
    text
}

/// The most memory that this program has had, as the system says it, where it does.
fn peak() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    status.lines().find_map(|line| Some(line.strip_prefix("VmHWM:")?.trim().to_owned()))
}

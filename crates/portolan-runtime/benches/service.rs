//! How long the moves of a task file take, from the call to the answer, without any protocol around them.
//!
//! `cargo bench -p portolan-runtime --bench service -- [FOLDER]`, by default in memory where there is a `/dev/shm`.

#![expect(clippy::print_stdout, reason = "the figures are what this program is for")]

#[path = "../tests/common/calls.rs"]
#[expect(dead_code, reason = "each test file makes its own part of these calls")]
mod calls;

use calls::{Calls, Move};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use portolan_core::value::Outcome;
use portolan_runtime::catalog;
use portolan_runtime::service::{Caller, Open, Options, RunCarrier, Service};

fn main() {
    // Without `--bench` this is a test run, which only sees that it works.
    let walks = if std::env::args().any(|argument| argument == "--bench") { 400 } else { 1 };
    let folder = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).map(PathBuf::from);
    let folder = folder.unwrap_or_else(|| {
        ["/dev/shm", "/tmp"].map(PathBuf::from).into_iter().find(|path| path.is_dir()).expect("a folder")
    });
    let home = tempfile::tempdir_in(folder).expect("there is room for a folder");
    let project = home.path().join("project");
    let workflows = project.join(".flow/workflows");
    std::fs::create_dir_all(&workflows).expect("there is room for a folder");
    std::fs::write(workflows.join("feature.json"), without_checks("feature-development")).expect("there is room");
    let options = Options { trust: Some(home.path().join("data")), ..Options::of(&project) };
    let service = Service::new(options).expect("the project can be served");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime needs nothing");
    let mut times = [("Init", Vec::new()), ("Start", Vec::new()), ("Current", Vec::new()), ("Next", Vec::new())];
    runtime.block_on(walk(&service, &project, walks, &mut times));
    for (name, times) in &mut times {
        times.sort_unstable();
        let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
        println!("{name:8} n={:5} min {:?} median {:?} p99 {:?}", times.len(), times[0], at(0.5), at(0.99));
    }
}

/// Returns a workflow of the catalogue without its checks: what is measured is the moves.
fn without_checks(workflow: &str) -> String {
    let entry = catalog::workflow(workflow).expect("the catalogue has it");
    let mut definition: serde_json::Value = serde_json::from_str(&entry.source().text).expect("JSON");
    definition["id"] = "feature".into();
    for node in definition["nodes"].as_object_mut().expect("nodes").values_mut() {
        node.as_object_mut().expect("a node").shift_remove("accept");
    }
    definition.to_string()
}

async fn walk(service: &Service, project: &Path, walks: usize, times: &mut [(&str, Vec<Duration>); 4]) {
    let me = Caller::agent("bench");
    let timed = |kind: usize, from: Instant, times: &mut [(&str, Vec<Duration>); 4]| times[kind].1.push(from.elapsed());
    for walk in 0..walks {
        let task_file = project.join(format!("{}.json", walk % 10)).to_string_lossy().into_owned();
        let _ = std::fs::remove_file(&task_file);
        let workflow = Some("feature".to_owned());
        let description = Some("Add a dark mode to the settings page".to_owned());
        let wanted = Open { carrier: RunCarrier::Task(task_file), workflow, description, ..Open::default() };
        let from = Instant::now();
        let view = service.open(&wanted, &me).await.expect("it begins");
        timed(0, from, times);
        let from = Instant::now();
        let mut view = service.start(&view.address, None, &me).await.expect("it starts");
        timed(1, from, times);
        while view.terminal.is_none() {
            let from = Instant::now();
            service.current(&view.address, None, &me).await.expect("it is there");
            timed(2, from, times);
            let revision = Some(view.situation.position.revision);
            let wanted = Move {
                address: view.address.clone(),
                branch: None,
                revision,
                outcome: Outcome::passed(),
                note: None,
                outputs: None,
            };
            let from = Instant::now();
            view = service.next(&wanted, &me).await.expect("it goes on");
            timed(3, from, times);
        }
    }
}

//! Moves of runs through a service, each caller waiting for each of its moves.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use portolan_core::value::Outcome;
use portolan_runtime::service::{Act, Caller, Open, Options, Report, Request, Service, View};
use portolan_runtime::store::{Store, StoreAt};

use crate::moves::text;

/// Two steps that follow one another for as long as they pass.
const WORKFLOW: &str = r#"{ "nodes": { "start": { "type": "start" },
  "work": { "type": "task", "instructions": "Work." },
  "look": { "type": "task", "instructions": "Look." },
  "done": { "type": "end", "result": "success" } },
"edges": [{ "from": "start", "to": "work" }, { "from": "work", "to": "look" },
  { "from": "look", "to": "work", "on": "passed" }, { "from": "look", "to": "done", "on": "failed" }] }"#;

/// Returns a service of a new project in `folder`, with its runs in `store`.
pub(crate) fn service(folder: &Path, store: Arc<dyn Store>) -> Arc<Service> {
    let workflows = folder.join("project/.flow/workflows");
    std::fs::create_dir_all(&workflows).expect("there is room for a folder");
    std::fs::write(workflows.join("again.json"), WORKFLOW).expect("there is room");
    let project = Options::of(folder.join("project"));
    let options = Options { store: StoreAt::Custom(store), trust: Some(folder.join("data")), ..project };
    Arc::new(Service::new(options).expect("the project can be served"))
}

/// Begins a run, with a description as long as the variables of the other runs.
pub(crate) async fn begun(service: &Service) -> View {
    let wanted = Open { workflow: Some("again".to_owned()), description: Some(text(1700)), ..Open::default() };
    let opened = service.open(&wanted, &agent()).await.expect("it begins");
    let begun = service.act(&Request::of(opened.address), &Act::Begin, &agent()).await;
    begun.expect("it starts")
}

/// Moves a run through the service, as an agent does that reports each step.
pub(crate) async fn report(service: Arc<Service>, mut view: View, time: Duration) -> Vec<Duration> {
    let me = agent();
    let act = Act::Report(Report { outcome: Outcome::passed(), note: Some(text(420)), outputs: None });
    let (begin, mut latencies) = (Instant::now(), Vec::new());
    while begin.elapsed() < time {
        let revision = Some(view.situation.position.revision);
        let request = Request { revision, ..Request::of(view.address) };
        let each = Instant::now();
        view = service.act(&request, &act, &me).await.expect("it goes on");
        latencies.push(each.elapsed());
    }
    latencies
}

fn agent() -> Caller {
    Caller::agent("bench")
}

//! Leads whoever is at the terminal through a workflow of Portolan: written by `portolan export --to rust`.
//!
//! At each step it shows what is to be done and what may be reported; what is reported counts only where the workflow's
//! checks hold. The workflow stands in `workflows`; a face of your own does what `run` does.

use std::error::Error;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use portolan_core::present::Situation;
use portolan_core::run::{Actor, Channel};
use portolan_runtime::service::{Act, Caller, Open, Options, Report, Request, Service, StoreAt};

/// The workflow, and the files that it and what it runs stand in.
const WORKFLOW: &str = "errand";
const FILES: &[(&str, &str)] = &[
    // Each by its name.
    ("errand.json", include_str!("../workflows/errand.json")),
];

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run().await.unwrap_or_else(|error| {
        // Where nobody can be told, the code tells.
        let _ = writeln!(std::io::stderr(), "error: {error}");
        ExitCode::from(2)
    })
}

/// Writes the workflow where the service reads it.
fn unpacked() -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("portolan-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let write = |(name, text): &(&str, &str)| {
        let path = folder.join(name);
        std::fs::write(&path, text)?;
        Ok(path)
    };
    FILES.iter().map(write).collect()
}

/// What is to be done where the run is, and what may be reported there.
fn describe(now: &Situation) -> String {
    let mut blocks = vec![now.work.name.clone()];
    blocks.extend(now.work.description.iter().chain(&now.work.instructions).cloned());
    blocks.extend(now.question.iter().map(|question| question.asked.message.clone()));
    blocks.extend(now.checks.iter().map(|check| format!("checked when it is reported done: {}", check.id)));
    let failures = now.feedback.iter().flat_map(|feedback| &feedback.failures);
    blocks.extend(failures.map(|failure| format!("not passed: {}: {}", failure.check, failure.reason)));
    blocks.extend(now.feedback.iter().filter_map(|feedback| feedback.note.clone()));
    let outcomes: Vec<&str> = now.offers.iter().filter_map(|offer| Some(offer.outcome()?.as_str())).collect();
    if !outcomes.is_empty() {
        blocks.push(format!("report: {}", outcomes.join("|")));
    }
    blocks.join("\n\n")
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let definitions = unpacked()?;
    // Kept in memory; with `Options::of` alone, runs last.
    let options = Options { store: StoreAt::Memory, definitions, ..Options::of(std::env::current_dir()?) };
    let service = Service::new(options)?;
    let name = std::env::var("USER").unwrap_or_default();
    let me = Caller { by: Actor::Person { name, via: Channel::CommandLine }, can_ask: false };
    let wanted = Open { workflow: Some(WORKFLOW.to_owned()), ..Open::default() };
    let view = service.open(&wanted, &me).await?;
    let mut view = service.act(&Request::of(view.address), &Act::Begin, &me).await?;
    let mut lines = std::io::stdin().lock().lines();
    loop {
        writeln!(std::io::stdout(), "\n{}\n", describe(&view.situation))?;
        if let Some(result) = view.terminal {
            writeln!(std::io::stdout(), "the run is over: {result}")?;
            return Ok(if result == "success" { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        write!(std::io::stdout(), "outcome> ")?;
        std::io::stdout().flush()?;
        let Some(said) = lines.next().transpose()? else { return Ok(ExitCode::from(4)) };
        let said = said.trim();
        let report = Act::Report(Report::of(if said.is_empty() { "passed" } else { said }));
        let revision = Some(view.situation.position.revision);
        let here = Request { revision, ..Request::of(view.address.clone()) };
        match service.act(&here, &report, &me).await {
            Ok(next) => view = next,
            Err(refused) => writeln!(std::io::stdout(), "refused: {}; {}", refused.message, refused.help)?,
        }
    }
}

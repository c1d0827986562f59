//! Runs a workflow of Portolan: written by `portolan export --to rust`.
//!
//! The workflow stands in `definition.json`; what it needs in Rust, in `functions.rs`.
//!
//! ```text
//! cargo run -- topic=maps --model openai:gpt-4o-mini
//! ```

mod functions;

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use portolan_core::run::Actor;
use portolan_runtime::definition::Definition;
use portolan_runtime::drive::Outcome;
use portolan_runtime::gates::CheckWorkspace;
use portolan_runtime::library::servers_of;
use portolan_runtime::models::ModelSetup;
use portolan_runtime::repository::Repository;
use portolan_runtime::servers::{PoolOptions, Servers};
use portolan_runtime::service::{FunctionRun, How, Options, Service, StoreAt};
use portolan_runtime::states::{ModelBindings, Workers};
use portolan_runtime::tools::Tools;
use serde_json::{Map, Value};

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    run().await.unwrap_or_else(|error| {
        // Where nobody can be told, the code tells.
        let _ = writeln!(std::io::stderr(), "error: {error}");
        ExitCode::from(2)
    })
}

async fn run() -> Result<ExitCode, Box<dyn Error>> {
    let definition = Arc::new(Definition::from_text(include_str!("../definition.json"))?);
    let (input, model) = arguments(std::env::args().skip(1))?;
    let folder = std::env::current_dir()?;
    // Kept in memory; with `Options::of` alone and `kept`, runs last.
    let service = Service::new(Options { store: StoreAt::Memory, ..Options::of(&folder) })?;
    let servers = Arc::new(Servers::new(servers_of(&definition, &folder, &folder), PoolOptions::default()));
    let workers = Workers {
        cast: ModelBindings::of(ModelSetup::of(&folder)).usually(model),
        functions: functions::functions()?,
        ground: Some(ground(&folder)),
    };
    let how = How { workers, ..How::with(Arc::new(Tools::of(servers.clone()))) };
    let finished = service.drive(FunctionRun::Called { definition, input, by: Actor::Engine }, how).await;
    servers.close().await;
    Ok(match finished?.outcome {
        Outcome::Done(output) => {
            writeln!(std::io::stdout(), "{}", output.as_deref().unwrap_or(&Value::Null))?;
            ExitCode::SUCCESS
        }
        Outcome::Failed(fault) => {
            writeln!(std::io::stderr(), "failed at {}: {}", fault.node, fault.message)?;
            ExitCode::FAILURE
        }
        Outcome::Cancelled => ExitCode::FAILURE,
        Outcome::Waiting { node, why } => {
            let why = why.unwrap_or_default();
            writeln!(std::io::stderr(), "the run waits at {node}, and is not kept; {why}")?;
            ExitCode::from(4)
        }
    })
}

/// Where commands and files that a workflow checks are looked for.
fn ground(folder: &Path) -> Arc<CheckWorkspace> {
    Arc::new(CheckWorkspace::of(Repository::of(folder), Vec::new()))
}

/// The input, a field at a time, and the model. A value is JSON, or else a text.
fn arguments(words: impl Iterator<Item = String>) -> Result<(Value, Option<String>), Box<dyn Error>> {
    let (mut input, mut model, mut words) = (Map::new(), None, words);
    while let Some(word) = words.next() {
        if word == "--model" {
            model = Some(words.next().ok_or("`--model` needs a name, such as `openai:gpt-4o-mini`")?);
            continue;
        }
        let (key, value) = word.split_once('=').ok_or_else(|| format!("`{word}` is not `key=value`"))?;
        input.insert(key.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| Value::from(value)));
    }
    Ok((Value::Object(input), model))
}

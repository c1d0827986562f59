//! `portolan people passkey`: passkeys with which persons confirm single answers in the studio.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use portolan_core::run::Actor;
use portolan_runtime::clock::rfc3339;
use portolan_runtime::service::{Service, ServiceError};
use portolan_supervision::people::{Passkey, People};
use serde_json::{Value, json};

use super::output::{Output, one_line, table};
use super::person::{at_terminal, known};
use super::runs::person;
use super::signals::asked_to_end;
use super::{Common, Exit, studio};
use crate::web::{self, StudioSettings};

#[derive(Args)]
#[group(skip)]
pub(super) struct Passkeys {
    /// List the passkeys.
    #[arg(long, conflicts_with_all = ["remove", "adopt", "open", "port"])]
    list: bool,
    /// Delete this passkey, in all projects.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["adopt", "open", "port"])]
    remove: Option<String>,
    /// Use a passkey in this project that was enrolled in another.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["open", "port"])]
    adopt: Option<String>,
    /// Open the page in the browser.
    #[arg(long)]
    open: bool,
    /// The port to listen on [default: any free port].
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
}

/// The act that is refused, for messages.
const ACT: &str = "may set which passkeys confirm answers";

/// How long the page waits for an enrolment.
const PATIENCE: Duration = Duration::from_secs(600);

pub(super) fn run(args: &Passkeys, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let service = Service::new(common.options()?)?;
    let people = People::of(&service);
    if args.list {
        return list(output, &service);
    }
    people.must_be_person(ACT)?;
    at_terminal(ACT)?;
    known(&service, ACT)?;
    let done = match (&args.remove, &args.adopt) {
        (Some(name), _) => {
            people.remove_passkey(name)?;
            "it no longer confirms anything; remove it from your authenticator, too"
        }
        (None, Some(name)) => {
            people.adopt_passkey(name)?;
            "from now on it confirms answers in this project"
        }
        (None, None) => return enrol(output, service, args),
    };
    match output.is_json() {
        true => output.json(&passkeys_json(&service)?)?,
        false => output.remark(done),
    }
    Ok(Exit::Done)
}

fn list(output: Output, service: &Service) -> anyhow::Result<Exit> {
    if output.is_json() {
        output.json(&passkeys_json(service)?)?;
        return Ok(Exit::Done);
    }
    let kept = People::of(service).passkeys()?.kept;
    if kept.is_empty() {
        output.remark("there are no passkeys; run `portolan people passkey` to enrol one");
        return Ok(Exit::Done);
    }
    let row = |passkey: &Passkey| {
        let counts = if passkey.is_named { "confirms answers here" } else { "not in this project" };
        vec![one_line(&passkey.name), rfc3339(passkey.at), counts.to_owned()]
    };
    output.line(table(&kept.iter().map(row).collect::<Vec<_>>()))?;
    Ok(Exit::Done)
}

fn passkeys_json(service: &Service) -> Result<Value, ServiceError> {
    let kept = People::of(service).passkeys()?.kept.into_iter();
    let objects = kept.map(|passkey| {
        json!({ "name": passkey.name, "id": passkey.id, "at": rfc3339(passkey.at), "counts": passkey.is_named })
    });
    Ok(json!({ "passkeys": objects.collect::<Vec<_>>() }))
}

/// Serves the page until a passkey is enrolled.
fn enrol(output: Output, service: Service, args: &Passkeys) -> anyhow::Result<Exit> {
    let elsewhere = People::of(&service).passkeys()?.kept.into_iter().find(|passkey| !passkey.is_named);
    if let Some(Passkey { name, .. }) = elsewhere {
        output.remark(one_line(&format!(
            "`{name}` is enrolled in another project: use `--adopt` to accept it in this one"
        )));
    }
    let Actor::Person { name, .. } = person().by else { unreachable!("who sits at a terminal is a person") };
    let opening =
        StudioSettings { service: Arc::new(service), person: name, port: args.port, read_only: true, enrols: true };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let enrolled = runtime.block_on(async {
        // From here on a signal does not end the process before it has printed the result.
        let ended = asked_to_end();
        let listening = web::listen(opening).await?;
        match output.is_json() {
            true => output.json(&json!({ "address": listening.address() }))?,
            false => output.line(listening.address())?,
        }
        std::io::stdout().flush()?;
        let page = args.open.then(|| studio::open(&listening.address()));
        if page.as_ref().is_some_and(Option::is_none) {
            output.remark("no browser could be opened: open the address yourself");
        }
        output.remark("continue in the browser; press Ctrl+C to stop");
        let (mut kept, enrolled) = (None, listening.enrolled());
        let end = async {
            tokio::select! {
                passkey = enrolled => kept = passkey,
                () = ended => {}
                () = tokio::time::sleep(PATIENCE) => {}
            }
        };
        listening.serve(end).await?;
        drop(page);
        anyhow::Ok(kept)
    })?;
    let Some(Passkey { name, id, .. }) = enrolled else {
        let error = ServiceError::failed("not_enrolled", "no passkey was enrolled", "run the command again");
        return Err(error.into());
    };
    match output.is_json() {
        true => output.json(&json!({ "name": name, "id": id }))?,
        false => {
            output.remark(one_line(&format!("`{name}` is enrolled: it confirms answers in this project's studio")))
        }
    }
    Ok(Exit::Done)
}

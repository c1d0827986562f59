//! `portolan people`: whether a process counts as a person, and the passphrase and passkeys with which persons confirm
//! what only they may do.

use clap::{Args, Subcommand};
use portolan_core::diagnostic::list;
use portolan_gates::guidelines::Who;
use portolan_runtime::rules::rules;
use portolan_runtime::service::{Service, ServiceError};
use portolan_supervision::people::{PassphrasePolicy, People};
use serde_json::json;

use super::output::{Output, one_line, table};
use super::passkey::{self, Passkeys};
use super::person::{asked, at_terminal, known};
use super::{Common, Exit};
use crate::install::{Finding, State};

/// Show who counts as a person here, and set how persons confirm.
///
/// A passphrase or a passkey confirms what no agent may do.
///
/// Example: portolan people show
#[derive(Args)]
pub(super) struct PeopleArgs {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Show whether this command counts as a person's. Exit code 1 if it does not.
    ///
    /// Also lists the known hosts of agents, and whether a passphrase is set.
    ///
    /// Example: portolan people show
    Show,
    /// Set the passphrase that this project asks persons for.
    ///
    /// You type it twice, at a terminal.
    ///
    /// Example: portolan people passphrase
    Passphrase {
        /// Remove the passphrase from this project.
        #[arg(long)]
        remove: bool,
    },
    /// Enrol a passkey, to confirm answers in the studio that only a person may give.
    ///
    /// It serves a page, prints its address, and ends once a passkey is enrolled. You need a browser, and an
    /// authenticator with a PIN, a fingerprint or the like.
    ///
    /// Example: portolan people passkey --open
    Passkey(Passkeys),
}

/// The act that is refused, for messages.
const ACT: &str = "may set the passphrase";

pub(super) fn run(args: &PeopleArgs, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let service = || Service::new(common.options()?);
    match &args.verb {
        Verb::Show => show(output, &service()?),
        Verb::Passphrase { remove } => passphrase(output, &service()?, *remove),
        Verb::Passkey(args) => passkey::run(args, common),
    }
}

fn show(output: Output, service: &Service) -> anyhow::Result<Exit> {
    let people = People::of(service);
    let (sign, hosts, standing) = (people.agent_sign()?, people.known_hosts()?, people.standing()?);
    let word = word(&standing);
    if output.is_json() {
        output.json(&json!({ "person": sign.is_none(), "because": sign, "hosts": hosts, "passphrase": word }))?;
    } else {
        let who = sign.as_ref().map_or_else(|| "a person".to_owned(), |sign| format!("an agent: {}", one_line(sign)));
        let mut rows =
            vec![vec!["this command is run by".to_owned(), who], vec!["passphrase".to_owned(), word.to_owned()]];
        rows.extend(hosts.iter().map(|host| {
            let process = format!("{}, process {}, begun {}", host.name, host.process.pid, host.process.start);
            vec!["has run a hook".to_owned(), one_line(&process)]
        }));
        output.line(table(&rows))?;
    }
    Ok(if sign.is_none() { Exit::Done } else { Exit::Failed })
}

fn word(standing: &PassphrasePolicy) -> &'static str {
    match standing {
        PassphrasePolicy::Unset => "none",
        PassphrasePolicy::Set { is_named: true, .. } => "set",
        PassphrasePolicy::Set { is_named: false, .. } => "set, but not yet recorded in this project",
        PassphrasePolicy::Tampered => "tampered with",
    }
}

fn passphrase(output: Output, service: &Service, remove: bool) -> anyhow::Result<Exit> {
    let people = People::of(service);
    people.must_be_person(ACT)?;
    at_terminal(ACT)?;
    known(service, ACT)?;
    let done = if remove {
        people.forget_passphrase()?;
        "this project no longer asks for a passphrase"
    } else {
        let first = asked("New passphrase: ", ACT)?;
        if asked("Once more: ", ACT)? != first {
            let message = "the two passphrases differ";
            return Err(ServiceError::refused("bad_input", message, "nothing has changed; try again").into());
        }
        people.set_passphrase(&first)?;
        "this project asks for it from now on, and so does every project whose event log names none"
    };
    match output.is_json() {
        true => output.json(&json!({ "passphrase": word(&people.standing()?) }))?,
        false => output.remark(done),
    }
    Ok(Exit::Done)
}

/// Returns the findings about persons for `portolan doctor`.
pub(super) fn findings(common: &Common) -> Vec<Finding> {
    let service = match common.options().and_then(Service::new) {
        Ok(service) => service,
        Err(error) => return finding(State::Wrong, format!("{}; {}", error.message, error.help)),
    };
    let mut findings = findings_of_passkeys(&service);
    findings.extend(findings_of_passphrase(&service));
    findings
}

fn findings_of_passphrase(service: &Service) -> Vec<Finding> {
    match People::of(service).standing() {
        Ok(PassphrasePolicy::Tampered) => {
            let message = "the passphrase that the event log names is missing: it was changed or removed";
            finding(State::Wrong, message.to_owned())
        }
        Err(error) => finding(State::Wrong, format!("{}; {}", error.message, error.help)),
        Ok(PassphrasePolicy::Set { .. }) => finding(State::Good, "persons confirm with their passphrase".to_owned()),
        Ok(PassphrasePolicy::Unset) if keeps_for_persons(service) => {
            let message = "some rules are only for persons, but no passphrase is set: run `portolan people passphrase`";
            finding(State::Doubtful, message.to_owned())
        }
        Ok(PassphrasePolicy::Unset) => Vec::new(),
    }
}

/// Reports passkeys that the log does not name. They may belong to another project, or to another person.
fn findings_of_passkeys(service: &Service) -> Vec<Finding> {
    let passkeys = match People::of(service).passkeys() {
        Ok(passkeys) => passkeys,
        Err(error) => return finding(State::Wrong, format!("{}; {}", error.message, error.help)),
    };
    let unnamed = passkeys.kept.iter().filter(|passkey| !passkey.is_named);
    let unnamed: Vec<&str> = unnamed.map(|passkey| passkey.name.as_str()).collect();
    let named = passkeys.kept.len() - unnamed.len();
    let mut findings = Vec::new();
    if named > 0 {
        findings.extend(finding(State::Good, format!("passkeys that confirm answers in the studio: {named}")));
    }
    // Without an enrolled passkey here, none can be missing.
    if !unnamed.is_empty() && (named > 0 || passkeys.missing > 0) {
        let message = format!("the event log does not name the passkeys {}: they confirm nothing here", list(&unnamed));
        findings.extend(finding(State::Doubtful, message));
    }
    if passkeys.missing > 0 {
        let message = format!("{} of the passkeys that the event log names were changed or removed", passkeys.missing);
        findings.extend(finding(State::Doubtful, message));
    }
    findings
}

fn finding(state: State, message: String) -> Vec<Finding> {
    vec![Finding { about: "people".to_owned(), state, message }]
}

fn keeps_for_persons(service: &Service) -> bool {
    rules(service.project()).is_ok_and(|rules| rules.bypass.values().any(|who| *who == Who::HumanOnly))
}

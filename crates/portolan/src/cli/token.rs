//! `portolan token`: the tokens of the clients of `serve --http` and `gate --http`.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use portolan_runtime::disk::folder_of;
use portolan_runtime::service::{Service, ServiceError};
use portolan_supervision::people::People;
use serde_json::json;

use super::output::{Output, table};
use super::{Common, Exit};
use crate::http::tokens::{self, IssuedToken, PREFIX};
use crate::http::{Scope, Scopes, random_token, write_private};

/// Issue tokens to clients over HTTP, and take them back.
///
/// `serve --http` and `gate --http` admit the clients whose tokens are in the file that `--tokens` names. A running
/// server notices a change at the next request. Only a person may change the file, or a program that no agent has
/// started.
///
/// Example: portolan token new ada --scope navigate --file tokens.txt
#[derive(Args)]
pub(super) struct Token {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Issue a token, and print it: the file contains only its digest.
    ///
    /// Creates the file if there is none. Whoever has a token already gets a new one with `--replace`.
    ///
    /// Example: portolan token new ci --scope navigate,run --file tokens.txt
    New(New),
    /// Show whom tokens were issued to, and what they may do.
    ///
    /// Example: portolan token list --file tokens.txt
    List {
        /// The file of tokens.
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
    /// Take a token back: it is refused from the next request on.
    ///
    /// Example: portolan token remove ci --file tokens.txt
    Remove {
        /// The name that the token was issued to.
        name: String,
        /// The file of tokens.
        #[arg(long, value_name = "FILE")]
        file: PathBuf,
    },
}

#[derive(Args)]
struct New {
    /// Whom the token is issued to: a person, a program or a machine. Runs record it.
    name: String,
    /// What its holder may do, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', required = true, value_name = "SCOPE")]
    scope: Vec<Scope>,
    /// The file of tokens.
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
    /// Admit it only to this project of a server with `--projects`. May be given several times.
    #[arg(long, value_name = "NAME", value_parser = tokens::project_name)]
    only_project: Vec<String>,
    /// Replace the token of this name, if there is one.
    #[arg(long)]
    replace: bool,
}

/// The act that is refused, for messages.
const ACT: &str = "may issue tokens and take them back";

pub(super) fn run(args: &Token, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    match &args.verb {
        Verb::New(new) => {
            must_be_person(common)?;
            issue(&output, new)
        }
        Verb::List { file } => list(&output, file),
        Verb::Remove { name, file } => {
            must_be_person(common)?;
            remove(&output, name, file)
        }
    }
}

fn must_be_person(common: &Common) -> anyhow::Result<()> {
    People::of(&Service::new(common.options()?)?).must_be_person(ACT)?;
    Ok(())
}

fn issue(output: &Output, new: &New) -> anyhow::Result<Exit> {
    tokens::check_name(&new.name)
        .map_err(|why| ServiceError::refused("usage", why, "choose a short name, as in `portolan token new ci …`"))?;
    let file = target(&new.file);
    let _alone = locked(&file)?;
    let mut text = String::new();
    if file.exists() {
        let has_one = tokens::issued(&file)?.iter().any(|token| *token.name == *new.name);
        if has_one && !new.replace {
            let message = format!("`{}` has a token already", new.name);
            let help = "choose another name, or replace the token with `--replace`";
            return Err(ServiceError::refused("name_taken", message, help).into());
        }
        text = without(&file, &new.name)?;
    }
    let token = format!("{PREFIX}{}", random_token()?);
    let scopes: Scopes = new.scope.iter().copied().collect();
    write(&file, &(text + &tokens::line(&new.name, scopes, &token, &new.only_project)))?;
    if output.is_json() {
        let mut shown = json!({ "name": new.name, "scopes": scopes.names(), "token": token });
        if !new.only_project.is_empty() {
            shown["projects"] = json!(new.only_project);
        }
        output.json(&shown)?;
    } else {
        output.line(&token)?;
        output.remark("this is the only time that the token is shown");
    }
    Ok(Exit::Done)
}

fn list(output: &Output, file: &Path) -> anyhow::Result<Exit> {
    let issued = tokens::issued(file)?;
    if issued.is_empty() {
        output.remark(format!("no token is issued in `{}` yet", file.display()));
    }
    if output.is_json() {
        let shown = |token: &IssuedToken| {
            let mut shown = json!({ "name": &*token.name, "scopes": token.scopes.names() });
            if let Some(projects) = &token.projects {
                shown["projects"] = json!(projects);
            }
            shown
        };
        output.json(&json!({ "tokens": issued.iter().map(shown).collect::<Vec<_>>() }))?;
    } else if !issued.is_empty() {
        let row = |token: &IssuedToken| {
            let projects = token.projects.as_ref().map(|names| names.iter().cloned().collect::<Vec<_>>().join(","));
            [Some(token.name.to_string()), Some(token.scopes.names().join(",")), projects]
                .into_iter()
                .flatten()
                .collect()
        };
        output.line(table(&issued.iter().map(row).collect::<Vec<_>>()))?;
    }
    Ok(Exit::Done)
}

fn remove(output: &Output, name: &str, file: &Path) -> anyhow::Result<Exit> {
    let file = &target(file);
    let _alone = locked(file)?;
    if !tokens::issued(file)?.iter().any(|token| *token.name == *name) {
        let message = format!("no token in `{}` was issued to `{name}`", file.display());
        return Err(ServiceError::refused("unknown_name", message, "`portolan token list` shows the names").into());
    }
    write(file, &without(file, name)?)?;
    output.remark(format!("the token of `{name}` is no longer valid"));
    Ok(Exit::Done)
}

/// Returns the text of a file without the line of a name. Comments and the other lines stay as they are.
fn without(file: &Path, name: &str) -> Result<String, ServiceError> {
    let text = fs::read_to_string(file).map_err(|error| not_written(file, &error))?;
    let kept = text.lines().filter(|line| line.split_whitespace().next() != Some(name));
    Ok(kept.map(|line| format!("{line}\n")).collect())
}

/// Returns the file itself, if a link is named: servers read what the link leads to.
fn target(file: &Path) -> PathBuf {
    file.canonicalize().unwrap_or_else(|_missing| file.to_owned())
}

/// Waits until no other command changes files in the folder, and keeps others out until the result is dropped.
fn locked(file: &Path) -> Result<File, ServiceError> {
    let folder = File::open(folder_of(file)).map_err(|error| not_written(file, &error))?;
    folder.lock().map_err(|error| not_written(file, &error))?;
    Ok(folder)
}

/// Replaces the file, whose permissions stay as they are.
fn write(file: &Path, text: &str) -> Result<(), ServiceError> {
    let before = fs::metadata(file).ok().map(|metadata| metadata.permissions());
    let written = write_private(file, text).and_then(|()| match before {
        Some(before) => fs::set_permissions(file, before),
        None => Ok(()),
    });
    written.map_err(|error| not_written(file, &error))
}

fn not_written(file: &Path, error: &std::io::Error) -> ServiceError {
    // The error of a missing folder would name the temporary file.
    let (why, help) = match error.kind() {
        ErrorKind::NotFound => ("its folder does not exist".to_owned(), "create it, or name another file"),
        _ => (error.to_string(), "make its folder writable, or name another file"),
    };
    let message = format!("the file of tokens `{}` cannot be written: {why}", file.display());
    ServiceError::failed("not_written", message, help)
}

//! `portolan studio`: definitions and runs in the browser.

use std::fs;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use clap::Args;
use portolan_core::run::Actor;
use portolan_runtime::project_folder;
use portolan_runtime::service::{Options, Service, ServiceError};
use serde_json::json;

use super::runs::person;
use super::signals::asked_to_end;
use super::{Common, Exit, Output};
use crate::http::write_private;
use crate::web::{self, StudioSettings};

/// See definitions and runs in the browser.
///
/// It prints an address with a token of this start. With the address, anyone on this machine can see what the project's
/// agents do. It listens on this machine only, and ends with Ctrl+C.
///
/// Example: portolan studio --open
#[derive(Args)]
pub(super) struct Studio {
    /// More definitions than the project's own: files, or folders of them.
    #[arg(value_name = "FILE|DIR")]
    definitions: Vec<PathBuf>,
    /// Open it in the browser.
    #[arg(long)]
    open: bool,
    /// Only show: nothing can be changed.
    #[arg(long)]
    read_only: bool,
    /// The port to listen on [default: any free port].
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
}

pub(super) fn run(args: Studio, common: &Common) -> anyhow::Result<Exit> {
    let output = common.output();
    let options = Options { definitions: args.definitions, lists_clashes: true, ..common.options()? };
    let service = Arc::new(Service::new(options)?);
    let Actor::Person { name, .. } = person().by else { unreachable!("who sits at a terminal is a person") };
    let (port, read_only) = (args.port, args.read_only);
    let opening = StudioSettings { service: Arc::clone(&service), person: name, port, read_only, enrols: false };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listening = web::listen(opening).await?;
        let ended = asked_to_end();
        let note = Note::leave(service.project(), &listening.base(), listening.token());
        tell(&output, &listening, note.as_ref().err())?;
        let opened = args.open.then(|| open(&listening.address()));
        if opened.as_ref().is_some_and(Option::is_none) {
            output.remark("no browser could be opened: open the address yourself");
        }
        listening.serve(ended).await?;
        drop((note, opened));
        Ok(Exit::Done)
    })
}

fn tell(output: &Output, listening: &web::StudioServer, unwritten: Option<&ServiceError>) -> anyhow::Result<()> {
    if output.is_json() {
        let shows = listening.only_shows();
        output.json(&json!({ "address": listening.address(), "base": listening.base(), "onlyShows": shows }))?;
    } else {
        output.line(listening.address())?;
    }
    std::io::stdout().flush()?;
    if let Some(why) = listening.only_shows() {
        output.remark(format!("it is read-only: {why}"));
    }
    if let Some(error) = unwritten {
        output.remark(format!("{}; {}", error.message, error.help));
    }
    if std::io::stderr().is_terminal() {
        output.remark("press Ctrl+C to stop");
    }
    Ok(())
}

/// A file with the address and the token, for the user's own programs. Only this user can read it. It is removed when
/// the studio ends.
struct Note(PathBuf);

impl Note {
    fn leave(project: &Path, base: &str, token: &str) -> Result<Note, ServiceError> {
        let folder = project.join(".portolan");
        let path = folder.join("studio.json");
        let text = json!({ "address": base, "token": token, "process": std::process::id() }).to_string();
        project_folder::make(&folder).and_then(|()| write_private(&path, &text)).map_err(|error| {
            let message = format!("`{}` could not be written: {error}", path.display());
            ServiceError::failed("not_written", message, "your own programs cannot find this studio there")
        })?;
        Ok(Note(path))
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        // Another studio of the project may have replaced the file.
        let is_ours = |text: &str| text.contains(&format!("\"process\":{}", std::process::id()));
        if fs::read_to_string(&self.0).is_ok_and(|text| is_ours(&text)) {
            let _gone = fs::remove_file(&self.0);
        }
    }
}

/// Opens the address with the user's browser. Other users of the machine can list a program's arguments, which must not
/// contain the token. The browser therefore opens a page that redirects to the address, which only this user can read.
/// The page exists until the result is dropped. Returns `None` if there is no browser.
pub(super) fn open(address: &str) -> Option<tempfile::TempPath> {
    let mut page = tempfile::Builder::new().prefix("portolan-studio").suffix(".html").tempfile().ok()?;
    write!(page, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={address}\">").ok()?;
    let page = page.into_temp_path();
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(&page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().ok().map(|_browser| page)
}

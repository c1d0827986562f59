//! Calls that wait for a person whom the client cannot ask. The question is among those of the project's supervisor,
//! which tells people of it. The call itself waits in the user's data folder, since the log holds no values of arguments:
//! a person sees it there, and what they decide counts once, for a call with the same arguments.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use portolan_core::diagnostic::clip;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Gateway, JudgedCall, OfferedTool};
use crate::digest::Digest;
use crate::disk;
use crate::error::ServiceError;
use crate::service::Service;
use crate::supervisor::Ask;

/// The folder in the user's data folder.
const FOLDER: &str = "gateway";
/// The channel of the questions.
const CHANNEL: &str = "gate";
/// The choices of the questions.
const CHOICES: [&str; 2] = ["allow", "refuse"];
/// The maximum number of calls that wait.
const MAX_WAITING: usize = 100;
/// The largest call that waits, in bytes.
const MAX_BYTES: usize = 256 << 10;

/// The calls of a project that wait for a person.
#[derive(Debug)]
pub struct ParkedCalls {
    folder: PathBuf,
}

/// A call that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParkedCall {
    /// The token of the question.
    pub token: String,
    /// The server.
    pub server: String,
    /// The tool.
    pub tool: String,
    /// The arguments.
    pub arguments: Map<String, Value>,
    /// The client that called, by the name that it gives itself.
    pub client: String,
    /// Why a person is asked.
    pub reason: String,
    /// What a person decided, with their name.
    pub decided: Option<(ParkedDecision, String)>,
}

/// What a person decides about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParkedDecision {
    /// It may be made once.
    Allow,
    /// It may not be made this time.
    Refuse,
}

/// The result of parking a call.
pub enum Parked {
    /// It waits for an answer to the question of this token.
    Waits(String),
    /// This person allowed it.
    Allowed(String),
    /// This person refused it.
    Refused(String),
}

impl ParkedCalls {
    /// Returns the calls of the project of a service.
    ///
    /// # Errors
    /// The user's data folder is not safe, or inside the project.
    pub fn of(service: &Service) -> Result<ParkedCalls, ServiceError> {
        let data = service.people().data_folder()?;
        let folder = crate::trust::outside(&data.join(FOLDER), service.project())
            .map_err(|error| ServiceError::failed(error.code(), error.message, error.help))?;
        let parts = ["portolan parked calls 1".as_bytes(), service.project().as_os_str().as_encoded_bytes()];
        Ok(ParkedCalls { folder: folder.join(format!("{}-calls", Digest::of_parts(parts))) })
    }

    /// Returns the calls about which nobody has decided, sorted by token.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn waiting(&self) -> Result<Vec<ParkedCall>, ServiceError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("read", &error)),
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let files = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let mut calls: Vec<ParkedCall> = files.filter_map(|path| read(&path)).collect();
        calls.retain(|call| call.decided.is_none());
        calls.sort_by(|one, other| one.token.cmp(&other.token));
        Ok(calls)
    }

    /// Records what a person decided.
    ///
    /// # Errors
    /// No call waits for this answer, or it cannot be recorded.
    pub fn decide(&self, token: &str, decision: ParkedDecision, person: &str) -> Result<ParkedCall, ServiceError> {
        let waiting = self.waiting()?.into_iter().find(|call| call.token == token);
        let mut call = waiting.ok_or_else(|| {
            let message = format!("no call waits for an answer to `{}`", clip(token));
            ServiceError::refused("unknown_token", message, "`portolan gate waiting` shows the calls that do")
        })?;
        call.decided = Some((decision, person.to_owned()));
        self.write(&call)?;
        Ok(call)
    }

    /// Takes what a person decided about a call, so that it counts once. `None` if nobody has decided yet.
    fn take(&self, call: &ParkedCall) -> Option<(ParkedDecision, String)> {
        let path = self.path(call);
        let decided = read(&path)?.decided?;
        // Of several calls at once, the one that removes the file has the decision.
        fs::remove_file(path).is_ok().then_some(decided)
    }

    fn path(&self, call: &ParkedCall) -> PathBuf {
        let arguments = serde_json::to_string(&call.arguments).expect("JSON");
        let parts = [call.server.as_str(), &call.tool, &call.client, &arguments].map(str::as_bytes);
        self.folder.join(format!("{}.json", Digest::of_parts(parts)))
    }

    fn write(&self, call: &ParkedCall) -> Result<(), ServiceError> {
        let text = serde_json::to_vec_pretty(call).expect("a call is JSON");
        if text.len() > MAX_BYTES {
            let help = "a person can make the call in another way";
            return Err(ServiceError::refused("too_large", "the call is too large to wait for a person", help));
        }
        let path = self.path(call);
        disk::private_folder(&self.folder)
            .and_then(|()| disk::Fresh::beside(&path, &text)?.synced()?.replace(&path))
            .map_err(|error| self.failed("written", &error))
    }

    fn failed(&self, what: &str, error: &std::io::Error) -> ServiceError {
        let message =
            format!("`{}`, the calls that wait for a person, cannot be {what}: {error}", self.folder.display());
        ServiceError::failed("not_parked", message, "make the folder readable and writable")
    }
}

fn read(path: &std::path::Path) -> Option<ParkedCall> {
    serde_json::from_slice(&disk::bytes(path, MAX_BYTES as u64).ok()??).ok()
}

impl Gateway {
    /// Asks people about a call whose client cannot ask, or returns what they decided. A call that waits already is not
    /// asked about again.
    ///
    /// # Errors
    /// Nobody can be asked: too many calls wait, or the question cannot be recorded.
    pub async fn park(&self, judged: &JudgedCall) -> Result<Parked, ServiceError> {
        let calls = ParkedCalls::of(&self.service)?;
        let OfferedTool { server, tool, .. } = judged.tool();
        let mut call = ParkedCall {
            token: String::new(),
            server: server.clone(),
            tool: tool.name.clone(),
            arguments: judged.arguments().clone(),
            client: clip(&judged.call.client),
            reason: judged.answer.reason.clone(),
            decided: None,
        };
        // One call at a time, so that a call that arrives twice asks once.
        let _turn = self.turn.lock().await;
        if let Some((decision, person)) = calls.take(&call) {
            return Ok(match decision {
                ParkedDecision::Allow => Parked::Allowed(person),
                ParkedDecision::Refuse => Parked::Refused(person),
            });
        }
        if let Some(known) = read(&calls.path(&call)) {
            return Ok(Parked::Waits(known.token));
        }
        if calls.waiting()?.len() >= MAX_WAITING {
            let message = format!("{MAX_WAITING} calls wait for a person already");
            return Err(ServiceError::refused("too_many", message, "a person sees them with `portolan gate waiting`"));
        }
        call.token = self.ask_people(&call).await?;
        calls.write(&call)?;
        Ok(Parked::Waits(call.token))
    }

    async fn ask_people(&self, call: &ParkedCall) -> Result<String, ServiceError> {
        let ParkedCall { client, tool, server, reason, .. } = call;
        let (tool, server) = (clip(tool), clip(server));
        let body = format!(
            "`{client}` wants to call `{tool}` of `{server}`: {}. `portolan gate waiting` shows the call.",
            clip(reason)
        );
        let choices = CHOICES.map(str::to_owned).to_vec();
        let ask = Ask { channel: CHANNEL.to_owned(), body, choices, ..Ask::default() };
        let (token, untold) = self.service.supervisor().ask_people(&ask).await?;
        for (notifier, why) in untold {
            (self.tell)(&format!("`{}` was not told of a call that waits: {why}", clip(&notifier)));
        }
        Ok(token)
    }
}

//! Calls that wait for a person whom the client cannot ask. The question is among those of the project's supervisor,
//! which tells people of it. The call itself waits in the user's data folder, since the log holds no values of arguments:
//! a person sees it there, and what they decide counts once, for a call with the same arguments.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use portolan_core::diagnostic::clip;
use portolan_core::value::Timestamp;
use portolan_runtime::digest::Digest;
use portolan_runtime::disk::{self, Marks, NoTurn};
use portolan_runtime::error::ServiceError;
use portolan_runtime::service::{Caller, Service};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Gateway, JudgedCall, OfferedTool, place_of};
use crate::supervisor::{Ask, Supervisor};

/// The channel of the questions.
const CHANNEL: &str = "gate";
/// The maximum number of calls that wait.
const MAX_WAITING: usize = 100;
/// The largest call that waits, in bytes.
const MAX_BYTES: usize = 256 << 10;

/// The calls of a project that wait for a person.
pub struct ParkedCalls<'s> {
    service: &'s Service,
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
    /// Since when it waits.
    pub at: Timestamp,
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

impl ParkedCall {
    /// Returns the digest of what is called, by whom and with which arguments.
    pub fn digest(&self) -> Digest {
        let arguments = serde_json::to_string(&self.arguments).expect("JSON");
        Digest::of_parts([self.server.as_str(), &self.tool, &self.client, &arguments].map(str::as_bytes))
    }
}

impl ParkedDecision {
    /// All decisions.
    const ALL: [ParkedDecision; 2] = [ParkedDecision::Allow, ParkedDecision::Refuse];

    /// Returns the word for it, which is also the answer to the question.
    pub fn word(self) -> &'static str {
        match self {
            ParkedDecision::Allow => "allow",
            ParkedDecision::Refuse => "refuse",
        }
    }
}

/// The result of parking a call.
pub enum ParkResult {
    /// It waits for an answer to the question of this token.
    Waits(String),
    /// This person allowed it.
    Allowed(String),
    /// This person refused it.
    Refused(String),
}

impl ParkedCalls<'_> {
    /// Returns the calls of the project of a service.
    ///
    /// # Errors
    /// The user's data folder is not safe, or inside the project.
    pub fn of(service: &Service) -> Result<ParkedCalls<'_>, ServiceError> {
        Ok(ParkedCalls { service, folder: place_of(service, "portolan parked calls 1", "-calls")? })
    }

    /// Returns the calls about which nobody has decided, the oldest first.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn waiting(&self) -> Result<Vec<ParkedCall>, ServiceError> {
        let mut calls: Vec<ParkedCall> = self.files()?.iter().filter_map(|path| read(path)).collect();
        calls.retain(|call| call.decided.is_none());
        calls.sort_by(|one, other| (one.at, &one.token).cmp(&(other.at, &other.token)));
        Ok(calls)
    }

    /// Returns the call that waits for an answer to the question of this token.
    ///
    /// # Errors
    /// None does, or they cannot be read.
    pub fn find(&self, token: &str) -> Result<ParkedCall, ServiceError> {
        self.waiting()?.into_iter().find(|call| call.token == token).ok_or_else(|| nothing_waits(token))
    }

    /// Returns what differs after a call was parked, decided or made. No call is read.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn marks(&self) -> Result<Marks, ServiceError> {
        Ok(Marks::of(self.files()?))
    }

    fn files(&self) -> Result<Vec<PathBuf>, ServiceError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(self.failed("read", &error)),
        };
        let paths = entries.flatten().map(|entry| entry.path());
        Ok(paths.filter(|path| path.extension().is_some_and(|extension| extension == "json")).collect())
    }

    /// Records what a person decided about a call that they saw, and answers its question.
    ///
    /// # Errors
    /// The caller is not known to be a person, the call does not wait as they saw it, or the decision cannot be
    /// recorded.
    pub async fn decide(
        &self,
        parked: &ParkedCall,
        decision: ParkedDecision,
        caller: &Caller,
    ) -> Result<(), ServiceError> {
        if !caller.is_person() {
            let message = "only a person may allow or refuse calls";
            return Err(ServiceError::refused("needs_person", message, "a person runs `portolan gate waiting`"));
        }
        // Of several people who decide at once, the first one does.
        let _turn = disk::turn(&self.folder, disk::WAIT).await.map_err(|why| match why {
            NoTurn::Failed(error) if error.kind() == ErrorKind::NotFound => nothing_waits(&parked.token),
            NoTurn::Failed(error) => self.failed("locked", &error),
            NoTurn::Late(_) => self.failed("locked", &ErrorKind::TimedOut.into()),
        })?;
        if read(&self.path(parked)).is_none_or(|call| call != *parked || call.decided.is_some()) {
            return Err(nothing_waits(&parked.token));
        }
        // The question comes first: if this fails, the person can decide again. It may have been answered by another
        // way, or its log removed, neither of which decides anything about the call.
        match Supervisor::of(self.service).reply(&parked.token, decision.word(), caller).await {
            Err(error) if !matches!(error.code, "answered" | "unknown_token") => return Err(error),
            Ok(_) | Err(_) => {}
        }
        self.write(&ParkedCall { decided: Some((decision, caller.name().to_owned())), ..parked.clone() })
    }

    /// Takes what a person decided about a call, so that it counts once. `None` if nobody has decided yet.
    fn take(&self, call: &ParkedCall) -> Option<(ParkedDecision, String)> {
        let path = self.path(call);
        let decided = read(&path)?.decided?;
        // Of several calls at once, the one that removes the file has the decision.
        fs::remove_file(path).is_ok().then_some(decided)
    }

    fn path(&self, call: &ParkedCall) -> PathBuf {
        self.folder.join(format!("{}.json", call.digest()))
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

fn nothing_waits(token: &str) -> ServiceError {
    let message = format!("no call waits for an answer to `{}`", clip(token));
    ServiceError::refused("unknown_token", message, "`portolan gate waiting` shows the calls that do")
}

fn read(path: &Path) -> Option<ParkedCall> {
    serde_json::from_slice(&disk::bytes(path, MAX_BYTES as u64).ok()??).ok()
}

impl Gateway {
    /// Asks people about a call whose client cannot ask, or returns what they decided. A call that waits already is not
    /// asked about again.
    ///
    /// # Errors
    /// Nobody can be asked: too many calls wait, or the question cannot be recorded.
    pub async fn park(&self, judged: &JudgedCall) -> Result<ParkResult, ServiceError> {
        let calls = ParkedCalls::of(&self.service)?;
        let OfferedTool { server, tool, .. } = judged.tool();
        let mut call = ParkedCall {
            token: String::new(),
            server: server.clone(),
            tool: tool.name.clone(),
            arguments: judged.arguments().clone(),
            client: clip(&judged.call.client),
            reason: judged.answer.reason.clone(),
            at: self.service.now(),
            decided: None,
        };
        // One call at a time, so that a call that arrives twice asks once.
        let _turn = self.turn.lock().await;
        if let Some((decision, person)) = calls.take(&call) {
            return Ok(match decision {
                ParkedDecision::Allow => ParkResult::Allowed(person),
                ParkedDecision::Refuse => ParkResult::Refused(person),
            });
        }
        if let Some(known) = read(&calls.path(&call)) {
            return Ok(ParkResult::Waits(known.token));
        }
        if calls.waiting()?.len() >= MAX_WAITING {
            let message = format!("{MAX_WAITING} calls wait for a person already");
            return Err(ServiceError::refused("too_many", message, "a person sees them with `portolan gate waiting`"));
        }
        call.token = self.ask_people(&call).await?;
        calls.write(&call)?;
        Ok(ParkResult::Waits(call.token))
    }

    async fn ask_people(&self, call: &ParkedCall) -> Result<String, ServiceError> {
        let ParkedCall { client, tool, server, reason, .. } = call;
        let (tool, server) = (clip(tool), clip(server));
        let body = format!(
            "`{client}` wants to call `{tool}` of `{server}`: {}. `portolan gate waiting` shows the call.",
            clip(reason)
        );
        let choices = ParkedDecision::ALL.map(|decision| decision.word().to_owned()).to_vec();
        let ask = Ask { channel: CHANNEL.to_owned(), body, choices, ..Ask::default() };
        let (token, untold) = Supervisor::of(&self.service).ask_people(&ask).await?;
        for (notifier, why) in untold {
            (self.tell)(&format!("`{}` was not told of a call that waits: {why}", clip(&notifier)));
        }
        Ok(token)
    }
}

#[cfg(test)]
mod tests {
    use portolan_core::run::{Actor, Channel};
    use portolan_runtime::service::Options;

    use super::*;

    fn caller(name: &str, via: Channel) -> Caller {
        Caller { by: Actor::Person { name: name.to_owned(), via }, can_ask: true }
    }

    #[tokio::test]
    async fn the_first_person_decides_about_the_call_that_they_saw() {
        let folder = tempfile::tempdir().expect("a folder");
        let project = folder.path().join("project");
        fs::create_dir(&project).expect("a project");
        let trust = Some(folder.path().join("data"));
        let service = Service::new(Options { trust, ..Options::of(&project) }).expect("a service");
        let calls = ParkedCalls::of(&service).expect("a folder of calls");
        let ask = Ask {
            channel: CHANNEL.to_owned(),
            body: "may it?".to_owned(),
            choices: ParkedDecision::ALL.map(|decision| decision.word().to_owned()).to_vec(),
            ..Ask::default()
        };
        let text = |text: &str| text.to_owned();
        let call = ParkedCall {
            token: Supervisor::of(&service).ask(&ask).await.expect("asked"),
            server: text("db"),
            tool: text("pay"),
            arguments: Map::from_iter([(text("amount"), 500.into())]),
            client: text("pilot"),
            reason: text("it is much"),
            at: service.now(),
            decided: None,
        };
        let ada = caller("ada", Channel::CommandLine);
        let code = |done: Result<(), ServiceError>| done.map_or_else(|error| error.code, |()| "done");
        assert_eq!(code(calls.decide(&call, ParkedDecision::Allow, &ada).await), "unknown_token", "nothing waits");
        calls.write(&call).expect("written");
        for nobody in [Caller::agent("pilot"), caller("ada", Channel::Studio)] {
            assert_eq!(code(calls.decide(&call, ParkedDecision::Allow, &nobody).await), "needs_person");
        }
        let other = ParkedCall { reason: text("it is little"), ..call.clone() };
        assert_eq!(
            code(calls.decide(&other, ParkedDecision::Allow, &ada).await),
            "unknown_token",
            "not as they saw it"
        );
        assert_eq!(calls.take(&call), None);

        let marks = calls.marks().expect("marks");
        let bob = caller("bob", Channel::Passkey);
        let (one, two) = tokio::join!(
            calls.decide(&call, ParkedDecision::Refuse, &ada),
            calls.decide(&call, ParkedDecision::Allow, &bob)
        );
        let both = [(code(one), ParkedDecision::Refuse, "ada"), (code(two), ParkedDecision::Allow, "bob")];
        assert_eq!(both.iter().filter(|(code, ..)| *code == "done").count(), 1, "{both:?}");
        let (_, decision, person) = both.into_iter().find(|(code, ..)| *code == "done").expect("one has");
        assert_ne!(calls.marks().expect("marks"), marks);
        let answer = service.supervisor_log().board().await.expect("a board").questions[&call.token].answer.clone();
        assert_eq!(answer.expect("it is answered").body, decision.word());
        assert_eq!(calls.take(&call), Some((decision, text(person))));
        assert_eq!(calls.take(&call), None, "it counts once");
    }
}

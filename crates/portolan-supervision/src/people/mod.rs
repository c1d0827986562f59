//! Distinguishes a person from an agent that would approve its own work. Two layers keep agents from what only a person
//! may do; the studio's page has a third.
//!
//! * **Descent.** Each call of a host's hook records the host, as a process and its start time. A caller is an agent if
//!   it descends from a recorded host that still runs, or from a program named like an agent, or if it carries a
//!   variable that hosts set for their shells.
//! * **A passphrase**, if a person has set one. Its hash is in the user's data folder. The event log of each project
//!   names the hash, so that a replaced one is noticed.
//! * **A passkey**, if a person has enrolled one. It confirms a single answer on the studio's page, whose token any
//!   program of the same user may have.
//!
//! The caller's environment does not choose the data folders. The account's own folder and those of all ancestor
//! processes count, besides the one that the environment names.
//!
//! The agent runs as the same user. Descent cannot distinguish a process that has left its ancestors behind (a daemon,
//! another person's terminal multiplexer) from a person's. The passphrase stops such a process.

mod descent;
mod hosts;
mod markers;
mod passkeys;
mod passphrase;
#[cfg(test)]
mod tests;
mod wire;

use std::ffi::OsString;
use std::path::PathBuf;

use portolan_runtime::error::ServiceError;
use portolan_runtime::process::lineage::{self, ProcessIdentity};
use portolan_runtime::service::Service;
use portolan_runtime::trust::{data_dir, data_dir_from, data_dir_of_account};

use descent::Sign;
use hosts::Hosts;

pub use hosts::Host;
pub use passkeys::{
    AnswerContent, Assertion, CHALLENGE_SECONDS, Challenges, ConfirmedContent, DecisionContent, Enrolment, Passkey,
    Passkeys, RP_ID, Registration,
};
pub use passphrase::{MIN_LETTERS, PassphrasePolicy};
pub use portolan_runtime::process::lineage::Process;

/// The checks for what only a person may do in one project.
pub struct People<'s> {
    service: &'s Service,
}

impl People<'_> {
    /// Returns the checks of who is asking and of what persons have set, for the project of a service.
    pub fn of(service: &Service) -> People<'_> {
        People { service }
    }

    /// Refuses a caller that an agent started. `act` says what agents may not do, such as "may trust commands".
    ///
    /// # Errors
    /// `needs_person` if an agent is asking, or if the system does not report the ancestors. Also an error if the
    /// user's data folder cannot be found.
    pub fn must_be_person(&self, act: &str) -> Result<(), ServiceError> {
        match self.sign()? {
            None => Ok(()),
            Some(sign) => Err(ServiceError::refused(
                "needs_person",
                format!("only a person {act}, and {sign}"),
                "a person must run the command in a terminal that was not opened by an agent's program",
            )),
        }
    }

    /// Returns the sign that an agent started this process, or `None` if a person may have.
    ///
    /// # Errors
    /// The user's data folder cannot be found.
    pub fn agent_sign(&self) -> Result<Option<String>, ServiceError> {
        Ok(self.sign()?.map(|sign| sign.to_string()))
    }

    /// Refuses to let the client of this server confirm what only a person may confirm. Refuses if the client may be an
    /// agent, and if a passphrase is set, because no form may ask for it. `command` is the command that the person runs
    /// instead.
    ///
    /// # Errors
    /// `needs_person`; or the user's data folder or the log cannot be read.
    pub fn client_may_ask(&self, command: &str) -> Result<(), ServiceError> {
        self.dialog_may_ask(command)?;
        let refused = |message: String| Err(elsewhere(message, command));
        if self.service.is_remote() {
            return refused("any program with the server's token can answer over HTTP, an agent too".to_owned());
        }
        let chain = lineage::ancestors();
        match descent::client(chain.as_deref(), &self.hosts(chain.as_deref())?, &variable, wire::is_fed_by) {
            None => Ok(()),
            Some(sign) => refused(format!("cannot determine whether a person answers here: {sign}")),
        }
    }

    /// Refuses to let a dialog confirm what only a person may confirm, if a passphrase is set: no dialog may ask for it.
    /// The caller knows by other means that a person answers.
    ///
    /// # Errors
    /// `needs_person`; or the user's data folder or the log cannot be read.
    pub fn dialog_may_ask(&self, command: &str) -> Result<(), ServiceError> {
        if matches!(self.standing()?, PassphrasePolicy::Unset) {
            return Ok(());
        }
        let message = "a person must confirm this with their passphrase, which is asked for in a terminal";
        Err(elsewhere(message.to_owned(), command))
    }

    /// Returns the recorded hosts of agents that still run.
    ///
    /// # Errors
    /// The user's data folder cannot be found.
    pub fn known_hosts(&self) -> Result<Vec<Host>, ServiceError> {
        let mut hosts = self.hosts(lineage::ancestors().as_deref())?.all();
        let runs = lineage::running();
        hosts.retain(|host| runs(&host.process));
        Ok(hosts)
    }

    fn sign(&self) -> Result<Option<Sign>, ServiceError> {
        let chain = lineage::ancestors();
        Ok(descent::agent(chain.as_deref(), &self.hosts(chain.as_deref())?, &variable))
    }

    /// Returns the hosts recorded in all data folders. Naming another folder in the environment does not hide a host.
    fn hosts(&self, chain: Option<&[ProcessIdentity]>) -> Result<Hosts, ServiceError> {
        Ok(Hosts::new(self.folders(chain)?))
    }

    /// Returns the data folders, the hardest to influence first: the account's own, those of the ancestors from the
    /// oldest on, and the one that the environment names.
    fn folders(&self, chain: Option<&[ProcessIdentity]>) -> Result<Vec<PathBuf>, ServiceError> {
        let ancestors = chain.unwrap_or_default().iter().rev();
        let theirs = ancestors.filter_map(|ancestor| data_folder_of(ancestor.process.pid));
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in self.own_folder().into_iter().chain(theirs).chain([self.data_folder()?]) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        Ok(folders)
    }

    /// Returns the account's own data folder, or `None` if the service was given a folder in its place.
    fn own_folder(&self) -> Option<PathBuf> {
        self.service.data_folder().is_none().then(data_dir_of_account).flatten()
    }

    /// Returns the user's data folder.
    ///
    /// # Errors
    /// It cannot be found.
    pub(crate) fn data_folder(&self) -> Result<PathBuf, ServiceError> {
        match self.service.data_folder() {
            Some(data) => Ok(data.to_owned()),
            None => data_dir().map_err(|error| ServiceError::failed(error.code(), error.message, error.help)),
        }
    }
}

/// Records the host that runs this process as its hook. A failure does not stop the call: the caller has other signs.
pub fn remember_host(name: &str) {
    let Ok(data) = data_dir_from(variable, std::env::home_dir()) else { return };
    // If the folder cannot be written, the host is not recorded. `people show` lists the recorded ones.
    let _unremembered = Hosts::new(vec![data]).remember(name, lineage::lineage());
}

/// Returns the hosts of agents that a hook descends from, its own first. The hook's own host has been recorded before.
pub(crate) fn hosts_above() -> Vec<Process> {
    let chain = lineage::ancestors().unwrap_or_default();
    let known = data_dir_from(variable, std::env::home_dir()).map(|data| Hosts::new(vec![data]));
    hosts::hosts_in(&chain, known.ok().as_ref())
}

/// Returns the user's data folder according to another process's environment.
#[cfg(target_os = "linux")]
fn data_folder_of(pid: u32) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;

    let bytes = lineage::environment(pid)?;
    let variable = |name: &str| {
        let mut pairs = bytes.split(|byte| *byte == 0);
        let value = pairs.find_map(|pair| pair.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(OsString::from_vec(value.to_vec()))
    };
    data_dir_from(variable, variable("HOME").map(PathBuf::from)).ok()
}

/// Only Linux shows the environment of other processes.
#[cfg(not(target_os = "linux"))]
fn data_folder_of(_pid: u32) -> Option<PathBuf> {
    None
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Returns the error of a confirmation that a dialog cannot give.
fn elsewhere(message: String, command: &str) -> ServiceError {
    ServiceError::refused("needs_person", message, format!("the person must run `{command}` in their own terminal"))
}

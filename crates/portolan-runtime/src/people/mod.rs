//! Who is asking: a person, or an agent that says yes to itself. What only a person may do is kept from agents by two
//! layers, and on the studio's page by a third.
//!
//! * **Descent.** Each call of a host's hook has the host remembered, as a process and the time at which it began. Whoever
//!   descends from one that still lives, or from a program that is called like one, or carries the variables that hosts
//!   give to their shells, is an agent.
//! * **A passphrase**, where a person has set one. What it is compared with lies in the user's data folder; the event log
//!   of each project names it, so that another one put in its place is noticed.
//! * **A passkey**, where a person has enrolled one: it confirms a single answer on the studio's page, whose token any
//!   program of the same user may have.
//!
//! The environment of whoever asks does not choose where both are looked for: the account's own data folder counts, and
//! those of all processes above count, besides the one that the environment names.
//!
//! The agent runs as the same user. A process that leaves its ancestors behind (a daemon, somebody else's terminal
//! multiplexer) is not told from a person's by its descent; the passphrase is what stops it.

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

use crate::error::ServiceError;
use crate::process::lineage::{self, ProcessIdentity};
use crate::service::Service;
use crate::trust::{data_dir, data_dir_from, data_dir_of_account};
use descent::Sign;
use hosts::Hosts;

pub use crate::process::lineage::Process;
pub use hosts::Host;
pub use passkeys::{
    AnswerContent, Assertion, CHALLENGE_SECONDS, Challenges, Enrolment, Passkey, Passkeys, RP_ID, Registration,
};
pub use passphrase::{MIN_LETTERS, PassphrasePolicy};

/// Who may do what only a person may, in one project.
pub struct People<'s> {
    service: &'s Service,
}

impl Service {
    /// Who is asking, and what persons have set.
    pub fn people(&self) -> People<'_> {
        People { service: self }
    }
}

impl People<'_> {
    /// Refuses what an agent started. `act` says what is kept from it, such as "may trust commands".
    ///
    /// # Errors
    /// An agent asks, or it cannot be told who does, as `needs_person`.
    pub fn must_be_person(&self, act: &str) -> Result<(), ServiceError> {
        match self.sign()? {
            None => Ok(()),
            Some(sign) => Err(ServiceError::refused(
                "needs_person",
                format!("only a person {act}, and {sign}"),
                "a person runs the command in a terminal that no agent's program has opened",
            )),
        }
    }

    /// What tells that an agent started this process; nothing where a person may have.
    ///
    /// # Errors
    /// The user's data folder cannot be found.
    pub fn told_by(&self) -> Result<Option<String>, ServiceError> {
        Ok(self.sign()?.map(|sign| sign.to_string()))
    }

    /// Refuses to have the client of this server say what only a person may: where an agent may be the client, and where
    /// there is a passphrase, which no form may ask for. `command` is what the person runs instead.
    ///
    /// # Errors
    /// As `needs_person`; or the user's data folder or the log cannot be read.
    pub fn client_may_ask(&self, command: &str) -> Result<(), ServiceError> {
        let help = format!("the person runs `{command}` in a terminal of theirs");
        let refused = |message: String| Err(ServiceError::refused("needs_person", message, help.clone()));
        if !matches!(self.standing()?, PassphrasePolicy::Unset) {
            return refused(
                "a person confirms this with their passphrase, which is asked for in a terminal".to_owned(),
            );
        }
        let chain = lineage::ancestors();
        match descent::client(chain.as_deref(), &self.hosts(chain.as_deref())?, &variable, wire::is_fed_by) {
            None => Ok(()),
            Some(sign) => refused(format!("nobody can tell whether a person answers here: {sign}")),
        }
    }

    /// The hosts of agents that are remembered and still run.
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

    /// Where hosts are remembered. Who starts this program with another folder leaves no host behind by that.
    fn hosts(&self, chain: Option<&[ProcessIdentity]>) -> Result<Hosts, ServiceError> {
        Ok(Hosts::new(self.folders(chain)?))
    }

    /// The data folders that count, those first that whoever starts this program has least to say about: the account's
    /// own, those that the ancestors have, the eldest first, and the one that the environment names.
    fn folders(&self, chain: Option<&[ProcessIdentity]>) -> Result<Vec<PathBuf>, ServiceError> {
        let ancestors = chain.unwrap_or_default().iter().rev();
        let theirs = ancestors.filter_map(|seen| data_folder_of(seen.process.pid));
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in self.own_folder().into_iter().chain(theirs).chain([self.data()?]) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        Ok(folders)
    }

    /// The account's own data folder; nothing where a folder was named that stands for it.
    fn own_folder(&self) -> Option<PathBuf> {
        self.service.data_folder().is_none().then(data_dir_of_account).flatten()
    }

    fn data(&self) -> Result<PathBuf, ServiceError> {
        match self.service.data_folder() {
            Some(data) => Ok(data.to_owned()),
            None => data_dir().map_err(|error| ServiceError::failed(error.code(), error.message, error.help)),
        }
    }
}

/// Remembers the host that runs this process as its hook. What cannot be remembered holds up no call: whoever asks later
/// is told by its other signs.
pub fn remember_host(name: &str) {
    let Ok(data) = data_dir_from(variable, std::env::home_dir()) else { return };
    // A folder that cannot be written has no place for it; `people show` shows what is remembered.
    let _unremembered = Hosts::new(vec![data]).remember(name, lineage::lineage());
}

/// The hosts of agents that a hook descends from, its own first. It has been remembered before.
pub(crate) fn hosts_above() -> Vec<Process> {
    let chain = lineage::ancestors().unwrap_or_default();
    let known = data_dir_from(variable, std::env::home_dir()).map(|data| Hosts::new(vec![data]));
    hosts::hosts_in(&chain, known.ok().as_ref())
}

/// The user's data folder, as another process found it.
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

/// Only Linux tells of the environment of others.
#[cfg(not(target_os = "linux"))]
fn data_folder_of(_pid: u32) -> Option<PathBuf> {
    None
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

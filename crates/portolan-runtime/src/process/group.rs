//! A command's process group, which is waited for and killed as a whole.
//!
//! The ID of a group can only be reused after its leader has been reaped. So this waits for the leader without reaping
//! it, kills the group, and only then reaps the leader. Signals from other threads use the same lock, and are not sent
//! afterwards.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::task::JoinHandle;

/// A process group. Dropping it kills the group.
pub struct Group {
    /// The leader, until it is reaped.
    leader: Arc<Mutex<Option<Pid>>>,
}

impl Group {
    /// Takes over the group that `leader` leads. The handle resolves when the leader has ended and the rest of the
    /// group has been killed.
    pub fn lead(mut leader: Child) -> (Group, JoinHandle<io::Result<ExitStatus>>) {
        let pid = Pid::from_child(&leader);
        let shared = Arc::new(Mutex::new(Some(pid)));
        let group = Group { leader: Arc::clone(&shared) };
        let ended = tokio::task::spawn_blocking(move || {
            while let Err(rustix::io::Errno::INTR) =
                waitid(WaitId::Pid(pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
            {}
            let mut alive = shared.lock().unwrap_or_else(PoisonError::into_inner);
            kill(pid, Signal::KILL);
            *alive = None;
            leader.wait()
        });
        (group, ended)
    }

    /// Sends SIGTERM to every process of the group.
    pub(crate) fn ask_to_end(&self) {
        self.signal(Signal::TERM);
        // A process that is stopped, for instance because it read from the terminal, would not receive the signal.
        self.signal(Signal::CONT);
    }

    /// Kills every process of the group.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = *self.leader.lock().unwrap_or_else(PoisonError::into_inner) {
            kill(leader, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a signal. Ignores errors, because the group may have ended.
fn kill(leader: Pid, signal: Signal) {
    let _gone = kill_process_group(leader, signal);
}

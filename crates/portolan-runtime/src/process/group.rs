//! A command's process group: it is waited for, and it dies as a whole.
//!
//! The number of a group can only be given to somebody else once its leader has been reaped. So the leader is waited
//! for without reaping it, the group is killed, and only then is it reaped; signals from elsewhere go through the same
//! lock and find nothing to hit afterwards.

use std::io;
use std::process::{Child, ExitStatus};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::task::JoinHandle;

/// A process group. Dropping it kills it.
pub(crate) struct Group {
    /// The leader, until it is reaped.
    leader: Arc<Mutex<Option<Pid>>>,
}

impl Group {
    /// Takes charge of the group that `leader` leads. The handle resolves when the leader has ended and the rest of the
    /// group has been killed.
    pub(crate) fn lead(mut leader: Child) -> (Group, JoinHandle<io::Result<ExitStatus>>) {
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

    /// Asks every process of the group to end.
    pub(crate) fn ask_to_end(&self) {
        self.signal(Signal::TERM);
        // One that was stopped, for reading from the terminal perhaps, would not hear it.
        self.signal(Signal::CONT);
    }

    /// Ends every process of the group.
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

/// A group that has just died by itself is as good as one that was killed.
fn kill(leader: Pid, signal: Signal) {
    let _gone = kill_process_group(leader, signal);
}

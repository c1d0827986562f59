//! What a process that judges many calls keeps of the files of its project. Each is read again once a file has changed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use portolan_gates::Guidelines;
use portolan_gates::plugins::{DeclaredGuard, Plugins, RecordRule, ResultFilter};
use portolan_runtime::audit::{Log, OpenLog};
use portolan_runtime::bindings::{self, BoundRun};
use portolan_runtime::clock::Clock;
use portolan_runtime::disk::{BeforeReading, FileCache};
use portolan_runtime::error::ServiceError;
use portolan_runtime::process::lineage::Process;
use portolan_runtime::{pins, rules};

use portolan_runtime::plugins;

/// The files of a project.
#[derive(Debug)]
pub(super) struct ProjectFiles {
    project: PathBuf,
    clock: Clock,
    /// The system's time, by which changes of files are dated.
    now: fn() -> SystemTime,
    declared: FileCache<Arc<ProjectDeclarations>>,
    bound: FileCache<Arc<[BoundRun]>>,
}

/// What the project declares.
#[derive(Debug, Default)]
pub(crate) struct ProjectDeclarations {
    pub(super) rules: Guidelines,
    pub(super) guards: Vec<DeclaredGuard>,
    pub(super) results: Vec<ResultFilter>,
    pub(super) records: Vec<RecordRule>,
    /// The event log. `None` in a process that judges one call, and if its place is in doubt.
    pub(super) log: Option<OpenLog>,
}

impl ProjectDeclarations {
    /// Reads the files.
    ///
    /// # Errors
    /// They cannot be read, or have faults.
    pub(super) fn read(project: &Path) -> Result<ProjectDeclarations, ServiceError> {
        let rules = rules::rules(project)?;
        let Plugins { guards, results, records, .. } = plugins::load(project)?;
        Ok(ProjectDeclarations { rules, guards, results, records, log: None })
    }

    /// Checks whether a guard counts the earlier calls of a run.
    pub(super) fn reads_calls(&self) -> bool {
        self.guards.iter().any(DeclaredGuard::reads_calls)
    }
}

impl ProjectFiles {
    pub(super) fn of(project: PathBuf, clock: Clock) -> ProjectFiles {
        let (declared, bound) = (FileCache::default(), FileCache::default());
        ProjectFiles { project, clock, now: SystemTime::now, declared, bound }
    }

    /// Takes what was just written for settled, as it is some seconds later.
    #[cfg(test)]
    pub(super) fn some_seconds_later(self) -> ProjectFiles {
        ProjectFiles { now: || SystemTime::now() + std::time::Duration::from_secs(10), ..self }
    }

    /// Returns what the project declares, unless it must be read again.
    pub(super) fn declared_at_once(&self) -> Option<Arc<ProjectDeclarations>> {
        self.declared.current()
    }

    /// Returns what the project declared when a call was last judged, for the entries of such a call.
    pub(super) fn last_declared(&self) -> Option<Arc<ProjectDeclarations>> {
        self.declared.last()
    }

    /// Returns what the project declares.
    ///
    /// # Errors
    /// As for [`ProjectDeclarations::read`].
    pub(super) fn declared(&self) -> Result<Arc<ProjectDeclarations>, ServiceError> {
        if let Some(declared) = self.declared.current() {
            return Ok(declared);
        }
        let own = [rules::FILE, plugins::FILE].map(|file| self.project.join(file));
        let before = BeforeReading::at(pins::files(&self.project).into_iter().chain(own), (self.now)());
        let log = Log::of_project(&self.project).ok().map(|log| OpenLog::new(log.with_clock(self.clock.clone())));
        let declared = Arc::new(ProjectDeclarations { log, ..ProjectDeclarations::read(&self.project)? });
        self.declared.keep(before, &declared);
        Ok(declared)
    }

    /// Returns the runs that bind the agents of these hosts, unless they must be read again.
    pub(super) fn bound_at_once(&self) -> Option<Arc<[BoundRun]>> {
        self.bound.current()
    }

    /// Returns the runs that bind the agents of these hosts, which are the same at each call.
    pub(super) fn bound(&self, hosts: impl FnOnce() -> Vec<Process>) -> Arc<[BoundRun]> {
        if let Some(bound) = self.bound.current() {
            return bound;
        }
        let before = BeforeReading::at(bindings::watched(&self.project), (self.now)());
        let bound: Arc<[BoundRun]> = bindings::of_hosts(&self.project, hosts).into();
        self.bound.keep(before, &bound);
        bound
    }
}

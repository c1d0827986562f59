//! Judges calls of tools of other servers without waiting, in a process that judges many: from what it has read of the
//! project's files, as long as none of them has changed.

use std::sync::Arc;

use portolan_gates::plugins::{RecordRule, ResultFilter, tool_names};
use portolan_gates::{Intent, Tool};
use portolan_runtime::audit::{AtOnce, AuditError, Durability, LogEntry};
use portolan_runtime::error::ServiceError;
use portolan_runtime::service::Gate;

use super::files::ProjectDeclarations;
use super::{Answerable, Gatekeeper, Record, digest};

/// A judgement that is not on record yet.
pub(crate) struct QuickJudgement {
    pub(crate) answer: Answerable,
    pub(crate) record: Record,
    /// The entries that must be recorded before the call is made.
    pub(crate) entries: Vec<LogEntry>,
}

impl Gatekeeper {
    /// Judges a call as [`judge_call`](Self::judge_call) does. `None` if that takes more than the files that were read:
    /// a file has changed, a guard counts calls, a rule is bypassed, or the call concerns files.
    pub(crate) async fn judge_at_once(&self, intent: &Intent, input: &str) -> Option<QuickJudgement> {
        let files = self.files.as_ref()?;
        if !matches!(intent.tool, Tool::Mcp { does: None, .. }) {
            return None;
        }
        let declared = files.declared_at_once().filter(|declared| !declared.reads_calls())?;
        let gate = self.gate_at_once(intent).await.filter(|gate| !gate.reads_calls())?;
        let (answer, record) = self.weigh((intent, input), &mut None, self.clock.now(), (&declared, &gate)).ok()?;
        if answer.is_bypassed() {
            return None;
        }
        let entries = record.of_call(intent, &digest(intent, input), &answer);
        Some(QuickJudgement { answer, record, entries })
    }

    /// Returns the state of the runs that bind the caller. `None` if a task is under way, which may have bypasses, or if
    /// a run is over, whose binding must be removed.
    async fn gate_at_once(&self, intent: &Intent) -> Option<Gate> {
        let (files, service) = (self.files.as_ref()?, self.service.as_ref()?);
        let bound = files.bound_at_once()?;
        if self.project()?.join(".portolan/flow.json").exists() {
            return None;
        }
        if self.attached.is_none() && bound.is_empty() {
            return Some(Gate::default());
        }
        let gate = service.flow().gate_bound(self.attached.as_ref(), &bound, Some(intent)).await.ok()?;
        (gate.flow.is_none() && gate.over.is_empty()).then_some(gate)
    }

    /// Checks whether the steps of the runs that bind the caller allow a tool. If they cannot be read, its calls say why.
    pub(crate) async fn step_allows(&self, intent: &Intent) -> bool {
        let (Some(files), Some(service)) = (&self.files, &self.service) else { return true };
        let bound = match files.bound_at_once() {
            Some(bound) => bound,
            None => files.bound(|| service.binding_processes().to_vec()),
        };
        match service.flow().gate_bound(self.attached.as_ref(), &bound, Some(intent)).await {
            Ok(gate) => gate.permitted.is_empty() && (gate.granted || !self.denies),
            Err(_unreadable) => true,
        }
    }

    /// Returns the filters of what a tool returns: those of the project, and those that were in force when the call was
    /// judged.
    ///
    /// # Errors
    /// The file that declares them cannot be read or has faults.
    pub(crate) async fn result_filters(
        &self,
        intent: &Intent,
        record: &Record,
    ) -> Result<Vec<ResultFilter>, ServiceError> {
        let declared = self.declared_for_call().await?;
        let of_project = declared.iter().flat_map(|declared| &declared.results);
        let names = tool_names(intent);
        let of_project = of_project.filter(|filter| filter.is_about(&names));
        Ok(of_project.chain(record.filters()).cloned().collect())
    }

    /// Returns the rule by which calls of a tool are kept whole, if there is one.
    ///
    /// # Errors
    /// The file that declares them cannot be read or has faults.
    pub(crate) async fn record_rule(&self, intent: &Intent) -> Result<Option<RecordRule>, ServiceError> {
        let Some(declared) = self.declared_for_call().await? else { return Ok(None) };
        let rules = &declared.records;
        if rules.is_empty() {
            return Ok(None);
        }
        let names = tool_names(intent);
        Ok(rules.iter().find(|rule| rule.is_about(&names)).cloned())
    }

    /// Returns what the project declares, as the judgement of a call has just read it.
    async fn declared_for_call(&self) -> Result<Option<Arc<ProjectDeclarations>>, ServiceError> {
        let Some(files) = &self.files else { return Ok(None) };
        if let Some(declared) = files.last_declared() {
            return Ok(Some(declared));
        }
        let files = Arc::clone(files);
        let read = tokio::task::spawn_blocking(move || files.declared()).await;
        read.unwrap_or_else(|_panicked| Err(unread())).map(Some)
    }

    /// Appends entries of calls that were judged to the log, if that takes no waiting.
    ///
    /// # Errors
    /// The log cannot be written.
    pub(crate) fn append_at_once(&self, entries: &[LogEntry]) -> Result<AtOnce, AuditError> {
        // The judgement has just looked where the log is.
        let declared = self.files.as_ref().and_then(|files| files.last_declared());
        match declared.as_ref().and_then(|declared| declared.log.as_ref()) {
            Some(log) => log.append_at_once(entries),
            None => Ok(AtOnce::Later),
        }
    }

    /// Appends entries to the log.
    ///
    /// # Errors
    /// The log cannot be written.
    pub(crate) fn append(&self, entries: &[LogEntry], durability: Durability) -> Result<(), AuditError> {
        let Some(project) = &self.project else { return Ok(()) };
        let declared = self.files.as_ref().and_then(|files| files.declared().ok());
        match declared.as_ref().and_then(|declared| declared.log.as_ref()) {
            Some(log) if !entries.is_empty() => {
                super::record::hide_from_git(project);
                log.append(entries, durability)
            }
            _ => super::record::append(project, &self.clock, entries, durability),
        }
    }
}

fn unread() -> ServiceError {
    ServiceError::failed("plugins_unreadable", "the rules for results and records cannot be read", "try again")
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use portolan_gates::Decision;
    use portolan_runtime::service::{Options, Service};

    use super::*;
    use crate::hook::files::ProjectFiles;

    const DENIED: &str = "guards:\n  - id: none\n    tools: ['mcp:db/drop']\n    reason: nothing is dropped\n";
    const COUNTED: &str = "guards:\n  - id: few\n    when: calls.run > 1\n    reason: once is enough\n";

    fn intent(folder: &std::path::Path) -> Intent {
        Intent {
            session: None,
            call: Some("c".to_owned()),
            agent: Some("client".to_owned()),
            folder: folder.to_string_lossy().into_owned(),
            name: "mcp__db__drop".to_owned(),
            tool: Tool::Mcp { server: "db".to_owned(), tool: "drop".to_owned(), does: None },
            arguments: Vec::new(),
            branch: None,
        }
    }

    /// The decision from what was read before, and then the one that reads what is needed. They must never differ.
    async fn decisions(keeper: &Gatekeeper) -> (Option<Decision>, Decision) {
        let intent = intent(keeper.project().expect("a project"));
        let quick = keeper.judge_at_once(&intent, "{}").await.map(|judged| judged.answer.decision);
        let slow = keeper.clone();
        let judged = tokio::task::spawn_blocking(move || slow.judge_call(&intent, "{}")).await.expect("judged");
        (quick, judged.0.decision)
    }

    #[tokio::test]
    async fn a_changed_file_counts_at_the_next_call() {
        let folder = tempfile::tempdir().expect("a folder");
        let person = tempfile::tempdir().expect("a folder");
        let project = folder.path().canonicalize().expect("a folder");
        let trust = Some(person.path().to_owned());
        let options = Options { is_gateway: true, trust, ..Options::of(&project) };
        let service = Arc::new(Service::new(options).expect("a service"));
        let mut keeper = Gatekeeper::of(Some(project.clone()), "gate", None, &project).with_service(service);
        let files = ProjectFiles::of(project.clone(), keeper.clock.clone()).some_seconds_later();
        keeper.files = Some(Arc::new(files));
        assert_eq!(decisions(&keeper).await, (None, Decision::Allow), "nothing was read yet");
        assert_eq!(decisions(&keeper).await, (Some(Decision::Allow), Decision::Allow));
        let plugins = project.join(".portolan/plugins.yaml");
        fs::write(&plugins, DENIED).expect("written");
        assert_eq!(decisions(&keeper).await, (None, Decision::Block));
        assert_eq!(decisions(&keeper).await, (Some(Decision::Block), Decision::Block));
        fs::write(&plugins, COUNTED).expect("written");
        assert_eq!(decisions(&keeper).await.0, None);
        assert_eq!(decisions(&keeper).await.0, None, "calls are counted in the log");
        fs::remove_file(&plugins).expect("removed");
        assert_eq!(decisions(&keeper).await, (None, Decision::Allow));
        assert_eq!(decisions(&keeper).await, (Some(Decision::Allow), Decision::Allow));
        fs::write(project.join(".portolan/guidelines.yaml"), "strict: perhaps\n").expect("written");
        assert_eq!(decisions(&keeper).await, (None, Decision::Block), "faulty rules allow nothing");
        assert_eq!(decisions(&keeper).await, (None, Decision::Block));
    }
}

//! What guards need to know about the runs of a coding agent: the task, its bypasses, and the tools that the steps
//! allow.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use portolan_core::diagnostic::clip;
use portolan_core::graph::Workflow;
use portolan_core::run::{Bypass, Run};
use portolan_gates::guards::{self, FlowContext};
use portolan_gates::plugins::{DeclaredGuard, RuleSet};
use portolan_gates::shell;
use portolan_gates::{Decision, Intent, Judgement, Tool, permit};
use tokio::time::timeout;

use super::super::hold::HeldRun;
use super::super::other_stores::Reader;
use super::super::view::asks_a_person;
use super::active::{self, Active};
use super::{Flow, phase};
use crate::bindings::BoundRun;
use crate::carrier::Address;
use crate::error::ServiceError;
use crate::gates::own_server;
use crate::store::RunId;

/// The guards' view of an agent's runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gate {
    /// The open runs that decide about the call, the one at which the agent works first.
    pub runs: Vec<DecidingRun>,
    /// The project's task.
    pub flow: Option<FlowContext>,
    /// The bypasses of the task, except used ones that count only once.
    pub bypasses: Vec<Bypass>,
    /// The runs whose questions only a person may answer.
    pub people: BTreeSet<String>,
    /// The judgements of the steps of all these runs on the call, if any.
    pub permitted: Vec<Judgement>,
    /// Whether a step of these runs names the tool of the call among those that it allows.
    pub granted: bool,
    /// Their judgements if the call wrote a file, if they allow it otherwise.
    pub as_edit: Vec<Judgement>,
    /// The tools that all these steps allow, as they write them. `None` if none of the runs limits its tools.
    pub allowed: Option<Vec<String>>,
    /// The runs that bound the agent and are over.
    pub over: Vec<BoundRun>,
}

/// A run that decides about calls of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidingRun {
    /// The run.
    pub address: Address,
    /// Whether it is in another store than that of the service.
    pub is_elsewhere: bool,
    /// Its first open step, with the revision at which the run reached it: `look@2`.
    pub step: Option<String>,
    /// All its open steps.
    pub steps: Vec<String>,
    /// The steps for which the call may be made, with their revisions: those of all branches, unless it names one.
    pub call_steps: Vec<String>,
    /// The names of its open branches, if there are several.
    pub branches: Vec<String>,
    /// The rules about the call that its definition carries, of those that are in force.
    pub rules: RuleSet,
    /// The guards of its definition with a sum over calls such as this one, in force or not.
    pub counting: Vec<Arc<DeclaredGuard>>,
}

impl DecidingRun {
    /// Returns its name, if it is in the store.
    pub fn id(&self) -> Option<&RunId> {
        match &self.address {
            Address::Stored(id) => Some(id),
            Address::State(_) | Address::Task(_) => None,
        }
    }
}

/// How long a call waits for another store. The agent's host waits as long at each of its calls.
const PATIENCE: Duration = Duration::from_secs(5);

/// The maximum number of runs that are read for one call.
const MAX_BOUND: usize = 32;

/// An address, and whether it is of another store than the service's.
type RunAddress = (Address, bool);

/// The project's task.
struct Noted {
    active: Active,
    held: HeldRun,
    is_elsewhere: bool,
}

impl Flow<'_> {
    /// Returns what guards need before a tool is used. `attached` is the run at which the agent's session works. The
    /// default is the project's task.
    ///
    /// # Errors
    /// The note of the task cannot be read, or a run is not stored. A call that only reads is allowed nevertheless, so
    /// that the fault can be found.
    pub async fn gate(&self, attached: Option<&BoundRun>, intent: Option<&Intent>) -> Result<Gate, ServiceError> {
        self.gate_bound(attached, &[], intent).await
    }

    /// Does the same for an agent that other runs bind as well: each of them counts.
    pub async fn gate_bound(
        &self,
        attached: Option<&BoundRun>,
        bound: &[BoundRun],
        intent: Option<&Intent>,
    ) -> Result<Gate, ServiceError> {
        match self.known(attached, bound, intent).await {
            Err(_) if intent.is_some_and(only_looks) => Ok(Gate::default()),
            known => known,
        }
    }

    async fn known(
        &self,
        attached: Option<&BoundRun>,
        bound: &[BoundRun],
        intent: Option<&Intent>,
    ) -> Result<Gate, ServiceError> {
        let mut gate = Gate::default();
        let is_own = |server: &str| intent.is_some_and(|intent| own_server::is_ours(Path::new(&intent.folder), server));
        let mut known = None;
        if let Some(Noted { active, held, is_elsewhere }) = self.noted_anywhere().await? {
            gate.task(&active, &held);
            if attached.is_none_or(|attached| attached.is(&active.run)) {
                gate.step((Address::Stored(active.run.clone()), is_elsewhere), &held, intent, &is_own);
            }
            known = Some(active.run);
        }
        if let Some(run) = attached.filter(|run| !known.as_ref().is_some_and(|known| run.is(known))) {
            let (address, held) = self.attached(run).await?;
            gate.step(address, &held, intent, &is_own);
            known = RunId::parse(held.name());
        }
        let mut open = 0;
        for run in bound {
            match self.bound(run).await? {
                None => gate.over.push(run.clone()),
                Some((_, held)) if held.run.is_over() => gate.over.push(run.clone()),
                Some((_, held)) if known.as_ref().is_some_and(|known| held.name() == known.as_str()) => {}
                Some((address, held)) => {
                    gate.step(address, &held, intent, &is_own);
                    open += 1;
                }
            }
            if open > MAX_BOUND {
                gate.permitted.extend(intent.and_then(|intent| too_many(intent, &is_own)));
                break;
            }
        }
        Ok(gate)
    }

    /// Returns the run at which a session works.
    async fn attached(&self, run: &BoundRun) -> Result<(RunAddress, Arc<HeldRun>), ServiceError> {
        let Some(address) = run.address() else {
            let (BoundRun::Stored(name) | BoundRun::Task(name) | BoundRun::Elsewhere { run: name, .. }) = run;
            let message = format!("`{}` is not a valid run id", clip(name));
            let help = "attach the session to a stored run, or unset `PORTOLAN_RUN`";
            return Err(ServiceError::refused("bad_id", message, help));
        };
        let found = self.read(run, &address).await;
        found.map_err(|error| match &address {
            Address::Stored(id) => self.explained(id, error),
            Address::State(_) | Address::Task(_) => error,
        })
    }

    /// Returns a run that binds an agent. `None` if its task file is gone, so that it cannot bind.
    async fn bound(&self, run: &BoundRun) -> Result<Option<(RunAddress, Arc<HeldRun>)>, ServiceError> {
        let Some(address) = run.address() else { return Ok(None) };
        match self.read(run, &address).await {
            Ok(found) => Ok(Some(found)),
            Err(error) if matches!(error.code, "task_not_found" | "no_workflow") => Ok(None),
            Err(error) => Err(unreadable(&error, &address)),
        }
    }

    /// Reads a run in whatever store it is.
    async fn read(&self, run: &BoundRun, address: &Address) -> Result<(RunAddress, Arc<HeldRun>), ServiceError> {
        let reader = self.service.of_bound(run)?;
        let held = async {
            match address {
                Address::Stored(id) => reader.glance(id).await,
                Address::State(_) | Address::Task(_) => reader.peek(address).await.map(Arc::new),
            }
        };
        let held = in_time(&reader, held).await?;
        Ok(((address.clone(), reader.is_other()), held))
    }

    /// Returns the project's task, whatever store its run is in.
    async fn noted_anywhere(&self) -> Result<Option<Noted>, ServiceError> {
        let reader = match active::read(self.service.project())?.and_then(|active| active.store) {
            Some(store) => self.service.at_store(&store)?,
            None => Reader::Own(self.service),
        };
        let found = in_time(&reader, reader.flow().active_run()).await?;
        Ok(found.map(|(active, held)| Noted { active, held, is_elsewhere: reader.is_other() }))
    }
}

/// Waits for what is read from a store. Another one than that of the service may be on a machine that does not answer.
async fn in_time<T>(
    reader: &Reader<'_>,
    read: impl Future<Output = Result<T, ServiceError>>,
) -> Result<T, ServiceError> {
    if !reader.is_other() {
        return read.await;
    }
    timeout(PATIENCE, read).await.unwrap_or_else(|_late| {
        let name = reader.store_name().unwrap_or_default();
        let message = format!("the store `{name}` did not answer within {} seconds", PATIENCE.as_secs());
        Err(ServiceError::failed("store_unavailable", message, "try again when it can be reached"))
    })
}

/// Returns the judgement if there are too many runs to read. Calls that only read or that continue a run are allowed.
fn too_many(intent: &Intent, is_own: &dyn Fn(&str) -> bool) -> Option<Judgement> {
    let goes_on = matches!(&intent.tool, Tool::Mcp { server, .. } if is_own(server));
    if goes_on || only_looks(intent) {
        return None;
    }
    let reason = format!("more than {MAX_BOUND} open runs bind this agent, and not all of them are checked");
    let remedies = vec!["finish runs, or ask a person to cancel those that are not worked on".to_owned()];
    Some(Judgement { remedies, ..Judgement::new(permit::GUARD, Decision::Block, reason) })
}

fn unreadable(error: &ServiceError, address: &Address) -> ServiceError {
    let message = format!("the run `{address}` binds this agent but cannot be read: {}", error.message);
    let new = "begin a new session of the agent's program, which the run does not bind";
    let help = match error.code {
        "store_unavailable" | "unknown_store" => format!("{}, or ask a person to {new}", error.help),
        _ => format!("ask a person to restore it, or to {new}"),
    };
    ServiceError::failed(error.code, message, help)
}

impl Gate {
    /// Returns the runs in the store that decide, the one at which the agent works first.
    pub fn stored(&self) -> impl Iterator<Item = (&RunId, Option<&str>)> {
        self.runs.iter().filter_map(|run| Some((run.id()?, run.step.as_deref())))
    }

    /// Checks whether a guard of a definition counts the earlier calls of a run.
    pub fn reads_calls(&self) -> bool {
        self.runs.iter().flat_map(|run| &run.rules.guards).any(|guard| DeclaredGuard::reads_calls(guard))
    }

    fn task(&mut self, active: &Active, held: &HeldRun) {
        let run = &held.run;
        let variable = |name: &str| run.root.data.iter().find_map(|data| data.variables.get(name));
        self.flow = Some(FlowContext {
            task: active.task.clone(),
            phase: phase(run),
            issue: variable("issueNumber").and_then(serde_json::Value::as_u64),
            issue_key: variable("issueKey").and_then(serde_json::Value::as_str).map(str::to_owned),
            branch: variable("branch").and_then(serde_json::Value::as_str).map(str::to_owned),
        });
        let open = run.bypasses().iter().filter(|bypass| !(bypass.once && bypass.used));
        self.bypasses = open.cloned().collect();
        self.people.extend(asks_a_person(run).then(|| active.run.to_string()));
    }

    fn step(
        &mut self,
        (address, is_elsewhere): RunAddress,
        held: &HeldRun,
        intent: Option<&Intent>,
        is_own: &dyn Fn(&str) -> bool,
    ) {
        let (workflow, run) = (&held.definition.workflow, &held.run);
        let id = RunId::parse(held.name());
        let positions = run.positions();
        let step = positions.first().map(|(_, frame)| permit::step_of(frame));
        let steps = positions.iter().map(|(_, frame)| frame.place.node().to_string()).collect();
        let branches = permit::open_branches(run);
        let rules = intent.map(|intent| carried_rules(held, intent, is_own)).unwrap_or_default();
        let call_steps = intent.map(|intent| permit::open_steps(run, intent)).unwrap_or_default();
        let counting = intent.map(|intent| held.definition.rules.counting(intent)).unwrap_or_default();
        self.runs.push(DecidingRun { address, is_elsewhere, step, steps, call_steps, branches, rules, counting });
        self.granted |= intent.is_some_and(|intent| permit::grants(workflow, run, intent));
        let permitted = intent.and_then(|intent| permit::permit(workflow, run, intent, is_own));
        if permitted.is_none() {
            let edits = intent.filter(|intent| may_edit(intent));
            self.as_edit.extend(edits.and_then(|intent| permit::permit_edit(workflow, run, intent)));
        }
        self.permitted.extend(permitted);
        self.people.extend(id.filter(|_| asks_a_person(run)).map(|id| id.to_string()));
        let Some(names) = allowed(workflow, run) else { return };
        self.allowed = Some(match self.allowed.take() {
            Some(others) => names.into_iter().filter(|name| others.contains(name)).collect(),
            None => names,
        });
    }
}

/// Returns the rules about a call that a run's definition carries, of those that are in force. A tool of Portolan's own
/// server is exempt, so that an agent can always ask for its position and continue.
fn carried_rules(held: &HeldRun, intent: &Intent, is_own: &dyn Fn(&str) -> bool) -> RuleSet {
    let rules = held.definition.rules.in_force(&held.definition.workflow, &held.run, intent);
    match &intent.tool {
        Tool::Mcp { server, .. } if !rules.guards.is_empty() && is_own(server) => RuleSet::default(),
        _ => rules,
    }
}

/// Checks whether a call may write files although it is not an edit.
fn may_edit(intent: &Intent) -> bool {
    !matches!(intent.tool, Tool::Edit { .. }) && matches!(intent.tool.deed(), Tool::Edit { .. } | Tool::Shell { .. })
}

/// Returns the tools that the steps of a run allow. `None` if a step lists no allowed tools.
fn allowed(workflow: &Workflow, run: &Run) -> Option<Vec<String>> {
    let mut allowed = Vec::new();
    for (_, frame) in run.positions() {
        let rules = workflow.flow(&frame.flow).tools_at(frame.place.node())?;
        allowed.extend(rules.allow.as_ref()?.iter().cloned());
    }
    Some(allowed)
}

/// Checks whether a call changes nothing by its text: all its commands are known to only read.
fn only_looks(intent: &Intent) -> bool {
    match intent.tool.deed() {
        Tool::Reads => true,
        Tool::Shell { command } => guards::only_reads(&shell::read(command)),
        Tool::Edit { .. } | Tool::Mcp { .. } | Tool::Other => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_look(tool: Tool) -> bool {
        let (folder, name) = ("/repo".to_owned(), "Tool".to_owned());
        only_looks(&Intent {
            session: None,
            call: None,
            agent: None,
            folder,
            name,
            tool,
            arguments: Vec::new(),
            branch: None,
        })
    }

    #[test]
    fn what_only_looks_is_told_by_its_text() {
        assert!(is_look(Tool::Reads));
        assert!(!is_look(Tool::Edit { paths: vec!["a".to_owned()] }));
        for (command, expected) in [
            ("portolan doctor", true),
            ("portolan flow status --json", true),
            ("portolan flow events --type flow.bypass | head -3", true),
            ("cd src && git status && cat a.txt", true),
            ("git log --oneline -3; ls -la", true),
            ("portolan flow abort --reason x", false),
            ("portolan doctor; rm a.txt", false),
            ("cat a.txt > b.txt", false),
            ("git diff --output=.git/hooks/pre-commit", false),
            ("GIT_TRACE=/tmp/x git status", false),
            ("PATH=x:$PATH; git status", false),
            ("./portolan doctor", false),
            ("git -c core.pager=./x log", false),
            ("cat $(./x)", false),
            ("git commit -m x", false),
        ] {
            assert_eq!(is_look(Tool::Shell { command: command.to_owned() }), expected, "{command}");
        }
    }
}

//! At the beginning of a session, reports to the agent the state of the task, the way forward, and the restrictions.

use portolan_gates::Guidelines;
use portolan_gates::guidelines::Level;
use portolan_runtime::bindings;
use portolan_runtime::error::ServiceError;
use portolan_runtime::inspection;
use portolan_runtime::service::Gate;

use super::session::Session;
use super::tripwire::{self, Snapshot};
use super::{Answerable, Gatekeeper};

/// The maximum length of the text at the beginning of a session, in bytes. It stays in the context of the whole
/// session.
const MAX_BYTES: usize = 1024;

impl Gatekeeper {
    /// Returns the context for an agent when its session begins.
    pub fn session_start(&self) -> Answerable {
        let context = match self.start_context() {
            Ok(context) => context,
            Err(error) => {
                Some(format!("Portolan enforces the gates here but cannot work: {}; {}", error.message, error.help))
            }
        };
        Answerable { context, ..Answerable::allowed() }
    }

    fn start_context(&self) -> Result<Option<String>, ServiceError> {
        let Some(project) = self.project() else { return Ok(None) };
        Session::sweep(project);
        bindings::sweep(project);
        let rules = self.rules()?;
        let mut session = self.opened_session();
        let gate = self.gate_of(&mut session, None)?;
        let mut text = protocol(&rules, &gate);
        if let Some(session) = &mut session {
            let worktree = inspection::worktree(project);
            session.kept.told.clear();
            session.kept.tips.clear();
            let found = tripwire::tell(self, session, &rules, worktree.as_deref());
            if let Some(worktree) = &worktree {
                let snapshot = Snapshot::take(worktree, &rules, self.clock.now(), None);
                (session.kept.tips, session.kept.tracked) = (snapshot.tips, snapshot.tracked);
            }
            session.save();
            text.extend(found.map(|found| format!("Attention: {found}")));
        }
        let mut whole = text.join("\n");
        whole.truncate(whole.floor_char_boundary(MAX_BYTES));
        Ok(Some(whole))
    }

    /// Decides whether the host may mark a task of its list as done. For the project's task, its phases decide.
    pub fn task_completed(&self, task: Option<&str>) -> Answerable {
        let gate = match self.gate(None, &[], None) {
            Ok(gate) => gate,
            Err(error) => return Answerable::of_error(&error),
        };
        let Some(flow) = gate.flow.filter(|flow| task == Some(flow.task.as_str())) else {
            return Answerable::allowed();
        };
        let mut answer =
            Answerable::blocked(format!("the task `{}` is in the phase `{}`, and not done", flow.task, flow.phase));
        answer.remedies.push("portolan flow tick, until it is done".to_owned());
        let entry = self.record(None).refusal("task-completed", &answer.reason, None);
        self.put_on_record(&[entry], answer)
    }
}

fn protocol(rules: &Guidelines, gate: &Gate) -> Vec<String> {
    let mut text = vec!["Portolan keeps the gates of this project: tool calls are judged, and on record.".to_owned()];
    match &gate.flow {
        Some(flow) => {
            let issue = flow.issue.map(|issue| format!(", issue {issue}")).unwrap_or_default();
            let branch = flow.branch.as_ref().map(|branch| format!(", branch `{branch}`")).unwrap_or_default();
            text.push(format!("The task `{}` is in the phase `{}`{issue}{branch}.", flow.task, flow.phase));
            text.push(
                "Do what the phase asks for, then run `portolan flow tick`: it moves on when the repository shows that it \
                 is done, and says what is missing when it does not. `portolan flow status` shows where it is."
                    .to_owned(),
            );
        }
        None => text.push(
            "No task is under way: `portolan flow start <task>` begins one, `portolan flow status` shows it."
                .to_owned(),
        ),
    }
    if !rules.commit_directly && rules.level(&["no-edit-on-integration", "I-1"]) != Level::Off {
        let branches = rules.integration.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        text.push(format!("Forbidden: edits, commits and pushes on {branches}. Work on a branch of its own."));
    }
    if rules.commits.require_reference {
        text.push("Every commit names its issue, and follows a type check that passed.".to_owned());
    }
    text.push("A refusal says what puts it right: do that, and do not look for a way around.".to_owned());
    text
}

//! Guards: the rules for a coding agent's tool calls. Each guard enforces one rule, in its own file. All applicable
//! guards are asked, and the strictest counts.
//!
//! Nothing is looked up here. [`wanted`] returns the facts that are needed, the caller determines them, and [`judge`]
//! decides from them:
//!
//! ```
//! use portolan_gates::guards::{self, GuardContext};
//! use portolan_gates::{Decision, Guidelines, Intent, Tool};
//! use portolan_gates::shell::ShellContext;
//!
//! let intent = Intent {
//!     session: None, call: None, agent: None, folder: "/work".into(), name: "Bash".into(), arguments: vec![], branch: None,
//!     tool: Tool::Shell { command: "$X commit".into() },
//! };
//! let reading = guards::read(&intent, &ShellContext::default());
//! assert!(!guards::wanted(&intent, &reading).aliases);
//! let judgements = guards::judge(&intent, &reading, &GuardContext::default(), &Guidelines::default());
//! assert_eq!(guards::overall(&judgements), Decision::Ask, "what cannot be told is never waved through");
//! ```

mod approvals;
mod branches;
mod cleaning;
mod context;
mod edits;
mod environment;
mod finding;
mod forge;
mod git_files;
mod hooks;
mod integration;
mod interpreters;
mod issue;
mod judged_call;
mod named_paths;
mod only_reads;
mod protect;
mod settings;
mod typecheck;
mod undecidable;

use finding::Finding;
use judged_call::JudgedCall;

use super::{Decision, Guidelines, Intent, Judgement, Tool};
use crate::shell::git::{self, Action, Message};
use crate::shell::{self, Reading, ShellContext};

pub use branches::ON_FORGE;
pub use context::{FactRequest, FlowContext, GuardContext, Operation, Place, TypecheckVerdict, Worktree, WorktreeHead};
pub use edits::{Edit, edits};
pub use judged_call::integrates;
pub use only_reads::only_reads;

/// A guard: its name, and the function that returns its findings. Without a finding it does not apply.
struct Guard {
    id: &'static str,
    look: fn(&JudgedCall<'_>) -> Vec<Finding>,
}

const GUARDS: [Guard; 8] = [
    Guard { id: "no-edit-on-integration", look: integration::look },
    Guard { id: "typecheck-must-pass-before-commit", look: typecheck::look },
    Guard { id: "commit-must-reference-issue", look: issue::look },
    Guard { id: "no-verify", look: hooks::look },
    Guard { id: "protect-guards", look: protect::look },
    Guard { id: "protect-approvals", look: approvals::look },
    Guard { id: "no-change-on-forge", look: forge::look },
    Guard { id: "undecidable", look: undecidable::look },
];

/// Returns the names of the guards.
pub fn guards() -> impl Iterator<Item = &'static str> {
    GUARDS.iter().map(|guard| guard.id)
}

/// Returns what the tool call would run in a shell that starts in this environment. Aliases of git are not expanded
/// yet: see [`shell::expand`].
pub fn read(intent: &Intent, around: &ShellContext) -> Reading {
    match intent.tool.deed() {
        Tool::Shell { command } => shell::read_in(command, around),
        Tool::Edit { .. } | Tool::Mcp { .. } | Tool::Reads | Tool::Other => Reading::default(),
    }
}

/// Returns the facts that [`judge`] needs.
pub fn wanted(intent: &Intent, reading: &Reading) -> FactRequest {
    let mut wanted = FactRequest::default();
    if let Tool::Edit { paths } = intent.tool.deed() {
        wanted
            .paths
            .extend(paths.iter().filter_map(|path| judged_call::absolute(&intent.folder, &path.as_str().into())));
    }
    if !reading.commands.is_empty() || !reading.doubts.is_empty() {
        wanted.folders.insert(intent.folder.clone());
    }
    for command in &reading.commands {
        wanted.paths.extend(judged_call::written(&intent.folder, command).into_iter().flatten());
        wanted.named.extend(named_paths::paths(&intent.folder, command));
        wanted.requests.extend(forge::merged(command));
        let Some(invocation) = git::invocation(command) else { continue };
        wanted.paths.extend(git_files::touched(&intent.folder, &invocation).into_iter().flatten());
        let folders = judged_call::folders(&intent.folder, &invocation);
        if let Action::Commit(messages) = &invocation.action {
            wanted.typecheck = true;
            for message in messages {
                let Message::File(file) = message else { continue };
                wanted
                    .messages
                    .extend(folders.iter().flatten().filter_map(|folder| judged_call::absolute(folder, file)));
            }
        }
        wanted.typecheck |= typecheck::past_the_check(&invocation).is_some();
        wanted.aliases |= matches!(&invocation.action, Action::Unknown(name) if !name.is_empty());
        wanted.folders.extend(folders.into_iter().flatten());
    }
    wanted
}

/// Returns the judgements of every guard that applies to a tool call. `reading` is that of the call, with the aliases
/// of git expanded.
pub fn judge(intent: &Intent, reading: &Reading, scene: &GuardContext, guidelines: &Guidelines) -> Vec<Judgement> {
    let judged = JudgedCall::new(intent, reading, scene, guidelines);
    GUARDS.iter().flat_map(|guard| finding::judgements(&judged, guard.id, (guard.look)(&judged))).collect()
}

/// Returns the decision of all judgements together: block outweighs ask, and ask outweighs allow.
pub fn overall(judgements: &[Judgement]) -> Decision {
    judgements.iter().map(|judgement| judgement.decision).max().unwrap_or(Decision::Allow)
}

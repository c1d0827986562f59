//! Git's own hooks: the layer below that of the hosts. They apply to everyone who commits, whatever program runs git,
//! and use the same guards.
//!
//! `--no-verify` skips `pre-commit`, `commit-msg` and `pre-push`. It does not skip `reference-transaction`, which runs
//! whenever an integration branch moves. That hook must be fast if no such branch moves.

use std::path::{Path, PathBuf};

use portolan_core::run::Bypass;
use portolan_core::value::Timestamp;
use portolan_gates::acceptance::message_fault;
use portolan_gates::guards::{Operation, TypecheckVerdict, integrates};
use portolan_gates::guidelines::Level;
use portolan_gates::{Decision, Guidelines, Intent, Judgement, Tool, bypass};
use portolan_runtime::audit::{self, Durability, Kind, LogEntry};
use portolan_runtime::disk;
use portolan_runtime::error::ServiceError;
use portolan_runtime::inspection;
use portolan_runtime::service::{Gate, Options, Service};
use serde_json::{Value, json};

use super::refs::Refs;
use super::{Answerable, Gatekeeper, record, tripwire, typecheck};
use crate::people::{PassphrasePolicy, People};

/// The field of an entry that names a branch of the remote that a push from here has moved.
pub(super) const PUSHED: &str = "pushed";
/// The maximum size of a commit message, in bytes. A longer one is refused.
const MAX_MESSAGE: u64 = 1 << 20;
/// How many references of one push or transaction are checked individually.
pub(super) const MAX_REFERENCES: usize = 64;
/// How long a tool call may run before it commits, in milliseconds.
const CALL_LASTS_MS: i64 = 2 * 3600 * 1000;

/// A hook of git.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Before a commit is made.
    PreCommit,
    /// After the commit's message was written.
    CommitMsg,
    /// Before a push.
    PrePush,
    /// Before references move.
    ReferenceTransaction,
    /// After a commit was made.
    PostCommit,
    /// After a checkout.
    PostCheckout,
}

impl Hook {
    /// Returns the name of the hook.
    pub fn name(self) -> &'static str {
        match self {
            Hook::PreCommit => "pre-commit",
            Hook::CommitMsg => "commit-msg",
            Hook::PrePush => "pre-push",
            Hook::ReferenceTransaction => "reference-transaction",
            Hook::PostCommit => "post-commit",
            Hook::PostCheckout => "post-checkout",
        }
    }

    /// Checks whether a recorded use of a bypass belongs to another act than this hook's. The call of a host and the
    /// hooks of the git that it starts are one act, and so are the hooks of one commit. A push is a separate act.
    pub(super) fn is_of_another_act(self, line: &audit::Line) -> bool {
        let by = &line.data["hook"];
        let pushes = self == Hook::PrePush || *by == Hook::PrePush.name();
        line.data["host"] == "git" && (pushes || *by == self.name())
    }

    /// Checks whether git respects the hook's exit code.
    pub fn is_gate(self) -> bool {
        !matches!(self, Hook::PostCommit | Hook::PostCheckout)
    }
}

/// One call of a hook by git.
#[derive(Clone, Debug)]
pub struct Run {
    /// The hook.
    pub hook: Hook,
    /// The arguments.
    pub arguments: Vec<String>,
    /// The standard input, if it has one.
    pub input: String,
    /// The folder in which it was started.
    pub folder: PathBuf,
    /// The repository, from git's variable `GIT_DIR`.
    pub git_dir: Option<PathBuf>,
    /// The agent whose shell runs git, if the environment names one.
    pub agent: Option<String>,
    /// Whether git was started at a terminal.
    pub at_terminal: bool,
}

/// Facts that only git's hooks know.
#[derive(Clone, Debug, Default)]
pub(super) struct GitFacts {
    /// The reason, if it differs from that about the command that the guards judged.
    pub(super) reason: Option<String>,
    /// The commit that a branch moves to.
    pub(super) commit: Option<Value>,
    /// What the type check was about.
    pub(super) typecheck: Option<&'static str>,
    /// The remote's branch that has moved already, if any.
    pub(super) pushed: Option<String>,
}

impl GitFacts {
    fn entry(&self, entry: &mut LogEntry) {
        if let Some(commit) = &self.commit {
            entry.data["commit"] = commit.clone();
        }
        if let Some(branch) = &self.pushed {
            entry.data["late"] = true.into();
            entry.data[PUSHED] = branch.clone().into();
        }
        if let Some(reason) = self.typecheck.filter(|_| entry.data["invariant"] == "I-6") {
            entry.data["reason"] = reason.into();
        }
    }
}

/// The variables that hosts set in the shells of their agents.
const AGENTS: [(&str, &str); 6] = [
    ("CLAUDECODE", "claude-code"),
    ("CODEX_SANDBOX", "codex"),
    ("CURSOR_AGENT", "cursor"),
    ("GEMINI_CLI", "gemini"),
    ("OPENCODE", "opencode"),
    ("COPILOT_CLI", "copilot"),
];

/// Returns the agent whose shell has one of these variables.
pub fn agent(variable: impl Fn(&str) -> bool) -> Option<String> {
    AGENTS.iter().find(|(name, _)| variable(name)).map(|(_, host)| (*host).to_owned())
}

impl Run {
    /// Returns whether git may continue.
    pub fn answer(&self) -> Answerable {
        match self.hook {
            Hook::PreCommit => self.in_project(|keeper, rules| self.pre_commit(keeper, rules)),
            Hook::CommitMsg => self.in_project(|keeper, rules| self.commit_msg(keeper, rules)),
            Hook::PrePush => self.in_project(|keeper, rules| self.pre_push(keeper, rules)),
            Hook::ReferenceTransaction => match self.arguments.first().map(String::as_str) {
                Some("prepared") => self.in_project(|keeper, rules| self.transaction(keeper, rules)),
                _ => Answerable::allowed(),
            },
            Hook::PostCommit | Hook::PostCheckout => self.receipt(),
        }
    }

    /// Returns the repository's folder. Git names it if it is not the one around the current folder.
    pub(super) fn place(&self) -> PathBuf {
        let named = self.git_dir.as_ref().map(|named| self.folder.join(named));
        named.and_then(|named| named.canonicalize().ok()).unwrap_or_else(|| self.folder.clone())
    }

    fn in_project(&self, decide: impl FnOnce(&Gatekeeper, &Guidelines) -> Answerable) -> Answerable {
        let place = self.place();
        let keeper = Gatekeeper { hook: Some(self.hook), ..Gatekeeper::of(None, "git", None, &place) };
        let rules = match keeper.rules() {
            Ok(rules) => rules,
            Err(error) => return Answerable::of_error(&error),
        };
        let mut answer = decide(&keeper, &rules);
        // The hook runs for each reference that moves, so that even reading the branches would add up.
        if self.hook != Hook::ReferenceTransaction && answer.context.is_none() {
            let worktree = inspection::worktree(&place);
            answer.context = worktree.and_then(|worktree| tripwire::noticed(&keeper, &rules, &worktree));
        }
        answer
    }

    fn pre_commit(&self, keeper: &Gatekeeper, rules: &Guidelines) -> Answerable {
        let (verdict, by_files) = keeper
            .project()
            .map_or((TypecheckVerdict::NotConfigured, false), |project| typecheck::staged(project, rules));
        let by_files = by_files.then_some(
            "the type check passed for the files in the working tree, but the staged content differs from them",
        );
        let amended = GitFacts { typecheck: by_files, ..GitFacts::default() };
        let look = |found: &mut inspection::InspectedCall| found.scene.typecheck = verdict;
        self.judged_with(keeper, rules, "git commit", &["I-2", "I-6"], look, amended)
    }

    fn commit_msg(&self, keeper: &Gatekeeper, rules: &Guidelines) -> Answerable {
        let Some(file) = self.arguments.first() else {
            return Answerable::blocked("git did not name the file with the message");
        };
        let Some(text) = disk::text(&self.folder.join(file), MAX_MESSAGE) else {
            return Answerable::blocked(format!("the message in `{file}` cannot be read, or is longer than 1 MiB"));
        };
        let message = cleaned(&text);
        let merges = inspection::worktree(&self.place()).is_some_and(|tree| tree.operation == Some(Operation::Merge));
        let generated = rules.commits.ignore_generated
            && ["fixup! ", "squash! ", "amend! ", "Revert \""].iter().any(|start| message.starts_with(start));
        if message.is_empty() || merges || generated {
            return Answerable::allowed();
        }
        let path = "/portolan/message";
        let mut answer = self.judged(keeper, rules, &format!("git commit -F {path}"), &["I-8"], |found| {
            found.scene.messages.insert(path.to_owned(), message.clone());
        });
        if let Some(expected) = message_fault(&message, &rules.commits) {
            answer = self.misformed(keeper, rules, &message, &expected, answer);
        }
        answer
    }

    /// Returns the answer for a malformed message, combined with that of the guards.
    fn misformed(
        &self,
        keeper: &Gatekeeper,
        rules: &Guidelines,
        message: &str,
        expected: &str,
        answer: Answerable,
    ) -> Answerable {
        let level = rules.level(&["conventionalCommitFormat", "I-7"]);
        if level == Level::Off {
            return answer;
        }
        let subject = message.lines().next().unwrap_or_default();
        let data = json!({ "sha": Value::Null, "subject": subject, "expected": expected });
        let mut entries = vec![keeper.record(None).entry(Kind::CommitFormatViolation, None, data)];
        let mut all = answer;
        if level == Level::Warn {
            all.context = Some(format!("warned only: I-7: {expected}"));
            return keeper.put_on_record(&entries, all);
        }
        let mut judgement = Judgement {
            guard: "conventionalCommitFormat".to_owned(),
            origin: None,
            invariant: Some("I-7".to_owned()),
            decision: Decision::Block,
            reason: format!(
                "the message `{}` does not have the required form",
                portolan_core::diagnostic::clip(subject)
            ),
            remedies: vec![expected.to_owned(), "then commit again".to_owned()],
            bypass: bypass::offer("I-7", "conventionalCommitFormat", self.by_person(keeper), rules),
            bypassed_by: None,
        };
        let gate = gate(keeper).unwrap_or_default();
        judgement.bypassed_by = past(&gate, "I-7", keeper.clock.now());
        if judgement.bypassed_by.is_some() {
            judgement.decision = Decision::Allow;
            entries.extend(self.log_entries(
                keeper,
                &gate,
                &self.intent("", "git commit"),
                std::slice::from_ref(&judgement),
            ));
        }
        let is_past = judgement.bypassed_by.is_some();
        all.judgements.push(judgement);
        keeper.put_on_record(&entries, if is_past { all } else { Answerable::of(all.judgements) })
    }

    fn pre_push(&self, keeper: &Gatekeeper, rules: &Guidelines) -> Answerable {
        let remote = self.arguments.first().map_or("origin", String::as_str);
        let mut specs = Vec::new();
        for line in self.input.lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            let [_, local, reference, _] = fields[..] else {
                return Answerable::blocked("git's description of the push cannot be read");
            };
            let is_integration = reference.strip_prefix("refs/heads/").is_some_and(|name| integrates(rules, name));
            if is_integration && specs.len() < MAX_REFERENCES {
                specs.push(if is_zero(local) { format!(":{reference}") } else { format!("{local}:{reference}") });
            }
        }
        if specs.is_empty() {
            return Answerable::allowed();
        }
        let remote = if remote.starts_with('-') || !remote.chars().all(is_plain) { "origin" } else { remote };
        let specs: Vec<String> = specs.iter().map(|spec| quoted(spec)).collect();
        self.judged(keeper, rules, &format!("git push {remote} {}", specs.join(" ")), &["I-2"], |_| {})
    }

    fn judged(
        &self,
        keeper: &Gatekeeper,
        rules: &Guidelines,
        command: &str,
        invariants: &[&str],
        look: impl FnOnce(&mut inspection::InspectedCall),
    ) -> Answerable {
        self.judged_with(keeper, rules, command, invariants, look, GitFacts::default())
    }

    /// Returns the judgement of the guards on a git command, limited to some rules. A hook of git cannot ask a person,
    /// so a question becomes a refusal.
    pub(super) fn judged_with(
        &self,
        keeper: &Gatekeeper,
        rules: &Guidelines,
        command: &str,
        invariants: &[&str],
        look: impl FnOnce(&mut inspection::InspectedCall),
        amended: GitFacts,
    ) -> Answerable {
        let now = keeper.clock.now();
        let gate = match gate(keeper) {
            Ok(gate) => gate,
            Err(error) => return Answerable::of_error(&error),
        };
        let place = self.place();
        let Some(folder) = place.to_str() else { return Answerable::blocked("the folder's name is not valid UTF-8") };
        let intent = self.intent(folder, command);
        let by_person = self.by_person(keeper);
        let mut judgements = keeper.guarded(&intent, rules, &gate, now, |found| {
            found.scene.by_person = by_person;
            look(found);
        });
        judgements.retain(|judgement| {
            judgement.invariant.as_deref().is_some_and(|invariant| invariants.contains(&invariant))
        });
        for judgement in &mut judgements {
            if judgement.decision == Decision::Ask {
                judgement.decision = Decision::Block;
            }
            if let Some(reason) = &amended.reason {
                judgement.reason.clone_from(reason);
            }
        }
        let mut entries = self.log_entries(keeper, &gate, &intent, &judgements);
        entries.iter_mut().for_each(|entry| amended.entry(entry));
        keeper.put_on_record(&entries, Answerable::of(judgements))
    }

    /// Checks whether a person has started git, as far as this can be determined. If a passphrase is set, the answer is
    /// no, because it cannot be asked for here.
    fn by_person(&self, keeper: &Gatekeeper) -> bool {
        let Some(project) = keeper.project().filter(|_| self.at_terminal && self.agent.is_none()) else { return false };
        let Ok(service) = Service::new(Options::of(project)) else { return false };
        let people = People::of(&service);
        matches!(people.agent_sign(), Ok(None)) && matches!(people.standing(), Ok(PassphrasePolicy::Unset))
    }

    /// Describes git's operation as a host's tool call.
    fn intent(&self, folder: &str, command: &str) -> Intent {
        Intent {
            session: None,
            call: None,
            agent: self.agent.clone(),
            folder: folder.to_owned(),
            name: format!("git {}", self.hook.name()),
            tool: Tool::Shell { command: command.to_owned() },
            arguments: Vec::new(),
            branch: None,
        }
    }

    /// Returns the log entries of judgements. Bypasses also name the hook.
    fn log_entries(
        &self,
        keeper: &Gatekeeper,
        gate: &Gate,
        intent: &Intent,
        judgements: &[Judgement],
    ) -> Vec<LogEntry> {
        let mut entries = keeper.record(Some(gate)).judgements(intent, judgements);
        for entry in entries.iter_mut().filter(|entry| entry.kind == Kind::GuardBypass) {
            entry.data["hook"] = self.hook.name().into();
        }
        entries
    }

    /// Records a commit or a checkout, if the project keeps a record.
    fn receipt(&self) -> Answerable {
        let place = self.place();
        let keeper = Gatekeeper::of(None, "git", None, &place);
        let branches = self.hook != Hook::PostCheckout || self.arguments.get(2).is_some_and(|flag| flag == "1");
        let (Some(project), Some(worktree), true) = (keeper.project(), inspection::worktree(&place), branches) else {
            return Answerable::allowed();
        };
        if !project.join(".portolan").is_dir() {
            return Answerable::allowed();
        }
        let branch = worktree.branch().map(str::to_owned);
        let commit = match &worktree.head {
            portolan_gates::guards::WorktreeHead::Detached(commit) => Some(commit.clone()),
            _ => branch.as_ref().and_then(|branch| Refs::of(&worktree).oid(&format!("refs/heads/{branch}"))),
        };
        let about = keeper.record(None);
        let data = json!({ "toolName": format!("git {}", self.hook.name()), "toolInputKeys": [], "branch": branch,
            "commit": commit, "by": self.agent });
        let mut entries = vec![about.entry(Kind::ToolInvoked, None, data)];
        if let (Hook::PostCommit, Some(agent)) = (self.hook, &self.agent)
            && !was_guarded(project, keeper.clock.now())
        {
            let data = json!({ "what": "guards did not run", "where": agent, "expected": "a receipt of the call",
                "found": commit });
            entries.push(about.entry(Kind::GuardTamper, None, data));
        }
        // It has happened, so nothing can be refused.
        let _unwritten = record::append(project, &keeper.clock, &entries, Durability::Written);
        let context = keeper.rules().ok().and_then(|rules| tripwire::noticed(&keeper, &rules, &worktree));
        Answerable { context, ..Answerable::allowed() }
    }
}

/// Returns the recorded bypass of a rule.
fn past(gate: &Gate, rule: &str, now: Timestamp) -> Option<Bypass> {
    let phase = gate.flow.as_ref().map(|flow| flow.phase.as_str());
    gate.bypasses.iter().find(|known| bypass::matches(known, rule, phase, now)).cloned()
}

/// Returns the state of the task. The store is not opened if there is no task.
fn gate(keeper: &Gatekeeper) -> Result<Gate, ServiceError> {
    keeper.gate(None, &[], None)
}

/// Checks whether a host has asked about a shell command recently. The command that has just committed must be one.
fn was_guarded(project: &Path, now: Timestamp) -> bool {
    let is_receipt = |line: &audit::Line| {
        line.kind == Kind::ToolInvoked.name() && line.data["host"] != "git" && line.data["inputDigest"].is_string()
    };
    let is_older = |line: &audit::Line| line.at.0 < now.0.saturating_sub(CALL_LASTS_MS);
    audit::latest(&audit::project_log(project), |line| is_receipt(line) || is_older(line))
        .is_ok_and(|line| line.is_some_and(|line| is_receipt(&line) && !is_older(&line)))
}

pub(super) fn is_zero(oid: &str) -> bool {
    !oid.is_empty() && oid.bytes().all(|byte| byte == b'0')
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_./:@".contains(c)
}

/// Quotes a word for a shell.
pub(super) fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Returns a message as git will store it, without comment lines.
fn cleaned(text: &str) -> String {
    let scissors = |line: &&str| !(line.starts_with('#') && line.contains("------------------------ >8"));
    let lines: Vec<&str> = text.lines().take_while(scissors).filter(|line| !line.starts_with('#')).collect();
    lines.join("\n").trim().to_owned()
}

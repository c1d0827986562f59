//! A tool call with everything that the guards inspect: its commands, the folders that they run in, and the branches
//! that may be checked out there by then.

use std::cell::OnceCell;

use super::context::{GuardContext, Place, Worktree, WorktreeHead};
use super::named_paths;
use crate::shell::git::{self, Action, Invocation, Switch};
use crate::shell::{Command, Reading, Word};
use crate::{Guidelines, Intent, Tool};

/// A tool call to be judged.
pub(super) struct JudgedCall<'a> {
    pub(super) intent: &'a Intent,
    pub(super) reading: &'a Reading,
    pub(super) scene: &'a GuardContext,
    pub(super) guidelines: &'a Guidelines,
    pub(super) calls: Vec<CommandCall<'a>>,
    /// The calls that check something else out, by index.
    switches: Vec<(usize, CheckedOut)>,
    /// Whether the text may have a loop, so that a later command may have run before.
    loops: bool,
    /// Whether a `PATH` is set somewhere.
    pub(super) sets_path: bool,
    /// The protected path that the text names. It is searched once and only on demand, because the text may be long and
    /// the calls many.
    named: OnceCell<Option<String>>,
}

/// The most calls that check something out and are still distinguished. Each call is compared with each of them.
const MAX_SWITCHES: usize = 64;

/// One command of the call.
pub(super) struct CommandCall<'a> {
    pub(super) command: &'a Command,
    pub(super) git: Option<Invocation>,
}

/// What may be checked out in a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CheckedOut {
    /// A branch.
    Branch(String),
    /// A branch without a commit.
    Unborn(String),
    /// No branch.
    Detached,
    /// It cannot be determined.
    Unknown,
    /// The place is in no repository.
    Outside,
}

/// A place of a command, with what may be checked out there.
pub(super) struct ActionPlace<'a> {
    pub(super) worktree: Option<&'a Worktree>,
    pub(super) on: Vec<CheckedOut>,
}

impl<'a> JudgedCall<'a> {
    pub(super) fn new(
        intent: &'a Intent,
        reading: &'a Reading,
        scene: &'a GuardContext,
        guidelines: &'a Guidelines,
    ) -> JudgedCall<'a> {
        let call = |command| CommandCall { command, git: git::invocation(command) };
        let calls: Vec<CommandCall<'_>> = reading.commands.iter().map(call).collect();
        let (switches, loops) = (Vec::new(), loops(intent));
        let sets_path = calls.iter().any(|call| call.command.set().any(|given| given.name == "PATH"));
        let named = OnceCell::new();
        let mut judged = JudgedCall { intent, reading, scene, guidelines, calls, switches, loops, sets_path, named };
        judged.switches =
            judged.git().filter_map(|(at, _, invocation)| Some((at, judged.switched(invocation)?))).collect();
        judged
    }

    /// Returns the calls of git.
    pub(super) fn git(&self) -> impl Iterator<Item = (usize, &CommandCall<'a>, &Invocation)> {
        self.calls
            .iter()
            .enumerate()
            .filter_map(|(at, call)| call.git.as_ref().map(|invocation| (at, call, invocation)))
    }

    /// Checks whether the text clones repositories.
    pub(super) fn clones(&self) -> bool {
        self.git().any(|(_, _, invocation)| invocation.name == "clone")
    }

    /// Returns the paths that an edit names.
    pub(super) fn edited(&self) -> &[String] {
        match self.intent.tool.deed() {
            Tool::Edit { paths } => paths,
            Tool::Shell { .. } | Tool::Mcp { .. } | Tool::Reads | Tool::Other => &[],
        }
    }

    pub(super) fn place(&self, path: &str) -> Option<&'a Place> {
        self.scene.places.get(path)
    }

    /// Returns a protected path that the shell text names, or a part of one.
    pub(super) fn named(&self) -> Option<&str> {
        let Tool::Shell { command } = self.intent.tool.deed() else { return None };
        self.named.get_or_init(|| named_paths::named(command)).as_deref()
    }

    /// Checks whether a path is one of `GuardContext::own`, or lies in one.
    pub(super) fn is_own(&self, path: &str) -> bool {
        self.scene.own.iter().any(|own| is_in(path, own))
    }

    /// Checks whether one of these lies in this folder.
    pub(super) fn holds_own(&self, folder: &str) -> bool {
        self.scene.own.iter().any(|own| is_in(own, folder))
    }

    /// Checks whether the branch is an integration branch.
    pub(super) fn integrates(&self, branch: &str) -> bool {
        self.guidelines.integrates(branch)
    }

    /// Checks whether a reference is, or may be, an integration branch: `main`, `refs/heads/main`, `refs/heads/*`.
    pub(super) fn names_integration(&self, reference: &str) -> bool {
        let name = branch_name(reference);
        match name.split_once('*') {
            None => !name.starts_with("refs/") && self.integrates(name),
            Some((before, _)) => self.guidelines.integration.iter().any(|pattern| {
                let literal = pattern.split(['*', '?']).next().unwrap_or_default().to_lowercase();
                let other = name.starts_with("refs/") && !"refs/heads/".starts_with(before);
                let before = if before.starts_with("refs/") || "refs/heads/".starts_with(before) { "" } else { before };
                let before = before.to_lowercase();
                !other && (literal.starts_with(&before) || before.starts_with(&literal))
            }),
        }
    }

    /// Returns the places of a call of git, with what may be checked out there by then.
    pub(super) fn grounds(&self, at: usize, invocation: &Invocation) -> Vec<ActionPlace<'a>> {
        let folders = folders(&self.intent.folder, invocation);
        folders.iter().map(|folder| self.ground(at, folder.as_deref())).collect()
    }

    /// Returns the repository that a call of git works in, by its name on the forge.
    pub(super) fn grounds_repository(&self, invocation: &Invocation) -> Option<String> {
        let folders = folders(&self.intent.folder, invocation);
        let place = folders.iter().flatten().find_map(|folder| self.place(folder))?;
        place.worktree.as_ref()?.repository.clone()
    }

    /// Returns a folder as the place of the call at `at`, with what may be checked out there.
    pub(super) fn ground(&self, at: usize, folder: Option<&str>) -> ActionPlace<'a> {
        let Some(place) = folder.and_then(|folder| self.place(folder)) else {
            return ActionPlace { worktree: None, on: vec![CheckedOut::Unknown] };
        };
        let Some(worktree) = place.worktree.as_deref() else {
            return ActionPlace { worktree: None, on: vec![CheckedOut::Outside] };
        };
        ActionPlace { worktree: Some(worktree), on: self.heads(at, worktree) }
    }

    /// Returns what may be checked out at the call `at`. A switch in the text replaces the present state if it is known
    /// to have happened, and is a further possibility if it may have.
    pub(super) fn heads(&self, at: usize, worktree: &Worktree) -> Vec<CheckedOut> {
        let command = self.calls[at].command;
        if self.switches.len() > MAX_SWITCHES {
            return vec![present(worktree), CheckedOut::Unknown];
        }
        let after = command.after.as_deref();
        let is_after = |other: &Command| {
            after.is_some_and(|after| {
                (&after.words, &after.folders, after.text) == (&other.words, &other.folders, other.text)
            })
        };
        let sure = self.switches.iter().rfind(|(other, _)| {
            let surely = self.calls[*other].git.as_ref().is_some_and(|call| self.is_in(call, worktree, false));
            is_after(self.calls[*other].command) && surely
        });
        let mut on = vec![sure.map_or_else(|| present(worktree), |(_, next)| next.clone())];
        for (other, next) in &self.switches {
            let call = &self.calls[*other];
            let same_text = call.command.text == command.text;
            // What came before a switch that has happened is over.
            let over =
                sure.is_some_and(|(sure, _)| other <= sure && self.calls[*sure].command.text == call.command.text);
            let later = *other >= at && same_text && !self.loops;
            let may = call.git.as_ref().is_some_and(|call| self.is_in(call, worktree, true));
            if !over && !later && *other != at && may && !on.contains(next) {
                on.push(next.clone());
            }
        }
        on
    }

    /// Returns what a call of git leaves checked out, if it switches.
    fn switched(&self, invocation: &Invocation) -> Option<CheckedOut> {
        let Action::Switch(Switch { to, create, detach, or_path, .. }) = &invocation.action else { return None };
        if *detach && !create {
            return Some(CheckedOut::Detached);
        }
        match to.as_ref().and_then(Word::known) {
            Some("-") | None => Some(CheckedOut::Unknown),
            // A name that is neither a branch of this project nor created by this call may be a file, which switches
            // nothing.
            Some(name) if *or_path && !self.looks_like_branch(name) => None,
            Some(name) if name.starts_with("@{") => Some(CheckedOut::Unknown),
            Some(name) => Some(CheckedOut::Branch(branch_name(name).to_owned())),
        }
    }

    fn looks_like_branch(&self, name: &str) -> bool {
        let claimed = self.scene.flow.as_ref().and_then(|flow| flow.branch.as_deref()) == Some(name);
        claimed
            || self.integrates(name)
            || self.guidelines.branches.prefixes.iter().any(|known| name.starts_with(known))
    }

    /// Checks whether a call surely works in this worktree, or whether it may.
    fn is_in(&self, invocation: &Invocation, worktree: &Worktree, may: bool) -> bool {
        let folders = folders(&self.intent.folder, invocation);
        let mut inside = folders.iter().map(|folder| {
            let place = folder.as_deref().and_then(|folder| self.place(folder));
            place.map(|place| place.worktree.as_deref().is_some_and(|other| other.root == worktree.root))
        });
        if may { inside.any(|inside| inside != Some(false)) } else { inside.all(|inside| inside == Some(true)) }
    }
}

pub(super) fn present(worktree: &Worktree) -> CheckedOut {
    match (&worktree.head, worktree.branch()) {
        (WorktreeHead::Unborn(branch), _) => CheckedOut::Unborn(branch.clone()),
        (_, Some(branch)) => CheckedOut::Branch(branch.to_owned()),
        (WorktreeHead::Detached(_), None) => CheckedOut::Detached,
        (WorktreeHead::Unknown | WorktreeHead::Branch(_), None) => CheckedOut::Unknown,
    }
}

/// Checks whether `branch` is an integration branch.
pub fn integrates(guidelines: &Guidelines, branch: &str) -> bool {
    guidelines.integrates(branch)
}

/// Checks whether the shell text may have a loop.
fn loops(intent: &Intent) -> bool {
    let Tool::Shell { command } = intent.tool.deed() else { return false };
    command.split(|char: char| !char.is_alphanumeric() && char != '_').any(|word| word == "done")
}

/// Checks whether `path` is `folder`, or lies in it.
pub(super) fn is_in(path: &str, folder: &str) -> bool {
    let rest = path.strip_prefix(folder.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns every folder that a call of git may work in; `None` for one that is known only at run time.
pub(super) fn folders(from: &str, invocation: &Invocation) -> Vec<Option<String>> {
    let folder = |word: &Word| absolute(from, word);
    match &invocation.git_dir {
        None => invocation.folders.iter().map(folder).collect(),
        Some(own) => invocation.folders.iter().map(|word| absolute(&folder(word)?, own)).collect(),
    }
}

/// Returns every path that a command writes, resolved in every folder that it may run in. A pattern within a folder is
/// kept as written, because the rules for the folder apply to its matches.
pub(super) fn written(from: &str, command: &Command) -> Vec<Option<String>> {
    let mut paths = Vec::new();
    for write in &command.writes {
        for folder in &command.folders {
            let literal = match write {
                Word::Pattern(pattern) if !named_paths::split(pattern).0.is_empty() => Some(pattern.replace('\\', "")),
                _ => write.known().map(str::to_owned),
            };
            let path = literal.and_then(|path| resolve_from(from, folder, &path));
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

/// Resolves a path relative to a folder that is itself relative to `from`.
pub(super) fn resolve_from(from: &str, folder: &Word, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return Some(path.to_owned());
    }
    absolute(from, folder).and_then(|folder| absolute(&folder, &path.into()))
}

/// Resolves a path relative to a folder. The part before a `..` is kept, because it may be a symlink.
pub(super) fn absolute(from: &str, word: &Word) -> Option<String> {
    let path = word.known()?;
    Some(match path {
        "" | "." => from.to_owned(),
        path if path.starts_with('/') => path.to_owned(),
        path => format!("{}/{path}", from.trim_end_matches('/')),
    })
}

/// Returns a branch without the prefix that git accepts before it.
pub(super) fn branch_name(reference: &str) -> &str {
    let name = reference.strip_prefix("refs/heads/").or_else(|| reference.strip_prefix("heads/"));
    name.unwrap_or(reference)
}

/// Returns the arguments that are not options.
pub(super) fn operands(arguments: &[Word]) -> impl Iterator<Item = &Word> {
    arguments.iter().filter(|word| !word.known().is_some_and(|text| text.starts_with('-')))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::guards;

    fn shell(command: String) -> Intent {
        Intent {
            session: None,
            call: None,
            agent: None,
            folder: "/repo".to_owned(),
            name: "Bash".to_owned(),
            tool: Tool::Shell { command },
            arguments: Vec::new(),
            branch: None,
        }
    }

    /// Every call is compared only with those that check something out. The cost of judging a long chain grows with its
    /// length, not with the square of it.
    #[test]
    fn calls_are_held_against_a_bounded_number_of_others() {
        let held = |one: &str| {
            let intent = shell(one.repeat(3000));
            let reading = guards::read(&intent, &crate::shell::ShellContext::default());
            let worktree = Worktree {
                root: "/repo".to_owned(),
                head: WorktreeHead::Branch("feat/1".to_owned()),
                ..Worktree::default()
            };
            let place = Place { path: "/repo".to_owned(), worktree: Some(Arc::new(worktree)), ..Place::default() };
            let scene = GuardContext { places: [("/repo".to_owned(), place)].into(), ..GuardContext::default() };
            let guidelines = Guidelines::default();
            let judged = JudgedCall::new(&intent, &reading, &scene, &guidelines);
            (judged.calls.len(), judged.switches.len(), judged.ground(2999, Some("/repo")).on)
        };
        let own = CheckedOut::Branch("feat/1".to_owned());
        assert_eq!(held("git status;"), (3000, 0, vec![own.clone()]));
        assert_eq!(
            held("git switch main;"),
            (3000, 3000, vec![own, CheckedOut::Unknown]),
            "too many are not told apart"
        );
    }

    /// The whole text is searched only if a file is written whose name is known only at run time, and then once.
    #[test]
    fn a_long_text_is_not_searched_for_each_of_its_commands() {
        let searched = |text: &str| {
            let intent = shell(text.to_owned());
            let reading = guards::read(&intent, &crate::shell::ShellContext::default());
            let (scene, guidelines) = (GuardContext::default(), Guidelines::default());
            let judged = JudgedCall::new(&intent, &reading, &scene, &guidelines);
            let found = (guards::protect::look(&judged).len(), judged.named.get().is_some());
            (judged.calls.len(), found)
        };
        assert_eq!(searched(&"true;".repeat(3000)), (3000, (0, false)));
        assert_eq!(searched("true; echo > \"$x\" .git/config"), (2, (1, true)));
        let (calls, _) = searched(&":;".repeat(20_000));
        assert!(calls <= 4096, "{calls}");
    }
}

//! Judges the tool calls in the files under `tests/cases/guards`. `$ ` begins a shell command and `> ` continues it;
//! `edit ` gives an edited path; `= ` gives the judgements of all guards, without those that allow. `must allow`,
//! `must stop` and `must hook` require a result of everything after them: a stopped call is asked about or refused, and
//! a call left to git's own hooks is allowed here (the command line's tests run it). Other lines set the context:
//! `on <branch>`, `rules …`, `typecheck …`, `issue <number or key>`, `env NAME=value`, `alias name=text`,
//! `upstream <branch>`, `blocked <request>`, `own <path>`, `question <id>`, `file <path>=<text>`, `person`,
//! `no-remotes`, `afresh`. `UPDATE_EXPECT=1` updates the judgements, but not the required results.

#![expect(clippy::disallowed_methods, reason = "the test reads its cases; the crate reads nothing")]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use portolan_core::run::{Bypass, BypassSource};
use portolan_core::value::Timestamp;
use portolan_gates::guards::{
    self, FlowContext, GuardContext, Operation, Place, TypecheckVerdict, Worktree, WorktreeHead,
};
use portolan_gates::guidelines::{IssueProvider, Level, Who};
use portolan_gates::shell::{self, ShellContext};
use portolan_gates::{Decision, Guidelines, Intent, Judgement, Tool, names};
use proptest::prelude::*;

/// The context of the calls: `/repo` as a case sets it, and other repositories that are always the same.
#[derive(Clone)]
struct World {
    head: Option<Worktree>,
    scene: GuardContext,
    guidelines: Guidelines,
    aliases: BTreeMap<String, String>,
    must: Option<Must>,
}

/// The required result of the following calls.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Must {
    Allow,
    /// The call is asked about or refused.
    Stop,
    /// The guards allow it, and git's own hooks check its effects.
    Hook,
}

fn worktree(root: &str, branch: &str) -> Worktree {
    let (head, operation) = match branch.split_once(' ') {
        Some(("unborn", branch)) => (WorktreeHead::Unborn(branch.to_owned()), None),
        Some(("rebasing", branch)) => {
            (WorktreeHead::Detached("c0ffee".to_owned()), Some(Operation::Rebase(Some(branch.to_owned()))))
        }
        _ if branch == "detached" => (WorktreeHead::Detached("c0ffee".to_owned()), None),
        _ if branch == "unknown" => (WorktreeHead::Unknown, None),
        _ => (WorktreeHead::Branch(branch.to_owned()), None),
    };
    Worktree {
        root: root.to_owned(),
        git_dir: format!("{root}/.git"),
        common_dir: format!("{root}/.git"),
        head,
        operation,
        remotes: vec!["origin".to_owned(), "fork".to_owned()],
        upstreams: ["main", "feat/42-login"]
            .map(|name| (name.to_owned(), ("origin".to_owned(), name.to_owned())))
            .into(),
        repository: Some("me/it".to_owned()),
        ..Worktree::default()
    }
}

impl World {
    fn new() -> World {
        let mut guidelines = Guidelines::default();
        guidelines.integration.push("release/*".to_owned());
        guidelines.commits.require_reference = false;
        let scene =
            GuardContext { typecheck: TypecheckVerdict::NotConfigured, now: Timestamp(1), ..GuardContext::default() };
        World { head: Some(worktree("/repo", "main")), scene, guidelines, aliases: BTreeMap::new(), must: None }
    }

    /// Returns the place of a path, by its text alone.
    fn place(&self, path: &str) -> Place {
        let mut parts: Vec<&str> = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => drop(parts.pop()),
                part => parts.push(part),
            }
        }
        let root = parts.first().copied().unwrap_or_default();
        let worktree = match root {
            "repo" => self.head.clone(),
            "feat" => Some(worktree("/feat", "feat/42-login")),
            "main" => Some(worktree("/main", "main")),
            _ => None,
        };
        let inside = parts.get(1..).unwrap_or_default().join("/");
        let of_git = worktree.is_some() && (inside == ".git" || inside.starts_with(".git/"));
        Place {
            path: format!("/{}", parts.join("/")),
            ignored: worktree.is_some() && (inside.starts_with("build/") || inside.starts_with("node_modules")),
            inside: if worktree.is_some() { inside } else { String::new() },
            worktree: worktree.map(Arc::new),
            of_git,
        }
    }

    fn judge(&self, tool: Tool) -> Vec<Judgement> {
        let intent = Intent {
            session: None,
            call: None,
            agent: None,
            folder: "/repo".to_owned(),
            name: "Tool".to_owned(),
            tool,
            arguments: Vec::new(),
            branch: None,
        };
        let reading = shell::expand(&guards::read(&intent, &self.around()), &self.aliases);
        let wanted = guards::wanted(&intent, &reading);
        let mut scene = self.scene.clone();
        for path in wanted.paths.iter().chain(&wanted.folders).chain(&wanted.named) {
            scene.places.insert(path.clone(), self.place(path));
        }
        scene.home = Some("/home/me".to_owned());
        guards::judge(&intent, &reading, &scene, &self.guidelines)
    }

    fn around(&self) -> ShellContext {
        let text = |text: &str| Some(text.to_owned());
        ShellContext {
            folder: text("/repo"),
            home: text("/home/me"),
            root: text("/repo").filter(|_| self.head.is_some()),
        }
    }

    fn shell(&self, command: &str) -> Vec<Judgement> {
        self.judge(Tool::Shell { command: command.to_owned() })
    }

    fn set(&mut self, line: &str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match (word, rest) {
            ("afresh", _) => *self = World { must: self.must, ..World::new() },
            ("must", "allow") => self.must = Some(Must::Allow),
            ("must", "stop") => self.must = Some(Must::Stop),
            ("must", "hook") => self.must = Some(Must::Hook),
            ("on", "nothing") => self.head = None,
            ("on", branch) => self.head = Some(worktree("/repo", branch)),
            ("upstream", name) => self.with_head(|head| {
                let own = head.branch().expect("a branch").to_owned();
                head.upstreams.insert(own, ("origin".to_owned(), name.to_owned()));
            }),
            ("no-remotes", _) => self.with_head(|head| head.remotes.clear()),
            ("issue", number) => {
                let (issue, key) = (number.parse().ok(), Some(number.to_owned()).filter(|key| key.contains('-')));
                let (task, phase) = ("login".to_owned(), "commit".to_owned());
                self.scene.flow = Some(FlowContext { task, phase, issue, issue_key: key, branch: None });
            }
            ("typecheck", "none") => self.scene.typecheck = TypecheckVerdict::NotConfigured,
            ("typecheck", "passed") => self.scene.typecheck = TypecheckVerdict::Passed,
            ("typecheck", "unknown") => self.scene.typecheck = TypecheckVerdict::Unknown,
            ("typecheck", "failed") => self.scene.typecheck = TypecheckVerdict::Failed("2 errors in a.ts".to_owned()),
            ("blocked", number) => {
                let why = "at `c0ffee`, src/a.rs:1: a test goes".to_owned();
                drop(self.scene.blocked.insert(number.parse().expect("a number"), why));
            }
            ("own", path) => drop(self.scene.own.insert(path.to_owned())),
            ("question", id) => drop(self.scene.human_questions.insert(id.to_owned())),
            ("file", rest) => {
                let (path, text) = rest.split_once('=').expect("a path and a text");
                self.scene.messages.insert(path.to_owned(), text.to_owned());
            }
            ("person", _) => self.scene.by_person = true,
            ("env", rest) => {
                let (name, value) = rest.split_once('=').expect("a name and a value");
                self.scene.environment.push((name.to_owned(), value.to_owned()));
            }
            ("alias", rest) => {
                let (name, text) = rest.split_once('=').expect("a name and a text");
                self.aliases.insert(name.to_owned(), text.to_owned());
            }
            ("rules", rest) => self.rule(rest),
            _ => panic!("`{line}` means nothing"),
        }
    }

    fn with_head(&mut self, change: impl FnOnce(&mut Worktree)) {
        change(self.head.as_mut().expect("a repository"));
    }

    fn rule(&mut self, rule: &str) {
        let rules = &mut self.guidelines;
        match rule.split_once(' ').unwrap_or((rule, "")) {
            ("strict", _) => rules.strict = true,
            ("direct", _) => rules.commit_directly = true,
            ("reference", _) => rules.commits.require_reference = true,
            ("no-closing", _) => rules.issues.allow_closing_keywords = false,
            ("keys", _) => rules.issues.provider = IssueProvider::Pattern { projects: Vec::new() },
            ("agent", "") => rules.bypass_unnamed = Who::Anyone,
            ("agent", name) => drop(rules.bypass.insert(name.to_owned(), Who::Anyone)),
            ("human-only", name) => drop(rules.bypass.insert(name.to_owned(), Who::HumanOnly)),
            ("never", name) => drop(rules.bypass.insert(name.to_owned(), Who::Never)),
            ("warn", name) => drop(rules.levels.insert(name.to_owned(), Level::Warn)),
            ("off", name) => drop(rules.levels.insert(name.to_owned(), Level::Off)),
            _ => panic!("`{rule}` is no rule"),
        }
    }
}

fn judgements_text(judgements: &[Judgement]) -> String {
    let mut told = format!("{:?}", guards::overall(judgements)).to_lowercase();
    for judgement in judgements {
        let past = judgement.bypassed_by.as_ref();
        if judgement.decision == Decision::Allow && past.is_none() {
            continue;
        }
        let decision = match past {
            Some(bypass) => format!("past it by {} ({})", bypass.identifier, bypass.reason),
            None => format!("{:?}", judgement.decision).to_lowercase(),
        };
        let rule = judgement.invariant.as_ref().map_or_else(String::new, |rule| format!(" {rule}"));
        let _ = write!(told, "; {}{rule}: {decision}", judgement.guard);
    }
    told
}

enum Case {
    Shell(String),
    Edit(String),
}

/// The results of the cases.
#[derive(Default)]
struct Tally {
    all: usize,
    /// Those with another result than required.
    wrong: Vec<String>,
    refused: usize,
    asked: usize,
    left_to_git: usize,
}

/// Returns the file with the present judgements.
fn retold(file: &str, tally: &mut Tally) -> String {
    let mut world = World::new();
    let mut out = String::new();
    let mut open: Option<Case> = None;
    for line in file.lines().chain([""]) {
        if let Some(more) = line.strip_prefix("> ").or_else(|| (line == ">").then_some("")) {
            let Some(Case::Shell(command)) = open.as_mut() else { panic!("a command begins with `$ `") };
            let _ = write!(command, "\n{more}");
            let _ = writeln!(out, "{line}");
            continue;
        }
        if line.starts_with("= ") {
            continue;
        }
        if let Some(case) = open.take() {
            tally.all += 1;
            let (text, judgements) = match case {
                Case::Shell(command) => (command.clone(), world.shell(&command)),
                Case::Edit(path) => (path.clone(), world.judge(Tool::Edit { paths: vec![path] })),
            };
            let _ = writeln!(out, "= {}", judgements_text(&judgements));
            let decision = guards::overall(&judgements);
            match world.must {
                Some(Must::Stop) if decision == Decision::Block => tally.refused += 1,
                Some(Must::Stop) => tally.asked += 1,
                Some(Must::Hook) => tally.left_to_git += 1,
                Some(Must::Allow) | None => {}
            }
            if world.must.is_some_and(|must| (must == Must::Stop) != (decision > Decision::Allow)) {
                tally.wrong.push(format!("{text}\n    {}", judgements_text(&judgements)));
            }
            for judgement in &judgements {
                assert!(!judgement.reason.trim().is_empty(), "`{text}`: no reason");
                let helps = judgement.decision != Decision::Block || !judgement.remedies.is_empty();
                assert!(helps, "`{text}`: nothing puts right what {} says", judgement.guard);
            }
        }
        let _ = writeln!(out, "{line}");
        if let Some(command) = line.strip_prefix("$ ") {
            open = Some(Case::Shell(command.to_owned()));
        } else if let Some(path) = line.strip_prefix("edit ") {
            open = Some(Case::Edit(path.to_owned()));
        } else if !line.is_empty() && !line.starts_with('#') {
            world.set(line);
        }
    }
    format!("{}\n", out.trim_end())
}

#[test]
fn every_call_is_judged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/guards");
    let mut tally = Tally::default();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let file = std::fs::read_to_string(&path).expect("a file of cases");
        expect_test::expect_file![path].assert_eq(&retold(&file, &mut tally));
    }
    let wrong = &tally.wrong;
    assert!(wrong.is_empty(), "{} come to something else than they must:\n{}", wrong.len(), wrong.join("\n"));
    assert!(tally.all >= 1_700, "the battery has only {} calls", tally.all);
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guards.md");
    let docs = std::fs::read_to_string(docs).expect("the docs");
    for row in [
        format!("| the guards: refused | {} |", tally.refused),
        format!("| the guards: a person is asked | {} |", tally.asked),
        format!("| git's own hooks: the guards allow the command | {} |", tally.left_to_git),
    ] {
        assert!(docs.contains(&row), "docs/guards.md must say: {row}");
    }
}

/// Judges the commands of the shell reader's own cases, with the doubts that these expect.
#[test]
fn what_the_reader_doubts_is_never_waved_through() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/shell");
    let (mut count, mut doubted) = (0, 0);
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let file = std::fs::read_to_string(entry.expect("an entry").path()).expect("a file of cases");
        for case in file.split("\n$ ").skip(1) {
            let command = case.lines().take_while(|line| !line.starts_with("= "));
            let command: Vec<&str> = command.map(|line| line.strip_prefix("> ").unwrap_or(line)).collect();
            let judgements = World::new().shell(&command.join("\n"));
            count += 1;
            let grave =
                ["DynamicCommand", "DynamicText", "Hidden", "Unparsed", "TooDeep", "Redefined", "UnknownOption"];
            if grave.iter().any(|why| case.contains(&format!("= ? {why}"))) && !case.contains("? Alias") {
                doubted += 1;
                let reading = shell::read(&command.join("\n"));
                let still = reading.doubts.iter().any(|doubt| grave.contains(&format!("{:?}", doubt.why).as_str()));
                assert!(!still || guards::overall(&judgements) > Decision::Allow, "{command:?}: {judgements:#?}");
            }
        }
    }
    assert!(count >= 700 && doubted >= 50, "{count} commands, {doubted} of them doubted");
}

fn recorded(invariant: &str, source: BypassSource) -> Bypass {
    Bypass {
        id: "b1".to_owned(),
        source,
        identifier: "flow override".to_owned(),
        invariant: invariant.to_owned(),
        node: Some("commit".into()),
        reason: "the tool is broken".to_owned(),
        at: Timestamp(0),
        expires_at: Some(Timestamp(5)),
        once: false,
        used: false,
    }
}

#[test]
fn a_bypass_on_record_holds_for_its_rule_and_phase() {
    let judged = |rule: &str, change: &dyn Fn(&mut World)| {
        let mut world = World::new();
        world.set("issue 42");
        world.scene.bypasses.push(recorded(rule, BypassSource::Command));
        change(&mut world);
        let judgements = world.shell("git commit -m x");
        let used = judgements.iter().filter_map(|judgement| judgement.bypassed_by.as_ref()).count();
        (guards::overall(&judgements), used)
    };
    assert_eq!(judged("I-2", &|_| {}), (Decision::Allow, 1));
    assert_eq!(judged("no-edit-on-integration", &|_| {}), (Decision::Allow, 1));
    assert_eq!(
        judged("I-2", &|world| world.set("rules human-only I-2")),
        (Decision::Allow, 1),
        "a person confirmed it"
    );
    assert_eq!(judged("I-2", &|world| world.set("rules never I-2")), (Decision::Block, 0));
    assert_eq!(judged("I-1", &|_| {}), (Decision::Block, 0));
    assert_eq!(judged("*", &|_| {}), (Decision::Block, 0));
    assert_eq!(judged("I-2", &|world| world.scene.now = Timestamp(5)), (Decision::Block, 0), "it has ended");
    let flow =
        |change: &dyn Fn(&mut FlowContext)| judged("I-2", &|world| change(world.scene.flow.as_mut().expect("a flow")));
    assert_eq!(flow(&|flow| flow.phase = "qa".to_owned()), (Decision::Block, 0));
    assert_eq!(judged("I-2", &|world| world.scene.flow = None), (Decision::Block, 0));
    assert_eq!(judged("I-2", &|world| world.scene.bypasses[0].reason = " ".to_owned()), (Decision::Block, 0));
}

#[test]
fn a_tool_of_a_server_counts_for_what_it_does() {
    let judged = |does: Option<Tool>| {
        let (server, tool) = ("some".to_owned(), "tool".to_owned());
        guards::overall(&World::new().judge(Tool::Mcp { server, tool, does: does.map(Box::new) }))
    };
    let shell = |command: &str| Some(Tool::Shell { command: command.to_owned() });
    let edit = |path: &str| Some(Tool::Edit { paths: vec![path.to_owned()] });
    assert_eq!(judged(shell("git -C /repo commit -m x")), Decision::Block);
    assert_eq!(judged(shell("git push origin HEAD:refs/heads/main")), Decision::Block);
    assert_eq!(judged(shell("git push origin HEAD:refs/heads/feat/42-login")), Decision::Allow);
    assert_eq!(judged(shell("gh pr merge 12")), Decision::Ask);
    assert_eq!(judged(shell("for x in 1 2; do git commit -m x; git switch main; done")), Decision::Block);
    assert_eq!(judged(edit("src/a.rs")), Decision::Block);
    assert_eq!(judged(edit("/repo/.git/config")), Decision::Block);
    assert_eq!(judged(edit("/feat/src/a.rs")), Decision::Allow);
    assert_eq!(judged(None), Decision::Allow);
}

/// A tool of a forge's server names the repository that it writes, which may not belong to this project.
#[test]
fn a_push_to_another_repository_is_asked_and_none_to_ones_own_is_let_through() {
    let judged = |remotes: &[&str], change: fn(&mut World), line: &str| {
        let mut world = World::new();
        let known: Option<BTreeSet<String>> = remotes.iter().map(|one| names::repository(one)).collect();
        world.with_head(|head| head.repositories = known.filter(|known| !known.is_empty()));
        change(&mut world);
        let does = Some(Box::new(Tool::Shell { command: line.to_owned() }));
        guards::overall(&world.judge(Tool::Mcp { server: "github".to_owned(), tool: "push_files".to_owned(), does }))
    };
    let own = ["git@github.com:me/it.git", "https://ghe.example.com/you/it"];
    for (line, expected) in [
        ("git push forge://me/it HEAD:refs/heads/main", Decision::Block),
        ("git push forge://Me/It :refs/heads/main", Decision::Block),
        ("git push forge://you/it HEAD:refs/heads/release/1", Decision::Block),
        ("git push forge://me/it HEAD:refs/heads/feat/1", Decision::Allow),
        ("git push forge://other/x HEAD:refs/heads/main", Decision::Ask),
        ("git push forge://other/x HEAD:refs/heads/develop", Decision::Ask),
        ("git push forge://e/it HEAD:refs/heads/main", Decision::Ask),
        ("git push forge://other/x :refs/heads/main", Decision::Ask),
        ("git push forge://other/x HEAD:refs/heads/feat/1", Decision::Allow),
        ("git push origin HEAD:refs/heads/main", Decision::Block),
    ] {
        assert_eq!(judged(&own, |_| {}, line), expected, "{line}");
    }
    let abroad = "git push forge://other/x HEAD:refs/heads/main";
    assert_eq!(judged(&own, |world| world.guidelines.strict = true, abroad), Decision::Block);
    for untold in [&[][..], &["/srv/it.git"], &["git@github.com:me/it.git", "../it"]] {
        assert_eq!(judged(untold, |_| {}, abroad), Decision::Block, "what cannot be compared is taken for one's own");
    }
    let shell = |line: &str| guards::overall(&World::new().shell(line));
    assert_eq!(shell(abroad), Decision::Block, "no text of a shell says so");
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Returns commands that are blocked on `main`.
fn blocked() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "git commit -m x",
        "git commit --amend --no-edit",
        "git push origin HEAD:main",
        "git push --mirror",
        "git merge feat/42-login",
        "git branch -D main",
        "git update-ref refs/heads/main HEAD~1",
        "git reset --hard HEAD~1",
        "git rebase feat/42-login",
        "git -c core.hooksPath=/dev/null commit -m x",
        "echo x > src/a.rs",
        "sed -i s/a/b/ src/a.rs",
        "rm .git/hooks/pre-commit",
        "portolan trust",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn no_wrapping_makes_it_allowed(command in blocked(), wrappers in prop::collection::vec(0usize..11, 1..5)) {
        let world = World::new();
        prop_assert_eq!(guards::overall(&world.shell(command)), Decision::Block);
        let mut text = command.to_owned();
        for wrapper in &wrappers {
            text = match wrapper {
                0 => format!("sh -c {}", quoted(&text)),
                1 => format!("( {text} )"),
                2 => format!("true && {text}"),
                3 => format!("env X=1 sh -c {}", quoted(&text)),
                4 => format!("echo $( {text} )"),
                5 => format!("if true; then {text}; fi"),
                6 => format!("eval {}", quoted(&text)),
                7 => format!("{{ {text}; }} 2>&1 | cat"),
                8 => format!("sudo -u me timeout 5 bash -ec {}", quoted(&text)),
                9 => format!("cd src; cd /repo && {text}"),
                _ => format!("f() {{ {text}; }}; f"),
            };
        }
        let judgements = world.shell(&text);
        prop_assert!(guards::overall(&judgements) > Decision::Allow, "`{}`: {:#?}", text, judgements);
    }

    #[test]
    fn no_text_is_too_much(text in any::<String>(), strict in any::<bool>(), branch in 0usize..5) {
        let mut world = World::new();
        world.guidelines.strict = strict;
        world.set(["on main", "on unborn main", "on detached", "on nothing", "on unknown"][branch]);
        world.shell(&text);
        world.shell(&format!("git {text}"));
        world.shell(&format!("git push origin {text}"));
        world.judge(Tool::Edit { paths: vec![text] });
    }

    #[test]
    fn what_strict_rules_allow_others_allow_too(command in blocked(), prefix in 0usize..4) {
        let mut world = World::new();
        world.set("on feat/42-login");
        let text = format!("{}{command}", ["", "$X; ", "eval \"$Y\"; ", "cd $Z && "][prefix]);
        let open = guards::overall(&world.shell(&text));
        world.guidelines.strict = true;
        let strict = guards::overall(&world.shell(&text));
        prop_assert!(strict >= open && strict != Decision::Ask, "`{}`: {:?} {:?}", text, open, strict);
    }
}

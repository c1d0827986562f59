//! A call of git in normalized form: its global options, and its effect on the repository, as data.

mod actions;
pub(super) mod alias;
mod options;
mod subcommands;
mod targets;

pub use actions::{Action, CommitCall, ConfigWrite, Merge, Message, Push, Refspec, Replay, Switch};
pub(super) use targets::files;

use std::sync::Arc;

use super::programs::{base_name, lists};
use super::walk::join;
use super::writes::valued;
use super::{Assignment, Command, Word};

/// A call of git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// Every folder that it may work in, including `-C`.
    pub folders: Vec<Word>,
    /// `--git-dir` or `GIT_DIR`.
    pub git_dir: Option<Word>,
    /// `--work-tree` or `GIT_WORK_TREE`.
    pub work_tree: Option<Word>,
    /// `GIT_INDEX_FILE`.
    pub index_file: Option<Word>,
    /// The configuration for this call, by `-c`, `--config-env` or the environment. A key is in lower case; one that is
    /// known only at run time is `?`.
    pub config: Vec<(String, Word)>,
    /// Whether hooks are skipped (`--no-verify`) or replaced (`core.hooksPath` by any means, or the programs of another
    /// git).
    pub hooks: Hooks,
    /// Its effect.
    pub action: Action,
    /// Folders that it creates, files that replace git's own, and paths of the index, relative to `folders`.
    pub places: Vec<Word>,
    /// The tree that it takes files or index entries from, and their paths.
    pub takes: Option<(Word, Vec<Word>)>,
    /// Whether it sets index entries (`update-index`).
    pub updates: bool,
    /// The parts that are not understood: unknown options, and words that could be options but are known only at run
    /// time.
    pub unclear: Vec<String>,
}

/// What happens to the hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hooks {
    /// Whether some are skipped.
    pub skipped: bool,
    /// Whether hooks other than those of the repository run.
    pub replaced: bool,
}

/// Returns the call of git that `command` is, if it is one.
#[must_use]
pub fn invocation(command: &Command) -> Option<Invocation> {
    let globals = globals(command)?;
    let (name, arguments) = match &globals.subcommand {
        Some((Word::Known(name), rest)) => (name.clone(), rest.clone()),
        Some((_, rest)) => (String::new(), rest.clone()),
        None => ("version".to_owned(), Vec::new()),
    };
    let told = subcommands::told(&name, &arguments, command.stdin.as_ref());
    let places = targets::places(&name, &arguments, command.carried.iter().chain(&command.assignments));
    let takes = targets::taken(&name, &arguments);
    let mut unclear = globals.unclear;
    unclear.extend(told.unclear);
    unclear.dedup();
    let writes_hooks = matches!(&told.action, Action::Config(write) if is_hooks(&write.key));
    let replaced = writes_hooks || globals.config.iter().any(|(key, _)| is_hooks(key)) || globals.exec_path;
    Some(Invocation {
        folders: globals.folders,
        git_dir: globals.git_dir,
        work_tree: globals.work_tree,
        index_file: globals.index_file,
        config: globals.config,
        hooks: Hooks { skipped: told.skips_hooks, replaced },
        action: told.action,
        places,
        takes,
        updates: name == "update-index",
        unclear,
    })
}

fn is_hooks(key: &str) -> bool {
    // Included configuration files may set anything.
    key == "core.hookspath" || key == "?" || key.starts_with("include.") || key.starts_with("includeif.")
}

/// The part of a call before the subcommand.
pub(super) struct Globals {
    folders: Vec<Word>,
    /// The folder of `-C`, relative to the folder of the command.
    base: Word,
    git_dir: Option<Word>,
    work_tree: Option<Word>,
    index_file: Option<Word>,
    pub(super) config: Vec<(String, Word)>,
    exec_path: bool,
    unclear: Vec<String>,
    /// The subcommand and its arguments.
    pub(super) subcommand: Option<(Word, Vec<Word>)>,
    /// The index of the subcommand in the words.
    pub(super) at: usize,
}

/// Options without a value that do not affect the result.
const QUIET: &str = "-p --paginate -P --no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs \
    --icase-pathspecs --no-optional-locks --no-lazy-fetch --no-advice";

/// Parses the part of a call of git before the subcommand.
pub(super) fn globals(command: &Command) -> Option<Globals> {
    // Programs ignore case on file systems that do.
    let program = command.program()?.to_ascii_lowercase();
    let dashed = program.strip_prefix("git-").map(str::to_owned);
    if program != "git" && dashed.is_none() {
        return None;
    }
    let mut globals = Globals {
        folders: command.folders.clone(),
        base: Word::from("."),
        git_dir: None,
        work_tree: None,
        index_file: None,
        config: Vec::new(),
        exec_path: false,
        unclear: Vec::new(),
        subcommand: None,
        at: command.words.len(),
    };
    for assignment in command.carried.iter().chain(&command.assignments) {
        globals.environment(assignment);
    }
    globals.counted(command);
    match dashed {
        Some(name) => {
            globals.at = 0;
            globals.subcommand = Some((Word::Known(name), command.words[1..].to_vec()));
        }
        None => globals.options(&command.words),
    }
    Some(globals)
}

impl Globals {
    fn environment(&mut self, assignment: &Assignment) {
        let value = Some(assignment.value.clone());
        match assignment.name.as_str() {
            "GIT_DIR" => self.git_dir = value,
            "GIT_WORK_TREE" => self.work_tree = value,
            "GIT_INDEX_FILE" => self.index_file = value,
            "GIT_EXEC_PATH" => self.exec_path = true,
            // The references would be those of a repository other than the inspected one.
            "GIT_COMMON_DIR" => self.unclear.push("GIT_COMMON_DIR".to_owned()),
            // Whole files and lists of configuration.
            "GIT_CONFIG"
            | "GIT_CONFIG_GLOBAL"
            | "GIT_CONFIG_SYSTEM"
            | "GIT_CONFIG_PARAMETERS"
            | "HOME"
            | "XDG_CONFIG_HOME" => {
                self.config.push(("?".to_owned(), assignment.value.clone()));
            }
            _ => {}
        }
    }

    /// Reads `GIT_CONFIG_KEY_0=key GIT_CONFIG_VALUE_0=value`.
    fn counted(&mut self, command: &Command) {
        let all = || command.carried.iter().chain(&command.assignments);
        for assignment in all() {
            let Some(number) = assignment.name.strip_prefix("GIT_CONFIG_KEY_") else { continue };
            let name = format!("GIT_CONFIG_VALUE_{number}");
            let value = all().rfind(|other| other.name == name).map_or(Word::Dynamic, |other| other.value.clone());
            let key = assignment.value.known().map_or_else(|| "?".to_owned(), str::to_lowercase);
            self.config.push((key, value));
        }
    }

    fn options(&mut self, words: &[Word]) {
        let mut at = 1;
        while let Some(word) = words.get(at) {
            let Some(text) = word.known() else {
                self.unclear.push("?".to_owned());
                self.subcommand = Some((Word::Dynamic, words[at + 1..].to_vec()));
                self.at = at;
                return;
            };
            if !text.starts_with('-') {
                self.subcommand = Some((word.clone(), words[at + 1..].to_vec()));
                self.at = at;
                return;
            }
            at += self.option(text, words.get(at + 1));
        }
    }

    /// Reads one option, and returns the number of its words.
    fn option(&mut self, text: &str, next: Option<&Word>) -> usize {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(Word::from(value))));
        let apart = usize::from(value.is_none());
        let taken = || value.clone().or_else(|| next.cloned()).unwrap_or(Word::Dynamic);
        match name {
            "-C" => {
                let folder = taken();
                self.folders = self.folders.iter().map(|from| join(from, &folder)).collect();
                self.base = join(&self.base, &folder);
                return 2;
            }
            "-c" => {
                let (key, value) = setting(&next.cloned().unwrap_or(Word::Dynamic));
                self.config.push((key, value));
                return 2;
            }
            "--config-env" => {
                let (key, _) = setting(&taken());
                self.config.push((key, Word::Dynamic));
            }
            "--git-dir" => self.git_dir = Some(taken()),
            "--work-tree" => self.work_tree = Some(taken()),
            "--exec-path" if value.is_some() => {
                self.exec_path = true;
                return 1;
            }
            "--namespace" | "--super-prefix" | "--attr-source" | "--list-cmds" => {}
            "--exec-path" | "--version" | "-v" | "--help" | "-h" | "--html-path" | "--man-path" | "--info-path" => {
                return 1;
            }
            _ if lists(QUIET, text) => return 1,
            _ => {
                self.unclear.push(text.to_owned());
                return 1;
            }
        }
        1 + apart
    }
}

/// Parses `key=value`, as `-c` takes it.
fn setting(word: &Word) -> (String, Word) {
    match word.known().map(|text| text.split_once('=').unwrap_or((text, "true"))) {
        Some((key, value)) => (key.to_lowercase(), Word::from(value)),
        None => ("?".to_owned(), Word::Dynamic),
    }
}

/// Configuration keys and variables whose value is a program.
const PROGRAMS: &str = "core.pager core.editor core.sshcommand core.fsmonitor core.askpass sequence.editor diff.external gpg.program \
    credential.helper gpg.ssh.defaultkeycommand interactive.difffilter sendemail.smtpserver sendemail.sendmailcmd \
    sendemail.tocmd sendemail.cccmd sendemail.headercmd uploadpack.packobjectshook gc.recentobjectshook \
    core.alternaterefscommand GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS \
    GIT_SSH GIT_PROXY_COMMAND SSH_ASKPASS SUDO_EDITOR EDITOR VISUAL PAGER";

/// Suffixes of such keys: `diff.x.textconv`.
const PROGRAM_ENDS: &str = ".textconv .command .driver .cmd .clean .smudge .process .program .helper";

/// Returns the texts that a call of git passes to a shell, and the words that it runs.
pub(super) fn texts(command: &Command) -> Vec<Word> {
    let Some(globals) = globals(command) else { return Vec::new() };
    let set = globals.config.iter().filter(|(key, _)| runs(key)).map(|(_, value)| value.clone());
    let assigned = command.carried.iter().chain(&command.assignments);
    let assigned = assigned.filter(|given| runs(&given.name)).map(|given| given.value.clone());
    // Git takes `!text` as shell text wherever it accepts a name or a text.
    let shell =
        |word: Word| word.known().and_then(|text| text.strip_prefix('!')).map(Word::from).unwrap_or(word.clone());
    let mut found: Vec<Word> = set.chain(assigned).map(shell).collect();
    found.extend(subcommand_texts(&globals));
    // These values name no program: they turn a pager, or git's own file monitor, on or off.
    found.retain(|word| !matches!(word.known(), Some("" | "true" | "false")));
    found
}

/// Returns the command without the variables that name programs of git. One that names git itself would be read
/// endlessly.
pub(super) fn without_programs(command: Command) -> Command {
    let kept = |given: &&Assignment| !runs(&given.name);
    Command {
        carried: Arc::new(command.carried.iter().filter(kept).cloned().collect()),
        assignments: command.assignments.iter().filter(kept).cloned().collect(),
        ..command
    }
}

/// Checks whether the value of a configuration key, or of a variable, is a program.
fn runs(name: &str) -> bool {
    lists(PROGRAMS, name)
        || name.starts_with("pager.")
        || PROGRAM_ENDS.split_ascii_whitespace().any(|end| name.ends_with(end))
}

/// Returns the program that `git config` writes, if it writes one.
fn written_program(globals: &Globals, arguments: &[Word]) -> Vec<Word> {
    let Some((Word::Known(name), _)) = &globals.subcommand else { return Vec::new() };
    match subcommands::told(name, arguments, None).action {
        Action::Config(ConfigWrite { key, value: Some(value) }) if runs(&key) => vec![value],
        _ => Vec::new(),
    }
}

fn subcommand_texts(globals: &Globals) -> Vec<Word> {
    let Some((Word::Known(name), arguments)) = &globals.subcommand else { return Vec::new() };
    let known = |at: usize| arguments.get(at).and_then(Word::known);
    match (name.as_str(), known(0)) {
        ("submodule", Some("foreach")) => {
            let rest = arguments[1..].iter().skip_while(|word| word.known().is_some_and(|text| text.starts_with('-')));
            let rest: Vec<&Word> = rest.collect();
            // One argument is a text; several are a program and its arguments.
            vec![if let [text] = rest[..] { text.clone() } else { joined(rest.into_iter()) }]
        }
        ("bisect", Some("run")) => vec![joined(arguments[1..].iter())],
        ("rebase", _) => subcommands::executed(arguments),
        // Git appends both files to the command.
        ("difftool", _) => valued(arguments, "-x --extcmd").iter().map(with_files).collect(),
        ("grep", _) => valued(arguments, "-O --open-files-in-pager"),
        ("for-each-repo", _) => {
            let call = arguments.iter().skip_while(|word| word.known().is_some_and(|text| text.starts_with('-')));
            vec![joined(std::iter::once(&Word::from("git")).chain(call))]
        }
        ("fetch" | "fetch-pack" | "pull" | "ls-remote" | "clone" | "push" | "send-pack" | "archive", _) => {
            let mut found = other_sides(&globals.subcommand);
            found.extend(arguments.iter().filter_map(|word| word.known()?.strip_prefix("ext::")).map(Word::from));
            found
        }
        // Another side starts it, and it runs what that side requests.
        ("remote-ext" | "shell", _) => vec![Word::Dynamic],
        // Git runs the written program later.
        ("config", _) => written_program(globals, arguments),
        ("filter-branch", _) => valued(arguments, "--tree-filter --index-filter --msg-filter --env-filter"),
        _ => Vec::new(),
    }
}

fn with_files(text: &Word) -> Word {
    text.known().map_or(Word::Dynamic, |text| Word::Known(format!("{text} \"$LOCAL\" \"$REMOTE\"")))
}

/// Returns the programs that a call runs at the other side, which may be this machine.
fn other_sides(subcommand: &Option<(Word, Vec<Word>)>) -> Vec<Word> {
    let Some((Word::Known(name), arguments)) = subcommand else { return Vec::new() };
    match name.as_str() {
        "fetch" | "fetch-pack" | "pull" | "ls-remote" => valued(arguments, "--upload-pack --exec"),
        "clone" => valued(arguments, "-u --upload-pack"),
        "push" | "send-pack" => valued(arguments, "--receive-pack --exec"),
        "archive" => valued(arguments, "--exec"),
        _ => Vec::new(),
    }
}

/// Checks whether a call runs a program other than git's own at the other side.
pub(super) fn runs_other_side(command: &Command) -> bool {
    let usual = |word: &Word| {
        let program = word.known().and_then(|text| text.split_whitespace().next()).unwrap_or_default();
        matches!(base_name(program), "git" | "git-upload-pack" | "git-receive-pack" | "git-upload-archive")
    };
    globals(command).is_some_and(|globals| !other_sides(&globals.subcommand).iter().all(usual))
}

/// Joins words to a text that a shell splits into the same words.
fn joined<'a>(words: impl Iterator<Item = &'a Word>) -> Word {
    let quoted = |word: &str| format!("'{}'", word.replace('\'', "'\\''"));
    let known: Option<Vec<String>> = words.map(|word| word.known().map(quoted)).collect();
    known.map_or(Word::Dynamic, |known| Word::Known(known.join(" ")))
}

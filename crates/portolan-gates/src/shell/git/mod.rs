//! A call of git in normalized form: its global options, and its effect on the repository, as data.

mod actions;
pub(super) mod alias;
mod options;
mod subcommands;
mod targets;

pub use actions::{Action, ConfigWrite, Message, Push, Refspec, Switch};

use super::programs::{base_name, lists};
use super::walk::join;
use super::writes::valued;
use super::{Assignment, Command, Word};

/// A call of git.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invocation {
    /// The subcommand; empty if it is known only at run time.
    pub name: String,
    /// The arguments of the subcommand.
    pub arguments: Vec<Word>,
    /// The index of the subcommand in the words.
    at: usize,
    /// Every folder that it may work in, including `-C`.
    pub folders: Vec<Word>,
    /// The folder of `-C`, relative to the folder of the command.
    base: Word,
    /// `--git-dir` or `GIT_DIR`.
    pub git_dir: Option<Word>,
    /// `--work-tree` or `GIT_WORK_TREE`.
    pub work_tree: Option<Word>,
    /// `GIT_INDEX_FILE`.
    pub index_file: Option<Word>,
    /// The configuration for this call, by `-c`, `--config-env` or the environment. A key is in lower case; one that is
    /// known only at run time is `?`.
    pub config: Vec<(String, Word)>,
    /// Whether hooks are skipped (`--no-verify`).
    pub skips_hooks: bool,
    /// Whether other hooks run: those of `core.hooksPath` by any means, or of the programs of another git.
    pub replaces_hooks: bool,
    /// Its effect.
    pub action: Action,
    /// Files that its options make it write, relative to the folder of the command.
    pub(super) files: Vec<Word>,
    /// Folders that it creates, files that replace git's own, and paths of the index, relative to `folders`.
    pub places: Vec<Word>,
    /// The tree that it takes files or index entries from, and their paths.
    pub takes: Option<(Word, Vec<Word>)>,
    /// The parts that are not understood: unknown options, and words that could be options but are known only at run
    /// time (`?`).
    pub unclear: Vec<String>,
}

/// Returns the call of git that `command` is, if it is one.
#[must_use]
pub fn invocation(command: &Command) -> Option<Invocation> {
    let mut call = globals(command)?;
    let given = options::read(&call.name, &call.arguments);
    let assigned = command.carried.iter().chain(&command.assignments);
    call.places = targets::places(&call.name, &call.arguments, assigned);
    call.files = targets::files(&call.name, &call.arguments).iter().map(|file| join(&call.base, file)).collect();
    call.takes = match &given {
        Some(given) => subcommands::taken(&call.name, given),
        None => targets::read_tree(&call.arguments).filter(|_| call.name == "read-tree"),
    };
    call.action = match &given {
        _ if call.arguments.first().and_then(Word::known) == Some("--help") => Action::Reads,
        Some(given) => subcommands::parsed(&call.name, given, command.stdin.as_ref()),
        None => subcommands::plain(&call.name, &call.arguments),
    };
    if let Some(given) = given {
        let short = if matches!(&*call.name, "commit" | "am") { "n no-verify" } else { "no-verify" };
        call.skips_hooks = given.any(short);
        call.unclear.extend(given.unclear);
        call.unclear.dedup();
    }
    // Included configuration files may set anything.
    let is_hooks = |key: &str| key == "core.hookspath" || key == "?" || key.starts_with("include");
    call.replaces_hooks |= matches!(&call.action, Action::Config(write) if is_hooks(&write.key))
        || call.config.iter().any(|(key, _)| is_hooks(key));
    Some(call)
}

/// Options without a value that do not affect the result.
const QUIET: &str = "-p --paginate -P --no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs --noglob-pathspecs \
    --icase-pathspecs --no-optional-locks --no-lazy-fetch --no-advice --exec-path --version -v --help -h --html-path --man-path \
    --info-path";

/// Parses the part of a call of git before the subcommand.
fn globals(command: &Command) -> Option<Invocation> {
    // Programs ignore case on file systems that do.
    let program = command.program()?.to_ascii_lowercase();
    let dashed = program.strip_prefix("git-");
    if program != "git" && dashed.is_none() {
        return None;
    }
    let mut call = Invocation {
        name: dashed.unwrap_or("version").to_owned(),
        arguments: command.words[1..].to_vec(),
        at: 0,
        folders: command.folders.clone(),
        base: Word::from("."),
        git_dir: None,
        work_tree: None,
        index_file: None,
        config: Vec::new(),
        skips_hooks: false,
        replaces_hooks: false,
        action: Action::Reads,
        files: Vec::new(),
        places: Vec::new(),
        takes: None,
        unclear: Vec::new(),
    };
    for assignment in command.carried.iter().chain(&command.assignments) {
        call.environment(assignment);
    }
    if dashed.is_none() {
        call.options(&command.words);
    }
    Some(call)
}

impl Invocation {
    fn environment(&mut self, assignment: &Assignment) {
        let value = assignment.value.clone();
        match assignment.name.as_str() {
            "GIT_DIR" => self.git_dir = Some(value),
            "GIT_WORK_TREE" => self.work_tree = Some(value),
            "GIT_INDEX_FILE" => self.index_file = Some(value),
            "GIT_EXEC_PATH" => self.replaces_hooks = true,
            // The references would be those of a repository other than the inspected one.
            "GIT_COMMON_DIR" => self.unclear.push("GIT_COMMON_DIR".to_owned()),
            // Whole files and lists of configuration.
            "GIT_CONFIG"
            | "GIT_CONFIG_GLOBAL"
            | "GIT_CONFIG_SYSTEM"
            | "GIT_CONFIG_PARAMETERS"
            | "HOME"
            | "XDG_CONFIG_HOME" => self.config.push(("?".to_owned(), value)),
            // The values of `GIT_CONFIG_KEY_0=key GIT_CONFIG_VALUE_0=value` are not looked up.
            name if name.starts_with("GIT_CONFIG_KEY_") => {
                let key = value.known().map_or_else(|| "?".to_owned(), str::to_lowercase);
                self.config.push((key, Word::Dynamic));
            }
            _ => {}
        }
    }

    fn options(&mut self, words: &[Word]) {
        let mut at = 1;
        self.arguments.clear();
        while let Some(word) = words.get(at) {
            match word.known() {
                Some(text) if text.starts_with('-') => at += self.option(text, words.get(at + 1)),
                name => {
                    self.unclear.extend(name.is_none().then(|| "?".to_owned()));
                    self.name = name.unwrap_or_default().to_owned();
                    self.arguments = words[at + 1..].to_vec();
                    self.at = at;
                    return;
                }
            }
        }
    }

    /// Reads one option, and returns the number of its words.
    fn option(&mut self, text: &str, next: Option<&Word>) -> usize {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(Word::from(value))));
        let words = 1 + usize::from(value.is_none());
        let given = value.clone().or_else(|| next.cloned()).unwrap_or(Word::Dynamic);
        match name {
            "-C" => {
                self.folders = self.folders.iter().map(|from| join(from, &given)).collect();
                self.base = join(&self.base, &given);
            }
            "-c" | "--config-env" => {
                let setting = given.known().map(|text| text.split_once('=').unwrap_or((text, "true")));
                let (key, value) = setting.unwrap_or(("?", ""));
                let value = if name == "-c" && setting.is_some() { Word::from(value) } else { Word::Dynamic };
                self.config.push((key.to_lowercase(), value));
            }
            "--git-dir" => self.git_dir = Some(given),
            "--work-tree" => self.work_tree = Some(given),
            "--namespace" | "--super-prefix" | "--attr-source" | "--list-cmds" => {}
            "--exec-path" if value.is_some() => self.replaces_hooks = true,
            _ if lists(QUIET, text) => return 1,
            _ => {
                self.unclear.push(text.to_owned());
                return 1;
            }
        }
        words
    }
}

/// Checks whether the value of a variable is a program that git starts.
pub(crate) fn names_program(variable: &str) -> bool {
    ["EDITOR", "PAGER", "ASKPASS", "SSH", "_COMMAND", "_DIFF"].iter().any(|end| variable.ends_with(end))
        || variable == "VISUAL"
}

/// Sections of the configuration that name no program.
const INERT: [&str; 8] = ["?", "user", "author", "committer", "color", "advice", "branch", "remote"];

/// Returns the texts that a call of git passes to a shell. Most settings may be one; read as such, most run nothing.
pub(super) fn texts(command: &Command) -> Vec<Word> {
    let Some(call) = invocation(command) else { return Vec::new() };
    let counts = |key: &str| !INERT.contains(&key.split('.').next().unwrap_or_default());
    let mut found: Vec<Word> =
        call.config.iter().filter(|(key, _)| counts(key)).map(|(_, value)| value.clone()).collect();
    let assigned = command.carried.iter().chain(&command.assignments);
    found.extend(assigned.filter(|given| names_program(&given.name)).map(|given| given.value.clone()));
    let arguments = &call.arguments;
    let verb = arguments.first().and_then(Word::known).unwrap_or_default();
    let rest = || arguments[1..].iter().skip_while(|word| word.known().is_some_and(|text| text.starts_with('-')));
    match &*call.name {
        "submodule" if verb == "foreach" => found.push(joined(rest())),
        "bisect" if verb == "run" => found.push(joined(rest())),
        "rebase" => {
            found.extend(options::read(&call.name, arguments).iter().flat_map(|given| given.values("x exec").cloned()))
        }
        // Git appends both files to the command.
        "difftool" => {
            let with_files = |text: &Word| Some(Word::Known(format!("{} $LOCAL $REMOTE", text.known()?)));
            found.extend(valued(arguments, "-x --extcmd").iter().map(|text| with_files(text).unwrap_or(Word::Dynamic)));
        }
        "grep" => found.extend(valued(arguments, "-O --open-files-in-pager")),
        "filter-branch" => found.extend(valued(arguments, "--tree-filter --index-filter --msg-filter --env-filter")),
        // Git runs the written program later.
        "config" => match call.action {
            Action::Config(ConfigWrite { key, value: Some(value) }) if counts(&key) => found.push(value),
            _ => {}
        },
        _ => {}
    }
    // Git takes `!text` as shell text wherever it accepts a name or a text.
    let shell =
        |word: Word| word.known().and_then(|text| text.strip_prefix('!')).map(Word::from).unwrap_or(word.clone());
    // One word is at most a program, which may do anything anyway.
    let is_text = |word: &Word| word.known().is_none_or(|text| text.contains(|char| " \t\n$`;&|<>()!".contains(char)));
    found.into_iter().filter(is_text).map(shell).collect()
}

/// Checks whether a call starts a program that its arguments do not show in full: at the other side, which may be this
/// machine, or in every repository of a list.
pub(super) fn runs_unseen(command: &Command) -> bool {
    let Some(call) = invocation(command) else { return false };
    let sides = match &*call.name {
        "remote-ext" | "shell" | "for-each-repo" => return true,
        "clone" => "-u --upload-pack",
        "fetch" | "fetch-pack" | "pull" | "ls-remote" | "push" | "send-pack" | "archive" => {
            "--upload-pack --receive-pack --exec"
        }
        _ => return false,
    };
    let usual = |word: &Word| {
        let program = base_name(word.known().unwrap_or_default());
        matches!(program, "git-upload-pack" | "git-receive-pack" | "git-upload-archive")
    };
    let external = |word: &Word| word.known().is_some_and(|text| text.starts_with("ext::"));
    !valued(&call.arguments, sides).iter().all(usual) || call.arguments.iter().any(external)
}

/// Joins words to the text that a shell splits into the same words. One word is a text itself.
fn joined<'a>(words: impl Iterator<Item = &'a Word>) -> Word {
    let words: Vec<&Word> = words.collect();
    let quoted = |word: &&Word| word.known().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
    match words[..] {
        [text] => text.clone(),
        _ => {
            words.iter().map(quoted).collect::<Option<Vec<_>>>().map_or(Word::Dynamic, |all| Word::Known(all.join(" ")))
        }
    }
}

/// Returns the files that options of a call of git make it write, relative to the folder of the command.
pub(super) fn files(command: &Command) -> Vec<Word> {
    invocation(command).map_or_else(Vec::new, |call| call.files)
}

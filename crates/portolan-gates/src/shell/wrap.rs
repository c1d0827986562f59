//! Unwraps programs that start others: `env`, `sudo`, `xargs`, `find -exec`, `sh -c` and the like, until the started
//! command is left. Which of their options take a value is not always known. If a word may be the value or the program,
//! both are read.

use std::sync::Arc;

use super::walk::join;
use super::{Assignment, Command, Why, Word, git, programs};

/// A text that is read on its own.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) folders: Vec<Word>,
    pub(super) carried: Arc<Vec<Assignment>>,
    pub(super) assignments: Vec<Assignment>,
}

/// The result of unwrapping a command.
#[derive(Default)]
pub(super) struct UnwrapResult {
    pub(super) commands: Vec<Command>,
    pub(super) texts: Vec<Text>,
    pub(super) doubts: Vec<(Why, String)>,
    /// Whether the folder of the shell itself may have changed.
    pub(super) moves: bool,
}

/// Options of wrappers that take no value. Any other one with a single letter, and every long one without `=`, may take
/// the next word as its value.
const FLAGS: &[(&str, &str)] = &[
    ("sudo", "EnHkbSAPBisN"),
    ("doas", "nLs"),
    ("env genv", "i0v"),
    ("xargs gxargs", "0rtpxo"),
    ("time gtime", "pvaq"),
    ("timeout gtimeout", "vfp"),
    ("setsid", "fwc"),
    ("flock", "sxenuoF"),
    ("watch", "dtbegcxp"),
    ("command", "p"),
    ("exec", "cl"),
    ("ionice", "t"),
];

/// Checks whether the word after an option may be its value.
fn may_take(name: &str, option: &str) -> bool {
    let flags = FLAGS.iter().find(|(names, _)| programs::lists(names, name)).map_or("", |(_, flags)| flags);
    match option.strip_prefix('-').unwrap_or_default() {
        "-" | "" => false,
        long if long.starts_with('-') => true,
        // In `-n10` and `-oL` the value is attached. The last letter of a bundle of flags may take the next word.
        bundle => bundle.trim_start_matches(|flag| flags.contains(flag)).chars().count() == 1,
    }
}

/// The limit on layers removed from a command, plus the commands found so far.
const MAX_LAYERS: usize = 64;

/// Removes the programs that only start something else.
pub(super) fn unwrap(command: Command) -> UnwrapResult {
    let mut started = UnwrapResult::default();
    let mut waiting = vec![(command, 0)];
    while let Some((command, layers)) = waiting.pop() {
        if layers + started.commands.len() > MAX_LAYERS {
            started.doubts.push((Why::TooDeep, text_of(&command.words)));
            break;
        }
        let more = started.take_off(command);
        waiting.extend(more.into_iter().map(|command| (command, layers + 1)));
    }
    started
}

impl UnwrapResult {
    fn doubt(&mut self, why: Why, command: &Command) {
        self.doubts.push((why, text_of(&command.words)));
    }

    /// Keeps the writes of a program that is not recorded itself.
    fn keep_writes(&mut self, mut command: Command) {
        if !command.writes.is_empty() {
            command.words.clear();
            self.commands.push(command);
        }
    }

    /// Queues words that are run as one text.
    fn run(&mut self, words: &[Word], command: &Command) {
        let known: Option<Vec<&str>> = words.iter().map(Word::known).collect();
        match known {
            None => self.doubt(Why::DynamicText, command),
            Some(known) => self.texts.push(Text {
                text: known.join(" "),
                folders: command.folders.clone(),
                carried: command.carried.clone(),
                assignments: command.assignments.clone(),
            }),
        }
    }

    /// Removes one layer. Returns the commands left to unwrap, or none if the command itself was recorded.
    fn take_off(&mut self, command: Command) -> Vec<Command> {
        let Some(first) = command.words.first() else {
            self.keep_writes(command);
            return Vec::new();
        };
        let Some(program) = first.known().map(str::to_owned) else {
            self.doubt(Why::DynamicCommand, &command);
            self.commands.push(command);
            return Vec::new();
        };
        let name = programs::base_name(&program);
        if programs::lists(programs::WRAPPERS, name) {
            return self.started(name, command);
        }
        if programs::is_shell(name) {
            self.shell(&command);
            self.keep_writes(command);
            return Vec::new();
        }
        match name {
            "eval" => {
                self.moves = true;
                self.run(&command.words[1..], &command);
                self.keep_writes(command);
                return Vec::new();
            }
            "find" | "gfind" | "fd" | "fdfind" => {
                let started = found(&command);
                self.commands.push(command);
                return started;
            }
            _ => self.builtin(name, &command),
        }
        if name.eq_ignore_ascii_case("git") || name.starts_with("git-") {
            self.git(&command);
        } else if programs::is_script(&program) {
            self.doubt(Why::Script, &command);
        } else if programs::runs_programs(name) {
            self.doubt(Why::RunsPrograms, &command);
        }
        self.handed(name, &command);
        self.commands.push(command);
        Vec::new()
    }

    /// Handles builtins of the shell that run a text or redefine a name.
    fn builtin(&mut self, name: &str, command: &Command) {
        const OPTIONS: &str = "dotglob globdots extglob extendedglob kshglob cdable_vars cdablevars autocd";
        let arguments = &command.words[1..];
        let mut known = arguments.iter().filter_map(Word::known);
        match name {
            "." | "source" => {
                self.moves = true;
                self.doubt(Why::Script, command);
            }
            "alias" | "enable" | "hash" if !arguments.is_empty() => self.doubt(Why::Redefined, command),
            "shopt" | "setopt" if known.any(|word| programs::lists(OPTIONS, word)) => {
                self.doubt(Why::Redefined, command);
            }
            "compgen" | "complete" | "bind" => self.doubt(Why::Hidden, command),
            "mapfile" | "readarray" if known.any(|word| word.starts_with("-C")) => self.doubt(Why::Hidden, command),
            "trap" => {
                let flag = |word: &&Word| !matches!(word.known(), Some("-" | "-l" | "-p" | "--"));
                let text = arguments.iter().find(flag).cloned();
                self.run(text.as_slice(), command);
            }
            _ => {}
        }
    }

    /// Queues the texts that git itself runs, at the top of a repository, which need not be this one.
    fn git(&mut self, command: &Command) {
        let elsewhere = git::without_programs(Command { folders: vec![Word::Dynamic], ..command.clone() });
        for text in git::texts(command) {
            self.run(&[text], &elsewhere);
        }
        if git::runs_other_side(command) {
            self.doubt(Why::Hidden, command);
        }
    }

    /// Queues texts that a program passes to a shell, now or later: `su -c`, `at`, `npx -c`, and a shell among the
    /// arguments of a program that is not known to run nothing.
    fn handed(&mut self, name: &str, command: &Command) {
        let arguments = &command.words[1..];
        let has = |option: &str| arguments.iter().any(|word| word.known() == Some(option));
        let is_local = |word: &Word| {
            let host = word.known().and_then(|text| text.rsplit('@').next()).unwrap_or_default();
            matches!(host, "localhost" | "::1" | "0.0.0.0" | "ip6-localhost") || host.starts_with("127.")
        };
        match name {
            "ssh" if arguments.iter().any(is_local) => self.doubt(Why::DynamicText, command),
            "crontab" if has("-l") || has("-r") || has("-e") => {}
            "at" | "batch" | "crontab" if has("-f") || command.stdin.is_none() => self.doubt(Why::DynamicText, command),
            "su" | "runuser" | "script" | "sg" | "npx" | "npm" | "at" | "batch" | "crontab" => {
                let elsewhere = Command { folders: vec![Word::Dynamic], ..command.clone() };
                let known = |word: &&Word| word.known().is_none_or(|text| text.contains(char::is_whitespace));
                let npm = matches!(name, "npx" | "npm") && !has("-c") && !has("--call");
                for text in arguments.iter().filter(known).filter(|_| !npm).chain(&command.stdin) {
                    let text = text.known().map_or(Word::Dynamic, |text| text.trim_start_matches("-c").into());
                    self.run(&[text], &elsewhere);
                }
                self.doubt(Why::RunsPrograms, command);
            }
            // Commands on other machines or in a container run in other folders.
            "git" | "ssh" | "docker" | "podman" | "kubectl" | "vagrant" => {}
            _ if programs::is_inert(name) => {}
            _ => {
                let is_text = |word: Option<&Word>| {
                    let option = word.and_then(Word::known).unwrap_or_default();
                    option.starts_with('-') && !option.starts_with("--") && option.contains('c')
                };
                let starts = |at: &usize| {
                    let program = command.words[*at].known().map(programs::base_name);
                    program.is_some_and(programs::is_shell) && is_text(command.words.get(at + 1))
                };
                if let Some(at) = (1..command.words.len()).find(starts) {
                    let words = command.words[at..].to_vec();
                    self.shell(&Command { words, writes: Vec::new(), ..command.clone() });
                }
            }
        }
    }

    /// Returns the commands that a wrapper starts. Every word that may be the program begins one.
    fn started(&mut self, name: &str, mut command: Command) -> Vec<Command> {
        let words = std::mem::take(&mut command.words);
        if name == "command" && matches!(words.get(1).and_then(Word::known), Some("-v" | "-V")) {
            return Vec::new();
        }
        let whole = Command { words: words.clone(), ..command.clone() };
        let mut found: Vec<usize> = Vec::new();
        let (mut at, mut option, mut guess) = (1, None::<&str>, None);
        let mut operands = usize::from(matches!(name, "timeout" | "gtimeout" | "flock"));
        while let Some(word) = words.get(at) {
            let value = option.take();
            match word.known() {
                // The value of an option, or an operand of the wrapper itself.
                None if *word == Word::Dynamic && (value.is_some() || operands > 0) => {
                    self.option(name, value, word, &mut command);
                    operands -= usize::from(value.is_none());
                }
                None => {
                    self.doubt(Why::DynamicCommand, &whole);
                    return Vec::new();
                }
                Some(text) if text.starts_with('-') && text.len() > 1 => {
                    if let Some(text) = self.splits(name, text, &words[at + 1..]) {
                        self.run(&text, &whole);
                        return Vec::new();
                    }
                    let (given, attached) =
                        text.split_once('=').map_or((text, None), |(given, value)| (given, Some(value)));
                    match attached {
                        Some(value) => self.option(name, Some(given), &Word::from(value), &mut command),
                        None => option = Some(text).filter(|text| may_take(name, text)),
                    }
                }
                Some(text) if assigns(name, text) && value.is_none_or(|option| option != "-u") => {
                    let (name, value) = text.split_once('=').unwrap_or((text, ""));
                    command.assignments.push(Assignment { name: name.to_owned(), value: value.into() });
                }
                Some(text) if value.is_some() => {
                    self.option(name, value, word, &mut command);
                    if programs::is_known(text) {
                        found.push(at);
                    }
                    guess = guess.or(Some(at));
                }
                Some(_) if operands > 0 => operands -= 1,
                Some(_) => {
                    found.push(at);
                    break;
                }
            }
            at += 1;
        }
        if name == "watch" && !found.is_empty() {
            self.run(&words[found[0]..], &whole);
            return Vec::new();
        }
        if found.is_empty() {
            found.extend(guess);
        }
        if found.is_empty() {
            if matches!(name, "sudo" | "doas") && words.len() > 1 {
                self.doubt(Why::Script, &whole);
            }
            self.keep_writes(command);
            return Vec::new();
        }
        let inner = |from: &usize| {
            let mut inner = Command { words: words[*from..].to_vec(), ..command.clone() };
            if matches!(name, "xargs" | "gxargs") {
                fed(&mut inner.words, &words[1..*from]);
            }
            inner
        };
        found.iter().map(inner).collect()
    }

    /// Applies an option of a wrapper to the command that it starts.
    fn option(&mut self, name: &str, option: Option<&str>, value: &Word, command: &mut Command) {
        match (name, option.unwrap_or_default()) {
            ("env" | "genv", "-C" | "--chdir") | ("sudo", "-D" | "--chdir") => {
                command.folders = command.folders.iter().map(|from| join(from, value)).collect();
            }
            ("time" | "gtime", "-o" | "--output") => command.writes.push(value.clone()),
            _ => {}
        }
    }

    /// Returns the text that an option splits, or passes to a shell: `env -S`, `flock -c`.
    fn splits(&self, name: &str, option: &str, rest: &[Word]) -> Option<Vec<Word>> {
        let text = match (name, option) {
            ("env" | "genv", "-S" | "--split-string") => rest.to_vec(),
            ("env" | "genv", _) => {
                let attached = option.strip_prefix("-S").or_else(|| option.strip_prefix("--split-string="))?;
                [&[Word::from(attached)], rest].concat()
            }
            ("flock", "-c" | "--command") => rest.to_vec(),
            _ => return None,
        };
        // `env -S` has escapes and variables of its own.
        let own = |word: &Word| word.known().is_some_and(|text| text.contains(['\\', '$']));
        Some(if name != "flock" && text.iter().any(own) { vec![Word::Dynamic] } else { text })
    }

    /// Reads `sh -c text`, `sh file` and `sh < text`.
    fn shell(&mut self, command: &Command) {
        if programs::is_reached(command) {
            self.commands.push(Command { writes: Vec::new(), ..command.clone() });
        }
        let (mut at, mut text_follows, mut from_stdin) = (1, false, false);
        while let Some(word) = command.words.get(at) {
            let Some(option) = word.known() else { return self.doubt(Why::DynamicText, command) };
            at += 1;
            match option {
                "--" | "-" => break,
                "--norc" | "--noprofile" | "--login" | "--posix" | "--restricted" | "--verbose" | "--noediting" => {}
                "--version" | "--help" => return,
                // `--rcfile` and unknown options.
                _ if option.starts_with("--") => return self.doubt(Why::UnknownOption, command),
                _ if option.starts_with(['-', '+']) => {
                    text_follows |= option.starts_with('-') && option.contains('c');
                    from_stdin |= option.contains('s');
                    at += option.matches(['o', 'O']).count();
                }
                _ => {
                    at -= 1;
                    break;
                }
            }
        }
        let operand = command.words.get(at).cloned();
        match (text_follows, operand, &command.stdin) {
            (true, operand, _) => self.run(operand.as_slice(), command),
            (false, None, Some(text)) => self.run(std::slice::from_ref(text), command),
            (false, Some(_), Some(text)) if from_stdin => self.run(std::slice::from_ref(text), command),
            _ => self.doubt(Why::Script, command),
        }
    }
}

/// Checks whether a word is an assignment that the wrapper accepts, as `env` does.
fn assigns(name: &str, text: &str) -> bool {
    let takes = matches!(name, "env" | "genv" | "sudo" | "doas" | "cross-env");
    takes && text.find('=').is_some_and(|at| at > 0)
}

/// Adds the words that `xargs` takes from its input, at the end or at the placeholder.
fn fed(words: &mut Vec<Word>, options: &[Word]) {
    let options: Vec<&str> = options.iter().filter_map(Word::known).collect();
    let named = |option: &&str| {
        option.starts_with("-I") || option.starts_with("-J") || option.starts_with("--replace") || *option == "-i"
    };
    let Some(at) = options.iter().position(named) else {
        words.push(Word::Spread);
        return;
    };
    let attached = options[at].trim_start_matches("--replace").trim_start_matches(['-', 'I', 'J', '=']);
    let place = if attached.is_empty() { options.get(at + 1).copied().unwrap_or("{}") } else { attached };
    for word in words {
        if word.known().is_none_or(|text| text.contains(place) || text.contains("{}")) {
            *word = Word::Dynamic;
        }
    }
}

/// Returns the commands that `find -exec` starts.
fn found(command: &Command) -> Vec<Command> {
    let mut started = Vec::new();
    let mut words = command.words.iter().skip(1);
    while let Some(word) = words.next() {
        let Some(option) = word.known() else { continue };
        if !matches!(option, "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch") {
            continue;
        }
        let given = words.by_ref().take_while(|word| !matches!(word.known(), Some(";" | "+")));
        let given = given.map(|word| match word.known() {
            Some(text) if text.contains("{}") => Word::Dynamic,
            _ => word.clone(),
        });
        let folders = if option.ends_with("dir") { vec![Word::Dynamic] } else { command.folders.clone() };
        started.push(Command { words: given.collect(), writes: Vec::new(), folders, ..command.clone() });
    }
    started
}

pub(super) fn text_of(words: &[Word]) -> String {
    words.iter().map(|word| word.known().unwrap_or("?")).collect::<Vec<_>>().join(" ")
}

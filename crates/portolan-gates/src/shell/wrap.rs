//! Unwraps programs that start others: `env`, `sudo`, `xargs`, `find -exec`, `sh -c` and the like, until the started
//! command is left. Which of their options take a value is not known. If a word may be the value or the program, both
//! are read.

use std::sync::Arc;

use super::{Assignment, Command, Why, Word, git, programs};

/// A text that is read on its own.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) folders: Vec<Word>,
    pub(super) carried: Arc<Vec<Assignment>>,
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

/// The limit on layers removed from a command, plus the commands found so far.
const MAX_LAYERS: usize = 64;

/// Removes the programs that only start something else.
pub(super) fn unwrap(command: Command) -> UnwrapResult {
    let mut started = UnwrapResult::default();
    let mut waiting = vec![(command, 0)];
    while let Some((command, layers)) = waiting.pop() {
        if layers + started.commands.len() > MAX_LAYERS {
            started.doubt(Why::TooDeep, &command);
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
        let Some(known) = known else { return self.doubt(Why::DynamicText, command) };
        self.texts.push(Text {
            text: known.join(" "),
            folders: command.folders.clone(),
            carried: Arc::new(command.set().cloned().collect()),
        });
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
        let mut started = Vec::new();
        match programs::base_name(&program) {
            name if programs::lists(programs::WRAPPERS, name) => return self.started(name, command),
            name if programs::is_shell(name) => {
                self.shell(command);
                return Vec::new();
            }
            "eval" => {
                self.moves = true;
                self.run(&command.words[1..], &command);
                self.keep_writes(command);
                return Vec::new();
            }
            "find" | "gfind" | "fd" | "fdfind" => started = found(&command),
            name if name.eq_ignore_ascii_case("git") || name.starts_with("git-") => {
                // These run at the top of a repository, which need not be this one.
                let elsewhere = Command { folders: vec![Word::Dynamic], ..command.clone() };
                for text in git::texts(&command) {
                    self.run(&[text], &elsewhere);
                }
                if git::runs_unseen(&command) {
                    self.doubt(Why::Hidden, &command);
                }
            }
            name => {
                self.builtin(name, &command);
                if !programs::is_inert(name) {
                    self.handed(name, &command);
                }
            }
        }
        self.commands.push(command);
        started
    }

    /// Handles programs that run a text later, and builtins that redefine a name.
    fn builtin(&mut self, name: &str, command: &Command) {
        const OPTIONS: &str = "dotglob globdots extglob extendedglob kshglob cdable_vars cdablevars autocd";
        let arguments = &command.words[1..];
        let mut known = arguments.iter().filter_map(Word::known);
        match name {
            "." | "source" => {
                self.moves = true;
                if arguments.first().is_none_or(|file| !is_file(file)) {
                    self.doubt(Why::Script, command);
                }
            }
            "alias" | "enable" | "hash" if !arguments.is_empty() => self.doubt(Why::Redefined, command),
            "shopt" | "setopt" if known.any(|word| programs::lists(OPTIONS, word)) => {
                self.doubt(Why::Redefined, command);
            }
            "compgen" | "complete" | "bind" => self.doubt(Why::Hidden, command),
            "mapfile" | "readarray" if known.any(|word| word.starts_with("-C")) => self.doubt(Why::Hidden, command),
            "at" | "batch" | "crontab" if !known.any(|word| matches!(word, "-l" | "-r" | "-e")) => {
                self.doubt(Why::DynamicText, command);
            }
            "trap" => {
                let flag = |word: &&Word| !matches!(word.known(), Some("-" | "-l" | "-p" | "--"));
                let text = arguments.iter().find(flag).cloned();
                self.run(text.as_slice(), command);
            }
            _ => {}
        }
    }

    /// Reads a shell with a text among the arguments of a program that may start it.
    fn handed(&mut self, name: &str, command: &Command) {
        // Commands on other machines or in a container run in other folders.
        if matches!(name, "ssh" | "docker" | "podman" | "kubectl" | "vagrant") {
            return;
        }
        let is_text = |option: &str| option.starts_with('-') && !option.starts_with("--") && option.contains('c');
        let starts = |at: &usize| {
            let program = command.words[*at].known().map(programs::base_name);
            let option = command.words.get(at + 1).and_then(Word::known);
            program.is_some_and(programs::is_shell) && option.is_some_and(is_text)
        };
        if let Some(at) = (1..command.words.len()).find(starts) {
            self.shell(Command { words: command.words[at..].to_vec(), writes: Vec::new(), ..command.clone() });
        }
    }

    /// Returns the commands that a wrapper starts. Every word that may be the program begins one.
    fn started(&mut self, name: &str, mut command: Command) -> Vec<Command> {
        let whole = command.clone();
        let words = std::mem::take(&mut command.words);
        if name == "command" && matches!(words.get(1).and_then(Word::known), Some("-v" | "-V")) {
            return Vec::new();
        }
        let (mut found, mut guess, mut option) = (Vec::new(), None, None);
        let mut operands = usize::from(matches!(name, "timeout" | "gtimeout" | "flock"));
        for (at, word) in words.iter().enumerate().skip(1) {
            let value: Option<&str> = option.take();
            match word.known() {
                // It may be the value of an option.
                None if *word == Word::Dynamic && (value.is_some() || operands > 0) => {
                    operands -= usize::from(value.is_none());
                }
                None => {
                    self.doubt(Why::DynamicCommand, &whole);
                    return Vec::new();
                }
                Some(text) if text.starts_with('-') => {
                    let (option_name, attached) = text.split_once('=').unwrap_or((text, ""));
                    // `env -S` has escapes of its own.
                    let splits = option_name.starts_with("-S") || option_name == "--split-string";
                    if (splits && matches!(name, "env" | "genv")) || (name == "flock" && option_name == "-c") {
                        self.doubt(Why::UnknownOption, &whole);
                    }
                    if matches!(option_name, "-C" | "--chdir" | "-D") && name != "xargs" {
                        command.folders = vec![Word::Dynamic];
                    }
                    if option_name == "--output" && !attached.is_empty() {
                        command.writes.push(attached.into());
                    }
                    option = (!text.contains('=') && !text.trim_start_matches('-').is_empty()).then_some(text);
                }
                Some(text) if assigns(name, text) && value != Some("-u") => {
                    let (name, value) = text.split_once('=').unwrap_or((text, ""));
                    command.assignments.push(Assignment { name: name.to_owned(), value: value.into() });
                }
                Some(text) if value.is_some() => {
                    if matches!(value, Some("-o" | "--output")) && name != "xargs" {
                        command.writes.push(text.into());
                    }
                    found.extend(programs::is_known(text).then_some(at));
                    guess = guess.or(Some(at));
                }
                Some(text) if operands > 0 => {
                    found.extend(programs::is_known(text).then_some(at));
                    operands -= 1;
                }
                Some(text) => {
                    found.extend((found.is_empty() || programs::is_known(text)).then_some(at));
                    break;
                }
            }
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
        if name == "watch" {
            self.run(&words[found[0]..], &whole);
            return Vec::new();
        }
        let inner = |from: usize| {
            let mut inner = Command { words: words[from..].to_vec(), ..command.clone() };
            if matches!(name, "xargs" | "gxargs") {
                fed(&mut inner.words, &words[1..from]);
            }
            inner
        };
        found.into_iter().map(inner).collect()
    }

    /// Reads `sh -c text`, `sh file` and `sh < text`.
    fn shell(&mut self, mut command: Command) {
        let (mut at, mut text_follows, mut from_stdin) = (1, false, false);
        while let Some(word) = command.words.get(at) {
            let Some(option) = word.known() else { return self.doubt(Why::DynamicText, &command) };
            if !option.starts_with(['-', '+']) {
                break;
            }
            at += 1;
            match option {
                "--" | "-" => break,
                "--norc" | "--noprofile" | "--login" | "--posix" | "--restricted" | "--verbose" | "--noediting" => {}
                "--version" | "--help" => return,
                // `--rcfile` and unknown options.
                _ if option.starts_with("--") => return self.doubt(Why::UnknownOption, &command),
                _ => {
                    text_follows |= option.starts_with('-') && option.contains('c');
                    from_stdin |= option.contains('s');
                    at += option.matches(['o', 'O']).count();
                }
            }
        }
        let operand = command.words.get(at).cloned();
        match (text_follows, operand, &command.stdin) {
            (true, operand, _) => self.run(operand.as_slice(), &command),
            (false, None, Some(text)) => self.run(std::slice::from_ref(text), &command),
            (false, Some(_), Some(text)) if from_stdin => self.run(std::slice::from_ref(text), &command),
            (false, Some(file), _) if !from_stdin && is_file(&file) => return self.commands.push(command),
            _ => self.doubt(Why::Script, &command),
        }
        // The words stay if variables may make the shell run something else first.
        if !command.set().any(|given| matches!(&*given.name, "BASH_ENV" | "ENV") || given.name.starts_with("LD_")) {
            command.words.clear();
        }
        if !command.words.is_empty() || !command.writes.is_empty() {
            self.commands.push(command);
        }
    }
}

/// Checks whether a script is a file with a name, not an open file of a process: `/dev/stdin`, `../proc/self/fd/0`.
fn is_file(script: &Word) -> bool {
    script.known().is_some_and(|path| {
        let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "." | ".."));
        !path.contains('/') || !matches!(parts.next(), Some("dev" | "proc"))
    })
}

/// Checks whether a word is an assignment that the wrapper accepts, as `env` does.
fn assigns(name: &str, text: &str) -> bool {
    let takes = matches!(name, "env" | "genv" | "sudo" | "doas" | "cross-env");
    takes && text.find('=').is_some_and(|at| at > 0)
}

/// Adds the words that `xargs` takes from its input, at the end or at the placeholder.
fn fed(words: &mut Vec<Word>, options: &[Word]) {
    let options: Vec<&str> = options.iter().filter_map(Word::known).collect();
    let named = |option: &&str| ["-I", "-J", "-i", "--replace"].iter().any(|name| option.starts_with(name));
    let Some(at) = options.iter().position(named) else {
        words.push(Word::Spread);
        return;
    };
    let attached = options[at].trim_start_matches("--replace").trim_start_matches(['-', 'I', 'J', 'i', '=']);
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

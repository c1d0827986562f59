//! Programs that start other programs: `env`, `sudo`, `xargs`, `find -exec`, `sh -c` and their like are taken off until
//! what they start is left. An option that is not known here makes a doubt: what follows it may be its value.

use std::sync::Arc;

use super::walk::join;
use super::{Assignment, Command, Why, Word, git, programs};

/// A text that is read on its own.
pub(super) struct Text {
    pub(super) text: String,
    pub(super) folders: Vec<Word>,
    pub(super) carried: Arc<Vec<Assignment>>,
    pub(super) assignments: Vec<Assignment>,
    /// Whether this shell reads it itself, and not another program.
    pub(super) own: bool,
}

/// What a command comes to.
#[derive(Default)]
pub(super) struct Told {
    pub(super) commands: Vec<Command>,
    pub(super) texts: Vec<Text>,
    pub(super) doubts: Vec<(Why, String)>,
    /// Whether the shell itself may be elsewhere after it.
    pub(super) moves: bool,
}

/// A program that starts what follows its options: those without and those with a value, and how many operands of its own
/// it has.
struct Wrapper {
    names: &'static [&'static str],
    flags: &'static [&'static str],
    valued: &'static [&'static str],
    operands: usize,
}

const fn plain(names: &'static [&'static str]) -> Wrapper {
    Wrapper { names, flags: &[], valued: &[], operands: 0 }
}

const WRAPPERS: &[Wrapper] = &[
    plain(&[
        "builtin",
        "nohup",
        "noglob",
        "nocorrect",
        "busybox",
        "toybox",
        "eatmydata",
        "winpty",
        "chronic",
        "-",
        "--",
        "!",
    ]),
    Wrapper { names: &["command"], flags: &["-p"], valued: &[], operands: 0 },
    Wrapper { names: &["exec"], flags: &["-c", "-l"], valued: &["-a"], operands: 0 },
    Wrapper {
        names: &["time", "gtime"],
        flags: &["-p", "-v", "-a", "-q", "--verbose", "--portability", "--append", "--quiet"],
        valued: &["-f", "-o", "--format", "--output"],
        operands: 0,
    },
    Wrapper {
        names: &["sudo"],
        flags: &[
            "-E",
            "-n",
            "-H",
            "-k",
            "-b",
            "-S",
            "-A",
            "-P",
            "-B",
            "-i",
            "-s",
            "-N",
            "--preserve-env",
            "--non-interactive",
            "--set-home",
            "--background",
            "--stdin",
            "--login",
            "--shell",
            "--askpass",
        ],
        valued: &[
            "-u", "-g", "-p", "-C", "-T", "-h", "-D", "-R", "-r", "-t", "--user", "--group", "--prompt", "--host",
            "--chdir",
        ],
        operands: 0,
    },
    Wrapper { names: &["doas"], flags: &["-n", "-L", "-s"], valued: &["-u", "-a", "-C"], operands: 0 },
    Wrapper { names: &["nice", "gnice"], flags: &[], valued: &["-n", "--adjustment"], operands: 0 },
    Wrapper {
        names: &["ionice"],
        flags: &["-t", "--ignore"],
        valued: &["-c", "-n", "--class", "--classdata"],
        operands: 0,
    },
    Wrapper {
        names: &["timeout", "gtimeout"],
        flags: &["-v", "-f", "-p", "--verbose", "--preserve-status", "--foreground"],
        valued: &["-s", "-k", "--signal", "--kill-after"],
        operands: 1,
    },
    Wrapper {
        names: &["stdbuf"],
        flags: &[],
        valued: &["-i", "-o", "-e", "--input", "--output", "--error"],
        operands: 0,
    },
    Wrapper { names: &["setsid"], flags: &["-f", "-w", "-c", "--fork", "--wait", "--ctty"], valued: &[], operands: 0 },
    Wrapper { names: &["caffeinate"], flags: &["-d", "-i", "-m", "-s", "-u"], valued: &["-t", "-w"], operands: 0 },
    Wrapper { names: &["taskset", "faketime"], flags: &["-a", "-c"], valued: &[], operands: 1 },
    Wrapper {
        names: &["env", "genv"],
        flags: &["-i", "-0", "-v", "--ignore-environment", "--null", "--debug"],
        valued: &["-u", "-C", "-S", "--unset", "--chdir", "--split-string"],
        operands: 0,
    },
    Wrapper { names: &["cross-env", "fakeroot"], flags: &[], valued: &[], operands: 0 },
    Wrapper {
        names: &["xargs", "gxargs"],
        flags: &[
            "-0",
            "-r",
            "-t",
            "-p",
            "-x",
            "-o",
            "--null",
            "--no-run-if-empty",
            "--verbose",
            "--interactive",
            "--exit",
            "--open-tty",
        ],
        valued: &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-s",
            "-d",
            "-E",
            "-a",
            "-J",
            "-R",
            "--replace",
            "--max-args",
            "--max-procs",
            "--max-lines",
            "--max-chars",
            "--delimiter",
            "--eof",
            "--arg-file",
        ],
        operands: 0,
    },
    Wrapper {
        names: &["flock"],
        flags: &[
            "-s",
            "-x",
            "-e",
            "-n",
            "-u",
            "-o",
            "-F",
            "--shared",
            "--exclusive",
            "--nonblock",
            "--close",
            "--no-fork",
        ],
        valued: &["-w", "-E", "--timeout", "--wait", "--conflict-exit-code"],
        operands: 1,
    },
    Wrapper {
        names: &["unshare"],
        flags: &[
            "-m",
            "-u",
            "-i",
            "-n",
            "-p",
            "-U",
            "-C",
            "-T",
            "-f",
            "-r",
            "-c",
            "--mount",
            "--uts",
            "--ipc",
            "--net",
            "--pid",
            "--user",
            "--cgroup",
            "--time",
            "--fork",
            "--map-root-user",
            "--map-current-user",
            "--mount-proc",
            "--kill-child",
            "--keep-caps",
        ],
        valued: &["-R", "-w", "-S", "-G", "--root", "--wd", "--setuid", "--setgid"],
        operands: 0,
    },
    Wrapper {
        names: &["nsenter"],
        flags: &["-a", "-m", "-u", "-i", "-n", "-p", "-C", "-U", "-T", "-F", "-r", "-w", "--all", "--no-fork"],
        valued: &["-t", "-S", "-G", "--target", "--setuid", "--setgid"],
        operands: 0,
    },
    Wrapper {
        names: &["setpriv"],
        flags: &["--no-new-privs", "--clear-groups", "--keep-groups", "--init-groups", "--reset-env", "--nnp"],
        valued: &[
            "--reuid",
            "--regid",
            "--ruid",
            "--rgid",
            "--euid",
            "--egid",
            "--groups",
            "--inh-caps",
            "--ambient-caps",
            "--bounding-set",
            "--securebits",
            "--pdeathsig",
        ],
        operands: 0,
    },
    Wrapper {
        names: &["prlimit"],
        flags: &[
            "--core",
            "--cpu",
            "--data",
            "--fsize",
            "--nofile",
            "--nproc",
            "--stack",
            "--as",
            "--rss",
            "--memlock",
            "--nice",
        ],
        valued: &[],
        operands: 0,
    },
    Wrapper { names: &["chrt"], flags: &["-f", "-r", "-b", "-o", "-i", "-R", "-v"], valued: &[], operands: 1 },
    Wrapper {
        names: &["linux32", "linux64", "i386", "x86_64", "uname26"],
        flags: &["-R", "-v", "-B", "-F", "-I", "-L", "-S", "-T", "-X", "-Z", "-3", "--addr-no-randomize"],
        valued: &[],
        operands: 0,
    },
    Wrapper {
        names: &["strace", "ltrace"],
        flags: &[
            "-f",
            "-c",
            "-C",
            "-d",
            "-q",
            "-r",
            "-t",
            "-T",
            "-v",
            "-w",
            "-x",
            "-y",
            "-k",
            "-z",
            "-Z",
            "-i",
            "-D",
            "-F",
            "-S",
            "--follow-forks",
            "--summary-only",
            "--quiet",
        ],
        valued: &[
            "-e", "-o", "-p", "-s", "-a", "-E", "-u", "-I", "-O", "-P", "-b", "-X", "-l", "-n", "--trace", "--output",
        ],
        operands: 0,
    },
    Wrapper { names: &["chroot"], flags: &["--skip-chdir"], valued: &["--userspec", "--groups"], operands: 1 },
    Wrapper {
        names: &["systemd-run"],
        flags: &[
            "--user",
            "--system",
            "--scope",
            "--wait",
            "--pipe",
            "-P",
            "-q",
            "--quiet",
            "-t",
            "--pty",
            "-d",
            "--same-dir",
            "-G",
            "--collect",
            "-r",
            "--no-block",
            "--no-ask-password",
        ],
        valued: &[
            "-p",
            "--property",
            "-u",
            "--unit",
            "-E",
            "--setenv",
            "--uid",
            "--gid",
            "--slice",
            "--working-directory",
            "--description",
            "--on-active",
            "--on-calendar",
        ],
        operands: 0,
    },
    Wrapper {
        names: &["ld.so"],
        flags: &["--inhibit-cache"],
        valued: &["--library-path", "--preload", "--argv0", "--audit"],
        operands: 0,
    },
    Wrapper {
        names: &["watch"],
        flags: &["-d", "-t", "-b", "-e", "-g", "-c", "-x", "-p", "--differences", "--no-title", "--exec"],
        valued: &["-n", "-q", "--interval"],
        operands: 0,
    },
];

/// How often something may be taken off one command.
const MAX_LAYERS: usize = 64;

/// Takes off what only starts something else.
pub(super) fn unwrap(command: Command) -> Told {
    let mut told = Told::default();
    let mut waiting = vec![(command, 0)];
    while let Some((command, layers)) = waiting.pop() {
        if layers > MAX_LAYERS {
            told.doubts.push((Why::TooDeep, text_of(&command.words)));
            continue;
        }
        let more = step(command, &mut told);
        waiting.extend(more.into_iter().map(|command| (command, layers + 1)));
    }
    told
}

/// One layer: what is left to be looked at, or nothing when the command itself was told.
fn step(command: Command, told: &mut Told) -> Vec<Command> {
    let Some(first) = command.words.first() else {
        if !command.writes.is_empty() {
            told.commands.push(command);
        }
        return Vec::new();
    };
    let Some(program) = first.known().map(str::to_owned) else {
        told.doubts.push((Why::DynamicCommand, text_of(&command.words)));
        told.commands.push(command);
        return Vec::new();
    };
    let name = programs::called(&program).to_owned();
    if let Some(wrapper) = WRAPPERS.iter().find(|wrapper| wrapper.names.contains(&name.as_str())) {
        return started(wrapper, &name, command, told);
    }
    if programs::is_shell(&name) {
        shell(&command, told);
        keep_writes(command, told);
        return Vec::new();
    }
    if evaluates(&name, &command.words) {
        told.doubts.push((Why::Hidden, text_of(&command.words)));
    }
    match name.as_str() {
        "eval" => {
            told.moves = true;
            let words = command.words[1..].to_vec();
            run_words(&words, &command, told);
            keep_writes(command, told);
            return Vec::new();
        }
        "." | "source" => {
            told.moves = true;
            told.doubts.push((Why::Script, text_of(&command.words)));
        }
        "alias" | "enable" | "hash" if command.words.len() > 1 => {
            told.doubts.push((Why::Redefined, text_of(&command.words)))
        }
        "shopt" | "setopt" if command.words.iter().any(|word| matches!(word.known(), Some("dotglob" | "globdots"))) => {
            told.doubts.push((Why::Redefined, text_of(&command.words)));
        }
        "trap" => {
            let flag = |word: &&Word| !matches!(word.known(), Some("-" | "-l" | "-p" | "--"));
            let text = command.words[1..].iter().find(flag).cloned();
            run_words(text.as_slice(), &command, told);
        }
        "su" | "script" => option_text(&command, told),
        "ssh" | "at" | "batch" | "crontab" | "npx" | "npm" => handed(&name, &command, told),
        "find" | "gfind" | "fd" | "fdfind" => {
            let started = found(&command);
            told.commands.push(command);
            return started;
        }
        _ if name.eq_ignore_ascii_case("git") => {
            // They run at the top of a repository, which need not be this one.
            let elsewhere = Command { folders: vec![Word::Dynamic], ..command.clone() };
            for text in git::texts(&command) {
                run_words(&[text], &elsewhere, told);
            }
            if git::runs_other_side(&command) {
                told.doubts.push((Why::Hidden, text_of(&command.words)));
            }
        }
        _ if programs::is_script(&program) => told.doubts.push((Why::Script, text_of(&command.words))),
        _ if programs::runs_programs(&name) => told.doubts.push((Why::RunsPrograms, text_of(&command.words))),
        _ => {}
    }
    told.commands.push(command);
    Vec::new()
}

/// What `wrapper` starts.
fn started(wrapper: &Wrapper, name: &str, mut command: Command, told: &mut Told) -> Vec<Command> {
    if name == "command" && matches!(command.words.get(1).and_then(Word::known), Some("-v" | "-V")) {
        return Vec::new();
    }
    let Options { mut at, given } = match options(wrapper, &command.words, 1) {
        Ok(options) => options,
        Err(why) => {
            told.doubts.push((why, text_of(&command.words)));
            keep_writes(command, told);
            return Vec::new();
        }
    };
    for (option, value) in &given {
        match (name, option.as_str()) {
            ("env" | "genv", "-C" | "--chdir") | ("sudo", "-D" | "--chdir") => {
                command.folders = command.folders.iter().map(|from| join(from, value)).collect();
            }
            ("env" | "genv", "-S" | "--split-string") => {
                let rest = command.words.split_off(at);
                run_words(&[std::slice::from_ref(value), rest.as_slice()].concat(), &command, told);
                return Vec::new();
            }
            ("time" | "gtime" | "strace" | "ltrace", "-o" | "--output") => match value.known() {
                Some(text) if text.starts_with(['|', '!']) => run_words(&[Word::from(&text[1..])], &command, told),
                _ => command.writes.push(value.clone()),
            },
            _ => {}
        }
    }
    at += wrapper.operands;
    if matches!(name, "env" | "genv" | "sudo" | "cross-env") {
        at = assigned(&mut command, at, told);
    }
    let whole = text_of(&command.words);
    let mut rest = if at <= command.words.len() { command.words.split_off(at) } else { Vec::new() };
    if name == "flock" && rest.first().and_then(Word::known) == Some("-c") {
        run_words(&rest[1..], &command, told);
        return Vec::new();
    }
    if name == "watch" {
        run_words(&rest, &command, told);
        return Vec::new();
    }
    if rest.is_empty() {
        if matches!(name, "sudo" | "doas") && !given.is_empty() {
            told.doubts.push((Why::Script, whole));
        }
        command.words.clear();
        keep_writes(command, told);
        return Vec::new();
    }
    if matches!(name, "xargs" | "gxargs") {
        fed(&mut rest, &given);
    }
    command.words = rest;
    vec![command]
}

/// Whether an argument is a variable whose subscript runs a command: `printf -v 'a[$(b)]'`.
fn evaluates(name: &str, words: &[Word]) -> bool {
    let names_variables = match name {
        "printf" | "test" | "[" => words.iter().any(|word| word.known() == Some("-v")),
        "read" | "mapfile" | "readarray" | "unset" | "let" | "declare" | "typeset" | "local" | "export"
        | "readonly" => true,
        _ => false,
    };
    names_variables && words.iter().filter_map(Word::known).any(|text| text.contains("$(") || text.contains('`'))
}

/// What `xargs` adds: words from its input, at the end or where they are asked for.
fn fed(words: &mut Vec<Word>, given: &[(String, Word)]) {
    let place =
        given.iter().find(|(option, _)| matches!(option.as_str(), "-I" | "-J" | "--replace")).map(|(_, value)| value);
    let Some(place) = place else {
        words.push(Word::Spread);
        return;
    };
    for word in words {
        match (word.known(), place.known()) {
            (Some(text), Some(place)) if !text.contains(place) => {}
            _ => *word = Word::Dynamic,
        }
    }
}

/// Assignments before the program, as `env` takes them.
fn assigned(command: &mut Command, mut at: usize, told: &mut Told) -> usize {
    while let Some(word) = command.words.get(at) {
        match word.known().map(|text| text.split_once('=')) {
            Some(Some((name, value))) => {
                let value = Word::from(value);
                command.assignments.push(Assignment { name: name.to_owned(), value });
            }
            Some(None) => break,
            // It may be an assignment, or the program.
            None => told.doubts.push((Why::DynamicCommand, text_of(&command.words))),
        }
        at += 1;
    }
    at
}

struct Options {
    /// Where the operands begin.
    at: usize,
    given: Vec<(String, Word)>,
}

fn options(wrapper: &Wrapper, words: &[Word], mut at: usize) -> Result<Options, Why> {
    let mut given = Vec::new();
    while let Some(word) = words.get(at) {
        let Some(text) = word.known() else {
            if matches!(wrapper.names[0], "env" | "cross-env") {
                break;
            }
            return Err(Why::DynamicCommand);
        };
        match text {
            "--" => {
                at += 1;
                break;
            }
            "-" if wrapper.names[0] == "env" => at += 1,
            _ if !text.starts_with('-') || text == "-" => break,
            // `nice -10`
            _ if wrapper.names[0] == "nice"
                && text[1..].trim_start_matches('-').chars().all(|c| c.is_ascii_digit()) =>
            {
                at += 1
            }
            _ if text.starts_with("--") => at += long(wrapper, words, at, text, &mut given)?,
            _ => at += short(wrapper, words, at, text, &mut given)?,
        }
    }
    Ok(Options { at, given })
}

fn long(
    wrapper: &Wrapper,
    words: &[Word],
    at: usize,
    text: &str,
    given: &mut Vec<(String, Word)>,
) -> Result<usize, Why> {
    let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
    if wrapper.flags.contains(&name) {
        given.push((name.to_owned(), Word::from("")));
        return Ok(1);
    }
    if !wrapper.valued.contains(&name) {
        return Err(Why::UnknownOption);
    }
    match value {
        Some(value) => given.push((name.to_owned(), Word::from(value))),
        None => given.push((name.to_owned(), words.get(at + 1).cloned().ok_or(Why::UnknownOption)?)),
    }
    Ok(if value.is_some() { 1 } else { 2 })
}

fn short(
    wrapper: &Wrapper,
    words: &[Word],
    at: usize,
    text: &str,
    given: &mut Vec<(String, Word)>,
) -> Result<usize, Why> {
    for (place, letter) in text.char_indices().skip(1) {
        let option = format!("-{letter}");
        if wrapper.valued.contains(&option.as_str()) {
            let attached = &text[place + letter.len_utf8()..];
            let inside = !attached.is_empty();
            let value = if inside { Some(Word::from(attached)) } else { words.get(at + 1).cloned() };
            if value.as_ref().is_some_and(Word::is_several) {
                return Err(Why::DynamicCommand);
            }
            given.push((option, value.ok_or(Why::UnknownOption)?));
            return Ok(if inside { 1 } else { 2 });
        }
        if !wrapper.flags.contains(&option.as_str()) {
            return Err(Why::UnknownOption);
        }
        given.push((option, Word::from("")));
    }
    Ok(1)
}

/// `sh -c text`, `sh file`, `sh < text`.
fn shell(command: &Command, told: &mut Told) {
    if programs::is_reached(command) {
        told.commands.push(Command { writes: Vec::new(), ..command.clone() });
    }
    let (mut at, mut text_follows, mut from_stdin) = (1, false, false);
    while let Some(word) = command.words.get(at) {
        let Some(option) = word.known() else {
            told.doubts.push((Why::DynamicText, text_of(&command.words)));
            return;
        };
        at += 1;
        match option {
            "--" | "-" => break,
            "--rcfile" | "--init-file" => {
                told.doubts.push((Why::Script, text_of(&command.words)));
                at += 1;
            }
            "--norc" | "--noprofile" | "--login" | "--posix" | "--restricted" | "--verbose" | "--noediting" => {}
            "--version" | "--help" => return,
            _ if option.starts_with("--") => {
                told.doubts.push((Why::UnknownOption, text_of(&command.words)));
                return;
            }
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
    match (text_follows, operand) {
        (true, operand) => run_words(operand.as_slice(), command, told),
        (false, Some(_)) if !from_stdin => told.doubts.push((Why::Script, text_of(&command.words))),
        _ => match &command.stdin {
            Some(text) => run_words(std::slice::from_ref(text), command, told),
            None => told.doubts.push((Why::Script, text_of(&command.words))),
        },
    }
}

/// Words that are run as one text.
fn run_words(words: &[Word], command: &Command, told: &mut Told) {
    let known: Option<Vec<&str>> = words.iter().map(Word::known).collect();
    let Some(known) = known else {
        told.doubts.push((Why::DynamicText, text_of(&command.words)));
        return;
    };
    told.texts.push(Text {
        text: known.join(" "),
        folders: command.folders.clone(),
        carried: command.carried.clone(),
        assignments: command.assignments.clone(),
        own: command.words.first().and_then(Word::known) == Some("eval"),
    });
}

/// `su -c text`: the text after the option, also in a bundle.
fn option_text(command: &Command, told: &mut Told) {
    let attached = |word: &Word| {
        let text = word.known()?;
        text.strip_prefix("--command=")
            .or_else(|| text.strip_prefix("-c").filter(|rest| !rest.is_empty()))
            .map(Word::from)
    };
    if let Some(text) = command.words.iter().find_map(attached) {
        run_words(&[text], command, told);
        return;
    }
    let takes = |word: &Word| {
        word.known().is_some_and(|text| text.starts_with('-') && text.ends_with('c') || text == "--command")
    };
    match command.words.iter().position(takes) {
        Some(at) => run_words(
            &command.words[(at + 1).min(command.words.len())..(at + 2).min(command.words.len())],
            command,
            told,
        ),
        None => told.doubts.push((Why::RunsPrograms, text_of(&command.words))),
    }
}

/// Texts that a program hands to a shell, here or later.
fn handed(name: &str, command: &Command, told: &mut Told) {
    let arguments = &command.words[1..];
    let has = |names: &[&str]| arguments.iter().filter_map(Word::known).any(|word| names.contains(&word));
    match name {
        "ssh" if let Some(rest) = on_this_machine(arguments) => {
            let elsewhere = Command { folders: vec![Word::Dynamic], ..command.clone() };
            run_words(rest, &elsewhere, told);
        }
        "npx" | "npm" if name == "npx" || has(&["exec", "x"]) => {
            let at = arguments.iter().position(|word| matches!(word.known(), Some("-c" | "--call")));
            if let Some(at) = at {
                run_words(&arguments[(at + 1).min(arguments.len())..(at + 2).min(arguments.len())], command, told);
            }
            told.doubts.push((Why::RunsPrograms, text_of(&command.words)));
        }
        "at" | "batch" | "crontab" if !has(&["-l", "-r", "-d", "-c", "-e", "-V"]) => {
            let file =
                if name == "crontab" { arguments.iter().any(|word| word.known() != Some("-")) } else { has(&["-f"]) };
            match &command.stdin {
                _ if file => told.doubts.push((Why::RunsPrograms, text_of(&command.words))),
                Some(text) => run_words(std::slice::from_ref(text), command, told),
                None => told.doubts.push((Why::DynamicText, text_of(&command.words))),
            }
        }
        _ => told.doubts.push((Why::RunsPrograms, text_of(&command.words))),
    }
}

/// What `ssh` runs on the machine that it is called on.
fn on_this_machine(arguments: &[Word]) -> Option<&[Word]> {
    let mut at = 0;
    while let Some(text) = arguments.get(at)?.known() {
        match text.strip_prefix('-') {
            // Its options with a value have one letter each.
            Some(rest) if rest.len() == 1 && "BbcDEeFIiJLlmOoPpRSWw".contains(rest) => at += 2,
            Some(_) => at += 1,
            None => break,
        }
    }
    let host = arguments.get(at)?.known()?;
    let host = host.rsplit('@').next().unwrap_or(host);
    let local = matches!(host, "localhost" | "::1" | "0.0.0.0" | "ip6-localhost") || host.starts_with("127.");
    local.then(|| &arguments[at + 1..]).filter(|rest| !rest.is_empty())
}

/// What `find -exec` starts.
fn found(command: &Command) -> Vec<Command> {
    let mut started = Vec::new();
    let base = Command { words: Vec::new(), writes: Vec::new(), ..command.clone() };
    let mut words = command.words.iter().skip(1);
    while let Some(word) = words.next() {
        let Some(option) = word.known() else { continue };
        if !matches!(option, "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch") {
            continue;
        }
        let given = words.by_ref().take_while(|word| !matches!(word.known(), Some(";" | "+")));
        let given = given.map(|word| match word.known() {
            Some(text) if !text.contains("{}") => word.clone(),
            Some(_) => Word::Dynamic,
            None => word.clone(),
        });
        let mut inner = Command { words: given.collect(), ..base.clone() };
        if option.ends_with("dir") {
            inner.folders = vec![Word::Dynamic];
        }
        started.push(inner);
    }
    started
}

/// What is written by a program that is not told itself.
fn keep_writes(mut command: Command, told: &mut Told) {
    if !command.writes.is_empty() {
        command.words.clear();
        told.commands.push(command);
    }
}

fn text_of(words: &[Word]) -> String {
    words.iter().map(|word| word.known().unwrap_or("?")).collect::<Vec<_>>().join(" ")
}

//! Paths that a command names without being known to write them: the arguments of programs that are not known to only
//! read, the texts of interpreters, and patterns of files.

use super::judged_call::resolve_from;
use crate::shell::{self, Command, Word, git};
use crate::{holds_protected, is_protected, may_be_protected};

/// Subcommands of git that have many ways to name the files that they write.
const OF_GIT: &str = "bugreport bundle config credential-store daemon diagnose fast-export fast-import index-pack interpret-trailers \
    mailinfo mailsplit merge-file pack-objects read-tree";

/// Programs that may read their settings from standard input.
const SET_BY_INPUT: [&str; 2] = ["curl", "wget"];

/// Splits a pattern into its literal folder and the rest.
pub(super) fn split(pattern: &str) -> (&str, &str) {
    let end = pattern.find(['*', '?', '[', '\\']).unwrap_or(pattern.len());
    match pattern[..end].rfind('/') {
        Some(0) => ("/", &pattern[1..]),
        Some(at) => (&pattern[..at], &pattern[at + 1..]),
        None => ("", pattern),
    }
}

/// Returns the paths of a command that must be inspected, except for those that it is known to write.
pub(super) fn paths(from: &str, command: &Command) -> Vec<String> {
    let mut found: Vec<String> = patterns(from, command).into_iter().map(|(folder, _)| folder).collect();
    found.extend(arguments(command).iter().flat_map(|path| resolve_in_folders(from, command, path)));
    found
}

/// Returns the patterns whose files a command writes: the folder to search, and the pattern relative to it.
pub(super) fn patterns(from: &str, command: &Command) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for write in &command.writes {
        let Word::Pattern(pattern) = write else { continue };
        let (folder, rest) = split(pattern);
        found.extend(resolve_in_folders(from, command, folder).into_iter().map(|folder| (folder, rest.to_owned())));
    }
    found
}

/// Resolves a path in every folder that the command may run in.
pub(super) fn resolve_in_folders(from: &str, command: &Command, path: &str) -> Vec<String> {
    command.folders.iter().filter_map(|folder| resolve_from(from, folder, path)).collect()
}

/// Returns the paths among the arguments that a program may write, or none if its writes are known. Includes those
/// after `=`, `:` and in `-oPATH`.
pub(super) fn arguments(command: &Command) -> Vec<String> {
    const LONGEST: usize = 512;
    let mut found = Vec::new();
    let by_git = git::invocation(command).is_some_and(|call| shell::lists(OF_GIT, &call.name));
    if !by_git && command.program().is_none_or(shell::writes_are_known) {
        return found;
    }
    let mut left_out = false;
    let lists = command.program() == Some("zip");
    for text in command.words.iter().skip(1).map(|word| word.known().unwrap_or_default()) {
        // `zip` excludes all that follows, up to the next option.
        let goes_on = lists && left_out && !text.starts_with('-');
        let skipped = std::mem::replace(&mut left_out, goes_on || leaves_out(text) || (lists && text == "-x"));
        if skipped || left_out || text.len() > LONGEST || text.contains(char::is_whitespace) {
            continue;
        }
        let value = match text.strip_prefix('-') {
            None => text,
            Some(option) if option.starts_with('-') => option.split_once('=').map_or("", |(_, value)| value),
            // The last option of a bundle takes it: `-so.git/config`.
            Some(option) => option.find(['.', '/', '~']).map_or("", |at| &option[at..]),
        };
        let pieces = value.split(['=', ':', ',']).map(|piece| piece.trim_start_matches('@'));
        found.extend(pieces.filter(|piece| piece.contains('.') || piece.contains('/')).map(str::to_owned));
    }
    found
}

/// Checks whether an option names what is excluded: `--exclude`, `--ignore`.
fn leaves_out(text: &str) -> bool {
    text.starts_with("--") && (text.contains("exclude") || text.contains("ignore"))
}

/// Returns a protected path in a text that a program runs.
pub(super) fn in_program(command: &Command) -> Option<String> {
    let program = command.program()?;
    let applies = program == "git" && command.words.iter().any(|word| matches!(word.known(), Some("apply" | "am")));
    let runs = !shell::is_inert(program) && !matches!(program, "git" | "ssh");
    let words = command.words.iter().skip(1).filter(|_| runs);
    let input = command.stdin.iter().filter(|_| runs || applies || SET_BY_INPUT.contains(&program));
    // An argument that is only a path is read or edited, and is inspected as such.
    let texts = words.filter_map(Word::known).filter(|text| text.contains([' ', '\'', '"', '(', '\n']));
    texts.chain(input.filter_map(Word::known)).find_map(named)
}

/// Hooks of git that enforce the gates, and files that the gates keep.
const KEPT: &str = "pre-commit commit-msg pre-push reference-transaction post-commit post-checkout flow-events.jsonl \
    installed.json runs.db";

/// The programs that the gates depend on.
pub(super) const PROGRAMS: &str = "git gh portolan";

/// Returns a protected path in a text, or a part that only such paths have, except for one that is excluded.
pub(super) fn named(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let before = |at: usize, back: usize| at.checked_sub(back).map_or("", word);
    let left_out = |at: usize| {
        let tests = matches!(before(at, 1), "-path" | "-ipath" | "-wholename" | "-name");
        let not = matches!(before(at, 2), "!" | "\\!" | "-not") || word(at + 1) == "-prune";
        (tests && not) || before(at, 1) == "-v" || leaves_out(before(at, 1)) || leaves_out(word(at))
    };
    let is_path = |char: char| char.is_alphanumeric() || "._/~+-@*?".contains(char);
    // Regular expressions are full of `.*`, which names no file.
    let is_expression = |token: &str| token.starts_with(".*") || !token.contains(char::is_alphanumeric);
    (0..words.len()).find_map(|at| {
        let found = |token: &&str| {
            let whole = !left_out(at) && token.contains('.') && !is_expression(token) && is_named(token);
            whole || is_part(before(at, 1), token)
        };
        word(at).split(|char| !is_path(char)).find(found).map(str::to_owned)
    })
}

/// Checks whether a word is a part that only protected paths have, in a text that may assemble the rest of it.
fn is_part(before: &str, token: &str) -> bool {
    const PLACES: &str = "OLDPWD --git-dir --git-common-dir --absolute-git-dir --git-path";
    let before = before.trim_start_matches(|char: char| !char.is_alphanumeric() && char != '-');
    let name = token.rsplit('/').next().unwrap_or_default();
    let hooks = token.contains("hooks/") || token.ends_with("hooks");
    let searched = matches!(before, "-name" | "-iname");
    let kept = shell::lists(KEPT, name) && (hooks || searched || !name.contains('-') || name.contains('.'));
    // `which git`, `command -v git`, `type -P git`
    let program = matches!(before, "which" | "-v" | "-P" | "-p") && shell::lists(PROGRAMS, token);
    kept || program || shell::lists(PLACES, token) || (searched && name.starts_with("pre-") && name.contains('*'))
}

/// Checks whether a path may be protected, if its folder is known only at run time.
pub(super) fn may_hold(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    is_named(path) || shell::lists(KEPT, name)
}

/// Checks whether a path is protected, or is a folder for protected files.
pub(super) fn is_named(path: &str) -> bool {
    // Folders with many other uses.
    let common = [".github", ".vscode", ".config"].iter().any(|name| path.trim_end_matches('/').ends_with(name));
    let pattern = path.contains(['*', '?', '[']) && may_be_protected(path, false);
    is_protected(path) || pattern || (!common && holds_protected(path))
}

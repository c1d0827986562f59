//! The files that a program writes, as far as its arguments show.

use super::programs::lists;
use super::walk::join;
use super::{Command, Word, git, patches};

/// Paths that do not count as files.
const NOWHERE: &str = "/dev/null /dev/stdout /dev/stderr /dev/tty";

/// Programs that write all their operands, each with its options that take a value.
const OPERANDS: &[(&str, &str)] = &[
    ("tee sponge rm unlink rmdir", ""),
    ("shred", "-n -s"),
    ("mkdir", "-m --mode"),
    ("truncate", "-s --size -r --reference"),
    ("touch", "-d -t -r --date --reference"),
    ("mount", "-t -o -L -U"),
    ("chattr", "-v -p"),
    ("ed ex vi vim nvim nano emacs micro", "-c -p --cmd"),
];

/// The options of copying programs that take a value.
const COPYING: &str = "-t --target-directory -S -m -o -g -e --rsh --exclude --include --filter";

/// Removes the paths that do not count as files.
pub(super) fn kept(mut paths: Vec<Word>) -> Vec<Word> {
    paths.retain(|path| !path.known().is_some_and(|path| path.is_empty() || lists(NOWHERE, path)));
    paths
}

/// Adds the files that the program itself writes. A folder that is filled from elsewhere ends in `/.`.
pub(super) fn add(command: &mut Command) {
    if let Some(name) = command.program().map(str::to_owned) {
        let more = written(&name, command);
        command.writes.extend(more);
    }
    command.writes = kept(std::mem::take(&mut command.writes));
    command.writes.dedup();
}

fn written(name: &str, command: &Command) -> Vec<Word> {
    let arguments = &command.words[1..];
    if let Some((_, options)) = OPERANDS.iter().find(|(names, _)| lists(names, name)) {
        return operands(arguments, options);
    }
    match name {
        "chmod" | "chown" | "chgrp" => {
            let dashed = |text: &str| text.starts_with('-') && text.chars().all(|char| "rwxXstugoa,+-=".contains(char));
            let given = |word: &Word| word.known().is_some_and(|text| text.starts_with("--ref") || dashed(text));
            let skipped = usize::from(!arguments.iter().any(given));
            operands(arguments, "--reference").into_iter().skip(skipped).collect()
        }
        "cp" | "gcp" | "mv" | "gmv" | "ln" | "install" | "rsync" | "scp" | "ditto" => copied(name, arguments),
        "dd" => {
            let target =
                |word: &Word| word.known().map_or(Some(Word::Dynamic), |text| text.strip_prefix("of=").map(Word::from));
            arguments.iter().filter_map(target).collect()
        }
        "sed" | "gsed" => in_place(arguments, "-e --expression -f --file"),
        "perl" | "ruby" => in_place(arguments, "-e -E"),
        // Without a file operand it writes the files that the patch names.
        "patch" => {
            operands(arguments, "-p -i -d --input --directory").into_iter().chain([Word::Dynamic]).take(1).collect()
        }
        "apply_patch" | "applypatch" => patches::written(command),
        "sort" => valued(arguments, "-o --output"),
        _ if name == "git" || name.starts_with("git-") => git::files(command),
        "curl" => fetched(arguments, "-o --output", "-O --remote-name"),
        "wget" => fetched(arguments, "-O --output-document", "-P --directory-prefix"),
        _ if unpacks(name, arguments) => {
            let to = valued(arguments, "-C --directory -d -o").pop().filter(|_| name != "cpio");
            vec![join(&to.unwrap_or_else(|| Word::from(".")), &Word::from("./."))]
        }
        "find" => found(arguments),
        _ => Vec::new(),
    }
}

/// Returns the files that a copy writes: its target, and what it puts there if that is a folder. The text does not show
/// the contents of a copied folder.
fn copied(name: &str, arguments: &[Word]) -> Vec<Word> {
    // Options that keep the path of a source, or put its contents into the target.
    let is_other = |text: &str| {
        let letter = if name == "rsync" { 'R' } else { 'T' };
        lists("--no-target-directory --parents --relative", text) || is_bundle(text, letter)
    };
    let other = arguments.iter().filter_map(Word::known).any(is_other);
    let (sources, targets) = sources(arguments);
    let called = |source: &Word| match source {
        Word::Known(text) => {
            let last = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
            let contents = other || matches!(last, "" | "." | "..") || (name == "rsync" && text.ends_with('/'));
            Word::from(if contents { "./." } else { last })
        }
        Word::Pattern(pattern) => Word::Pattern(pattern.rsplit('/').next().unwrap_or_default().to_owned()),
        Word::Dynamic | Word::Spread => Word::from("./."),
    };
    let inside = |to: &Word| sources.iter().map(|source| join(to, &called(source))).collect::<Vec<_>>();
    let inside: Vec<Word> = targets.iter().flat_map(inside).collect();
    // A linked file may be written through its other name.
    let all = matches!(name, "mv" | "gmv" | "ln") || (name == "cp" && links(arguments));
    sources.into_iter().filter(|_| all).chain(targets).chain(inside).collect()
}

fn is_bundle(text: &str, letter: char) -> bool {
    text.starts_with('-') && !text.starts_with("--") && text.contains(letter)
}

/// Checks whether the call unpacks an archive.
fn unpacks(name: &str, arguments: &[Word]) -> bool {
    let first = arguments.first().and_then(Word::known).unwrap_or_default();
    let any = |letters: &str, long: &[&str]| {
        let texts = arguments.iter().filter_map(Word::known);
        texts.into_iter().any(|text| long.contains(&text) || letters.chars().any(|letter| is_bundle(text, letter)))
    };
    match name {
        "unzip" => !any("lptvZz", &[]),
        "cpio" => any("ip", &["--extract", "--pass-through"]),
        "7z" => matches!(first, "x" | "e"),
        "tar" | "gtar" | "bsdtar" => {
            (!first.starts_with('-') && first.contains('x')) || any("x", &["--extract", "--get"])
        }
        _ => false,
    }
}

/// Checks for `cp -l` or `cp -s`.
pub(crate) fn links(arguments: &[Word]) -> bool {
    let links =
        |text: &str| matches!(text, "--link" | "--symbolic-link") || is_bundle(text, 'l') || is_bundle(text, 's');
    arguments.iter().filter_map(Word::known).any(links)
}

/// Returns the arguments that are neither options nor values of `options`.
pub(super) fn operands(arguments: &[Word], options: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    let mut ended = false;
    while let Some(word) = rest.next() {
        match word.known() {
            Some("--") if !ended => ended = true,
            Some(option) if !ended && option.len() > 1 && option.starts_with('-') => {
                if lists(options, option) {
                    rest.next();
                }
            }
            _ => found.push(word.clone()),
        }
    }
    found
}

/// Returns the sources and the targets of a copy.
fn sources(arguments: &[Word]) -> (Vec<Word>, Vec<Word>) {
    let targets = valued(arguments, "-t --target-directory");
    let mut sources = operands(arguments, COPYING);
    let targets = if targets.is_empty() { sources.pop().into_iter().collect() } else { targets };
    (sources, targets)
}

/// Returns a pattern that matches only this text.
pub(super) fn literal(text: &str) -> String {
    let special = |char: char| matches!(char, '*' | '?' | '[' | ']' | '\\');
    text.chars().flat_map(|char| special(char).then_some('\\').into_iter().chain([char])).collect()
}

/// Returns the downloaded files. `elsewhere` are the options that leave the name to the server.
fn fetched(arguments: &[Word], files: &str, elsewhere: &str) -> Vec<Word> {
    let is_one =
        |text: &str| lists(elsewhere, text) || elsewhere.chars().nth(1).is_some_and(|letter| is_bundle(text, letter));
    let other = arguments.iter().filter_map(Word::known).any(is_one).then_some(Word::Dynamic);
    valued(arguments, files).into_iter().chain(other).collect()
}

/// Returns the values of options: `-o x`, `-ox`, `--output=x`, and abbreviated long ones.
pub(super) fn valued(arguments: &[Word], options: &str) -> Vec<Word> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let Some(text) = word.known() else { continue };
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        for option in options.split_ascii_whitespace() {
            let long = option.starts_with("--") && name.len() > 3 && option.starts_with(name);
            match value {
                Some(value) if long => found.push(Word::from(value)),
                None if long || text == option => found.extend(arguments.get(at + 1).cloned()),
                _ if option.len() == 2 && text.len() > 2 && text.starts_with(option) => {
                    found.push(Word::from(&text[2..]));
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns the files that are edited in place: all operands but the script.
fn in_place(arguments: &[Word], scripts: &str) -> Vec<Word> {
    let options: Vec<&str> = arguments.iter().filter_map(Word::known).filter(|word| word.starts_with('-')).collect();
    // A bundle of short options whose last one takes the script: `-e`, `-ne`, `-pie`.
    let is_script =
        |option: &&&str| !option.starts_with("--") && !option.contains("i.") && option.ends_with(['e', 'E', 'f']);
    let edits = |option: &&str| option.starts_with("--in-place") || (is_bundle(option, 'i') && !is_script(&option));
    if !options.iter().any(edits) {
        return Vec::new();
    }
    let given = options.iter().any(|option| is_script(&option) || option.starts_with("--expression"));
    let bundled: Vec<&str> = options.iter().filter(is_script).copied().chain([scripts]).collect();
    operands(arguments, &bundled.join(" ")).into_iter().skip(usize::from(!given)).collect()
}

/// Returns what `find` writes: the folders that it searches, and files that are known only at run time.
fn found(arguments: &[Word]) -> Vec<Word> {
    let acts = |text: &str| lists("-delete -fprint -fprint0 -fls -fprintf", text);
    if !arguments.iter().filter_map(Word::known).any(acts) {
        return Vec::new();
    }
    let is_root = |word: &&Word| !word.known().is_some_and(|text| text.starts_with(['-', '!', '(']));
    let roots = arguments.iter().take_while(is_root).filter(|root| root.known() != Some("."));
    roots.cloned().chain([Word::Spread]).collect()
}

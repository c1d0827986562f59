//! Which files a program writes, as far as its arguments say.

use super::{Command, Word, copies, databases, git, patches, rights};

/// Paths that are no files of anybody.
const NOWHERE: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// The paths but for those that are no files.
pub(super) fn kept(mut paths: Vec<Word>) -> Vec<Word> {
    paths.retain(|path| !path.known().is_some_and(|path| path.is_empty() || NOWHERE.contains(&path)));
    paths
}

/// Adds what the program itself writes.
pub(super) fn add(command: &mut Command) {
    let Some(name) = command.program() else {
        command.writes = kept(std::mem::take(&mut command.writes));
        return;
    };
    let arguments = &command.words[1..];
    let more = match name {
        "uniq" => operands(arguments, &["-f", "-s", "-w"]).into_iter().skip(1).collect(),
        "tee" | "sponge" => operands(arguments, &[]),
        "truncate" => operands(arguments, &["-s", "--size", "-r", "--reference"]),
        "touch" => operands(arguments, &["-d", "-t", "-r", "--date", "--reference"]),
        "rm" | "unlink" | "rmdir" | "shred" | "mkdir" => operands(arguments, &["-m", "--mode", "-n", "-s"]),
        "chmod" | "chown" | "chgrp" => {
            let given = arguments.iter().any(|word| word.known().is_some_and(rights::is_dashed_mode));
            let reference = !valued(arguments, &["--reference"]).is_empty();
            operands(arguments, &["--reference"]).into_iter().skip(usize::from(!given && !reference)).collect()
        }
        "chattr" => operands(arguments, &["-v", "-p"]).into_iter().filter(|word| !is_mode(word)).collect(),
        // What is linked to may be written by the other name.
        "mv" | "ln" => moved(arguments, true),
        "cp" if links(arguments) => moved(arguments, true),
        "cp" | "install" | "rsync" | "scp" => moved(arguments, false),
        "mount" => operands(arguments, &["-t", "-o", "-L", "-U"]),
        "dd" => prefixed(arguments, "of="),
        "sed" | "gsed" => in_place(arguments, &["-e", "--expression", "-f", "--file"]),
        "perl" | "ruby" => in_place(arguments, &["-e", "-E"]),
        "ed" | "ex" | "vi" | "vim" | "nvim" | "nano" | "emacs" | "micro" => operands(arguments, &["-c", "-p", "--cmd"]),
        "patch" => patched(arguments),
        "apply_patch" | "applypatch" => patches::written(command),
        "sort" => valued(arguments, &["-o", "--output"]),
        _ if name == "git" || name.starts_with("git-") => git::files(command),
        "curl" => fetched(arguments, &["-o", "--output"], &["--output-dir"]),
        "wget" => fetched(arguments, &["-O", "--output-document"], &["-P", "--directory-prefix"]),
        "openssl" => next_to(arguments, "-out"),
        "xxd" if arguments.iter().any(|word| word.known() == Some("-r")) => {
            operands(arguments, &["-s", "-seek"]).into_iter().skip(1).collect()
        }
        "sqlite3" if databases::only_asks(arguments) => Vec::new(),
        "sqlite3" => operands(arguments, &["-cmd", "-init"]).into_iter().take(1).collect(),
        "tar" | "unzip" | "cpio" if copies::unpacks(name, arguments) => extracted(arguments),
        "find" => found(arguments),
        _ => Vec::new(),
    };
    command.writes.extend(more);
    command.writes = kept(std::mem::take(&mut command.writes));
    command.writes.dedup();
}

/// The arguments that are no options and no values of these options.
pub(super) fn operands(arguments: &[Word], valued: &[&str]) -> Vec<Word> {
    let mut found = Vec::new();
    let mut rest = arguments.iter();
    let mut options = true;
    while let Some(word) = rest.next() {
        match word.known() {
            Some("--") if options => options = false,
            Some(option) if options && option.len() > 1 && option.starts_with('-') => {
                if valued.contains(&option) {
                    rest.next();
                }
            }
            _ => found.push(word.clone()),
        }
    }
    found
}

/// `cp a b to`: the target, and for `mv` what was there before.
fn moved(arguments: &[Word], all: bool) -> Vec<Word> {
    let targets = valued(arguments, &["-t", "--target-directory"]);
    let mut paths = operands(
        arguments,
        &["-t", "--target-directory", "-S", "-m", "-o", "-g", "-e", "--rsh", "--exclude", "--include", "--filter"],
    );
    let to = if targets.is_empty() { paths.pop().into_iter().collect() } else { targets };
    let recursive = !all && copies_folders(arguments);
    let mut found = if all { paths.clone() } else { Vec::new() };
    found.extend(to.iter().cloned());
    for target in &to {
        found.extend(paths.iter().filter_map(|path| within(target, path, recursive)));
    }
    found
}

/// What a file is called once it is in a folder, where the target is, or may well be, one.
fn within(target: &Word, path: &Word, recursive: bool) -> Option<Word> {
    let folder = target.known()?;
    let last = folder.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    if !folder.ends_with('/') && !last.starts_with('.') {
        return None;
    }
    let folder = folder.trim_end_matches('/');
    let Some(path) = path.known() else { return Some(in_folder(folder)) };
    let name = path.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    // `x/.` and, to some programs, `x/` are what is in `x`.
    if matches!(name, "" | "." | "..") || (recursive && path.ends_with('/')) {
        return Some(in_folder(folder));
    }
    let whole = format!("{folder}/{name}");
    Some(if recursive && name.starts_with('.') { in_folder(&whole) } else { Word::Known(whole) })
}

/// Any file in a folder.
fn in_folder(folder: &str) -> Word {
    let literal: String = folder
        .chars()
        .flat_map(|char| matches!(char, '*' | '?' | '[' | ']' | '\\').then_some('\\').into_iter().chain([char]))
        .collect();
    Word::Pattern(format!("{literal}/*"))
}

fn in_folders(folders: Vec<Word>) -> Vec<Word> {
    folders.iter().map(|folder| folder.known().map_or(Word::Dynamic, in_folder)).collect()
}

fn copies_folders(arguments: &[Word]) -> bool {
    let bundled = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains(['r', 'R', 'a']);
    arguments.iter().filter_map(Word::known).any(|text| matches!(text, "--recursive" | "--archive") || bundled(text))
}

/// `cp -l`, `cp -s`.
pub(crate) fn links(arguments: &[Word]) -> bool {
    let bundled = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains(['l', 's']);
    arguments.iter().filter_map(Word::known).any(|text| matches!(text, "--link" | "--symbolic-link") || bundled(text))
}

fn is_mode(word: &Word) -> bool {
    word.known().is_some_and(|text| text.starts_with(['+', '=']))
}

/// Files that are fetched: by their name, and into a folder.
fn fetched(arguments: &[Word], files: &[&str], folders: &[&str]) -> Vec<Word> {
    let named = valued(arguments, files);
    let folders = valued(arguments, folders);
    let own =
        arguments.iter().any(|word| matches!(word.known(), Some("-O" | "--remote-name" | "-OL" | "-LO" | "-sSLO")));
    let mut found = in_folders(folders);
    if own && files.contains(&"-o") {
        let urls = operands(arguments, &[]);
        let names = urls.iter().filter_map(Word::known).filter_map(|url| url.rsplit('/').next());
        found.extend(names.filter(|name| !name.is_empty()).map(Word::from));
    }
    found.extend(named);
    found
}

/// The word behind an option.
fn next_to(arguments: &[Word], option: &str) -> Vec<Word> {
    let at = arguments.iter().position(|word| word.known() == Some(option));
    at.and_then(|at| arguments.get(at + 1)).cloned().into_iter().collect()
}

/// What comes out of an archive: files that the archive names, in the folder that is said.
fn extracted(arguments: &[Word]) -> Vec<Word> {
    let folders = valued(arguments, &["-C", "--directory", "-d"]);
    if folders.is_empty() { vec![Word::Dynamic] } else { in_folders(folders) }
}

fn prefixed(arguments: &[Word], prefix: &str) -> Vec<Word> {
    let known = |word: &Word| match word.known() {
        Some(text) => text.strip_prefix(prefix).map(Word::from),
        None => Some(Word::Dynamic),
    };
    arguments.iter().filter_map(known).collect()
}

/// The values of options: `-o x`, `-ox`, `--output=x`.
pub(super) fn valued(arguments: &[Word], options: &[&str]) -> Vec<Word> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let Some(text) = word.known() else { continue };
        for option in options {
            if text == *option {
                found.extend(arguments.get(at + 1).cloned());
            } else if let Some((name, value)) = text.split_once('=')
                && is_short_for(name, option)
            {
                found.push(Word::from(value));
            } else if is_short_for(text, option) {
                found.extend(arguments.get(at + 1).cloned());
            } else if let Some(value) = text.strip_prefix(option) {
                let long = option.starts_with("--");
                match value.strip_prefix('=') {
                    Some(value) if long => found.push(Word::from(value)),
                    _ if !long => found.push(Word::from(value)),
                    _ => {}
                }
            }
        }
    }
    found
}

/// Whether a long option is cut short: `--out` for `--output`.
fn is_short_for(text: &str, option: &str) -> bool {
    option.starts_with("--") && text.len() > 3 && text.len() < option.len() && option.starts_with(text)
}

/// Files that are edited where they lie: all operands but the script.
fn in_place(arguments: &[Word], scripts: &[&str]) -> Vec<Word> {
    let options: Vec<&str> = arguments.iter().filter_map(Word::known).filter(|word| word.starts_with('-')).collect();
    let edits = |option: &&str| {
        option.starts_with("--in-place")
            || (!option.starts_with("--") && option[1..].contains('i') && !is_script(option))
    };
    if !options.iter().any(edits) {
        return Vec::new();
    }
    let given = options.iter().any(|option| is_script(option) || option.starts_with("--expression"));
    let skip = usize::from(!given);
    let mut bundled: Vec<&str> = options.iter().filter(|option| is_script(option)).copied().collect();
    bundled.extend(scripts);
    operands(arguments, &bundled).into_iter().skip(skip).collect()
}

/// A bundle of short options whose last takes the script: `-e`, `-ne`, `-pie`, `-i.bak -e`.
fn is_script(option: &str) -> bool {
    !option.starts_with("--") && !option.contains("i.") && option.ends_with(['e', 'E', 'f'])
}

fn patched(arguments: &[Word]) -> Vec<Word> {
    let mut named = valued(arguments, &["-o", "--output"]);
    named.extend(operands(arguments, &["-p", "-i", "-d", "-o", "--input", "--directory"]).into_iter().take(1));
    // Without a file it writes what the patch names.
    if named.is_empty() { vec![Word::Dynamic] } else { named }
}

fn found(arguments: &[Word]) -> Vec<Word> {
    let mut written = Vec::new();
    for option in ["-fprint", "-fprint0", "-fls", "-fprintf"] {
        if let Some(at) = arguments.iter().position(|word| word.known() == Some(option)) {
            written.extend(arguments.get(at + 1).cloned());
        }
    }
    if arguments.iter().any(|word| word.known() == Some("-delete")) {
        let roots =
            arguments.iter().take_while(|word| !word.known().is_some_and(|text| text.starts_with(['-', '!', '('])));
        written.extend(roots.filter(|root| root.known() != Some(".")).cloned());
        written.push(Word::Spread);
    }
    written
}

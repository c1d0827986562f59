//! Which files a program writes, as far as its arguments say.

use super::{Command, Word};

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
        "tee" | "sponge" => operands(arguments, &[]),
        "truncate" => operands(arguments, &["-s", "--size", "-r", "--reference"]),
        "touch" => operands(arguments, &["-d", "-t", "-r", "--date", "--reference"]),
        "rm" | "unlink" | "rmdir" | "shred" | "mkdir" => operands(arguments, &["-m", "--mode", "-n", "-s"]),
        "chmod" | "chown" => {
            // `chmod -x file`: the mode looks like an option.
            let mode = |word: &Word| {
                word.known().is_some_and(|text| text.starts_with('-') && text.ends_with(['r', 'w', 'x', 's', 't']))
            };
            operands(arguments, &[]).into_iter().skip(usize::from(!arguments.iter().any(mode))).collect()
        }
        "mv" => moved(arguments, true),
        "cp" | "ln" | "install" | "rsync" | "scp" => moved(arguments, false),
        "dd" => prefixed(arguments, "of="),
        "sed" | "gsed" => in_place(arguments, &["-e", "--expression", "-f", "--file"]),
        "perl" | "ruby" => in_place(arguments, &["-e", "-E"]),
        "ed" | "ex" | "vi" | "vim" | "nvim" => operands(arguments, &["-c", "-p", "--cmd"]),
        "patch" => patched(arguments),
        "sort" => valued(arguments, &["-o", "--output"]),
        "git" => valued(arguments, &["--output"]),
        "curl" => valued(arguments, &["-o", "--output"]),
        "wget" => valued(arguments, &["-O", "--output-document"]),
        "tar" | "unzip" | "cpio" if extracts(name, arguments) => vec![Word::Dynamic],
        "find" => found(arguments),
        _ => Vec::new(),
    };
    command.writes.extend(more);
    command.writes = kept(std::mem::take(&mut command.writes));
    command.writes.dedup();
}

/// The arguments that are no options and no values of these options.
fn operands(arguments: &[Word], valued: &[&str]) -> Vec<Word> {
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
    let mut paths = operands(arguments, &["-t", "--target-directory", "-S", "-m", "-o", "-g"]);
    if !targets.is_empty() {
        return if all { paths.into_iter().chain(targets).collect() } else { targets };
    }
    if all { paths } else { paths.pop().into_iter().collect() }
}

fn prefixed(arguments: &[Word], prefix: &str) -> Vec<Word> {
    let known = |word: &Word| match word.known() {
        Some(text) => text.strip_prefix(prefix).map(Word::from),
        None => Some(Word::Dynamic),
    };
    arguments.iter().filter_map(known).collect()
}

/// The values of options: `-o x`, `-ox`, `--output=x`.
fn valued(arguments: &[Word], options: &[&str]) -> Vec<Word> {
    let mut found = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let Some(text) = word.known() else { continue };
        for option in options {
            if text == *option {
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

fn extracts(name: &str, arguments: &[Word]) -> bool {
    let first = arguments.first().and_then(Word::known).unwrap_or_default();
    name != "tar" || first.contains('x') || arguments.iter().any(|word| word.known() == Some("--extract"))
}

fn found(arguments: &[Word]) -> Vec<Word> {
    let mut written = Vec::new();
    for option in ["-fprint", "-fprint0", "-fls", "-fprintf"] {
        if let Some(at) = arguments.iter().position(|word| word.known() == Some(option)) {
            written.extend(arguments.get(at + 1).cloned());
        }
    }
    if arguments.iter().any(|word| word.known() == Some("-delete")) {
        written.push(Word::Spread);
    }
    written
}

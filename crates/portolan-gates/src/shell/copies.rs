//! Which folders a command copies, moves or unpacks into others. What is in them is not to be seen in the text.

use super::writes::{operands, valued};
use super::{Command, Word};

/// Something that is copied with all that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CopiedTree {
    /// Where it comes from; dynamic for an archive.
    pub(crate) from: Word,
    /// The folder that it comes into.
    pub(crate) to: Word,
    /// What it is called there; nothing where only what is in it is copied.
    pub(crate) name: Option<String>,
    /// A pattern that the names of what is in it match.
    pub(crate) pattern: Option<String>,
    /// Names that are left out.
    pub(crate) without: Vec<String>,
}

/// What a command copies, moves or unpacks.
pub(crate) fn copied(command: &Command) -> Vec<CopiedTree> {
    let arguments = command.words.get(1..).unwrap_or_default();
    match command.program().unwrap_or_default() {
        "cp" | "gcp" | "mv" | "gmv" | "rsync" | "ditto" => between(command, arguments),
        name @ ("tar" | "gtar" | "bsdtar" | "unzip" | "cpio" | "7z") if unpacks(name, arguments) => {
            let mut to = valued(arguments, &["-C", "--directory", "-d", "-o"]);
            to.retain(|word| word.known() != Some(""));
            let to = to.pop().filter(|_| name != "cpio").unwrap_or_else(|| Word::from("."));
            vec![CopiedTree { from: Word::Dynamic, to, name: None, pattern: None, without: Vec::new() }]
        }
        _ => Vec::new(),
    }
}

/// Whether files come out of an archive.
pub(super) fn unpacks(name: &str, arguments: &[Word]) -> bool {
    let first = arguments.first().and_then(Word::known).unwrap_or_default();
    let mut options = arguments.iter().filter_map(Word::known).filter(|text| text.starts_with('-'));
    let bundled = |text: &str, letters: &[char]| !text.starts_with("--") && text[1..].contains(letters);
    match name {
        "unzip" => !options.any(|text| bundled(text, &['l', 'p', 't', 'v', 'Z', 'z'])),
        "cpio" => options.any(|text| bundled(text, &['i', 'p']) || matches!(text, "--extract" | "--pass-through")),
        "7z" => matches!(first, "x" | "e"),
        _ => {
            (!first.starts_with('-') && first.contains('x'))
                || options.any(|text| bundled(text, &['x']) || matches!(text, "--extract" | "--get"))
        }
    }
}

const VALUED: &[&str] = &[
    "-t",
    "--target-directory",
    "-S",
    "--suffix",
    "-e",
    "--rsh",
    "--exclude",
    "--include",
    "--filter",
    "-f",
    "--exclude-from",
    "--files-from",
];

fn between(command: &Command, arguments: &[Word]) -> Vec<CopiedTree> {
    let targets = valued(arguments, &["-t", "--target-directory"]);
    let syncs = command.program() == Some("rsync");
    // `-f` is no option with a value but for `rsync`.
    let options = if syncs { VALUED } else { &VALUED[..4] };
    let mut sources = operands(arguments, options);
    let to = match (targets.last(), sources.len()) {
        (Some(target), _) => target.clone(),
        (None, 2..) => sources.pop().unwrap_or(Word::Dynamic),
        (None, _) => return Vec::new(),
    };
    let on = |names: &[&str]| arguments.iter().filter_map(Word::known).any(|text| names.contains(&text));
    let bundled = |letter: char| {
        let has = |text: &str| text.starts_with('-') && !text.starts_with("--") && text.contains(letter);
        arguments.iter().filter_map(Word::known).any(has)
    };
    let how = How {
        contents: on(&["--no-target-directory"]) || (!syncs && bundled('T')),
        parents: on(&["--parents", "--relative"]) || (syncs && bundled('R')),
        syncs,
        without: valued(arguments, &["--exclude"])
            .iter()
            .filter_map(Word::known)
            .map(|name| name.trim_matches('/').to_owned())
            .collect(),
    };
    sources.iter().flat_map(|from| how.copies(from, &to)).collect()
}

/// How a program copies.
struct How {
    /// The target is no folder that sources come into.
    contents: bool,
    /// Sources keep their whole path.
    parents: bool,
    /// What ends in `/` is what is in it.
    syncs: bool,
    without: Vec<String>,
}

impl How {
    fn copies(&self, from: &Word, to: &Word) -> Vec<CopiedTree> {
        let one = |from: Word, name: Option<&str>, pattern: Option<&str>| CopiedTree {
            from,
            to: to.clone(),
            name: name.map(str::to_owned),
            pattern: pattern.map(str::to_owned),
            without: self.without.clone(),
        };
        let text = match from {
            Word::Known(text) => text,
            Word::Pattern(pattern) => {
                let (folder, rest) = pattern.rsplit_once('/').unwrap_or((".", pattern));
                // A pattern of folders may lead to any.
                let folder = if folder.contains(['*', '?', '[']) {
                    Word::Dynamic
                } else {
                    folder.replace('\\', "").as_str().into()
                };
                return vec![one(folder, None, Some(rest))];
            }
            Word::Dynamic | Word::Spread => return vec![one(Word::Dynamic, None, None)],
        };
        let trimmed = text.trim_end_matches('/');
        let name = trimmed.rsplit('/').next().unwrap_or_default();
        let inner = self.contents || matches!(name, "" | "." | "..") || (self.syncs && text.ends_with('/'));
        if inner {
            return vec![one(from.clone(), None, None)];
        }
        let name = if self.parents { trimmed.trim_start_matches('/') } else { name };
        let mut found = vec![one(from.clone(), Some(name), None)];
        // A folder that is not there yet is made as a copy; and some take `x/` for what is in `x`.
        let there = to.known().is_some_and(|to| to.ends_with(['/', '.']));
        if !there || text.ends_with('/') {
            found.push(one(from.clone(), None, None));
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    fn told(text: &str) -> Vec<String> {
        let word = |word: &Word| match word {
            Word::Known(text) | Word::Pattern(text) => text.clone(),
            Word::Dynamic | Word::Spread => "?".to_owned(),
        };
        let commands = shell::read(text).commands;
        let all = commands.iter().flat_map(copied);
        all.map(|copied| {
            let name = copied.name.or(copied.pattern).unwrap_or_default();
            format!("{} > {} {name}", word(&copied.from), word(&copied.to)).trim_end().to_owned()
        })
        .collect()
    }

    #[test]
    fn what_is_copied_is_told() {
        assert_eq!(told("cp -a ../y/. ."), ["../y/. > ."]);
        assert_eq!(told("cp -rT ../y ."), ["../y > ."]);
        assert_eq!(told("cp -r ../y/.git ."), ["../y/.git > . .git"]);
        assert_eq!(told("cp -r a b"), ["a > b a", "a > b"]);
        assert_eq!(told("cp -r --parents .git/hooks/x ../r/"), [".git/hooks/x > ../r/ .git/hooks/x"]);
        assert_eq!(told("cp -a ../y/.[a-z]* ."), ["../y > . .[a-z]*"]);
        assert_eq!(told("mv x/* x/.[a-z]* ."), ["x > . *", "x > . .[a-z]*"]);
        assert_eq!(told("rsync -a x/ ."), ["x/ > ."]);
        assert_eq!(told("rsync -a x ."), ["x > . x"]);
        assert_eq!(told("cp -t . a b"), ["a > . a", "b > . b"]);
        assert_eq!(told("tar cf - . | tar xf - -C ../r"), ["? > ../r"]);
        assert_eq!(told("unzip x.zip"), ["? > ."]);
        for nothing in ["tar czf x.tgz .", "tar tf x.tgz", "unzip -l x.zip", "cat a b", "cp a"] {
            assert!(told(nothing).is_empty(), "{nothing}");
        }
    }
}

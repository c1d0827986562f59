//! Reads the shell commands in the files under `tests/cases/shell`: `$ ` begins a command, `> ` continues it, `= `
//! gives the expected results, and `alias ` sets an alias for the commands after it. `UPDATE_EXPECT=1` updates the
//! results.

#![expect(clippy::disallowed_methods, reason = "the test reads its cases; the crate reads nothing")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use portolan_gates::shell::git::{Action, Invocation, Message, Push, Refspec, Switch};
use portolan_gates::shell::{self, Command, Reading, ShellContext, Word, git};
use proptest::prelude::*;

fn text(word: &Word) -> String {
    match word {
        Word::Known(text) if text.is_empty() || text.contains([' ', '\n', ';', '\'']) => format!("{text:?}"),
        Word::Known(text) => text.clone(),
        Word::Dynamic => "?".to_owned(),
        Word::Spread => "?*".to_owned(),
        Word::Pattern(text) => format!("={text}"),
    }
}

fn texts(words: &[Word]) -> String {
    words.iter().map(text).collect::<Vec<_>>().join(" ")
}

/// Returns the words whose condition holds.
fn flags(all: &[(&str, bool)]) -> String {
    all.iter().filter(|(_, on)| *on).fold(String::new(), |mut out, (name, _)| {
        let _ = write!(out, " {name}");
        out
    })
}

fn message(message: &Message) -> String {
    match message {
        Message::Text(word) => format!(" message={}", word.as_ref().map_or_else(|| "?".to_owned(), text)),
        Message::File(word) => format!(" file={}", text(word)),
        Message::Elsewhere => " message elsewhere".to_owned(),
    }
}

fn push(push: &Push) -> String {
    let remote = push.remote.as_ref().map_or_else(String::new, |remote| format!(" to {}", text(remote)));
    let spec = |Refspec { source, target }: &Refspec| {
        format!(" {}:{}", source.as_ref().map_or_else(String::new, text), text(target))
    };
    format!("push{remote}{}", push.refspecs.iter().map(spec).collect::<String>())
}

fn switch(given: &Switch) -> String {
    let flags = flags(&[
        ("create", given.create),
        ("force", given.force),
        ("detach", given.detach),
        ("or-path", given.or_path),
    ]);
    let at = given.at.as_ref().map_or_else(String::new, |at| format!(" at {}", text(at)));
    format!("switch {}{at}{flags}", given.to.as_ref().map_or_else(|| "-".to_owned(), text))
}

fn action(action: &Action) -> String {
    let listed =
        |name: &str, words: &[Word], rest: String| format!("{name} {}{rest}", texts(words)).trim_end().to_owned();
    let to = |to: &Option<Word>| to.as_ref().map_or_else(String::new, |to| format!(" to {}", text(to)));
    match action {
        Action::Reads => "reads".to_owned(),
        Action::Free => "writes nothing that counts".to_owned(),
        Action::Commit(given) => format!("commit{}", given.iter().map(message).collect::<String>()),
        Action::Push(given) => push(given),
        Action::Pull { sources, targets } => listed(
            "pull",
            sources,
            if targets.is_empty() { String::new() } else { format!(" into {}", texts(targets)) },
        ),
        Action::Moves { what, to } => {
            format!("`{what}`{}", to.as_ref().map_or_else(String::new, |to| format!(" to {}", texts(to))))
        }
        Action::References { what, names, to: target } => listed(&format!("`{what}`"), names, to(target)),
        Action::Switch(given) => switch(given),
        Action::Files { restores, paths } => {
            listed(if *restores { "restore files" } else { "files" }, paths, String::new())
        }
        Action::Config(given) => {
            format!("config {}={}", given.key, given.value.as_ref().map_or_else(String::new, text))
        }
        Action::NewRepository => "new repository".to_owned(),
        Action::Unknown(name) => format!("unknown {name}").trim_end().to_owned(),
    }
}

fn invocation(told: &Invocation) -> String {
    let mut out = format!("git {}", action(&told.action));
    for (name, value) in [("git-dir", &told.git_dir), ("work-tree", &told.work_tree), ("index", &told.index_file)] {
        if let Some(value) = value {
            let _ = write!(out, " [{name} {}]", text(value));
        }
    }
    for (key, value) in &told.config {
        let _ = write!(out, " [-c {key}={}]", text(value));
    }
    if told.skips_hooks {
        out.push_str(" [hooks skipped]");
    }
    if told.replaces_hooks {
        out.push_str(" [hooks replaced]");
    }
    if !told.unclear.is_empty() {
        let _ = write!(out, " [unclear {}]", told.unclear.join(" "));
    }
    out
}

fn command(command: &Command) -> String {
    let git = git::invocation(command);
    let mut out = match &git {
        Some(told) => invocation(told),
        None => format!("run {}", texts(&command.words)).trim_end().to_owned(),
    };
    if !command.writes.is_empty() {
        let _ = write!(out, " [writes {}]", texts(&command.writes));
    }
    for assignment in &command.assignments {
        let _ = write!(out, " [with {}={}]", assignment.name, text(&assignment.value));
    }
    let folders = git.map_or_else(|| command.folders.clone(), |told| told.folders);
    if folders != [Word::from(".")] {
        let _ = write!(out, " [in {}]", texts(&folders));
    }
    out.replace('\n', "\\n")
}

fn lines(reading: &Reading) -> Vec<String> {
    let mut told: Vec<String> = reading.commands.iter().map(command).collect();
    told.extend(reading.doubts.iter().map(|doubt| format!("? {:?}: {}", doubt.why, doubt.what.replace('\n', "\\n"))));
    told
}

fn expansion(text: &str, aliases: &BTreeMap<String, String>) -> Vec<String> {
    let around = ShellContext {
        folder: Some("/repo".to_owned()),
        home: Some("/home/me".to_owned()),
        root: Some("/repo".to_owned()),
    };
    lines(&shell::expand(&shell::read_in(text, &around), aliases))
}

/// Returns the file with the present results, and the number of its commands.
fn retold(file: &str) -> (String, usize) {
    let mut out = String::new();
    let mut aliases = BTreeMap::new();
    let mut command: Option<String> = None;
    let mut count = 0;
    let mut finish = |command: &mut Option<String>, aliases: &BTreeMap<String, String>, out: &mut String| {
        if let Some(command) = command.take() {
            count += 1;
            let told = expansion(&command, aliases);
            let told = if told.is_empty() { vec!["nothing".to_owned()] } else { told };
            told.iter().for_each(|line| {
                let _ = writeln!(out, "= {line}");
            });
        }
    };
    for line in file.lines() {
        if let Some(more) = line.strip_prefix("> ").or_else(|| (line == ">").then_some("")) {
            let command = command.as_mut().expect("a command begins with `$ `");
            let _ = write!(command, "\n{more}");
            let _ = writeln!(out, "{line}");
            continue;
        }
        if line.starts_with("= ") {
            continue;
        }
        finish(&mut command, &aliases, &mut out);
        let _ = writeln!(out, "{line}");
        if let Some(first) = line.strip_prefix("$ ") {
            command = Some(first.to_owned());
        } else if let Some((name, text)) = line.strip_prefix("alias ").and_then(|rest| rest.split_once('=')) {
            aliases.insert(name.to_owned(), text.to_owned());
        }
    }
    finish(&mut command, &aliases, &mut out);
    (out, count)
}

#[test]
fn every_command_is_told() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/shell");
    let mut all = 0;
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let file = std::fs::read_to_string(&path).expect("a file of cases");
        let (retold, count) = retold(&file);
        all += count;
        expect_test::expect_file![path].assert_eq(&retold);
    }
    assert!(all >= 300, "the battery has only {all} commands");
}

/// Returns one of these commands, each with a result of its own.
fn marked() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "git commit -m x",
        "git push --force origin HEAD:main",
        "git -C web reset --hard HEAD~1",
        "echo hi > out.txt",
        "$X commit",
        "make all",
        "git commit --amend --no-verify -m \"a b\"",
        "sed -i s/a/b/ file",
        "FOO=1 git branch -D main",
        "git $X",
        "bash script.sh",
    ])
}

/// Returns text that is almost shell syntax.
fn odd() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "git", "commit", "time", "coproc", "$(", ")", "(", "{", "}", "`", "\"", "'", "\\", "\n", ";", "&&", "||", "|",
        "&", "<<E", "E\n", "<(", ">", "if", "then", "fi", "for", "in", "do", "done", "case", "esac", "[[", "]]", "((",
        "))", "${", ":-", "$x", "é", "*", "=", "!", "function", "f()", "eval", "sh -c", "xargs", "env", "-i", "--",
        "$'", "\\x", "{a,b}", "~", "#", "<<<",
    ]);
    let glue = prop::sample::select(vec!["", " "]);
    prop::collection::vec((pieces, glue), 0..60)
        .prop_map(|pieces| pieces.into_iter().map(|(piece, glue)| format!("{piece}{glue}")).collect())
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn no_text_is_too_much(text in odd()) {
        let reading = shell::read(&text);
        let expanded = shell::expand(&reading, &BTreeMap::from([("x".to_owned(), text)]));
        prop_assert!(expanded.commands.len() < 10_000);
    }

    #[test]
    fn no_characters_are_too_much(text in any::<String>()) {
        let reading = shell::read(&text);
        prop_assert!(reading.commands.len() < 10_000);
    }

    #[test]
    fn what_is_quoted_is_no_command(text in odd()) {
        let reading = shell::read(&format!("echo {}", quoted(&text)));
        prop_assert_eq!(reading.commands.len(), 1);
        prop_assert_eq!(reading.commands[0].words.get(1).and_then(Word::known), Some(text.as_str()));
        prop_assert!(reading.doubts.is_empty());
    }

    #[test]
    fn wrapping_loses_nothing(command in marked(), wrappers in prop::collection::vec(0usize..11, 1..5)) {
        let none = BTreeMap::new();
        let mut text = command.to_owned();
        for wrapper in &wrappers {
            text = match wrapper {
                0 => format!("sh -c {}", quoted(&text)),
                1 => format!("( {text} )"),
                2 => format!("true && {text}"),
                3 => format!("env W=1 sh -c {}", quoted(&text)),
                4 => format!("echo $( {text} )"),
                5 => format!("if true; then {text}; fi"),
                6 => format!("eval {}", quoted(&text)),
                7 => format!("{{ {text}; }} 2>&1 | cat"),
                8 => format!("sudo -u me timeout 5 bash -ec {}", quoted(&text)),
                9 => format!("cat <<< \"$( {text} )\""),
                _ => format!("f() {{ {text}; }}; f"),
            };
        }
        // The folders and variables of a command may differ, but its effects must not be lost.
        let bare = |line: &String| line.split(" [in ").next().unwrap_or_default().split(" [with ").next().unwrap_or_default().to_owned();
        let whole: Vec<String> = expansion(&text, &none).iter().map(bare).collect();
        for line in expansion(command, &none).iter().map(bare) {
            prop_assert!(whole.contains(&line), "`{}` is lost in `{}`: {:#?}", line, text, whole);
        }
    }
}

/// Texts at the limits of nesting and repetition.
#[test]
fn no_depth_and_no_length_is_too_much() {
    let pieces = [
        "$(",
        "\"$(",
        "`",
        "(",
        "{ ",
        "if ",
        "case x in a) ",
        "while ",
        "! ",
        "time ",
        "time -p ",
        "time \\\n",
        "coproc ",
        "${a:-",
        "\"${a:-",
        "${a[",
        "{a,",
        "<(",
        "a=(",
        "[[ ( ",
        "[[ ! ",
        "$((",
        "((",
        "f() ",
        "function f ",
        "a && ",
        "a | ",
        "a; ",
        "<<E ",
        "cat <<E\n",
        "eval ",
        "sh -c '",
        "env ",
        "git -c a=b ",
        ">x ",
        "\\",
        "'",
        "\n",
        "a=$(",
        "$[",
        "@(",
        "a[",
        "coproc a { ",
        "time { ",
        "! time ",
        "echo $((1+",
        "git commit -m x\n",
        "é",
    ];
    for piece in pieces {
        for length in [300, 3_000, shell::MAX_BYTES] {
            let reading = shell::read(&piece.repeat(length / piece.len()));
            assert!(reading.commands.len() <= 4_096, "{piece}");
        }
    }
    let pairs = [
        ("echo $(", ")"),
        ("echo \"$(", ")\""),
        ("echo ${a:-", "}"),
        ("echo \"${a:-", "}\""),
        ("( ", ")"),
        ("{ ", "; }"),
        ("${a[", "]}"),
        ("if ", "; then x; fi"),
        ("case x in a) ", ";; esac"),
        ("[[ ( ", ") ]]"),
        ("echo $((", "))"),
        ("cat <(", ")"),
        ("${a:-'}'", "}"),
        ("\"${a:-", "}\""),
        ("${a:-", "}"),
        ("while ", "; do x; done"),
        ("f() { ", "; }"),
        ("a=(", ")"),
        ("{a,", "}"),
        ("{a,'}'", "}"),
        ("\"${a:-$(", ")}\""),
        ("! ( ", ")"),
        ("time { ", "; }"),
        ("${a//", "}"),
        ("${a:", "}"),
        ("$((a[", "]))"),
    ];
    for (open, close) in pairs {
        for depth in [30, 60, 400, 3_000] {
            let _ = shell::read(&format!("{}x{}", open.repeat(depth), close.repeat(depth)));
        }
    }
    let long = shell::read(&"x".repeat(shell::MAX_BYTES + 1));
    assert_eq!(long.doubts[0].why, shell::Why::TooLong);
}

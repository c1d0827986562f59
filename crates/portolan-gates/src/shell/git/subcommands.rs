//! The subcommands of git and their effects.

use super::super::Word;
use super::super::programs::lists;
use super::actions::{Action, ConfigWrite, Message, Push, Refspec, Switch};
use super::options::CallOptions;

/// Subcommands that only show something.
const READING: &str = "annotate blame cat-file check-attr check-ignore check-mailmap check-ref-format cherry column count-objects \
    describe diff diff-files diff-index diff-tree fast-export for-each-ref fsck get-tar-commit-id grep help log ls-files ls-remote \
    ls-tree merge-base merge-tree name-rev patch-id range-diff request-pull rev-list rev-parse shortlog show show-branch show-index \
    show-ref status stripspace unpack-file var verify-commit verify-pack verify-tag version whatchanged";

/// Subcommands that write only what no rule depends on.
const FREE: &str = "add archive bugreport bundle commit-graph commit-tree credential credential-store daemon diagnose difftool \
    fmt-merge-msg format-patch gc gitk gui hash-object hook index-pack instaweb interpret-trailers mailinfo mailsplit maintenance \
    mergetool mktag mktree notes pack-objects pack-refs prune read-tree reflog refs remote repack replace rerere sparse-checkout \
    stage submodule unpack-objects update-index update-server-info upload-archive upload-pack worktree write-tree";

/// Subcommands that are handled individually below.
const OTHERS: &str = "am apply bisect branch checkout checkout-index cherry-pick clean clone commit config fast-import fetch \
    fetch-pack filter-branch filter-repo history http-push init merge merge-file merge-index mv p4 pull push quiltimport rebase \
    receive-pack replay reset restore revert rm send-pack stash subtree svn switch symbolic-ref tag update-ref";

/// Subcommands of which these verbs only show something. No verb counts as one.
const SHOWING: &[(&str, &str)] = &[
    ("commit-graph maintenance bundle notes replace remote sparse-checkout", "list show get-url verify list-heads"),
    ("submodule", "status summary foreach"),
    ("worktree", "list"),
    ("reflog", "show exists list"),
    ("bisect", "log view visualize terms"),
];

/// Checks whether it is git's own subcommand, which no alias can replace.
pub(super) fn is_own(name: &str) -> bool {
    [READING, FREE, OTHERS].iter().any(|list| lists(list, name))
}

const COMMITS: &str = "this would change the commits on";
const REWRITES: &str = "this would rewrite";

/// Returns the effect of a subcommand whose options are parsed.
pub(super) fn parsed(name: &str, given: &CallOptions, stdin: Option<&Word>) -> Action {
    let moves = |what, to| Action::Moves { what, to };
    let files = || Action::Files { restores: false, paths: given.operands.clone() };
    match name {
        "commit" if given.any("dry-run") => Action::Reads,
        "commit" => Action::Commit(message(given, stdin)),
        "push" | "send-pack" if given.any("n dry-run") => Action::Reads,
        "push" | "send-pack" => push(given),
        "merge" | "rebase" | "cherry-pick" | "revert" | "am"
            if given.any("abort quit show-current-patch edit-todo") =>
        {
            Action::Free
        }
        "merge" if given.any("squash") => files(),
        "merge" => moves("this would merge into", given.any("ff-only").then(|| given.operands.clone())),
        "fetch" | "fetch-pack" if given.any("dry-run") => Action::Reads,
        "fetch" | "fetch-pack" => Action::References { what: "this would move", names: fetched(given), to: None },
        "pull" => Action::Pull { sources: given.operands.iter().skip(1).cloned().collect(), targets: fetched(given) },
        // `rebase upstream branch` checks out the branch first.
        "rebase" => match given.operands.get(usize::from(!given.any("root"))) {
            Some(branch) => Action::References { what: REWRITES, names: vec![branch.clone()], to: None },
            None => moves(COMMITS, None),
        },
        "cherry-pick" | "revert" if given.any("n no-commit") => files(),
        "cherry-pick" | "revert" | "am" => moves(COMMITS, None),
        "reset" => {
            let target = given.operands.first().filter(|word| !is_head(word));
            let paths = given.operands.len() > 1 || given.before_dashes == 0;
            target.filter(|_| !paths).map_or(Action::Free, |to| moves("this would move", Some(vec![to.clone()])))
        }
        "branch" => branch(given),
        "switch" => switch(given, "c create", "C force-create"),
        "checkout" => checkout(given),
        "tag" if given.operands.is_empty() || given.any("l list v verify merged") => Action::Reads,
        "tag" => Action::Free,
        "config" => config(given),
        // Without a source, files come from the index or the last commit.
        "restore" if given.any("S staged") && !given.any("W worktree") => Action::Free,
        "restore" => Action::Files { restores: given.value("s source").is_none(), paths: given.operands.clone() },
        "rm" if given.any("cached") => Action::Free,
        "clean" | "rm" | "mv" if given.any("n dry-run") => Action::Reads,
        "apply" if given.any("check stat numstat summary") && !given.any("apply") => Action::Reads,
        _ => files(),
    }
}

/// Returns the tree that files or index entries are taken from, and their paths.
pub(super) fn taken(name: &str, given: &CallOptions) -> Option<(Word, Vec<Word>)> {
    let (before, after) = given.operands.split_at(given.before_dashes.min(given.operands.len()));
    let listed = given.any("p patch") || given.value("pathspec-from-file").is_some();
    let (tree, paths) = match name {
        "restore" => (given.value("s source").cloned(), given.operands.clone()),
        // Without `--` the first word may be a path as well, which then matches no tree.
        "checkout" | "reset" => (before.first().cloned(), before.iter().skip(1).chain(after).cloned().collect()),
        _ => return None,
    };
    if paths.is_empty() && !listed {
        return None;
    }
    Some((tree?, if paths.is_empty() { vec![Word::from(".")] } else { paths }))
}

/// Returns the effect of a subcommand that is determined by its first words.
pub(super) fn plain(name: &str, arguments: &[Word]) -> Action {
    let operands: Vec<Word> =
        arguments.iter().filter(|word| !word.known().is_some_and(|text| text.starts_with('-'))).cloned().collect();
    let verb = operands.first().and_then(Word::known).unwrap_or_default();
    let has = |option: &str| arguments.iter().any(|word| word.known() == Some(option));
    let files = || Action::Files { restores: false, paths: Vec::new() };
    let rewrite = |names| Action::References { what: REWRITES, names, to: None };
    let shown = SHOWING.iter().find(|(names, _)| lists(names, name)).map(|(_, verbs)| verbs);
    match name {
        _ if shown.is_some_and(|verbs| (operands.is_empty() || lists(verbs, verb)) && !has("-d")) => Action::Reads,
        // It sets the files to a tree.
        "read-tree" if arguments.iter().any(sets_files) => files(),
        "worktree" => match arguments.iter().position(|word| word.known().is_some_and(|text| text.starts_with("-B"))) {
            Some(at) => Action::References {
                what: "this would move",
                names: arguments.iter().skip(at).take(2).cloned().collect(),
                to: None,
            },
            None => Action::Free,
        },
        _ if lists(READING, name) => Action::Reads,
        _ if lists(FREE, name) => Action::Free,
        "symbolic-ref" if operands.len() < 2 && !has("-d") && !has("--delete") => Action::Reads,
        // The text after `-m` counts as a name too, which is harmless unless it equals that of a guarded branch.
        "update-ref" | "symbolic-ref" => Action::References { what: "this would write", names: operands, to: None },
        "receive-pack" | "http-push" => {
            Action::Push(Push { remote: None, refspecs: vec![refspec(&Word::Dynamic, false)] })
        }
        "stash" if matches!(verb, "list" | "show") => Action::Reads,
        "stash" if matches!(verb, "pop" | "apply" | "branch") => files(),
        "stash" => Action::Free,
        "filter-branch" if !has("--all") && !has("--branches") => {
            let named = operands.into_iter().filter(|word| word.known().is_some_and(|text| !text.contains(' ')));
            rewrite(named.chain([Word::from("HEAD")]).collect())
        }
        "filter-branch" | "filter-repo" | "fast-import" | "replay" | "history" => rewrite(vec![Word::from("*")]),
        "init" | "clone" => Action::NewRepository,
        // It ends where it began, or at a given commit.
        "bisect" => Action::Switch(Switch::default()),
        "checkout-index" | "merge-file" | "merge-index" => files(),
        _ => Action::Unknown(name.to_owned()),
    }
}

/// Checks whether an option makes `read-tree` set the files as well: `-u`, also in a bundle, and `--reset`.
fn sets_files(word: &Word) -> bool {
    word.known().is_none_or(|text| {
        let bundle = text.starts_with('-') && !text.starts_with("--");
        (bundle && text.contains('u')) || (text.len() > 3 && "--reset".starts_with(text))
    })
}

fn is_head(word: &Word) -> bool {
    matches!(word.known(), Some("HEAD" | "@"))
}

fn message(given: &CallOptions, stdin: Option<&Word>) -> Vec<Message> {
    let text = |word: &Word| Message::Text(Some(word.clone()));
    let file = |file: &Word| match file.known() {
        Some("-") => Message::Text(stdin.cloned()),
        _ => Message::File(file.clone()),
    };
    let mut message: Vec<Message> = given.values("m message").map(text).collect();
    message.extend(given.values("F file").map(file));
    if message.is_empty() || given.any("e edit") || given.value("c C reuse-message reedit-message fixup").is_some() {
        message.push(Message::Elsewhere);
    }
    message
}

fn push(given: &CallOptions) -> Action {
    let mut operands = given.operands.iter();
    let remote = operands.next().or_else(|| given.value("repo")).cloned();
    let mut refspecs = Vec::new();
    if given.any("all branches mirror") {
        refspecs.push(refspec(&Word::from("*"), false));
    }
    while let Some(word) = operands.next() {
        if word.known() == Some("tag") {
            let name = operands.next().and_then(Word::known);
            let name = name.map_or(Word::Dynamic, |name| Word::Known(format!("refs/tags/{name}")));
            refspecs.push(Refspec { source: Some(name.clone()), target: name });
        } else {
            refspecs.push(refspec(word, given.any("d delete")));
        }
    }
    if refspecs.is_empty() && given.any("tags") && !given.any("follow-tags") {
        return Action::Free;
    }
    Action::Push(Push { remote, refspecs })
}

fn refspec(word: &Word, delete: bool) -> Refspec {
    let Some(text) = word.known() else { return Refspec { source: Some(Word::Dynamic), target: Word::Dynamic } };
    let text = text.strip_prefix('+').unwrap_or(text);
    let (source, target) = match text.split_once(':') {
        Some(("", "")) => (Some("*"), Word::from("*")),
        Some(("", target)) => (None, Word::from(target)),
        Some((source, "")) => (Some(source), Word::from(source)),
        Some((source, target)) => (Some(source), Word::from(target)),
        None if delete => (None, Word::from(text)),
        // `push origin HEAD` pushes to the checked-out branch.
        None if text == "HEAD" || text == "@" => (Some(text), Word::Dynamic),
        None => (Some(text), Word::from(text)),
    };
    Refspec { source: source.map(Word::from), target }
}

/// Returns the references that a fetch writes by name, if known: `+a:b`. A branch may be fetched into the one of the
/// same name; git's hook then sees whether it was a remote's.
fn fetched(given: &CallOptions) -> Vec<Word> {
    let named = given.operands.iter().skip(1).filter(|_| !given.any("multiple"));
    let written = |word: &Word| {
        let text = word.known()?;
        let forced = text.starts_with('+') || given.any("f force");
        let (source, target) = text.trim_start_matches('+').split_once(':')?;
        let branch = |name: &str| name.trim_start_matches("refs/heads/").to_owned();
        (!target.is_empty() && (forced || branch(source) != branch(target))).then(|| Word::from(target))
    };
    given.values("refmap").chain(named).filter_map(written).collect()
}

fn branch(given: &CallOptions) -> Action {
    let names = given.operands.clone();
    let is = |what, names, to| Action::References { what, names, to };
    if given.any("d delete D") {
        return if given.any("r remotes") { Action::Free } else { is("this would delete", names, None) };
    }
    if given.any("m move M") {
        // Renaming to a new name creates that branch with the commits of the old one.
        let own = (names.len() == 1).then(|| Word::from("HEAD"));
        return is("this would rename", own.into_iter().chain(names).collect(), None);
    }
    let forced = given.any("f force C");
    if given.any("c copy C") && forced {
        return is("this would overwrite", names.into_iter().last().into_iter().collect(), None);
    }
    if given.value("u set-upstream-to").is_some() || given.any("c copy unset-upstream edit-description") {
        return Action::Free;
    }
    let shows = given.any("l list show-current merged no-merged a all r remotes")
        || given.value("contains no-contains points-at").is_some();
    match names.first() {
        Some(name) if !shows && forced => is("this would move", vec![name.clone()], names.get(1).cloned()),
        Some(_) if !shows => Action::Free,
        _ => Action::Reads,
    }
}

/// Reads a switch. `create` and `force` are the options that create a branch and that reset one.
fn switch(given: &CallOptions, create: &str, force: &str) -> Action {
    let set = given.value(force);
    let made = given.value(create).or(set).or_else(|| given.value("orphan"));
    Action::Switch(Switch {
        to: made.or_else(|| given.operands.first()).cloned(),
        create: made.is_some(),
        force: set.is_some(),
        at: made.and_then(|_| given.operands.first()).cloned(),
        detach: given.any("d detach"),
        or_path: false,
    })
}

fn checkout(given: &CallOptions) -> Action {
    let makes = given.value("b B orphan").is_some();
    let (before, after) = given.operands.split_at(given.before_dashes.min(given.operands.len()));
    let paths: Vec<Word> = if makes { Vec::new() } else { before.iter().skip(1).chain(after).cloned().collect() };
    let restores =
        !paths.is_empty() || given.any("2 ours 3 theirs p patch") || given.value("pathspec-from-file").is_some();
    if restores || before.first().and_then(Word::known) == Some(".") {
        let own = before.first().is_none_or(|word| is_head(word) || word.known() == Some("."));
        return Action::Files { restores: own, paths: if paths.is_empty() { before.to_vec() } else { paths } };
    }
    if !makes && before.is_empty() && !given.any("d detach") {
        return Action::Reads;
    }
    let Action::Switch(switch) = switch(given, "b", "B") else { return Action::Reads };
    let or_path = !makes && !given.has_dashes && !switch.detach && !before.is_empty();
    Action::Switch(Switch { or_path, ..switch })
}

fn config(given: &CallOptions) -> Action {
    let verb = given.operands.first().and_then(Word::known).unwrap_or_default();
    let named = matches!(verb, "set" | "unset");
    let (key, value) = (given.operands.get(usize::from(named)), given.operands.get(1 + usize::from(named)));
    let sections = given.any("remove-section rename-section e edit") && !verb.starts_with("branch.");
    let removes = verb == "unset" || given.any("unset unset-all remove-section");
    let shows = given.any("get get-all get-regexp get-urlmatch l list get-color get-colorbool");
    if shows || matches!(verb, "list" | "get") {
        return Action::Reads;
    }
    // The keys in a renamed or removed section are known only at run time.
    if sections || matches!(verb, "remove-section" | "rename-section" | "edit" | "copy-section") {
        return Action::Config(ConfigWrite { key: "?".to_owned(), value: None });
    }
    if !removes && value.is_none() && !given.operands.iter().any(Word::is_several) {
        return Action::Reads;
    }
    let key = key.and_then(Word::known).map_or_else(|| "?".to_owned(), str::to_lowercase);
    Action::Config(ConfigWrite { key, value: value.filter(|_| !removes).cloned() })
}

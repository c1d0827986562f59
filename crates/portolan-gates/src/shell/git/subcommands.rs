//! The subcommands of git: their options, and what they do.

use super::super::Word;
use super::super::programs::lists;
use super::actions::{
    Action, Branch, CommitCall, ConfigWrite, History, Merge, Message, Pull, Push, Refspec, Replay, ReplayKind, Reset,
    Switch, WorkingTreeChange,
};
use super::options::{CallOptions, read};
use super::targets::Index;
use super::transfer::{FETCH, fetch, remote};

/// What a subcommand comes to.
pub(super) struct SubcommandResult {
    pub(super) action: Action,
    pub(super) skips_hooks: bool,
    pub(super) unclear: Vec<String>,
}

const MERGING: &str = "commit edit e,edit cleanup= ff ff-only no-ff squash s,strategy= X,strategy-option= stat n,no-stat compact-summary \
    log? signoff S,gpg-sign? verify-signatures allow-unrelated-histories autostash q,quiet v,verbose progress no-verify";
const COMMIT: &str = "a,all p,patch C,reuse-message= c,reedit-message= fixup= squash= reset-author short branch porcelain long \
    z,null F,file= author= date= m,message= t,template= s,signoff trailer= n,no-verify allow-empty allow-empty-message cleanup= \
    e,edit amend no-post-rewrite i,include o,only pathspec-from-file= pathspec-file-nul u,untracked-files? v,verbose q,quiet \
    dry-run status S,gpg-sign? U,unified= inter-hunk-context=";
const PUSH: &str = "v,verbose q,quiet repo= all branches mirror d,delete tags n,dry-run porcelain f,force force-with-lease? \
    force-if-includes recurse-submodules= thin receive-pack= exec= u,set-upstream progress prune no-verify follow-tags signed? \
    atomic o,push-option= 4,ipv4 6,ipv6";
const REBASE: &str = "onto= keep-base no-verify q,quiet v,verbose n,no-stat signoff committer-date-is-author-date \
    reset-author-date ignore-date C= ignore-whitespace whitespace= f,force-rebase no-ff ff continue skip abort quit edit-todo \
    show-current-patch apply m,merge i,interactive rerere-autoupdate empty= keep-empty autosquash update-refs S,gpg-sign? autostash \
    x,exec= r,rebase-merges? fork-point s,strategy= X,strategy-option= root reschedule-failed-exec reapply-cherry-picks stat";
const PICK: &str = "quit continue abort skip cleanup= n,no-commit e,edit s,signoff m,mainline= rerere-autoupdate strategy= \
    X,strategy-option= S,gpg-sign? x ff allow-empty allow-empty-message keep-redundant-commits empty= reference r";
const AM: &str = "i,interactive 3,3way q,quiet s,signoff u,utf8 k,keep keep-non-patch b m,message-id keep-cr c,scissors \
    quoted-cr= whitespace= ignore-space-change ignore-whitespace directory= exclude= include= C= p= patch-format= reject \
    resolvemsg= continue r,resolved skip abort quit show-current-patch? retry allow-empty committer-date-is-author-date \
    ignore-date rerere-autoupdate S,gpg-sign? empty= n,no-verify";
const PULL: &str = "r,rebase? a,append all atomic depth= deepen= shallow-since= t,tags p,prune force f,force k,keep j,jobs= \
    set-upstream upload-pack= recurse-submodules? dry-run unshallow update-shallow refmap= o,server-option= 4,ipv4 6,ipv6";
const BRANCH: &str = "v,verbose q,quiet t,track? u,set-upstream-to= unset-upstream color? r,remotes contains= no-contains= abbrev? \
    a,all d,delete D m,move M c,copy C l,list show-current create-reflog edit-description f,force merged? no-merged? column? \
    sort= points-at= i,ignore-case recurse-submodules format= omit-empty";
const SWITCH: &str = "c,create= C,force-create= guess discard-changes q,quiet recurse-submodules? progress m,merge conflict= \
    d,detach t,track? f,force orphan= overwrite-ignore ignore-other-worktrees";
const CHECKOUT: &str = "b= B= l guess overlay q,quiet recurse-submodules? progress m,merge conflict= d,detach t,track? f,force \
    orphan= overwrite-ignore ignore-other-worktrees 2,ours 3,theirs p,patch ignore-skip-worktree-bits pathspec-from-file= \
    pathspec-file-nul";
const RESET: &str = "q,quiet refresh mixed N,intent-to-add soft hard merge keep recurse-submodules? p,patch pathspec-from-file= \
    pathspec-file-nul";
const TAG: &str = "l,list n? d,delete v,verify a,annotate m,message= F,file= trailer= e,edit s,sign cleanup= u,local-user= f,force \
    create-reflog column? contains= no-contains= merged? no-merged? sort= points-at= format= color? i,ignore-case omit-empty";
const CONFIG: &str = "global system local worktree f,file= blob= get get-all get-regexp get-urlmatch replace-all add unset \
    unset-all rename-section remove-section l,list fixed-value e,edit get-color get-colorbool t,type= bool int bool-or-int path \
    expiry-date bool-or-str z,null name-only includes show-origin show-scope default= all regexp= url= value= append comment= show-names";
const FILES: &str = "s,source= p,patch W,worktree S,staged ignore-unmerged overlay q,quiet recurse-submodules? progress m,merge \
    conflict= ours theirs pathspec-from-file= pathspec-file-nul f,force n,dry-run r cached ignore-unmatch sparse v,verbose k d \
    e,exclude= x X i,interactive stat numstat summary check index 3,3way apply R,reverse reject z C= p= unidiff-zero \
    inaccurate-eof directory= include= whitespace= ignore-space-change ignore-whitespace allow-empty unsafe-paths N,intent-to-add allow-overlap U=";

/// Subcommands that only tell, or that change nothing but the index and the copies of other repositories.
const READING: &str = "add annotate archive blame bugreport bundle cat-file check-attr check-ignore check-mailmap check-ref-format \
    cherry column commit-graph count-objects describe diagnose diff diff-files diff-index diff-tree difftool \
    fmt-merge-msg for-each-ref format-patch fsck get-tar-commit-id grep hash-object help index-pack \
    interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit merge-base merge-tree mktag mktree name-rev \
    pack-objects patch-id range-diff refs request-pull rev-list rev-parse shortlog show show-branch show-index \
    show-ref stage status stripspace unpack-file var verify-commit verify-pack verify-tag version whatchanged \
    write-tree commit-tree rerere update-index credential-store upload-pack upload-archive read-tree instaweb gui \
    gitk credential update-server-info daemon";

/// Subcommands with a meaning of their own below.
const OTHERS: &str = "commit push merge rebase cherry-pick revert am pull fetch reset branch switch checkout update-ref symbolic-ref \
    tag notes replace stash worktree config clean restore rm mv apply gc prune reflog repack maintenance \
    filter-branch filter-repo fast-import init clone submodule bisect sparse-checkout remote send-pack \
    checkout-index hook subtree receive-pack fetch-pack pack-refs svn p4 quiltimport merge-file mergetool \
    merge-index unpack-objects http-push fast-export replay history";

/// Whether it is git's own, so that no alias can stand in its place.
pub(super) fn is_own(name: &str) -> bool {
    lists(READING, name) || lists(OTHERS, name)
}

/// What `name` with `arguments` does.
pub(super) fn told(name: &str, arguments: &[Word], stdin: Option<&Word>) -> SubcommandResult {
    if arguments.first().and_then(Word::known) == Some("--help") {
        return SubcommandResult { action: Action::Reads, skips_hooks: false, unclear: Vec::new() };
    }
    let Some(table) = table(name) else { return untabled(name, arguments) };
    let joined = format!("{} {table}", if name == "pull" || name == "merge" { MERGING } else { "" });
    let given = read(&joined, arguments);
    let action = match name {
        "commit" => commit(&given, stdin),
        "push" | "send-pack" => push(&given),
        "merge" => merge(&given),
        "fetch" | "fetch-pack" => fetch(&given, stdin),
        "pull" => pull(&given),
        "rebase" => replay(ReplayKind::Rebase, &given),
        "cherry-pick" => replay(ReplayKind::CherryPick, &given),
        "revert" => replay(ReplayKind::Revert, &given),
        "am" => replay(ReplayKind::Am, &given),
        "reset" => reset(&given),
        "branch" => branch(&given),
        "switch" => switch(&given),
        "checkout" => checkout(&given),
        "tag" => tag(&given),
        "config" => config(&given),
        "restore" => files(WorkingTreeChange::Restore, &given, !given.on("staged") || given.on("worktree")),
        "clean" | "rm" => files(WorkingTreeChange::Remove, &given, !given.any(&["dry-run", "cached"])),
        "mv" => files(WorkingTreeChange::Move, &given, !given.on("dry-run")),
        _ => files(
            WorkingTreeChange::Apply,
            &given,
            !given.any(&["check", "stat", "numstat", "summary"]) || given.on("apply"),
        ),
    };
    let skips = matches!(name, "commit" | "push" | "merge" | "pull" | "rebase" | "am") && given.on("no-verify");
    SubcommandResult { action, skips_hooks: skips, unclear: given.unclear }
}

/// What comes into the index from another tree: the paths that are named behind it.
pub(super) fn taken(name: &str, arguments: &[Word]) -> Option<Index> {
    let given = read(table(name)?, arguments);
    let (before, after) = given.operands.split_at(given.before_dashes.min(given.operands.len()));
    let listed = given.on("patch") || given.value("pathspec-from-file").is_some();
    let (tree, paths) = match name {
        "restore" => (given.value("source").cloned(), given.operands.clone()),
        // Without `--` the first word may be a path as well, and is then no tree to anybody.
        _ => (before.first().cloned(), before.iter().skip(1).chain(after).cloned().collect()),
    };
    if paths.is_empty() && !listed {
        return None;
    }
    let paths = if paths.is_empty() { vec![Word::from(".")] } else { paths };
    Some(Index { paths, trees: vec![tree?] })
}

/// What `git rebase` runs after each commit.
pub(super) fn executed(arguments: &[Word]) -> Vec<Word> {
    read(REBASE, arguments).values("exec")
}

fn table(name: &str) -> Option<&'static str> {
    Some(match name {
        "commit" => COMMIT,
        "push" | "send-pack" => PUSH,
        "merge" => "m,message= F,file= abort quit continue rerere-autoupdate overwrite-ignore into-name=",
        "fetch" | "fetch-pack" => FETCH,
        "pull" => PULL,
        "rebase" => REBASE,
        "cherry-pick" | "revert" => PICK,
        "am" => AM,
        "reset" => RESET,
        "branch" => BRANCH,
        "switch" => SWITCH,
        "checkout" => CHECKOUT,
        "tag" => TAG,
        "config" => CONFIG,
        "restore" | "clean" | "rm" | "mv" | "apply" => FILES,
        _ => return None,
    })
}

/// Subcommands whose first words say enough.
fn untabled(name: &str, arguments: &[Word]) -> SubcommandResult {
    let verb = arguments.iter().find(|word| !word.known().is_some_and(|text| text.starts_with('-')));
    let verb = verb.and_then(Word::known).unwrap_or_default();
    let operands = || -> Vec<Word> {
        arguments.iter().filter(|word| !word.known().is_some_and(|text| text.starts_with('-'))).cloned().collect()
    };
    let has = |option: &str| arguments.iter().any(|word| word.known() == Some(option));
    let changes = |change: WorkingTreeChange| Action::Files { change, paths: Vec::new() };
    let action = match name {
        // It sets the files to a tree.
        "read-tree" if arguments.iter().any(sets_files) => changes(WorkingTreeChange::Other),
        _ if lists(READING, name) => Action::Reads,
        "update-ref" if has("--stdin") => Action::References { names: vec![Word::Dynamic] },
        "update-ref" => Action::References { names: reference(arguments) },
        "symbolic-ref" if operands().len() < 2 && !has("-d") && !has("--delete") => Action::Reads,
        "symbolic-ref" => Action::References { names: reference(arguments) },
        "notes" | "replace" if matches!(verb, "" | "list" | "show" | "get-ref") => Action::Reads,
        "notes" => Action::References { names: vec![Word::from("refs/notes/commits")] },
        "replace" | "receive-pack" | "http-push" | "pack-refs" => Action::References { names: vec![Word::Dynamic] },
        "stash" if matches!(verb, "list" | "show" | "create" | "store") => Action::Reads,
        "stash" if matches!(verb, "pop" | "apply" | "branch") => changes(WorkingTreeChange::Apply),
        "stash" => changes(WorkingTreeChange::Stash),
        "worktree" if verb == "list" => Action::Reads,
        "worktree" => Action::Worktree { arguments: arguments.to_vec() },
        "gc" | "prune" | "repack" => Action::History(History::Expire),
        "maintenance" if matches!(verb, "run" | "start" | "register") => Action::History(History::Expire),
        "reflog" if matches!(verb, "expire" | "delete" | "drop") => Action::History(History::Expire),
        "reflog" | "hook" | "fast-export" | "maintenance" | "unpack-objects" => Action::Reads,
        "filter-branch" | "filter-repo" | "fast-import" | "replay" | "history" => Action::History(History::Rewrite),
        "init" | "clone" => Action::NewRepository,
        "submodule" if matches!(verb, "" | "status" | "summary" | "foreach") => Action::Reads,
        "sparse-checkout" if verb == "list" => Action::Reads,
        "bisect" if matches!(verb, "log" | "view" | "visualize" | "terms") => Action::Reads,
        "submodule" | "sparse-checkout" | "bisect" | "checkout-index" | "merge-file" | "mergetool" | "merge-index" => {
            changes(WorkingTreeChange::Other)
        }
        "remote" => remote(verb, &operands()),
        _ => Action::Unknown(name.to_owned()),
    };
    let unclear = if name.is_empty() { vec!["?".to_owned()] } else { Vec::new() };
    SubcommandResult { action, skips_hooks: false, unclear }
}

/// The name that `update-ref` and `symbolic-ref` write: the first word that is no option and no value of one.
fn reference(arguments: &[Word]) -> Vec<Word> {
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        match word.known() {
            Some("-m") => drop(rest.next()),
            Some(text) if text.starts_with('-') => {}
            _ => return vec![word.clone()],
        }
    }
    vec![Word::Dynamic]
}

/// Whether an option has `read-tree` set the files as well: `-u`, also in a bundle, and `--reset`.
fn sets_files(word: &Word) -> bool {
    word.known().is_none_or(|text| {
        let bundle = text.starts_with('-') && !text.starts_with("--");
        (bundle && text.contains('u')) || (text.len() > 3 && "--reset".starts_with(text))
    })
}

fn commit(given: &CallOptions, stdin: Option<&Word>) -> Action {
    let mut message: Vec<Message> = given.values("message").into_iter().map(Message::Text).collect();
    message.extend(given.values("file").into_iter().map(|file| match file.known() {
        Some("-") => Message::Stdin(stdin.cloned()),
        _ => Message::File(file),
    }));
    let reused = ["reuse-message", "reedit-message", "fixup", "squash"];
    message.extend(reused.iter().flat_map(|name| given.values(name)).map(Message::Reuse));
    if (message.is_empty() && !given.on("no-edit")) || given.any(&["edit", "reedit-message"]) {
        message.push(Message::Editor);
    }
    Action::Commit(CommitCall {
        amend: given.on("amend"),
        no_verify: given.on("no-verify"),
        allow_empty: given.on("allow-empty"),
        all: given.on("all"),
        dry_run: given.on("dry-run"),
        message,
    })
}

fn push(given: &CallOptions) -> Action {
    let force = given.any(&["force", "force-with-lease"]);
    let mut operands = given.operands.iter();
    let remote = operands.next().or_else(|| given.value("repo")).cloned();
    let delete = given.on("delete");
    let mut refspecs = Vec::new();
    while let Some(word) = operands.next() {
        if word.known() == Some("tag") {
            let name = operands
                .next()
                .and_then(Word::known)
                .map_or(Word::Dynamic, |name| Word::Known(format!("refs/tags/{name}")));
            refspecs.push(Refspec { source: Some(name.clone()), target: name, force });
            continue;
        }
        refspecs.push(refspec(word, force, delete));
    }
    Action::Push(Push {
        remote,
        refspecs,
        force,
        all: given.any(&["all", "branches"]),
        mirror: given.on("mirror"),
        tags: given.any(&["tags", "follow-tags"]),
        no_verify: given.on("no-verify"),
        dry_run: given.on("dry-run"),
    })
}

fn refspec(word: &Word, force: bool, delete: bool) -> Refspec {
    let Some(text) = word.known() else { return Refspec { source: Some(Word::Dynamic), target: Word::Dynamic, force } };
    let (force, text) = text.strip_prefix('+').map_or((force, text), |rest| (true, rest));
    let (source, target) = match text.split_once(':') {
        Some(("", "")) => (Some(Word::from(":")), Word::from(":")),
        Some(("", target)) => (None, Word::from(target)),
        Some((source, "")) => (Some(Word::from(source)), Word::from(source)),
        Some((source, target)) => (Some(Word::from(source)), Word::from(target)),
        None if delete => (None, Word::from(text)),
        // `push origin HEAD` goes to the branch that is checked out.
        None if text == "HEAD" || text == "@" => (Some(Word::from(text)), Word::Dynamic),
        None => (Some(Word::from(text)), Word::from(text)),
    };
    Refspec { source, target, force }
}

fn merge(given: &CallOptions) -> Action {
    Action::Merge(Merge {
        ff_only: given.on("ff-only"),
        no_ff: given.on("no-ff"),
        squash: given.on("squash"),
        abort: given.any(&["abort", "quit"]),
        no_verify: given.on("no-verify"),
        refs: given.operands.clone(),
    })
}

fn pull(given: &CallOptions) -> Action {
    let merges = given.value("rebase").and_then(Word::known).is_some_and(|value| matches!(value, "false" | "no"));
    let rebase = given.on("rebase") && !merges;
    let fetch = super::transfer::fetched(given, None);
    Action::Pull(Pull { rebase, ff_only: given.on("ff-only"), from: given.operands.clone(), fetch })
}

fn replay(kind: ReplayKind, given: &CallOptions) -> Action {
    Action::Replay(Replay {
        kind,
        abort: given.any(&["abort", "quit", "show-current-patch", "edit-todo"]),
        no_commit: kind != ReplayKind::Rebase && given.on("no-commit"),
        no_verify: given.on("no-verify"),
        refs: given.values("onto").into_iter().chain(given.operands.iter().cloned()).collect(),
    })
}

fn reset(given: &CallOptions) -> Action {
    let mode = ["soft", "hard", "merge", "keep"].into_iter().find(|mode| given.on(mode)).unwrap_or("mixed");
    let (targets, paths) = given.operands.split_at(given.before_dashes.min(given.operands.len()));
    let target = targets.first().filter(|word| !matches!(word.known(), Some("HEAD" | "@"))).cloned();
    let mut paths = paths.to_vec();
    paths.extend(targets.iter().skip(1).cloned());
    Action::Reset(Reset { mode, target, paths })
}

fn branch(given: &CallOptions) -> Action {
    let names = given.operands.clone();
    let force = given.on("force");
    if given.any(&["delete", "D"]) {
        return Action::Branch(Branch::Delete { names, force: force || given.on("D") });
    }
    if given.any(&["move", "M", "copy", "C"]) {
        let copy = given.any(&["copy", "C"]);
        return Action::Branch(Branch::Move { names, force: force || given.any(&["M", "C"]), copy });
    }
    if given.on("edit-description") {
        return Action::Branch(Branch::Describe);
    }
    let to = given.value("set-upstream-to").cloned();
    if to.is_some() || given.on("unset-upstream") {
        return Action::Branch(Branch::Follow { name: names.first().cloned(), to });
    }
    let lists =
        ["list", "show-current", "contains", "no-contains", "merged", "no-merged", "points-at", "all", "remotes"];
    match names.first() {
        Some(name) if !given.options.iter().any(|(option, _)| lists.contains(&option.as_str())) => {
            Action::Branch(Branch::Create { name: name.clone(), at: names.get(1).cloned(), force })
        }
        _ => Action::Reads,
    }
}

fn switch(given: &CallOptions) -> Action {
    let made = given.value("create").or_else(|| given.value("force-create")).or_else(|| given.value("orphan"));
    Action::Switch(Switch {
        to: made.or_else(|| given.operands.first()).cloned(),
        create: made.is_some(),
        force: given.any(&["force", "discard-changes"]) || given.value("force-create").is_some(),
        detach: given.on("detach"),
        or_path: false,
    })
}

fn checkout(given: &CallOptions) -> Action {
    let made = given.value("b").or_else(|| given.value("B")).or_else(|| given.value("orphan"));
    let (before, after) = given.operands.split_at(given.before_dashes.min(given.operands.len()));
    let paths: Vec<Word> =
        if made.is_some() { Vec::new() } else { before.iter().skip(1).chain(after).cloned().collect() };
    let restores =
        !paths.is_empty() || given.any(&["ours", "theirs", "patch"]) || given.value("pathspec-from-file").is_some();
    if restores || before.first().and_then(Word::known) == Some(".") {
        let paths = if paths.is_empty() { before.to_vec() } else { paths };
        return Action::Files { change: WorkingTreeChange::Restore, paths };
    }
    if made.is_none() && before.is_empty() && !given.on("detach") {
        return Action::Reads;
    }
    Action::Switch(Switch {
        to: made.or_else(|| before.first()).cloned(),
        create: made.is_some(),
        force: given.on("force") || given.value("B").is_some(),
        detach: given.on("detach"),
        or_path: made.is_none() && !given.has_dashes && !given.on("detach") && !before.is_empty(),
    })
}

fn tag(given: &CallOptions) -> Action {
    let shows = ["list", "verify", "contains", "no-contains", "merged", "no-merged", "points-at", "n"];
    if given.operands.is_empty() || given.options.iter().any(|(option, _)| shows.contains(&option.as_str())) {
        return Action::Reads;
    }
    let named = if given.on("delete") { given.operands.as_slice() } else { &given.operands[..1] };
    let full = |word: &Word| word.known().map_or(Word::Dynamic, |name| Word::Known(format!("refs/tags/{name}")));
    Action::References { names: named.iter().map(full).collect() }
}

fn config(given: &CallOptions) -> Action {
    let operands = &given.operands;
    let key = |at: usize| {
        operands
            .get(at)
            .map_or_else(|| "?".to_owned(), |word| word.known().map_or_else(|| "?".to_owned(), str::to_lowercase))
    };
    let write = |at: usize| Action::Config(ConfigWrite { key: key(at), value: operands.get(at + 1).cloned() });
    let gets = ["get", "get-all", "get-regexp", "get-urlmatch", "list", "get-color", "get-colorbool"];
    if given.any(&gets) {
        return Action::Reads;
    }
    if given.on("edit") {
        return Action::Config(ConfigWrite { key: "?".to_owned(), value: None });
    }
    // What is in a section that gets another name, or goes as a whole, is only known when it runs.
    let section = |at: usize| {
        let known = key(at);
        let own = operands.len() == at + 1 && known.starts_with("branch.");
        Action::Config(ConfigWrite { key: if own { known } else { "?".to_owned() }, value: None })
    };
    if given.any(&["remove-section", "rename-section"]) {
        return section(0);
    }
    if given.any(&["unset", "unset-all"]) {
        return Action::Config(ConfigWrite { key: key(0), value: None });
    }
    match operands.first().and_then(Word::known) {
        Some("list" | "get") => Action::Reads,
        Some("set") => write(1),
        Some("unset") => Action::Config(ConfigWrite { key: key(1), value: None }),
        Some("remove-section" | "rename-section" | "copy-section") => section(1),
        Some("edit") => Action::Config(ConfigWrite { key: "?".to_owned(), value: None }),
        _ if operands.len() < 2 && !operands.iter().any(Word::is_several) => Action::Reads,
        _ => write(0),
    }
}

fn files(change: WorkingTreeChange, given: &CallOptions, changes: bool) -> Action {
    if changes { Action::Files { change, paths: given.operands.clone() } } else { Action::Reads }
}

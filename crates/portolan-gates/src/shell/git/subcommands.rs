//! The subcommands of git: their options and effects.

use super::super::Word;
use super::super::programs::lists;
use super::actions::{Action, CommitCall, ConfigWrite, Merge, Message, Push, Refspec, Replay, Switch};
use super::options::{CallOptions, read};

/// The effect of a subcommand.
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

const FETCH: &str = "all a,append atomic depth= deepen= shallow-since= shallow-exclude= unshallow update-shallow \
    negotiation-tip= negotiate-only dry-run porcelain write-fetch-head f,force k,keep multiple auto-maintenance auto-gc \
    write-commit-graph prefetch p,prune P,prune-tags n,no-tags t,tags refmap= j,jobs= recurse-submodules? set-upstream \
    submodule-prefix= recurse-submodules-default= u,update-head-ok upload-pack= q,quiet v,verbose progress o,server-option= \
    show-forced-updates 4,ipv4 6,ipv6 stdin filter= refetch bundle-uri= thin include-tag exec=";

/// Subcommands that only show something.
const READING: &str = "annotate blame cat-file check-attr check-ignore check-mailmap check-ref-format cherry column count-objects \
    describe diff diff-files diff-index diff-tree fast-export for-each-ref fsck get-tar-commit-id grep help log ls-files ls-remote \
    ls-tree merge-base merge-tree name-rev patch-id range-diff request-pull rev-list rev-parse shortlog show show-branch show-index \
    show-ref status stripspace unpack-file var verify-commit verify-pack verify-tag version whatchanged";

/// Subcommands that write only what no rule depends on.
const FREE: &str = "add archive bugreport bundle commit-graph commit-tree credential credential-store daemon diagnose difftool \
    fmt-merge-msg format-patch gc gitk gui hash-object hook index-pack instaweb interpret-trailers mailinfo mailsplit maintenance \
    mergetool mktag mktree notes pack-objects pack-refs prune read-tree refs remote repack replace rerere sparse-checkout stage \
    unpack-objects update-index update-server-info upload-archive upload-pack write-tree";

/// Subcommands that are handled individually below.
const OTHERS: &str = "am apply bisect branch checkout checkout-index cherry-pick clean clone commit config fast-import fetch \
    fetch-pack filter-branch filter-repo history http-push init merge merge-file merge-index mv p4 pull push quiltimport rebase \
    receive-pack reflog replay reset restore revert rm send-pack stash submodule subtree svn switch symbolic-ref tag update-ref \
    worktree";

/// Checks whether it is git's own subcommand, which no alias can replace.
pub(super) fn is_own(name: &str) -> bool {
    [READING, FREE, OTHERS].iter().any(|list| lists(list, name))
}

/// Returns the effect of `name` with `arguments`.
pub(super) fn told(name: &str, arguments: &[Word], stdin: Option<&Word>) -> SubcommandResult {
    if arguments.first().and_then(Word::known) == Some("--help") {
        return SubcommandResult { action: Action::Reads, skips_hooks: false, unclear: Vec::new() };
    }
    let Some(table) = table(name) else {
        let unclear = if name.is_empty() { vec!["?".to_owned()] } else { Vec::new() };
        return SubcommandResult { action: untabled(name, arguments), skips_hooks: false, unclear };
    };
    let joined = format!("{} {table}", if name == "pull" || name == "merge" { MERGING } else { "" });
    let given = read(&joined, arguments);
    let action = match name {
        "commit" => commit(&given, stdin),
        "push" | "send-pack" => push(&given),
        "merge" => Action::Merge(Merge {
            ff_only: given.on("ff-only"),
            squash: given.on("squash"),
            abort: given.any(&["abort", "quit"]),
            refs: given.operands.clone(),
        }),
        "fetch" | "fetch-pack" if given.on("dry-run") => Action::Reads,
        "fetch" | "fetch-pack" => Action::Fetch(fetched(&given)),
        "pull" => Action::Pull { from: given.operands.clone(), refspecs: fetched(&given) },
        "rebase" | "cherry-pick" | "revert" | "am" => Action::Replay(replay(name, &given)),
        "reset" => reset(&given),
        "branch" => branch(&given),
        "switch" => switch(&given, ["create", "force-create"]),
        "checkout" => checkout(&given),
        "tag" if given.operands.is_empty() || given.any(&["list", "verify", "contains", "merged", "points-at"]) => {
            Action::Reads
        }
        "tag" => Action::Free,
        "config" => config(&given),
        // Without a source, files come from the index or the last commit.
        "restore" => match given.on("staged") && !given.on("worktree") {
            true => Action::Free,
            false => Action::Files { restores: given.value("source").is_none(), paths: given.operands.clone() },
        },
        _ => {
            let shows = ["check", "stat", "numstat", "summary", "dry-run"];
            match given.any(&shows) && !given.on("apply") {
                true => Action::Reads,
                false if name == "rm" && given.on("cached") => Action::Free,
                false => Action::Files { restores: false, paths: given.operands.clone() },
            }
        }
    };
    let skips = matches!(name, "commit" | "push" | "merge" | "pull" | "rebase" | "am") && given.on("no-verify");
    SubcommandResult { action, skips_hooks: skips, unclear: given.unclear }
}

/// Returns the tree that files or index entries are taken from, and their paths.
pub(super) fn taken(name: &str, arguments: &[Word]) -> Option<(Word, Vec<Word>)> {
    let given = read(table(name)?, arguments);
    let (before, after) = given.operands.split_at(given.before_dashes.min(given.operands.len()));
    let listed = given.on("patch") || given.value("pathspec-from-file").is_some();
    let (tree, paths) = match name {
        "restore" => (given.value("source").cloned(), given.operands.clone()),
        // Without `--` the first word may be a path as well, which then matches no tree.
        _ => (before.first().cloned(), before.iter().skip(1).chain(after).cloned().collect()),
    };
    if paths.is_empty() && !listed {
        return None;
    }
    Some((tree?, if paths.is_empty() { vec![Word::from(".")] } else { paths }))
}

/// Returns the commands that `git rebase` runs after each commit.
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

/// Reads subcommands that are determined by their first words.
fn untabled(name: &str, arguments: &[Word]) -> Action {
    let operands: Vec<Word> =
        arguments.iter().filter(|word| !word.known().is_some_and(|text| text.starts_with('-'))).cloned().collect();
    let verb = operands.first().and_then(Word::known).unwrap_or_default();
    let has = |option: &str| arguments.iter().any(|word| word.known() == Some(option));
    let writes = |names: Vec<Word>| Action::References { verb: "write", names, to: None };
    let files = || Action::Files { restores: false, paths: Vec::new() };
    match name {
        // It sets the files to a tree.
        "read-tree" if arguments.iter().any(sets_files) => files(),
        "commit-graph" | "maintenance" | "bundle" | "notes" | "replace" | "remote" | "sparse-checkout"
            if matches!(verb, "" | "list" | "show" | "get-url" | "verify" | "list-heads") && !has("-d") =>
        {
            Action::Reads
        }
        _ if lists(READING, name) => Action::Reads,
        _ if lists(FREE, name) => Action::Free,
        "symbolic-ref" if operands.len() < 2 && !has("-d") && !has("--delete") => Action::Reads,
        // The text after `-m` counts as a name too, which is harmless unless it equals that of a guarded branch.
        "update-ref" | "symbolic-ref" => writes(operands),
        "receive-pack" | "http-push" => {
            Action::Push(Push { refspecs: vec![refspec(&Word::Dynamic, false, false)], ..Push::default() })
        }
        "stash" if matches!(verb, "list" | "show") => Action::Reads,
        "stash" if matches!(verb, "pop" | "apply" | "branch") => files(),
        "stash" => Action::Free,
        "worktree" if verb == "list" => Action::Reads,
        "worktree" => match arguments.iter().position(|word| word.known().is_some_and(|text| text.starts_with("-B"))) {
            Some(at) => {
                let attached =
                    arguments[at].known().and_then(|text| text.strip_prefix("-B")).filter(|name| !name.is_empty());
                let name = attached.map(Word::from).or_else(|| arguments.get(at + 1).cloned());
                Action::References { verb: "move", names: name.into_iter().collect(), to: None }
            }
            None => Action::Free,
        },
        "reflog" if !matches!(verb, "expire" | "delete" | "drop") => Action::Reads,
        "reflog" => Action::Free,
        "filter-branch" if !has("--all") && !has("--branches") => {
            let named = operands.into_iter().filter(|word| word.known().is_some_and(|text| !text.contains(' ')));
            Action::Rewrite(named.chain([Word::from("HEAD")]).collect())
        }
        "filter-branch" | "filter-repo" | "fast-import" | "replay" | "history" => Action::Rewrite(Vec::new()),
        "init" | "clone" => Action::NewRepository,
        "submodule" if matches!(verb, "" | "status" | "summary" | "foreach") => Action::Reads,
        "submodule" => Action::Free,
        "bisect" if matches!(verb, "log" | "view" | "visualize" | "terms") => Action::Reads,
        // It ends where it began, or at a given commit.
        "bisect" => {
            Action::Switch(Switch { to: None, create: false, force: false, at: None, detach: false, or_path: false })
        }
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

fn commit(given: &CallOptions, stdin: Option<&Word>) -> Action {
    let mut message: Vec<Message> = given.values("message").into_iter().map(Message::Text).collect();
    message.extend(given.values("file").into_iter().map(|file| match file.known() {
        Some("-") => Message::Stdin(stdin.cloned()),
        _ => Message::File(file),
    }));
    let reused = ["reuse-message", "reedit-message", "fixup", "squash"].iter().any(|name| given.value(name).is_some());
    if reused || message.is_empty() || given.on("edit") {
        message.push(Message::Elsewhere);
    }
    Action::Commit(CommitCall { dry_run: given.on("dry-run"), message })
}

fn push(given: &CallOptions) -> Action {
    let force = given.any(&["force", "force-with-lease"]);
    let mut operands = given.operands.iter();
    let remote = operands.next().or_else(|| given.value("repo")).cloned();
    let delete = given.on("delete");
    let mut refspecs = Vec::new();
    while let Some(word) = operands.next() {
        if word.known() == Some("tag") {
            let name = operands.next().and_then(Word::known);
            let name = name.map_or(Word::Dynamic, |name| Word::Known(format!("refs/tags/{name}")));
            refspecs.push(Refspec { source: Some(name.clone()), target: name, force });
        } else {
            refspecs.push(refspec(word, force, delete));
        }
    }
    Action::Push(Push {
        remote,
        refspecs,
        all: given.any(&["all", "branches", "mirror"]),
        tags: given.on("tags") && !given.on("follow-tags"),
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
        // `push origin HEAD` pushes to the checked-out branch.
        None if text == "HEAD" || text == "@" => (Some(Word::from(text)), Word::Dynamic),
        None => (Some(Word::from(text)), Word::from(text)),
    };
    Refspec { source, target, force }
}

/// Returns the references that a fetch writes by name, if known: `+a:b`.
fn fetched(given: &CallOptions) -> Vec<Refspec> {
    let force = given.on("force");
    let named = given.operands.iter().skip(1).filter(|_| !given.on("multiple"));
    let written = |word: &Word| {
        let text = word.known()?;
        let (force, text) = text.strip_prefix('+').map_or((force, text), |rest| (true, rest));
        let (source, target) = text.split_once(':').filter(|(_, target)| !target.is_empty())?;
        Some(Refspec { source: Some(Word::from(source)), target: Word::from(target), force })
    };
    given.values("refmap").iter().chain(named).filter_map(written).collect()
}

fn replay(name: &str, given: &CallOptions) -> Replay {
    // `rebase upstream branch` checks out the branch first.
    let before = usize::from(!given.on("root"));
    Replay {
        abort: given.any(&["abort", "quit", "show-current-patch", "edit-todo"]),
        no_commit: name != "rebase" && given.on("no-commit"),
        branch: given.operands.get(before).filter(|_| name == "rebase").cloned(),
    }
}

fn reset(given: &CallOptions) -> Action {
    let (targets, paths) = given.operands.split_at(given.before_dashes.min(given.operands.len()));
    let target = targets.first().filter(|word| !matches!(word.known(), Some("HEAD" | "@"))).cloned();
    Action::Reset { target, paths: paths.iter().chain(targets.iter().skip(1)).cloned().collect() }
}

fn branch(given: &CallOptions) -> Action {
    let names = given.operands.clone();
    let is = |verb, names, to| Action::References { verb, names, to };
    if given.any(&["delete", "D"]) {
        return if given.on("remotes") { Action::Free } else { is("delete", names, None) };
    }
    if given.any(&["move", "M"]) {
        // Renaming to a new name creates that branch with the commits of the old one.
        let own = (names.len() == 1).then(|| Word::from("HEAD"));
        return is("rename", own.into_iter().chain(names).collect(), None);
    }
    if given.any(&["copy", "C"]) {
        let forced = given.any(&["force", "C"]);
        return if forced {
            is("overwrite", names.into_iter().last().into_iter().collect(), None)
        } else {
            Action::Free
        };
    }
    let shows =
        ["list", "show-current", "contains", "no-contains", "merged", "no-merged", "points-at", "all", "remotes"];
    let writes = given.value("set-upstream-to").is_some() || given.any(&["unset-upstream", "edit-description"]);
    match names.first() {
        _ if writes => Action::Free,
        Some(name) if !given.options.iter().any(|(option, _)| shows.contains(&option.as_str())) => {
            match given.on("force") {
                true => is("move", vec![name.clone()], names.get(1).cloned()),
                false => Action::Free,
            }
        }
        _ => Action::Reads,
    }
}

/// Reads a switch. `made` are the options that create a branch and that reset one.
fn switch(given: &CallOptions, made: [&str; 2]) -> Action {
    let [create, set] = made.map(|name| given.value(name));
    let made = create.or(set).or_else(|| given.value("orphan"));
    Action::Switch(Switch {
        to: made.or_else(|| given.operands.first()).cloned(),
        create: made.is_some(),
        force: set.is_some(),
        at: made.and_then(|_| given.operands.first()).cloned(),
        detach: given.on("detach"),
        or_path: false,
    })
}

fn checkout(given: &CallOptions) -> Action {
    let makes = ["b", "B", "orphan"].iter().any(|name| given.value(name).is_some());
    let (before, after) = given.operands.split_at(given.before_dashes.min(given.operands.len()));
    let paths: Vec<Word> = if makes { Vec::new() } else { before.iter().skip(1).chain(after).cloned().collect() };
    let restores =
        !paths.is_empty() || given.any(&["ours", "theirs", "patch"]) || given.value("pathspec-from-file").is_some();
    if restores || before.first().and_then(Word::known) == Some(".") {
        let own = before.first().is_none_or(|word| matches!(word.known(), Some("." | "HEAD" | "@")));
        return Action::Files { restores: own, paths: if paths.is_empty() { before.to_vec() } else { paths } };
    }
    if !makes && before.is_empty() && !given.on("detach") {
        return Action::Reads;
    }
    let Action::Switch(switch) = switch(given, ["b", "B"]) else { return Action::Reads };
    let or_path = !makes && !given.has_dashes && !given.on("detach") && !before.is_empty();
    Action::Switch(Switch { or_path, ..switch })
}

fn config(given: &CallOptions) -> Action {
    let operands = &given.operands;
    let key = |at: usize| {
        let known = operands.get(at).and_then(Word::known);
        known.map_or_else(|| "?".to_owned(), str::to_lowercase)
    };
    let write = |key: String, value: Option<Word>| Action::Config(ConfigWrite { key, value });
    if given.any(&["get", "get-all", "get-regexp", "get-urlmatch", "list", "get-color", "get-colorbool"]) {
        return Action::Reads;
    }
    let verb = operands.first().and_then(Word::known).unwrap_or_default();
    // The keys in a renamed or removed section are known only at run time.
    let sections = ["remove-section", "rename-section", "edit"];
    match verb {
        _ if given.on("remove-section") && verb.starts_with("branch.") => write(key(0), None),
        _ if given.any(&sections) || sections.contains(&verb) || verb == "copy-section" => write("?".to_owned(), None),
        _ if given.any(&["unset", "unset-all"]) => write(key(0), None),
        "list" | "get" => Action::Reads,
        "set" => write(key(1), operands.get(2).cloned()),
        "unset" => write(key(1), None),
        _ if operands.len() < 2 && !operands.iter().any(Word::is_several) => Action::Reads,
        _ => write(key(0), operands.get(1).cloned()),
    }
}

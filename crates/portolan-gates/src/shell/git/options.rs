//! Parses the options of a subcommand: bundles of short ones, attached or separate values, negated long ones. One list
//! holds the long options of all subcommands. An option that is not in it, also an abbreviated one, is unclear.

use super::super::Word;
use super::super::programs::lists;

/// Long options that take a value.
const VALUED: &str = "author blob bundle-uri cleanup comment conflict contains create date deepen default depth directory empty exclude exec \
    file filter fixup force-create format include inter-hunk-context into-name jobs local-user mainline message \
    negotiation-tip no-contains onto orphan patch-format pathspec-from-file points-at push-option quoted-cr receive-pack \
    recurse-submodules-default reedit-message refmap regexp repo resolvemsg reuse-message server-option set-upstream-to \
    shallow-exclude shallow-since sort source strategy strategy-option submodule-prefix template trailer type unified \
    upload-pack url value whitespace";

/// Long options that take none, or have it attached.
const SWITCHES: &str = "3way abbrev abort add all allow-empty allow-empty-message allow-overlap allow-unrelated-histories amend annotate \
    append apply atomic auto-gc auto-maintenance autosquash autostash bool bool-or-int bool-or-str branch branches cached check \
    color column commit committer-date-is-author-date compact-summary continue copy create-reflog delete detach \
    discard-changes dry-run edit edit-description edit-todo expiry-date ff ff-only fixed-value follow-tags force \
    force-if-includes force-rebase force-with-lease fork-point get get-all get-color get-colorbool get-regexp get-urlmatch \
    global gpg-sign guess hard help ignore-case ignore-date ignore-other-worktrees ignore-skip-worktree-bits \
    ignore-space-change ignore-unmatch ignore-unmerged ignore-whitespace inaccurate-eof include-tag includes index int \
    intent-to-add interactive ipv4 ipv6 keep keep-base keep-cr keep-empty keep-non-patch keep-redundant-commits list local log \
    long merge merged message-id mirror mixed move multiple name-only negotiate-only no-verify null numstat omit-empty only ours \
    overlay overwrite-ignore patch path pathspec-file-nul porcelain post-rewrite prefetch progress prune prune-tags quiet quit \
    reapply-cherry-picks rebase rebase-merges recurse-submodules refetch reference refresh reject remotes remove-section \
    rename-section replace-all rerere-autoupdate reschedule-failed-exec reset-author reset-author-date resolved retry reverse root \
    scissors set-upstream short show-current show-current-patch show-forced-updates show-names show-origin show-scope sign signed \
    signoff skip soft sparse squash staged stat status stdin summary system tags theirs thin track unidiff-zero unsafe-paths unset \
    unset-all unset-upstream unshallow untracked-files update-head-ok update-refs update-shallow utf8 verbose verify \
    verify-signatures worktree write-commit-graph write-fetch-head";

/// Short options that take a value, by subcommand. Before a `?` is one that has its value attached.
const SHORT: &[(&str, &str)] = &[
    ("commit", "mFCctUS?u?"),
    ("push send-pack", "o"),
    ("merge pull", "msXFjoS?r?"),
    ("fetch fetch-pack", "jo"),
    ("rebase", "sXxCS?r?"),
    ("cherry-pick revert", "mXS?"),
    ("am apply", "CpS?"),
    ("branch", "ut?"),
    ("switch", "cCt?"),
    ("checkout", "bBt?"),
    ("tag", "mFun?"),
    ("config", "ft"),
    ("restore", "s"),
    ("clean", "e"),
    ("reset rm mv", ""),
];

/// The options and operands of a call.
#[derive(Debug, Default)]
pub(super) struct CallOptions {
    /// The options by their long name or their letter, in order.
    options: Vec<(String, Word)>,
    pub(super) operands: Vec<Word>,
    /// The number of operands before `--`, or of all operands without one.
    pub(super) before_dashes: usize,
    pub(super) has_dashes: bool,
    pub(super) unclear: Vec<String>,
}

impl CallOptions {
    /// Checks whether one of the switches is on. The last occurrence counts, and `no-` turns it off.
    pub(super) fn any(&self, names: &str) -> bool {
        names.split_ascii_whitespace().any(|name| {
            let opposite = name.strip_prefix("no-").map_or_else(|| format!("no-{name}"), str::to_owned);
            let last = self.options.iter().rev().find(|(given, _)| given == name || *given == opposite);
            last.is_some_and(|(given, _)| given == name)
        })
    }

    /// Returns the values of an option, given by any of these names.
    pub(super) fn values<'a>(&'a self, names: &'a str) -> impl DoubleEndedIterator<Item = &'a Word> {
        self.options.iter().filter(|(given, _)| lists(names, given)).map(|(_, value)| value)
    }

    /// Returns the last of them.
    pub(super) fn value<'a>(&'a self, names: &'a str) -> Option<&'a Word> {
        self.values(names).next_back()
    }

    fn take(&mut self, name: &str, next: Option<&Word>) {
        // If it expands to several words, the first is the value, and the others may be options.
        if next.is_none_or(Word::is_several) {
            self.unclear.push("?".to_owned());
        }
        self.options.push((name.to_owned(), next.cloned().unwrap_or(Word::Dynamic)));
    }

    /// Reads a long option, and returns the number of further words that it takes.
    fn long(&mut self, text: &str, next: Option<&Word>) -> usize {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let plain = name.strip_prefix("no-").unwrap_or(name);
        let known = |name: &str| lists(SWITCHES, name) || lists(VALUED, name);
        if !known(name) && !known(plain) && !known(&format!("no-{name}")) {
            self.unclear.push(format!("--{name}"));
        }
        match value {
            None if lists(VALUED, name) => {
                self.take(name, next);
                return 1;
            }
            value => self.options.push((name.to_owned(), Word::from(value.unwrap_or_default()))),
        }
        0
    }

    /// Reads a bundle of short options.
    fn short(&mut self, valued: &str, text: &str, next: Option<&Word>) -> usize {
        for (at, letter) in text.char_indices() {
            let attached = &text[at + letter.len_utf8()..];
            let name = letter.to_string();
            match valued.find(letter).map(|found| valued[found + 1..].starts_with('?')) {
                None => self.options.push((name, Word::from(""))),
                Some(false) if attached.is_empty() => {
                    self.take(&name, next);
                    return 1;
                }
                Some(_) => {
                    self.options.push((name, Word::from(attached)));
                    return 0;
                }
            }
        }
        0
    }
}

/// Parses the arguments of a subcommand, if its options matter.
pub(super) fn read(subcommand: &str, arguments: &[Word]) -> Option<CallOptions> {
    let (_, valued) = SHORT.iter().find(|(names, _)| lists(names, subcommand))?;
    let mut given = CallOptions::default();
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        at += 1;
        let text = word.known().unwrap_or("?");
        if word.known().is_none() && !given.has_dashes {
            // This word could be an option.
            given.unclear.push("?".to_owned());
        }
        if given.has_dashes || text == "-" || !text.starts_with('-') {
            given.operands.push(word.clone());
        } else if text == "--" || text == "--end-of-options" {
            given.before_dashes = given.operands.len();
            given.has_dashes = true;
        } else if let Some(name) = text.strip_prefix("--") {
            // A commit is squashed into the named one; a merge is only squashed.
            if name == "squash" && subcommand == "commit" {
                given.take("fixup", arguments.get(at));
                at += 1;
            } else {
                at += given.long(name, arguments.get(at));
            }
        } else {
            at += given.short(valued, &text[1..], arguments.get(at));
        }
    }
    if !given.has_dashes {
        given.before_dashes = given.operands.len();
    }
    Some(given)
}

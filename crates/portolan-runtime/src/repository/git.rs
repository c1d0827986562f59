//! Queries to `git`. External text reaches it only as the name of a ref below `refs/`, as the full name of an object,
//! or after `--`, so that it cannot be taken for an option.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use portolan_gates::facts::{Commit, FactError, Tree};
use portolan_gates::names::is_oid;

use super::since::Differs;
use crate::program::{Output, Question, ask, unknown};

const TIMEOUT: Duration = Duration::from_secs(15);
const MOST_BYTES: usize = 32 * 1024 * 1024;
/// Diffs are made by git alone. These options keep it from starting programs that the configuration names.
const DIFF: [&str; 6] =
    ["diff", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-color", "--ignore-submodules=all"];
/// The maximum number of commits of a branch that are read.
const MOST_COMMITS: usize = 20_000;
/// The maximum number of bytes of a commit's message that are read.
const MESSAGE_BYTES: usize = 64 * 1024;

/// A repository with a worktree.
pub(super) struct Git {
    project: PathBuf,
    environment: Vec<(OsString, OsString)>,
    /// The top of the worktree, with symlinks resolved.
    pub(super) top: PathBuf,
    /// The git folder of this worktree, with its head and the state of operations under way.
    pub(super) folder: PathBuf,
}

impl Git {
    pub(super) async fn open(project: &Path, environment: Vec<(OsString, OsString)>) -> Result<Git, FactError> {
        let mut git = Git { project: project.to_owned(), environment, top: PathBuf::new(), folder: PathBuf::new() };
        let place =
            ["rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir", "--show-toplevel"];
        let output = git.ask(&place).await?;
        let lines: Vec<&str> = output.stdout.lines().collect();
        match (output.code, lines.as_slice()) {
            (Some(0), ["false", "true", folder, top]) => {
                git.folder = PathBuf::from(folder);
                git.top = PathBuf::from(top).canonicalize().unwrap_or_else(|_| PathBuf::from(top));
                Ok(git)
            }
            (_, ["true", ..]) => Err(unknown("bare", "the repository is bare; work in a clone or a worktree of it")),
            (_, ["false", "false", ..]) => {
                Err(unknown("inside-git", "this is an internal git folder; start in the worktree"))
            }
            _ if output.stderr.contains("not a git repository") => {
                Err(unknown("no-repository", "the project is not in a git repository; run `git init`"))
            }
            _ => Err(unknown("git-failed", format!("`git` refuses: {}", output.complaint()))),
        }
    }

    pub(super) fn project(&self) -> &Path {
        &self.project
    }

    pub(super) async fn ask(&self, arguments: &[&str]) -> Result<Output, FactError> {
        // Otherwise the status query would start the file system monitor that the configuration names.
        let mut all =
            vec!["--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false"];
        all.extend_from_slice(arguments);
        ask(Question {
            program: "git",
            arguments: &all,
            input: &[],
            folder: &self.project,
            environment: &self.environment,
            timeout: TIMEOUT,
            most_bytes: MOST_BYTES,
        })
        .await
    }

    /// Returns the output of a command that must succeed.
    async fn output(&self, arguments: &[&str]) -> Result<String, FactError> {
        let output = self.ask(arguments).await?;
        match output.code {
            Some(0) => Ok(output.stdout),
            _ => Err(unknown("git-failed", format!("`git {}` failed: {}", arguments[0], output.complaint()))),
        }
    }

    /// Returns the output, or `None` if git answers no (status 1).
    async fn perhaps(&self, arguments: &[&str]) -> Result<Option<String>, FactError> {
        let output = self.ask(arguments).await?;
        match output.code {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            _ => Err(unknown("git-failed", format!("`git {}` failed: {}", arguments[0], output.complaint()))),
        }
    }

    /// Returns the branch that is checked out, even if it has no commit.
    pub(super) async fn head_branch(&self) -> Result<Option<String>, FactError> {
        let head = self.perhaps(&["symbolic-ref", "-q", "HEAD"]).await?;
        Ok(head.and_then(|name| name.trim_end().strip_prefix("refs/heads/").map(str::to_owned)))
    }

    /// Returns the commit that is checked out.
    pub(super) async fn head_oid(&self) -> Result<Option<String>, FactError> {
        let oid = self.perhaps(&["rev-parse", "--verify", "--quiet", "--end-of-options", "HEAD^{commit}"]).await?;
        Ok(oid.map(|oid| oid.trim_end().to_owned()))
    }

    /// Returns the refs that match `patterns`, ignoring case, with their commits. Patterns begin with `refs/`.
    pub(super) async fn refs(&self, patterns: &[String]) -> Result<Vec<(String, String)>, FactError> {
        let mut arguments = vec!["for-each-ref", "--ignore-case", "--format=%(refname) %(objectname)", "--"];
        arguments.extend(patterns.iter().map(String::as_str));
        let output = self.output(&arguments).await?;
        let pair = |line: &str| line.rsplit_once(' ').map(|(name, oid)| (name.to_owned(), oid.to_owned()));
        Ok(output.lines().filter_map(pair).collect())
    }

    /// Returns the settings whose names match, with their values. Names are in lower case.
    pub(super) async fn settings(&self, names: &str) -> Result<Vec<(String, String)>, FactError> {
        let output = self.perhaps(&["config", "-z", "--get-regexp", names]).await?.unwrap_or_default();
        let pair = |entry: &str| entry.split_once('\n').map(|(name, value)| (name.to_owned(), value.to_owned()));
        Ok(output.split('\0').filter_map(pair).collect())
    }

    /// Returns the best common ancestor of `head` and `tips`.
    pub(super) async fn merge_base(&self, head: &str, tips: &[&str]) -> Result<Option<String>, FactError> {
        let mut arguments = vec!["merge-base", "--end-of-options", head];
        arguments.extend_from_slice(tips);
        Ok(self.perhaps(&arguments).await?.and_then(|output| output.lines().next().map(str::to_owned)))
    }

    pub(super) async fn is_ancestor(&self, old: &str, new: &str) -> Result<bool, FactError> {
        if !is_oid(old) || !is_oid(new) {
            return Err(unknown("no-object", "this is not the name of a commit"));
        }
        Ok(self.perhaps(&["merge-base", "--is-ancestor", "--end-of-options", old, new]).await?.is_some())
    }

    /// Returns the empty tree, in the repository's hash format.
    pub(super) async fn empty_tree(&self) -> Result<String, FactError> {
        Ok(self.output(&["hash-object", "-t", "tree", "--stdin"]).await?.trim_end().to_owned())
    }

    /// Returns the project's path within the worktree: empty at its top, else with a trailing slash.
    pub(super) fn within(&self) -> String {
        let project = self.project.canonicalize().unwrap_or_else(|_| self.project.clone());
        let below = project.strip_prefix(&self.top).unwrap_or(Path::new(""));
        below.iter().map(|part| format!("{}/", part.to_string_lossy())).collect()
    }

    /// Returns the conflict markers that git finds in changes to tracked files since a commit: paths, and lines from 1.
    pub(super) async fn marks(&self, commit: &str) -> Result<BTreeMap<String, Vec<u64>>, FactError> {
        let output = self.ask(&[&DIFF[..], &["--check", commit, "--"]].concat()).await?;
        // Status 2 means that it found something.
        if !matches!(output.code, Some(0 | 2)) {
            return Err(unknown("git-failed", format!("`git diff --check` failed: {}", output.complaint())));
        }
        let mut marks: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        for line in output.stdout.lines() {
            let place = line.trim_end_matches('.').strip_suffix(": leftover conflict marker");
            let place = place.and_then(|place| place.rsplit_once(':'));
            if let Some((path, Ok(line))) = place.map(|(path, line)| (path, line.parse())) {
                marks.entry(path.to_owned()).or_default().push(line);
            }
        }
        Ok(marks)
    }

    /// Checks whether the files of a commit, or of a tree, differ from those of the head.
    pub(super) async fn differs_from_head(&self, then: &str) -> Result<bool, FactError> {
        Ok(self.perhaps(&[&DIFF[..], &["--quiet", then, "HEAD", "--"]].concat()).await?.is_none())
    }

    /// Returns the remote that a branch is pushed to, by git's own rules, or `None` if there is none.
    pub(super) async fn push_remote(&self, branch: &str) -> Result<Option<String>, FactError> {
        let known = self.output(&["remote"]).await?;
        let known: Vec<&str> = known.lines().filter(|name| !name.starts_with('-')).collect();
        let keys =
            [format!("branch.{branch}.pushRemote"), "remote.pushDefault".to_owned(), format!("branch.{branch}.remote")];
        for key in keys {
            let named = self.perhaps(&["config", "--get", &key]).await?;
            if let Some(named) =
                named.map(|named| named.trim_end().to_owned()).filter(|named| known.contains(&named.as_str()))
            {
                return Ok(Some(named));
            }
        }
        Ok(known.iter().find(|name| **name == "origin").or(known.first()).map(|name| (*name).to_owned()))
    }

    /// Queries the remote for the commit of a branch. Returns `None` if the remote has no such branch.
    pub(super) async fn remote_head(&self, remote: &str, branch: &str) -> Result<Option<String>, FactError> {
        let name = format!("refs/heads/{branch}");
        let output = self.output(&["ls-remote", "--quiet", "--end-of-options", remote, &name]).await?;
        let oid = output.lines().find_map(|line| line.split_once('\t').filter(|(_, found)| *found == name));
        Ok(oid.map(|(oid, _)| oid.to_owned()).filter(|oid| is_oid(oid)))
    }

    /// Returns the commits of `head` that none of `tips` has, and where they begin.
    pub(super) async fn range(&self, head: &str, tips: &[&str]) -> Result<Range, FactError> {
        self.commits_of(head, tips, &[]).await
    }

    /// Like `range`, without commits that remotes have on other branches than `branch`.
    pub(super) async fn own_range(&self, head: &str, tips: &[&str], branch: Option<&str>) -> Result<Range, FactError> {
        let own = branch.map(|branch| format!("--exclude=*/{branch}"));
        let but: Vec<&str> = own.as_deref().into_iter().chain(["--exclude=*/HEAD"]).collect();
        self.commits_of(head, tips, &[&["--not"], &but[..], &["--remotes", "--not"]].concat()).await
    }

    async fn commits_of(&self, head: &str, tips: &[&str], besides: &[&str]) -> Result<Range, FactError> {
        let most = format!("--max-count={}", MOST_COMMITS + 1);
        let mut arguments = vec!["log", "-z", "--boundary", "--no-show-signature", "--no-notes", "--no-color"];
        arguments.extend(["--no-decorate", "--no-patch", "--no-mailmap", "--encoding=UTF-8"]);
        arguments.extend(["--format=%m%H %P%n%B", &most]);
        arguments.extend(besides);
        let excluded: Vec<String> = tips.iter().map(|tip| format!("^{tip}")).collect();
        arguments.extend(["--end-of-options", head]);
        arguments.extend(excluded.iter().map(String::as_str));
        arguments.push("--");
        let output = self.output(&arguments).await?;
        let (mut range, mut count) = (Range { commits: Vec::new(), begins: Vec::new() }, 0);
        for line in output.split('\0').filter_map(line) {
            match line {
                Line::Begin(oid) => range.begins.push(oid),
                Line::Merge => count += 1,
                Line::Commit(commit) => {
                    count += 1;
                    range.commits.push(commit);
                }
            }
        }
        match count > MOST_COMMITS {
            true => Err(unknown("too-many-commits", format!("the branch has more than {MOST_COMMITS} commits"))),
            false => Ok(range),
        }
    }

    /// Returns how many commits of `local` none of `remotes` has, up to 1000.
    pub(super) async fn ahead(&self, local: &str, remotes: &[String]) -> Result<u64, FactError> {
        let excluded: Vec<String> = remotes.iter().map(|tip| format!("^{tip}")).collect();
        let mut arguments = vec!["rev-list", "--count", "--max-count=1000", "--end-of-options", local];
        arguments.extend(excluded.iter().map(String::as_str));
        arguments.push("--");
        let output = self.output(&arguments).await?;
        output.trim().parse().map_err(|_| unknown("git-failed", "`git rev-list` returned no count; try again"))
    }

    /// Returns the commits made in this worktree since a time, according to the reflog. Fetched and rebased commits do
    /// not count.
    pub(super) async fn made_here(&self, most: &str, since: u64) -> Result<Vec<String>, FactError> {
        let command =
            ["log", "--walk-reflogs", "--no-show-signature", "--no-color", "--no-patch", "--format=%ct %H %gs"];
        let mut arguments = command.to_vec();
        arguments.extend([most, "HEAD", "--"]);
        let made = |line: &str| {
            let (seconds, rest) = line.split_once(' ')?;
            let (oid, how) = rest.split_once(' ')?;
            // A `git update-ref` without a message leaves an empty reason.
            let is_commit = how.is_empty() || how.starts_with("commit:") || how.starts_with("commit (");
            (is_commit && is_oid(oid) && seconds.parse::<u64>().ok()? >= since).then(|| oid.to_owned())
        };
        Ok(self.output(&arguments).await?.lines().filter_map(made).collect())
    }

    /// Checks whether a commit is in the history of the head.
    pub(super) async fn is_in_head(&self, oid: &str) -> Result<bool, FactError> {
        Ok(self.perhaps(&["merge-base", "--is-ancestor", "--end-of-options", oid, "HEAD"]).await?.is_some())
    }

    /// Returns the files with uncommitted changes, by their paths from the top of the worktree, each with whether it is
    /// untracked.
    pub(super) async fn loose(&self) -> Result<BTreeMap<String, bool>, FactError> {
        let arguments =
            ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=all"];
        let output = self.output(&arguments).await?;
        let entries = output.split('\0').filter_map(|entry| {
            let (kind, rest) = entry.split_once(' ')?;
            // The number of fields up to the path, by the kind of the line.
            let (fields, is_new) = match kind {
                "1" => (8, false),
                "u" => (10, false),
                "?" => (1, true),
                _ => return None,
            };
            Some((rest.splitn(fields, ' ').last()?.to_owned(), is_new))
        });
        Ok(entries.collect())
    }

    /// Returns the tracked files that differ from a commit.
    pub(super) async fn differing(&self, commit: &str) -> Result<BTreeMap<String, Differs>, FactError> {
        let output = self.output(&[&DIFF[..], &["--name-status", "-z", commit, "--"]].concat()).await?;
        let mut found = BTreeMap::new();
        let mut parts = output.split('\0');
        while let (Some(status), Some(path)) = (parts.next(), parts.next()) {
            let how = match status {
                "A" => "added",
                "D" => "removed",
                _ => "changed",
            };
            found.insert(path.to_owned(), Differs { how, is_binary: false, is_new: false });
        }
        let output = self.output(&[&DIFF[..], &["--numstat", "-z", commit, "--"]].concat()).await?;
        for path in output.split('\0').filter_map(|line| line.strip_prefix("-\t-\t")) {
            if let Some(differs) = found.get_mut(path) {
                differs.is_binary = true;
            }
        }
        Ok(found)
    }

    /// Returns the line diff of a file against a commit.
    pub(super) async fn diff(&self, commit: &str, path: &str) -> Result<String, FactError> {
        let path = format!(":(top,literal){path}");
        let output = self.output(&[&DIFF[..], &["--unified=3", commit, "--", &path]].concat()).await?;
        // The header before the first hunk repeats what the file list says.
        Ok(output.find("\n@@").map_or(String::new(), |at| output[at + 1..].to_owned()))
    }

    /// Counts the uncommitted changes.
    pub(super) async fn tree(&self) -> Result<Tree, FactError> {
        let arguments =
            ["status", "--porcelain=v2", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=none"];
        let output = self.output(&arguments).await?;
        let mut tree = Tree::default();
        for entry in output.split('\0') {
            match *entry.as_bytes() {
                [b'u', b' ', ..] => tree.unmerged += 1,
                [b'?', b' ', ..] => tree.untracked += 1,
                [b'1', b' ', index, files, ..] => {
                    tree.staged += usize::from(index != b'.');
                    tree.unstaged += usize::from(files != b'.');
                }
                _ => {}
            }
        }
        Ok(tree)
    }

    /// Returns the tracked files that match any of these paths or globs, relative to the project.
    pub(super) async fn tracked(&self, specs: &[&str]) -> Result<Vec<String>, FactError> {
        let mut arguments = vec!["ls-files", "-z", "--"];
        arguments.extend_from_slice(specs);
        let output = self.output(&arguments).await?;
        Ok(output.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect())
    }

    pub(super) async fn is_ignored(&self, path: &str) -> Result<bool, FactError> {
        Ok(self.perhaps(&["check-ignore", "-q", "--", path]).await?.is_some())
    }
}

/// The commits that only one branch has.
pub(super) struct Range {
    /// The commits, without merges.
    pub(super) commits: Vec<Commit>,
    /// The commits that it was begun from or has merged since: the parents of its commits that are not its own.
    pub(super) begins: Vec<String>,
}

enum Line {
    Commit(Commit),
    Merge,
    Begin(String),
}

fn line(record: &str) -> Option<Line> {
    let (first, message) = record.split_once('\n')?;
    let message = &message[..message.floor_char_boundary(MESSAGE_BYTES)];
    let (names, is_begin) = (first.get(1..)?, first.starts_with('-'));
    let (oid, parents) = names.split_once(' ').unwrap_or((names, ""));
    if !is_oid(oid) {
        return None;
    }
    if is_begin {
        return Some(Line::Begin(oid.to_owned()));
    }
    if parents.contains(' ') {
        return Some(Line::Merge);
    }
    let (subject, body) = message.split_once('\n').unwrap_or((message, ""));
    let (subject, body) = (subject.trim_end().to_owned(), body.to_owned());
    Some(Line::Commit(Commit { oid: oid.to_owned(), subject, body }))
}

//! The git process that runs a hook, by its command line. A hook learns which references move, but not why. Whether a
//! fetch moves them is visible in its ancestor processes, on systems that show them.

use portolan_runtime::pins::Upstream;

use super::upstream::{is_named, source, tracking};
#[cfg(target_os = "linux")]
use portolan_runtime::process::lineage;

/// Options before git's verb that take the next word as their value.
const TAKING: [&str; 8] =
    ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source"];

/// Returns the arguments of the git process above.
#[cfg(target_os = "linux")]
pub(super) fn words() -> Option<Vec<String>> {
    /// The maximum number of processes between git and its hook.
    const MAX_LEVELS: usize = 12;
    let mut process = lineage::requesting_process();
    for _ in 0..MAX_LEVELS {
        if process <= 1 {
            return None;
        }
        let program = std::fs::read_link(format!("/proc/{process}/exe")).ok()?;
        if program.file_name().is_some_and(|name| name == "git") {
            let line = std::fs::read(format!("/proc/{process}/cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).into_owned();
            return Some(line.split_terminator('\0').skip(1).map(str::to_owned).collect());
        }
        let about = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // The program's name is in parentheses and may contain any character.
        process = about.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
    }
    None
}

/// Other systems do not show command lines as files.
#[cfg(not(target_os = "linux"))]
pub(super) fn words() -> Option<Vec<String>> {
    None
}

/// Returns git's verb and its arguments.
pub(super) fn verb(words: &[String]) -> (Option<&str>, Vec<&str>) {
    let mut words = words.iter().map(String::as_str);
    let verb = loop {
        match words.next() {
            Some(word) if TAKING.contains(&word) => drop(words.next()),
            Some(word) if word.starts_with('-') => {}
            other => break other,
        }
    };
    (verb, words.collect())
}

/// Checks whether a git command line only fetches a branch from its remote, and nothing else into its place.
pub(super) fn fetches(words: &[String], upstream: &Upstream) -> bool {
    let (verb, rest) = verb(words);
    match verb {
        Some("clone") => true,
        Some("fetch" | "pull") => is_plain(&rest, upstream),
        _ => false,
    }
}

fn is_plain(words: &[&str], upstream: &Upstream) -> bool {
    let here = tracking(upstream);
    let is_asked = words.contains(&upstream.remote.as_str());
    words.iter().all(|word| {
        let leads = ["--upload-pack", "--refmap", "--stdin"].iter().any(|option| word.starts_with(option));
        let fits = |from: String| is_asked && is_named(&from, &upstream.branch);
        !leads && source(word, &here).is_none_or(fits)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fetch_is_told_from_what_only_looks_like_one() {
        let upstream = Upstream { remote: "origin".to_owned(), branch: "main".to_owned() };
        let fetches = |line: &str| fetches(&line.split(' ').map(str::to_owned).collect::<Vec<_>>(), &upstream);
        for line in [
            "fetch",
            "fetch -q origin",
            "-C /x -c a=b --no-pager fetch --all --prune",
            "fetch --update-head-ok origin main",
            "fetch origin +refs/heads/main:refs/remotes/origin/main feat/1-x:refs/remotes/origin/feat/1-x",
            "fetch --append origin +refs/heads/*:refs/remotes/origin/*",
            "clone -q x y",
        ] {
            assert!(fetches(line), "{line}");
        }
        for line in [
            "update-ref refs/remotes/origin/main x",
            "fetch origin +feat/1-x:refs/remotes/origin/main",
            "fetch origin feat/1-x:remotes/origin/main",
            "fetch ../evil main:refs/remotes/origin/main",
            "fetch --refmap=+refs/heads/*:refs/remotes/origin/* evil main",
            "fetch --upload-pack=./evil origin",
            "fetch --stdin origin",
            "push --no-verify origin feat/1-x:main",
            "remote rename evil origin",
            "-c fetch commit",
            "",
        ] {
            assert!(!fetches(line), "{line}");
        }
    }
}

//! Evidence of work: changed files, commits, tests. The caller passes in the data.

use super::conventional_commit_format::{judged, violation};
use super::range::ruled;
use super::{CheckFinding, fails, holds, message, quoted};
use crate::facts::Commit;
use crate::guidelines::Guidelines;
use crate::merge::{Diff, Text, is_test_path, tests_gained, tests_lost};
use crate::pattern::matches;

/// The most paths that a reason names.
const MOST_NAMED: usize = 5;

/// Checks whether files have changed as the patterns require: at least one of each of `must`, of the others only `may`,
/// and none of `must_not`. Without patterns any changed file is accepted. The paths are relative to the project.
pub fn changed(must: &[String], may: Option<&[String]>, must_not: &[String], paths: &[&str]) -> CheckFinding {
    if must.is_empty() && may.is_none() && must_not.is_empty() && paths.is_empty() {
        return fails("nothing-changed", "no file has changed; do the work, or report what prevents it");
    }
    let fit = |pattern: &str| paths.iter().any(|path| matches(pattern, path));
    let missing: Vec<&str> = must.iter().map(String::as_str).filter(|pattern| !fit(pattern)).collect();
    if !missing.is_empty() {
        let reason = format!("no file matching {} has changed; {}", named(&missing), have_changed(paths));
        return fails("not-changed", reason);
    }
    let is_in = |patterns: &[String], path: &str| patterns.iter().any(|pattern| matches(pattern, path));
    let forbidden: Vec<&str> = paths.iter().copied().filter(|path| is_in(must_not, path)).collect();
    if !forbidden.is_empty() {
        return fails("changed-too-much", format!("{} must not change here; undo the change", named(&forbidden)));
    }
    let beyond = |path: &&str| may.is_some_and(|may| !is_in(may, path) && !is_in(must, path));
    let beyond: Vec<&str> = paths.iter().copied().filter(beyond).collect();
    if !beyond.is_empty() {
        return fails("changed-too-much", format!("{} is not allowed to change here; undo the change", named(&beyond)));
    }
    holds("changed", have_changed(paths))
}

/// Checks whether there are commits whose messages follow the rules. Without rules any message is accepted.
pub fn commit(commits: &[Commit], rules: Option<&Guidelines>) -> CheckFinding {
    let Some(latest) = commits.first() else {
        return fails("nothing-committed", "nothing has been committed; commit the work");
    };
    let faults = rules.into_iter().flat_map(|rules| {
        ruled(commits, rules).into_iter().filter_map(|commit| {
            Some(violation(commit, message::fault(&commit.subject, &commit.body, &rules.commits)?))
        })
    });
    judged("not-conventional", faults.collect(), || match commits.len() {
        1 => format!("{} has been committed", quoted(&latest.subject)),
        count => format!("{count} commits have been made, the last of them {}", quoted(&latest.subject)),
    })
}

/// Checks whether tests were added or changed. Any change of a test file counts; in other files only added tests and
/// assertions count.
pub fn tests_touched(diff: &Diff) -> CheckFinding {
    let touched = diff.files.iter().find(|change| change.after != Text::Absent && is_test_path(&change.path));
    if let Some(change) = touched {
        return holds("tests-touched", format!("{} has changed", quoted(&change.path)));
    }
    match tests_gained(diff).first() {
        Some(name) => holds("tests-touched", format!("the test {} is new or asserts more", quoted(name))),
        None => fails("tests-untouched", "no test was added or changed; write the test, or extend one"),
    }
}

/// Checks that tests are as strong as before.
pub fn tests_not_weakened(diff: &Diff) -> CheckFinding {
    let lost = tests_lost(diff);
    let Some(first) = lost.first() else { return holds("tests-kept", "no test was removed, skipped or weakened") };
    let others = match lost.len() - 1 {
        0 => String::new(),
        some => format!(" ({some} more)"),
    };
    let description = first.description();
    let reason = format!("{}:{}: {description}{others}; restore it, or say why it is dropped", first.path, first.line);
    fails("tests-weakened", reason)
}

/// Checks that no conflict markers are left. Each marker is a path and a line.
pub fn no_conflict_marks(marks: &[(String, u64)]) -> CheckFinding {
    let Some((path, line)) = marks.first() else { return holds("no-marks", "no conflict markers are left") };
    let others = match marks.len() - 1 {
        0 => String::new(),
        some => format!(" ({some} more)"),
    };
    fails("conflict-marks", format!("{}:{line} has a conflict marker{others}; resolve the conflict", quoted(path)))
}

fn have_changed(paths: &[&str]) -> String {
    match paths {
        [] => "no file has changed".to_owned(),
        [one] => format!("{} has changed", quoted(one)),
        _ => format!("{} files have changed: {}", paths.len(), named(paths)),
    }
}

fn named(paths: &[&str]) -> String {
    let quoted_paths: Vec<String> = paths.iter().take(MOST_NAMED).map(|path| quoted(path)).collect();
    match paths.len().saturating_sub(MOST_NAMED) {
        0 => quoted_paths.join(", "),
        more => format!("{} and {more} more", quoted_paths.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acceptance::CheckStatus;
    use crate::merge::FileChange;

    fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
        let text = |text: Option<&str>| text.map_or(Text::Absent, |text| Text::Of(text.to_owned()));
        FileChange { path: path.to_owned(), from: None, before: text(before), after: text(after), added: 0, deleted: 0 }
    }

    fn finding_text(found: &CheckFinding) -> String {
        format!("{:?} {}: {}", found.standing, found.code, found.reason)
    }

    #[test]
    fn files_change_as_the_patterns_say() {
        // What must, may and must not change, and what has changed; `-` gives no `may`.
        let cases = [
            ("", "-", "", "", "Fails nothing-changed"),
            ("", "-", "", "a", "Holds changed: `a` has changed"),
            ("", "", "", "", "Holds changed: no file has changed"),
            ("", "", "", "a", "Fails changed-too-much: `a` is not allowed to change here"),
            ("", "-", "src/**", "", "Holds changed: no file has changed"),
            ("src/**", "-", "", "README.md", "Fails not-changed: no file matching `src/**` has changed"),
            ("src/** tests/**", "-", "", "src/a", "Fails not-changed: no file matching `tests/**` has changed"),
            ("src/**", "-", "**/*.lock", "src/a x/y.lock", "Fails changed-too-much: `x/y.lock` must not"),
            ("src/**", "", "", "src/a b", "Fails changed-too-much: `b` is not allowed to change here"),
            ("src/**", "docs/**", "", "src/a docs/b/c", "Holds changed: 2 files"),
            ("", "docs/**", "", "docs/b ../out", "Fails changed-too-much: `../out`"),
        ];
        for (must, may, must_not, paths, begin) in cases {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let allowed = (may != "-").then(|| words(may));
            let paths: Vec<&str> = paths.split_whitespace().collect();
            let found = changed(&words(must), allowed.as_deref(), &words(must_not), &paths);
            assert!(finding_text(&found).starts_with(begin), "{must} / {may} / {must_not}: {}", finding_text(&found));
        }
    }

    #[test]
    fn commits_are_there_and_said_as_the_rules_want_it() {
        let one = |subject: &str| Commit { oid: "a".repeat(40), subject: subject.to_owned(), body: String::new() };
        let rules = Guidelines::default();
        assert_eq!(commit(&[], None).code, "nothing-committed");
        assert_eq!(commit(&[one("as I like it")], None).standing, CheckStatus::Holds);
        assert_eq!(commit(&[one("as I like it")], Some(&rules)).code, "not-conventional");
        assert_eq!(commit(&[one("fix: it"), one("feat: that")], Some(&rules)).standing, CheckStatus::Holds);
    }

    #[test]
    fn tests_are_told_by_their_files_and_by_what_is_in_them() {
        let touched =
            |changes: &[FileChange]| tests_touched(&Diff { files: changes.to_vec() }).standing == CheckStatus::Holds;
        let plain = "pub fn a() {}\n";
        let tested = "pub fn a() {}\n#[test]\nfn it_is() {\n    assert!(true);\n}\n";
        assert!(touched(&[change("tests/a.rb", None, Some("x"))]));
        assert!(touched(&[change("src/lib.rs", Some(plain), Some(tested))]));
        assert!(touched(&[change(
            "src/lib.rs",
            Some(tested),
            Some(&tested.replace("assert!(true);", "assert!(true);\n    assert!(a);"))
        )]));
        assert!(!touched(&[change("src/lib.rs", Some(tested), Some(&tested.replace("pub fn a", "pub fn b")))]));
        assert!(!touched(&[change("tests/a.rb", Some("x"), None)]), "a test that is gone is not one that came");
        assert!(!touched(&[change("tests/README.md", None, Some("x"))]));
        assert!(!touched(&[]));
        for path in ["a_test.go", "x/test_a.py", "a.spec.ts", "src/__tests__/a.js", "FooTest.java", "spec/a_spec.rb"] {
            assert!(is_test_path(path), "{path}");
        }
        for path in ["src/latest.rs", "contest.py", "src/attestation/a.rs", "Makefile", "LATEST.java"] {
            assert!(!is_test_path(path), "{path}");
        }
    }

    #[test]
    fn tests_that_say_less_are_told() {
        let tested = "#[test]\nfn it_is() {\n    assert!(true);\n}\n";
        let weakened = |changes: &[FileChange]| tests_not_weakened(&Diff { files: changes.to_vec() });
        let cases = [
            (Some("#[test]\n#[ignore]\nfn it_is() {\n    assert!(true);\n}\n"), "skipped"),
            (Some("#[test]\nfn it_is() {\n}\n"), "assertions of the test"),
            (Some("fn other() {}\n"), "removed"),
            (None, "deleted"),
        ];
        for (after, word) in cases {
            let found = weakened(&[change("src/lib.rs", Some(tested), after)]);
            assert!(found.standing == CheckStatus::Fails && found.reason.contains(word), "{}", finding_text(&found));
        }
        let moved = [change("src/lib.rs", Some(tested), Some("")), change("src/tests.rs", None, Some(tested))];
        assert_eq!(weakened(&moved).standing, CheckStatus::Holds, "{}", finding_text(&weakened(&moved)));
        let file = [change("tests/a.rs", Some(tested), None), change("tests/b.rs", None, Some(tested))];
        assert_eq!(weakened(&file).standing, CheckStatus::Holds, "{}", finding_text(&weakened(&file)));
        assert_eq!(weakened(&[change("a.py", Some("def f(): pass"), None)]).standing, CheckStatus::Holds);
    }
}

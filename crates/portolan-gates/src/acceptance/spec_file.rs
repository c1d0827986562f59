//! I-5: the work has a specification, if one is required.

use super::{CheckFinding, CheckKind, fails, holds, not_asked, quoted, unverified};
use crate::facts::{Answer, Claims, Facts, Needs, Spec};
use crate::guidelines::Guidelines;
use crate::pattern;

pub(super) const KIND: CheckKind = CheckKind {
    id: "specFileExistsIfRequired",
    invariant: Some("I-5"),
    needs: Needs { spec: true, ..Needs::NOTHING },
    look,
};

/// Checks whether a claimed path may be read at all: it must be relative and without `..`.
pub fn is_below(path: &str) -> bool {
    let upwards = path.split(['/', '\\']).any(|part| part == "..");
    !path.is_empty() && !path.starts_with(['/', '\\', '-', ':', '~']) && !upwards && !path.contains('\0')
}

fn look(claims: &Claims, facts: &Facts, guidelines: &Guidelines) -> CheckFinding {
    let rules = &guidelines.specs;
    if !rules.required {
        return holds("not-required", "no specification is needed (`specs.required`)");
    }
    let begins = |prefix: &&String| claims.branch.as_ref().is_some_and(|branch| branch.starts_with(prefix.as_str()));
    if let Some(prefix) = rules.exempt.iter().find(begins) {
        return holds(
            "exempt",
            format!("branches that begin with {} need no specification (`specs.exempt`)", quoted(prefix)),
        );
    }
    let Some(path) = claims.spec_path.as_deref() else {
        return fails("no-spec", "no specification is claimed; write it and claim its path");
    };
    let shown = quoted(path);
    if !is_below(path) {
        return fails("outside", format!("{shown} is not a relative path inside the project; claim one without `..`"));
    }
    match (&facts.trouble, &facts.spec) {
        (Some(unknown), _) | (_, Answer::Unknown(unknown)) => unverified(unknown),
        (_, Answer::NotAsked) => not_asked("the specification"),
        (_, Answer::Missing) => missing(&shown),
        (_, Answer::Found(files)) => match files.as_slice() {
            [] => missing(&shown),
            [file] => fault(file, guidelines, claims, facts).unwrap_or_else(|| {
                let reason = format!("{} exists, is tracked and is not blank", quoted(&file.path));
                CheckFinding { sets: Some(("specPath", file.path.clone())), ..holds("spec-exists", reason) }
            }),
            several => fails("ambiguous", format!("{shown} matches {} files; claim one of them", several.len())),
        },
    }
}

fn missing(shown: &str) -> CheckFinding {
    fails("spec-missing", format!("there is no file {shown}; write it, or claim another path"))
}

fn fault(file: &Spec, guidelines: &Guidelines, claims: &Claims, facts: &Facts) -> Option<CheckFinding> {
    let rules = &guidelines.specs;
    let shown = quoted(&file.path);
    let in_folder = |folder: &String| {
        file.path.strip_prefix(folder.trim_end_matches('/')).is_some_and(|rest| rest.starts_with('/'))
    };
    let (code, says) = match &file.text {
        _ if !file.inside => ("outside", "resolves to a path outside the worktree; put the file itself inside"),
        _ if !file.regular => ("not-a-file", "is not a file; claim a file"),
        _ if file.ignored => ("ignored", "is ignored by git; remove it from the ignored paths"),
        _ if !file.tracked => ("untracked", "is not tracked; add it with `git add`"),
        _ if !rules.folders.is_empty() && !rules.folders.iter().any(in_folder) => {
            ("wrong-folder", "is not in any of the folders for specifications (`specs.folders`); move it to one")
        }
        _ if rules.pattern.as_ref().is_some_and(|wanted| !pattern::matches(wanted, &file.path)) => {
            ("wrong-pattern", "does not match the naming pattern for specifications (`specs.pattern`); rename it")
        }
        None => ("not-text", "is not text; write it as UTF-8"),
        Some(text) if text.trim().is_empty() => ("blank", "is blank; describe what has to be done"),
        Some(text) => return content(text, &shown, guidelines, claims, facts),
    };
    Some(fails(code, format!("{shown} {says}")))
}

fn content(text: &str, shown: &str, guidelines: &Guidelines, claims: &Claims, facts: &Facts) -> Option<CheckFinding> {
    let has = |heading: &str| {
        let titles = text.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_matches(['#', ' ', '\t']));
        titles.into_iter().any(|title| title.eq_ignore_ascii_case(heading.trim_matches(['#', ' '])))
    };
    if let Some(heading) = guidelines.specs.headings.iter().find(|heading| !has(heading)) {
        return Some(fails("no-heading", format!("{shown} has no heading {}; add it", quoted(heading))));
    }
    let tracked = claims.tracked(facts, guidelines);
    let named = tracked.is_claimed() && tracked.is_named(text);
    let help = "name it, such as `Issue: #12`";
    let misses = guidelines.specs.names_issue && !named;
    misses.then(|| fails("no-reference", format!("{shown} does not name the issue; {help}")))
}

//! `undecidable`: parts of a shell command that cannot be determined are asked about, or blocked if the rules are
//! strict. They are never allowed without a record.
//!
//! | what cannot be determined | decision |
//! |---|---|
//! | the text is too long, nests too deep, or is not shell syntax | ask |
//! | a command hides in an expansion, a pattern, a subscript or arithmetic | ask |
//! | the program, or the text to run, is known only at run time (`$X commit`, `eval "$(…)"`) | ask |
//! | a name may mean something else from here on (`alias`, `hash -p`) | ask |
//! | an option of a program that starts others is unknown | ask |
//! | an alias of git leads back to itself, is more than words, or is set by the text | ask |
//! | a script on standard input, or without a name (`curl … \| sh`) | ask |
//! | the text of a program other than a shell calls git by name (`python -c '… git push …'`) | ask |
//! | a subcommand of git that is known only at run time | ask |
//! | a subcommand of git that is neither its own nor an alias | ask on an integration branch, otherwise allow |
//! | an option of git that is unknown or abbreviated | ask |
//! | a word that may be an option, if git commits, pushes or moves branches | ask |

use super::finding::Finding;
use super::interpreters;
use super::judged_call::{CheckedOut, JudgedCall};
use crate::shell::git::{Action, Invocation};
use crate::shell::{Doubt, Why};

pub(super) fn look(judged: &JudgedCall<'_>) -> Vec<Finding> {
    let mut found: Vec<Finding> = judged.reading.doubts.iter().map(|given| doubt(judged, given)).collect();
    found.extend(interpreters::look(judged));
    for (at, _, invocation) in judged.git() {
        found.extend(unclear(judged, at, invocation).map(|finding| finding.at(at)));
    }
    found.into_iter().map(Finding::firm).collect()
}

fn doubt(judged: &JudgedCall<'_>, given: &Doubt) -> Finding {
    let what = &given.what;
    let reason = match given.why {
        Why::TooLong => "the command is too long to be read".to_owned(),
        Why::TooDeep => "the command is nested too deeply to be read".to_owned(),
        Why::Hidden => format!("a command may hide in `{what}`"),
        Why::Unparsed => format!("`{what}` cannot be parsed as a shell command"),
        Why::DynamicCommand => format!("which program `{what}` runs is known only at run time"),
        Why::DynamicText => format!("what `{what}` runs is known only at run time"),
        Why::Redefined => format!("after `{what}`, a name may mean something else"),
        Why::UnknownOption => format!("which program `{what}` starts is unclear"),
        Why::Alias => format!("what the git alias `{what}` means is unclear"),
        Why::Script => format!("`{what}` runs a text that cannot be inspected"),
    };
    Finding::ask(judged, "", reason)
}

fn unclear(judged: &JudgedCall<'_>, at: usize, invocation: &Invocation) -> Option<Finding> {
    match &invocation.action {
        Action::Unknown(name) if name.is_empty() => {
            Some(Finding::ask(judged, "", "the git command is known only at run time"))
        }
        Action::Unknown(name) => Some(unknown(judged, at, invocation, name)),
        Action::Reads | Action::Free | Action::Files { .. } | Action::NewRepository
            if invocation.unclear.iter().all(|what| what == "?") =>
        {
            None
        }
        _ if invocation.unclear.is_empty() => None,
        _ => Some(Finding::ask(
            judged,
            "",
            format!("it is unclear what `{}` means to git", invocation.unclear.join(" ")),
        )),
    }
}

/// Judges an external program of git, such as `git flow`.
fn unknown(judged: &JudgedCall<'_>, at: usize, invocation: &Invocation, name: &str) -> Finding {
    let counts = |on: &CheckedOut| match on {
        CheckedOut::Branch(branch) => judged.integrates(branch),
        CheckedOut::Unknown => true,
        CheckedOut::Unborn(_) | CheckedOut::Detached | CheckedOut::Outside => false,
    };
    if judged.grounds(at, invocation).iter().any(|ground| ground.on.iter().any(counts)) {
        return Finding::ask(judged, "", format!("it is not known what `git {name}` does"));
    }
    Finding::allow("", format!("it is not known what `git {name}` does, but no integration branch is checked out"))
}

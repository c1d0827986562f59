//! A review of a change by a model that did not make it. If the model cannot clear the change, a person is asked.

use std::time::Duration;

use portolan_core::chat::review::{self, ReviewSeverity};
use portolan_core::diagnostic::{clip, is_unseen};
use portolan_core::present::Redaction;
use portolan_gates::Guidelines;
use portolan_gates::acceptance::{CheckFinding, CheckStatus as Holds};

use super::evidence::{EvidenceContext, ForPerson};
use crate::audit::secrets;
use crate::models::{
    self, Model, ModelName, ModelQuestion, ModelSetup, OpenError, ResponseLimits, RetryPolicy, RetryingModel, Variables,
};
use crate::process::Environment;
use crate::repository::{ChangedFile, FileSnapshot, Repository};
use crate::rules;
use crate::trust::{self, Digest, TrustedCommand};

/// The maximum number of attempts on temporary errors.
const ATTEMPTS: u32 = 3;
/// The maximum size of an answer, in bytes.
const MOST_BYTES: usize = 1 << 20;
/// The maximum length of the text that describes the goal, in bytes.
const MOST_WANTED: usize = 16 << 10;
/// The maximum number of findings that a reason names.
const MOST_NAMED: usize = 5;
/// The maximum size of the findings that the next attempt receives, in bytes.
const MOST_TOLD: usize = 8 << 10;

/// What a reviewer receives besides the change.
#[derive(Clone, Debug, Default)]
pub struct ReviewBrief {
    /// The goal, in the words of the user and of the workflow.
    pub text: String,
    /// The values to mask in the goal and in the change.
    pub hidden: Redaction,
}

/// Returns what a person allows: sending the changes of the project to this model.
pub fn commands(guidelines: &Guidelines) -> Vec<TrustedCommand> {
    let command = |model: &String| TrustedCommand {
        flow: String::new(),
        node: "review".to_owned(),
        check: "model".to_owned(),
        argv: vec!["ask".to_owned(), model.clone()],
        timeout_seconds: guidelines.review.timeout_seconds,
    };
    guidelines.review.model.iter().map(command).collect()
}

/// Returns the digest of what a person allows, or `None` if no model is configured.
pub fn digest(guidelines: &Guidelines) -> Option<Digest> {
    let commands = commands(guidelines);
    (!commands.is_empty()).then(|| trust::digest_of(&commands))
}

/// Returns the verdict of the configured model on the changes since a snapshot, and all findings for the next attempt.
pub(super) async fn look(
    then: &FileSnapshot,
    context: &EvidenceContext<'_>,
) -> Result<(CheckFinding, String), ForPerson> {
    let EvidenceContext { repository, before, wanted, guidelines, .. } = *context;
    let (Some(name), Some(digest)) = (&guidelines.review.model, digest(guidelines)) else { return Err(nobody()) };
    let total = Duration::from_secs(guidelines.review.timeout_seconds);
    let model = opened(name, repository, total)?;
    if !repository.typechecks().is_allowed(&digest)? {
        let help = format!("a person must run `portolan trust {}`", rules::FILE);
        return Err(for_person(format!("showing changes to {} has not been allowed yet ({help})", shown(name))));
    }
    let changes = repository.changes_from_project(then).await?;
    if changes.cut {
        return Err(for_person("there are more changes than a model is shown"));
    }
    let files: Vec<ChangedFile> = changes.files.into_iter().filter(|file| before.is_work(&file.path)).collect();
    if files.is_empty() {
        return Err(for_person("there are no changes that a model could review"));
    }
    if let Some((file, note)) = files.iter().find_map(|file| Some((file, file.note?))) {
        return Err(for_person(format!("a model cannot be shown all changes ({}: {note})", plain(&file.path))));
    }
    let environment = Environment::of(repository.surroundings().iter().cloned());
    let masked = |text: &str| wanted.hidden.text(&environment.redact(secrets::masked(text)));
    let wanted_text = masked(&wanted.text);
    let wanted_text = &wanted_text[..wanted_text.floor_char_boundary(MOST_WANTED)];
    let request = review::request(name, wanted_text, &masked(&format_change(&files)));
    let question = ModelQuestion { request: &request, tools: &[], asker: Some("reviewer") };
    let answer = model
        .ask(question, None)
        .await
        .map_err(|why| for_person(format!("{} did not answer ({})", shown(name), clip(&why.message))))?;
    let findings = review::read(&answer)
        .map_err(|why| for_person(format!("the answer of {} is not usable: {}", shown(name), clip(&why))))?;
    Ok(weighed(name, files.len(), &findings, masked))
}

/// Returns the reason for asking a person.
fn for_person(why: impl Into<String>) -> ForPerson {
    ForPerson(format!("{}; a person must say whether someone other than the author has reviewed it", why.into()))
}

/// Returns the reason for asking a person if no model is configured.
pub(super) fn nobody() -> ForPerson {
    ForPerson("a person must say whether someone other than the author has reviewed it".to_owned())
}

/// Checks whether changes may be sent to a model of this name.
///
/// # Errors
/// It is no name of a model, its provider is unknown, or it is a scripted one, which does not read the change.
pub fn may_look(name: &str) -> Result<(), OpenError> {
    match ModelName::parse(name)? {
        ModelName::Scripted(_) => Err(OpenError::new(
            "bad-model-name",
            format!("{} returns scripted answers and does not check anything", shown(name)),
            "name a model that can review a change, such as `anthropic:claude-sonnet-4-5`",
        )),
        _ => Ok(()),
    }
}

fn opened(name: &str, repository: &Repository, total: Duration) -> Result<RetryingModel, ForPerson> {
    let refused = |error: OpenError| for_person(format!("{} ({})", error.message, error.help));
    may_look(name).map_err(refused)?;
    let limits = ResponseLimits { whole: total, max_bytes: MOST_BYTES, ..ResponseLimits::default() };
    let setup = ModelSetup { variables: variables(repository), limits, ..ModelSetup::of(repository.project()) };
    let model = models::open(name, &setup).map_err(refused)?;
    Ok(RetryingModel::new(model, RetryPolicy { attempts: ATTEMPTS, attempt: total, total, ..RetryPolicy::default() }))
}

/// Looks up the model's key in the environment of the repository.
fn variables(repository: &Repository) -> Variables {
    let all = repository.surroundings().to_vec();
    Variables::new(move |wanted| {
        let found = all.iter().rev().find(|(name, _)| name.to_str() == Some(wanted));
        found.and_then(|(_, value)| value.to_str().map(str::to_owned))
    })
}

/// Formats the change for a reviewer.
fn format_change(files: &[ChangedFile]) -> String {
    let section = |file: &ChangedFile| {
        let diff = file.diff.as_deref().unwrap_or_default();
        format!("=== {} ({})\n{diff}\n", file.path, file.how)
    };
    files.iter().map(section).collect()
}

/// Turns the findings into a verdict. The model's text goes to the agent and into the log, so it is masked as the
/// change was.
fn weighed(
    name: &str,
    files: usize,
    findings: &[review::ReviewFinding],
    masked: impl Fn(&str) -> String,
) -> (CheckFinding, String) {
    let line = |finding: &review::ReviewFinding| {
        let place = match finding.line {
            Some(line) => format!("{}:{line}", plain(&masked(&finding.file))),
            None => plain(&masked(&finding.file)),
        };
        format!("{} {place}: {}", finding.severity.word(), on_one_line(&masked(&finding.what)))
    };
    let lines: Vec<String> = findings.iter().map(line).collect();
    let named = |lines: &[String]| {
        let clipped: Vec<String> = lines.iter().take(MOST_NAMED).map(|line| clip(line)).collect();
        match lines.len().saturating_sub(MOST_NAMED) {
            0 => clipped.join("; "),
            more => format!("{}; and {more} more", clipped.join("; ")),
        }
    };
    let blocking = findings.iter().filter(|finding| finding.severity == ReviewSeverity::Blocking).count();
    let what = match files {
        1 => "one changed file".to_owned(),
        many => format!("{many} changed files"),
    };
    let looked = format!("{} looked at {what}", shown(name));
    if blocking == 0 {
        let rest = if lines.is_empty() { String::new() } else { format!("; {}", named(&lines)) };
        let reason = format!("{looked} and found nothing blocking{rest}");
        return (CheckFinding::of(Holds::Holds, "reviewed", reason), String::new());
    }
    let mut output = lines.join("\n");
    output.truncate(output.floor_char_boundary(MOST_TOLD));
    let reason = format!("{looked} and found blocking problems: {}; fix them", named(&lines[..blocking]));
    (CheckFinding::of(Holds::Fails, "blocking-findings", reason), output)
}

fn shown(name: &str) -> String {
    plain(&clip(name))
}

/// Quotes an external word. It cannot end its backticks.
fn plain(text: &str) -> String {
    format!("`{}`", on_one_line(&clip(text)).replace('`', "'"))
}

fn on_one_line(text: &str) -> String {
    text.trim().chars().map(|c| if is_unseen(c) { ' ' } else { c }).collect()
}

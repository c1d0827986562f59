//! Issues and pull requests, queried from GitHub with `gh` or read from files of the project.

use std::path::PathBuf;
use std::time::Duration;

use portolan_core::diagnostic::{clip, is_unseen};
use portolan_gates::Guidelines;
use portolan_gates::acceptance::is_below;
use portolan_gates::facts::{
    Answer, Claims, FactError, ForeignRepository, ForgeRequest, Issue, Needs, PullRequest, PushStatus, RequestState,
};
use portolan_gates::guidelines::{Forge, IssueProvider};
use portolan_gates::references::{Target, references};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::home::Home;
use super::readiness::{self, CheckAnswer};
use super::{Repository, files};
use crate::program::{Output, Question, ask, own, unknown};

const TIMEOUT: Duration = Duration::from_secs(20);
const MOST_BYTES: usize = 1024 * 1024;
/// How many times the forge is queried again while it has not determined whether a pull request conflicts. It computes
/// this on demand, and usually has it a moment later.
const ASKED_AGAIN: usize = 3;
/// The fields queried of a pull request, and the additional ones if it must be ready to be merged.
const FIELDS: &str = "number,state,isDraft,headRefName,headRefOid,baseRefName,isCrossRepository,url";
const READINESS: &str = "mergeable,statusCheckRollup";

/// A pull request. One on a forge comes with its head commit.
pub(super) enum PullRequestRef {
    Forge(ForgeRequest, String),
    Record(PullRequest),
}

#[derive(Deserialize)]
struct IssueAnswer {
    number: u64,
    state: String,
    title: String,
    url: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RequestAnswer {
    number: u64,
    state: String,
    is_draft: bool,
    head_ref_name: String,
    head_ref_oid: String,
    base_ref_name: String,
    is_cross_repository: bool,
    url: String,
    /// Absent if it was not queried.
    mergeable: Option<String>,
    /// Absent if it was not queried; `null` if there are no checks.
    #[serde(default, deserialize_with = "readiness::present")]
    status_check_rollup: Option<Option<Vec<CheckAnswer>>>,
}

pub(super) async fn issue(of: &Repository, claims: &Claims, guidelines: &Guidelines, needs: Needs) -> Answer<Issue> {
    let Some(number) = claims.issue.filter(|number| needs.issue && *number > 0) else { return Answer::NotAsked };
    match &guidelines.issues.provider {
        IssueProvider::Pattern { .. } | IssueProvider::Offline => Answer::NotAsked,
        IssueProvider::Files { folder } => issue_file(of, folder, number),
        IssueProvider::GitHub => {
            let arguments = ["issue", "view", &number.to_string(), "--json", "number,state,title,url"];
            let home = match Home::of(&of.project) {
                Ok(home) => home,
                Err(unknown) => return Answer::Unknown(unknown),
            };
            match answered::<IssueAnswer>(gh(of, &home, &arguments).await) {
                Answer::Found(found) => match home.other(&found.url) {
                    Ok(elsewhere) => Answer::Found(forge_issue(found, elsewhere)),
                    Err(unknown) => Answer::Unknown(unknown),
                },
                Answer::NotAsked | Answer::Missing => Answer::Missing,
                Answer::Unknown(unknown) => Answer::Unknown(unknown),
            }
        }
    }
}

pub(super) async fn request(
    of: &Repository,
    claims: &Claims,
    guidelines: &Guidelines,
    needs: Needs,
) -> Answer<PullRequestRef> {
    let Some(number) = claims.pull_request.filter(|number| needs.pull_request && *number > 0) else {
        return Answer::NotAsked;
    };
    match &guidelines.pull_requests.forge {
        Forge::Files { folder } => record(of, folder, number),
        Forge::GitHub => {
            let home = match Home::of(&of.project) {
                Ok(home) => home,
                Err(unknown) => return Answer::Unknown(unknown),
            };
            match decided(of, &home, number, needs).await {
                Answer::Found(found) => match home.other(&found.url) {
                    Ok(elsewhere) => forge_request(found, elsewhere, needs),
                    Err(unknown) => Answer::Unknown(unknown),
                },
                Answer::NotAsked | Answer::Missing => Answer::Missing,
                Answer::Unknown(unknown) => Answer::Unknown(unknown),
            }
        }
    }
}

/// Returns the forge's answer for a pull request, once it has determined the conflicts or after the last retry.
async fn decided(of: &Repository, home: &Home, number: u64, needs: Needs) -> Answer<RequestAnswer> {
    let fields = if needs.readiness { format!("{FIELDS},{READINESS}") } else { FIELDS.to_owned() };
    let (number, mut retries) = (number.to_string(), 0);
    loop {
        let answer = answered::<RequestAnswer>(gh(of, home, &["pr", "view", &number, "--json", &fields]).await);
        let undecided = |found: &RequestAnswer| {
            needs.readiness && found.state == "OPEN" && found.mergeable.as_deref() == Some("UNKNOWN")
        };
        match answer {
            Answer::Found(found) if undecided(&found) && retries < ASKED_AGAIN => retries += 1,
            answer => return answer,
        }
        tokio::time::sleep(of.pause).await;
    }
}

/// Returns the number of a branch's latest pull request.
pub(super) async fn request_of(of: &Repository, branch: &str) -> Answer<u64> {
    #[derive(Deserialize)]
    struct Numbered {
        number: u64,
    }
    if branch.starts_with('-') {
        return Answer::Missing;
    }
    let home = match Home::of(&of.project) {
        Ok(home) => home,
        Err(unknown) => return Answer::Unknown(unknown),
    };
    let arguments = ["pr", "list", "--head", branch, "--state", "all", "--limit", "1", "--json", "number"];
    match answered::<Vec<Numbered>>(gh(of, &home, &arguments).await) {
        Answer::Found(found) => found.first().map_or(Answer::Missing, |found| Answer::Found(found.number)),
        Answer::NotAsked | Answer::Missing => Answer::Missing,
        Answer::Unknown(unknown) => Answer::Unknown(unknown),
    }
}

fn forge_issue(found: IssueAnswer, elsewhere: Option<ForeignRepository>) -> Issue {
    Issue {
        number: found.number,
        open: found.state == "OPEN",
        is_issue: is_issue(&found.url, found.number),
        title: found.title,
        url: found.url,
        elsewhere,
    }
}

fn forge_request(found: RequestAnswer, elsewhere: Option<ForeignRepository>, needs: Needs) -> Answer<PullRequestRef> {
    let state = match found.state.as_str() {
        "OPEN" => RequestState::Open,
        "MERGED" => RequestState::Merged,
        "CLOSED" => RequestState::Closed,
        _ => {
            return Answer::Unknown(unknown("gh-answer", "`gh` returned an unknown state; update `gh`"));
        }
    };
    let readiness = match needs.readiness.then(|| readiness::readiness(found.mergeable, found.status_check_rollup)) {
        Some(Err(unknown)) => return Answer::Unknown(unknown),
        Some(Ok(readiness)) => Some(readiness),
        None => None,
    };
    let request = ForgeRequest {
        number: found.number,
        state,
        draft: found.is_draft,
        head: found.head_ref_name,
        from_fork: found.is_cross_repository,
        base: found.base_ref_name,
        url: found.url,
        pushed: PushStatus::Unknown,
        readiness,
        elsewhere,
    };
    Answer::Found(PullRequestRef::Forge(request, found.head_ref_oid))
}

async fn gh(of: &Repository, home: &Home, arguments: &[&str]) -> Result<Output, FactError> {
    let named = home.named();
    let arguments: Vec<&str> = arguments.iter().copied().chain(named.iter().map(String::as_str)).collect();
    let environment = own(&of.environment);
    let (folder, timeout) = (of.project.as_path(), TIMEOUT);
    ask(Question {
        program: "gh",
        arguments: &arguments,
        folder,
        environment: &environment,
        input: &[],
        timeout,
        most_bytes: MOST_BYTES,
    })
    .await
}

/// Parses the output of `gh`. Exit status 1 is any error, 2 a cancellation, 4 a missing login.
fn answered<T: DeserializeOwned>(output: Result<Output, FactError>) -> Answer<T> {
    let output = match output {
        Ok(output) => output,
        Err(unknown) => return Answer::Unknown(unknown),
    };
    let gone = ["to an issue", "to a PullRequest", "no pull requests found"];
    match output.code {
        Some(0) => serde_json::from_str(&output.stdout).map_or_else(
            |error| {
                let why = format!("the answer of `gh` cannot be read ({}); update `gh`", faulty(&error));
                Answer::Unknown(unknown("gh-answer", why))
            },
            Answer::Found,
        ),
        Some(1) if gone.iter().any(|text| output.stderr.contains(text)) => Answer::Missing,
        Some(2) => Answer::Unknown(unknown("gh-cancelled", "`gh` was cancelled; try again")),
        Some(4) => Answer::Unknown(unknown("gh-auth", "`gh` is not logged in; run `gh auth login`")),
        _ => Answer::Unknown(unknown("gh-failed", format!("`gh` failed: {}", output.complaint()))),
    }
}

/// Returns the error without its position, because the user never sees the lines of the answer. A missing field is
/// named.
pub(crate) fn faulty(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let what = clip(message.split(" at line ").next().unwrap_or(&message));
    what.chars().map(|c| if is_unseen(c) { ' ' } else { c }).collect()
}

/// Checks whether an address is that of the issue: `gh` answers for pull requests as well.
fn is_issue(url: &str, wanted: u64) -> bool {
    let is = |target: &Target| matches!(target, Target::Issue { number, .. } if *number == wanted);
    references(url).iter().any(|reference| is(&reference.target))
}

fn issue_file(of: &Repository, folder: &str, number: u64) -> Answer<Issue> {
    let names = ["md", "yaml", "yml"].map(|extension| format!("{}/{number}.{extension}", folder.trim_end_matches('/')));
    let Some((path, text)) = names.into_iter().find_map(|name| read(of, &name).map(|text| (name, text))) else {
        return Answer::Missing;
    };
    let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim);
    let state = field("state").or_else(|| field("status")).unwrap_or("open").trim_matches(['"', '\'']);
    let open = !["closed", "done", "completed"].iter().any(|closed| state.eq_ignore_ascii_case(closed));
    let heading = || text.lines().find_map(|line| line.strip_prefix("# "));
    let title = field("title").or_else(heading).unwrap_or("without a title").trim().to_owned();
    Answer::Found(Issue { number, open, title, url: path, is_issue: true, elsewhere: None })
}

fn record(of: &Repository, folder: &str, number: u64) -> Answer<PullRequestRef> {
    let path = format!("{}/{number}.md", folder.trim_end_matches('/'));
    match read(of, &path) {
        None => Answer::Missing,
        Some(text) => {
            Answer::Found(PullRequestRef::Record(PullRequest::Record { path, blank: text.trim().is_empty() }))
        }
    }
}

/// Returns the text of a file of the project.
fn read(of: &Repository, path: &str) -> Option<String> {
    let project: PathBuf = of.project.canonicalize().ok()?;
    is_below(path).then(|| files::text(&project.join(path), &project)).flatten()
}

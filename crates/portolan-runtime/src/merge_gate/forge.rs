//! The reviews of a pull request, queried with `gh`.

use std::time::Duration;

use portolan_core::diagnostic::{clip, list};
use portolan_gates::merge::PersonReview;
use serde::Deserialize;

use crate::error::ServiceError;
use crate::program::{Question, ask_raw};
use crate::repository::Repository;
use crate::repository::forge::faulty;
use crate::repository::home::Home;

/// The maximum size of an answer of `gh`, in bytes.
const MAX_ANSWER: usize = 16 << 20;
/// The timeout of `gh`.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The help if `gh` does not answer.
const INSTALL: &str = "install `gh` and log in with `gh auth login`";
/// The help if its answer is incomplete.
const UPDATE: &str = "update `gh`";

/// A pull request.
#[derive(Debug)]
pub(super) struct Request {
    /// The title and the body.
    pub(super) text: String,
    pub(super) author: String,
    pub(super) reviews: Vec<PersonReview>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ForgeAnswer {
    number: u64,
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: String,
    author: Option<Person>,
    #[serde(default)]
    url: String,
    head_ref_oid: String,
    #[serde(default)]
    reviews: Vec<ToldReview>,
}

#[derive(Deserialize)]
struct Person {
    login: String,
}

#[derive(Deserialize)]
struct ToldReview {
    author: Option<Person>,
    state: String,
    commit: Option<Commit>,
}

#[derive(Deserialize)]
struct Commit {
    oid: String,
}

/// Queries a pull request, whose head must be this commit.
pub(super) async fn request(of: &Repository, number: u64, head: &str) -> Result<Request, ServiceError> {
    let unverified = |why: String, help: &str| {
        let message = format!("what people said about the pull request {number} cannot be verified: {why}");
        ServiceError::refused("forge_unreachable", message, format!("{help}, or leave `--pr` out"))
    };
    let home = Home::of(of.project()).map_err(|unknown| unverified(unknown.why, "mend that"))?;
    let (text, named) = (number.to_string(), home.named());
    let mut arguments = vec!["pr", "view", &text, "--json", "number,title,body,author,headRefOid,reviews,url"];
    arguments.extend(named.iter().map(String::as_str));
    let question = Question {
        program: "gh",
        arguments: &arguments,
        folder: of.project(),
        environment: &of.environment(),
        input: &[],
        timeout: TIMEOUT,
        most_bytes: MAX_ANSWER,
    };
    let answer = ask_raw(question).await.map_err(|unknown| match unknown.code {
        "program-missing" => unverified(unknown.why, INSTALL),
        _ => unverified(unknown.why, "mend that"),
    })?;
    if answer.code != Some(0) {
        return Err(unverified(format!("`gh` failed: {}", clip(&answer.complaint())), INSTALL));
    }
    let unread = |why: String| unverified(format!("the answer of `gh` cannot be read ({why})"), UPDATE);
    let pull_request: ForgeAnswer = serde_json::from_slice(&answer.stdout).map_err(|error| match error.is_data() {
        true => unread(faulty(&error)),
        false => unverified(format!("`gh` did not answer with JSON: {error}"), INSTALL),
    })?;
    let Some(author) = pull_request.author else { return Err(unread("missing field `author`".to_owned())) };
    if let Some(elsewhere) = home.other(&pull_request.url).map_err(|unknown| unverified(unknown.why, UPDATE))? {
        let own = elsewhere.own.iter().map(String::as_str).collect::<Vec<_>>();
        let message =
            format!("the pull request {number} belongs to `{}`, but this project is {}", elsewhere.found, list(&own));
        return Err(ServiceError::refused("other_repository", message, "open one there"));
    }
    if pull_request.number != number || pull_request.head_ref_oid != head {
        return Err(ServiceError::refused(
            "other_head",
            format!(
                "the head of the pull request {number} is the commit {}, not {head}",
                clip(&pull_request.head_ref_oid)
            ),
            "push first, or name its commit with `--head`",
        ));
    }
    Ok(Request {
        text: format!("{}\n\n{}", pull_request.title, pull_request.body),
        author: author.login,
        reviews: pull_request.reviews.into_iter().filter_map(review).collect(),
    })
}

/// Returns a review that approves or requests changes. A mere comment does neither.
fn review(submitted: ToldReview) -> Option<PersonReview> {
    let approves = match submitted.state.as_str() {
        "APPROVED" => true,
        "CHANGES_REQUESTED" => false,
        _ => return None,
    };
    Some(PersonReview {
        by: submitted.author?.login,
        approves,
        commit: submitted.commit.map(|commit| commit.oid).unwrap_or_default(),
    })
}

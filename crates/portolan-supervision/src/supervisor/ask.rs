//! Questions to people, and their answers.

use data_encoding::HEXLOWER;
use portolan_core::diagnostic::{clip, list};
use portolan_core::run::{Actor, Channel};
use portolan_core::value::Timestamp;
use portolan_gates::supervisor::{Question, SupervisorState, answer};
use portolan_runtime::audit::{Kind, LogEntry};
use portolan_runtime::digest::Digest;
use portolan_runtime::error::ServiceError;
use portolan_runtime::service::Caller;
use serde_json::{Value, json};

use super::Supervisor;

/// The maximum length of a question and of an answer, in bytes. Longer ones are refused, because the log is not cut.
const MAX_BODY_BYTES: usize = 4_000;
/// The maximum number of choices, and the maximum length of a choice in bytes.
const MAX_CHOICES: usize = 30;
const MAX_CHOICE_BYTES: usize = 200;
/// The maximum number of open questions.
const MAX_OPEN: usize = 500;

/// A question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ask {
    /// The task that waits for the answer, if any.
    pub task: Option<String>,
    /// Where it is asked: the name of a notifier, or any word.
    pub channel: String,
    /// The text of the question.
    pub body: String,
    /// The accepted answers. If empty, any text is accepted.
    pub choices: Vec<String>,
    /// The answer that counts after the deadline. It must be one of the choices, if there are any.
    pub default: Option<String>,
    /// The deadline for an answer.
    pub deadline: Option<Timestamp>,
}

/// The result of a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplyResult {
    /// The answer: the choice or the text.
    pub answer: String,
    /// Whether the question already had this answer.
    pub again: bool,
}

impl Supervisor<'_> {
    /// Asks a question and returns at once with the token that a reply must quote. The task waits; the queue does not.
    ///
    /// # Errors
    /// The question is malformed, or it cannot be recorded.
    pub async fn ask(&self, ask: &Ask) -> Result<String, ServiceError> {
        let default = well_formed(ask)?;
        let token = token()?;
        let data = json!({
            "replyToken": token,
            "channel": ask.channel,
            "body": ask.body.trim(),
            "choices": ask.choices,
            "default": default,
            "deadlineMs": ask.deadline.map(|deadline| deadline.0),
        });
        let entry = LogEntry { task: ask.task.clone(), ..LogEntry::of(Kind::QuestionSent, data) };
        self.log
            .change(|board, _| {
                if board.open().count() >= MAX_OPEN {
                    let message = format!("{MAX_OPEN} questions are already open");
                    return Err(ServiceError::refused("too_many", message, "answer some: `portolan supervisor list`"));
                }
                Ok((vec![entry], token.clone()))
            })
            .await
    }

    /// Answers a question. Repeating the same answer changes nothing.
    ///
    /// # Errors
    /// The token is unknown, the answer is none of the choices (the question stays open), or there is another answer
    /// already.
    pub async fn reply(&self, token: &str, body: &str, caller: &Caller) -> Result<ReplyResult, ServiceError> {
        if body.len() > MAX_BODY_BYTES {
            let message = format!("the answer has more than {MAX_BODY_BYTES} bytes");
            return Err(ServiceError::refused("too_large", message, "shorten it"));
        }
        let (by, via) = match &caller.by {
            Actor::Agent(name) => (name.as_str(), None),
            Actor::Person { name, via } => (name.as_str(), Some(*via)),
            Actor::Engine => ("portolan", None),
        };
        self.log
            .change(|board, now| {
                let Some(question) = board.questions.get(token) else { return Err(unknown()) };
                let Some(parsed) = answer(body, &question.choices) else {
                    let data = json!({ "replyToken": token, "raw": body });
                    let entry = LogEntry { task: question.task.clone(), ..LogEntry::of(Kind::ReplyUnparseable, data) };
                    return Ok((vec![entry], Err(unparseable(question))));
                };
                let (parsed, digest) = (parsed.clone(), Digest::of(&parsed).to_string());
                if let Some(known) = &question.answer {
                    let is_same = known.digest.as_ref().map_or(known.body == parsed, |known| *known == digest);
                    let replied =
                        if is_same { Ok(ReplyResult { answer: parsed, again: true }) } else { Err(answered()) };
                    return Ok((Vec::new(), replied));
                }
                // After the deadline the default counts, because the waiting task has continued with it.
                if let (Some(deadline), Some(default)) = (question.deadline, &question.default)
                    && deadline <= now
                    && *default != parsed
                {
                    return Ok((vec![received(question, default, "timeout", None)], Err(answered())));
                }
                let entry = received(question, &parsed, by, via);
                Ok((vec![entry], Ok(ReplyResult { answer: parsed, again: false })))
            })
            .await?
    }

    /// Answers overdue questions with their defaults. Returns those without a default: they stay open and need a
    /// reminder. Each is returned once.
    ///
    /// # Errors
    /// The log cannot be read or written.
    pub async fn settle_deadlines(&self) -> Result<Vec<Question>, ServiceError> {
        if late(&self.log.board().await?, self.log.now()).next().is_none() {
            return Ok(Vec::new());
        }
        self.log
            .change(|board, now| {
                let mut entries = Vec::new();
                let mut overdue = Vec::new();
                for question in late(board, now) {
                    match &question.default {
                        Some(default) => entries.push(received(question, default, "timeout", None)),
                        None => {
                            let data = json!({ "replyToken": question.token });
                            let of = LogEntry::of(Kind::QuestionOverdue, data);
                            entries.push(LogEntry { task: question.task.clone(), ..of });
                            overdue.push(question.clone());
                        }
                    }
                }
                Ok((entries, overdue))
            })
            .await
    }
}

/// Returns the overdue questions that have not been handled.
fn late(board: &SupervisorState, now: Timestamp) -> impl Iterator<Item = &Question> {
    board.open().filter(move |question| {
        let is_late = question.deadline.is_some_and(|deadline| deadline <= now);
        is_late && (question.default.is_some() || !question.reminded)
    })
}

fn received(question: &Question, body: &str, by: &str, via: Option<Channel>) -> LogEntry {
    let mut data: Value = json!({
        "replyToken": question.token,
        "body": body,
        "by": by,
        "digest": Digest::of(body).to_string(),
    });
    if let Some(via) = via {
        data["via"] = json!(via);
    }
    LogEntry { task: question.task.clone(), ..LogEntry::of(Kind::ReplyReceived, data) }
}

/// Refuses a malformed question. Returns the default as one of the choices.
fn well_formed(ask: &Ask) -> Result<Option<String>, ServiceError> {
    let bad = |message: String, help: &str| Err(ServiceError::refused("bad_question", message, help));
    if ask.body.trim().is_empty() || ask.body.len() > MAX_BODY_BYTES {
        return bad(format!("the question must have 1 to {MAX_BODY_BYTES} bytes"), "ask in a sentence or two");
    }
    let is_choice = |choice: &String| !choice.trim().is_empty() && choice.len() <= MAX_CHOICE_BYTES;
    if ask.choices.len() > MAX_CHOICES || !ask.choices.iter().all(is_choice) {
        let message = format!("a question has at most {MAX_CHOICES} choices, each of 1 to {MAX_CHOICE_BYTES} bytes");
        return bad(message, "offer fewer or shorter ones");
    }
    let Some(default) = &ask.default else { return Ok(None) };
    let found = answer(default, &ask.choices);
    if found.is_none() {
        let choices: Vec<&str> = ask.choices.iter().map(String::as_str).collect();
        let message = format!("the default `{}` is not one of the choices", clip(default));
        return bad(message, &format!("use one of {}", list(&choices)));
    }
    Ok(found)
}

fn token() -> Result<String, ServiceError> {
    let mut bytes = [0_u8; 6];
    getrandom::fill(&mut bytes).map_err(|_| {
        ServiceError::failed("no_chance", "the system provides no random numbers", "try again on a machine that does")
    })?;
    Ok(format!("q{}", HEXLOWER.encode(&bytes)))
}

fn unknown() -> ServiceError {
    let help = "`portolan supervisor list` shows the questions that are open";
    ServiceError::refused("unknown_token", "no question with this token was asked", help)
}

fn answered() -> ServiceError {
    let help = "ask a new question if the answer must be different";
    ServiceError::refused("answered", "the question was already answered differently", help)
}

fn unparseable(question: &Question) -> ServiceError {
    let choices: Vec<&str> = question.choices.iter().map(String::as_str).collect();
    let (message, help) = match choices.is_empty() {
        true => ("the answer is empty", "write a text".to_owned()),
        false => (
            "the answer is not one of the choices; the question stays open",
            format!("answer with one of {}", list(&choices)),
        ),
    };
    ServiceError { accepted: question.choices.clone(), ..ServiceError::refused("unparseable", message, help) }
}

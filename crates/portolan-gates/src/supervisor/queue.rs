//! The state of questions and tasks.

use serde::{Deserialize, Serialize};

use portolan_core::value::Timestamp;

/// A question to a person. It blocks only its own task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// The token that a reply quotes.
    pub token: String,
    /// The task that waits for it.
    pub task: Option<String>,
    /// The channel where it was asked.
    pub channel: String,
    /// The text of the question.
    pub body: String,
    /// The choices; if there are none, any text is an answer.
    pub choices: Vec<String>,
    /// The answer that is assumed after the deadline.
    pub default: Option<String>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// The deadline for an answer.
    pub deadline: Option<Timestamp>,
    /// Whether a missed deadline was reported.
    pub reminded: bool,
    /// The answer, if any.
    pub answer: Option<QuestionAnswer>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAnswer {
    /// The choice, or the text.
    pub body: String,
    /// The digest of the answer. The stored text may be cut, and secrets in it are masked.
    pub digest: Option<String>,
    /// The author; `timeout` if the default is assumed.
    pub by: String,
    /// The time of the answer.
    pub at: Timestamp,
}

/// A task of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its name.
    pub task: String,
    /// The goal.
    pub goal: String,
    /// The workflow of its phases, if one was named.
    pub workflow: Option<String>,
    /// The phase that it begins at, if one was named.
    pub begin: Option<String>,
    /// Its progress.
    pub progress: Progress,
    /// Its run, once it has begun.
    pub run: Option<String>,
    /// The number of agent sessions that have worked on it. An answer other than a timeout resets it.
    pub sessions: u32,
    /// The number of sessions that have worked on the present phase. An answer resets it.
    pub attempts: u32,
    /// The time when it began, last changed its phase, or got an answer.
    pub moved_at: Option<Timestamp>,
}

/// The progress of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// It has not begun.
    Queued,
    /// It is the project's current task.
    Active,
    /// It has begun and was set aside.
    Parked,
    /// It is completed.
    Done,
    /// It was scoped down or escalated.
    Failed,
}

impl Progress {
    /// Checks whether the task is still open.
    pub fn is_open(self) -> bool {
        matches!(self, Progress::Queued | Progress::Active | Progress::Parked)
    }
}

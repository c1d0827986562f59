//! Questions and tasks, as they stand.

use serde::{Deserialize, Serialize};

use portolan_core::value::Timestamp;

/// A question to a person. It holds up its task, and no other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    /// What a reply quotes.
    pub token: String,
    /// The task that waits for it.
    pub task: Option<String>,
    /// Where it was asked.
    pub channel: String,
    /// What is asked.
    pub body: String,
    /// What may be answered; none means any text.
    pub choices: Vec<String>,
    /// What counts as answered when the deadline has passed.
    pub default: Option<String>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// Until when an answer is waited for.
    pub deadline: Option<Timestamp>,
    /// Whether somebody was told that the deadline has passed.
    pub reminded: bool,
    /// What was answered.
    pub answer: Option<QuestionAnswer>,
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuestionAnswer {
    /// The choice, or the text.
    pub body: String,
    /// The digest of it: what is kept of a text may be cut, and secrets in it are masked.
    pub digest: Option<String>,
    /// Who answered; `timeout` when the default counts.
    pub by: String,
    /// When.
    pub at: Timestamp,
}

/// A task of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    /// Its name.
    pub task: String,
    /// What is to be achieved.
    pub goal: String,
    /// The workflow of its phases, where one was named.
    pub workflow: Option<String>,
    /// The phase that it begins at, where one was named.
    pub begin: Option<String>,
    /// How far it is.
    pub progress: Progress,
    /// Its run, from its beginning on.
    pub run: Option<String>,
    /// How many sessions of agents have worked on it.
    pub sessions: u32,
    /// How many sessions have worked on the present phase.
    pub attempts: u32,
    /// When it was last moved to another phase, or begun.
    pub moved_at: Option<Timestamp>,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Progress {
    /// It has not begun.
    Queued,
    /// It is the project's task.
    Active,
    /// It has begun, and was set aside.
    Parked,
    /// It is done.
    Done,
    /// It was called off.
    Failed,
}

impl Progress {
    /// Whether anything of it is left to do.
    pub fn is_open(self) -> bool {
        matches!(self, Progress::Queued | Progress::Active | Progress::Parked)
    }
}

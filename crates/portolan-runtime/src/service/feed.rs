//! Reports the events of a project's runs as they happen, in this process or another.
//!
//! Events are read from the journals, so nothing is lost between two reads. A reader that was cut off names the time of
//! the last event that it received, and receives all later ones. Events shortly before that time are repeated, because
//! clocks of several machines differ. The run and the record's number identify an event.

use std::collections::BTreeMap;
use std::time::Duration;

use portolan_core::present::{Redaction, Trail, history};
use portolan_core::run::Actor;
use portolan_core::value::Timestamp;
use tokio::time::sleep;

use super::Service;
use super::records::{RunLine, line_of};
use crate::carrier::Address;
use crate::disk::Stamp;
use crate::error::ServiceError;
use crate::logging;
use crate::store::{ListFilter, Record, store_error};

/// A reader's position in the events.
pub struct Feed {
    /// Earlier events are not reported.
    since: Timestamp,
    only: Option<Address>,
    version: Option<u64>,
    mark: Option<u64>,
    journal: Option<Stamp>,
    followed: BTreeMap<String, FollowedRun>,
}

/// A run with reported events.
struct FollowedRun {
    seq: u64,
    trail: Trail,
    hidden: Redaction,
}

/// An event of a run.
#[derive(Clone, Debug)]
pub struct RunEvent {
    /// The run as it is now.
    pub line: RunLine,
    /// The number of the record.
    pub seq: u64,
    /// The time of the event.
    pub at: Timestamp,
    /// The actor.
    pub by: Actor,
    /// The kind of the event, as one word.
    pub kind: &'static str,
    /// The event as one sentence, without anything hidden.
    pub text: String,
    /// The nodes of the drawing that the event concerns.
    pub nodes: Vec<String>,
}

/// The maximum difference between clocks, in milliseconds.
const SLACK: i64 = 60_000;
/// The number of runs read at first: those that moved last. If all of them moved, more are read.
const FIRST: usize = 128;
/// How often to look whether a task file has moved.
const LOOK: Duration = Duration::from_millis(50);
/// The time for which events are collected before they are read.
const LEAST: Duration = Duration::from_millis(5);
/// The number of records of a run that are read at once.
const PAGE: usize = 1_000;

impl Feed {
    /// Returns a feed of the future events of all runs, or of one.
    pub fn from_now(now: Timestamp, only: Option<Address>) -> Feed {
        Feed { since: now, only, version: None, mark: None, journal: None, followed: BTreeMap::new() }
    }

    /// Returns a feed of the events since `last`, the time of the last event received.
    pub fn since(last: Timestamp, only: Option<Address>) -> Feed {
        Feed { since: Timestamp(last.0.saturating_sub(SLACK)), ..Feed::from_now(last, only) }
    }

    /// Checks whether a run whose last record has this number and time may have new events.
    fn is_new(&self, run: &str, seq: u64, at: Timestamp) -> bool {
        match self.followed.get(run) {
            Some(followed) => followed.seq < seq,
            None => at >= self.since,
        }
    }
}

impl Service {
    /// Completes when there may be events since the last call of [`Service::news`].
    pub async fn some_news(&self, feed: &mut Feed) {
        // Events in quick succession are read together.
        sleep(LEAST).await;
        let (changed, path, known_stamp) =
            (self.store().changed(&mut feed.mark), self.task_journal().path(), feed.journal.clone());
        let journal = async {
            while Stamp::of(path) == known_stamp {
                sleep(LOOK).await;
            }
        };
        tokio::select! {
            // A store that cannot be read may be readable later.
            changed = changed => if changed.is_err() {
                sleep(LOOK).await;
            },
            () = journal => {}
        }
    }

    /// Returns the events since the last call, run by run, each in order.
    ///
    /// # Errors
    /// The store or the journal of task files cannot be read.
    pub async fn news(&self, feed: &mut Feed) -> Result<Vec<RunEvent>, ServiceError> {
        let version = self.store().version().await.map_err(store_error)?;
        let journal = Stamp::of(self.task_journal().path());
        let (stored, tasks) = (version.is_none() || version != feed.version, journal != feed.journal);
        let mut news = Vec::new();
        if stored {
            for line in self.moved(feed).await? {
                news.extend(self.followed(feed, line).await);
            }
            feed.version = version;
        }
        if tasks {
            for (task, last) in self.task_journal().tasks()? {
                // Tasks that have not moved are skipped: each read reads the journal.
                let line =
                    if feed.is_new(&task, last.seq, last.event.at) { self.task_line(&task, &last).await } else { None };
                if let Some(line) = line {
                    news.extend(self.followed(feed, line).await);
                }
            }
            feed.journal = journal;
        }
        Ok(news)
    }

    /// Returns the runs of the store that have moved.
    async fn moved(&self, feed: &Feed) -> Result<Vec<RunLine>, ServiceError> {
        let mut limit = FIRST;
        loop {
            let listed = self.store().list(ListFilter { open_only: false, limit }).await.map_err(store_error)?;
            let all = listed.len();
            let moved = listed.into_iter().filter(|run| feed.is_new(run.id.as_str(), run.seq, run.updated_at));
            let moved: Vec<RunLine> = moved.map(line_of).collect();
            if moved.len() < all || all < limit {
                return Ok(moved);
            }
            limit *= 4;
        }
    }

    /// Returns the new events of a run. A run that cannot be read has none here: lists show it.
    async fn followed(&self, feed: &mut Feed, line: RunLine) -> Vec<RunEvent> {
        let address = Address::parse(&line.run);
        if feed.only.as_ref().is_some_and(|only| *only != address) {
            return Vec::new();
        }
        let mut events = Vec::new();
        loop {
            let after = feed.followed.get(&line.run).map_or(0, |followed| followed.seq);
            let Ok(page) = self.page(&address, after, PAGE).await else { return events };
            if page.is_empty() {
                return events;
            }
            if !feed.followed.contains_key(&line.run) {
                let Ok(held) = self.peek(&address).await else { return events };
                let followed = FollowedRun { seq: 0, trail: Trail::default(), hidden: self.hidden_of(&held) };
                feed.followed.insert(line.run.clone(), followed);
            }
            let since = feed.since;
            let Some(followed) = feed.followed.get_mut(&line.run) else { return events };
            events.extend(page.iter().filter_map(|record| followed.take(record, &line, since)));
        }
    }
}

impl FollowedRun {
    fn take(&mut self, record: &Record, line: &RunLine, since: Timestamp) -> Option<RunEvent> {
        self.trail.take(&record.event, &record.changes);
        self.hidden.learn_from([(&record.event, record.changes.as_slice())]);
        self.seq = record.seq;
        (record.event.at >= since).then(|| RunEvent {
            line: line.clone(),
            seq: record.seq,
            at: record.event.at,
            by: record.event.by.clone(),
            kind: logging::event_word(&record.event.what),
            text: self.hidden.text(&history(&record.event, &record.changes)),
            nodes: self.trail.about(&record.changes),
        })
    }
}

//! Why a run does not continue, or why it ended without success: who must act, since when, and the last failures. This
//! is data, and faces make words of it.

use std::collections::BTreeSet;

use portolan_core::graph::EndResult;
use portolan_core::present::{
    AskReason, Point, Redaction, Retries, RunStatus, Situation, TrustRequirement, drawn_as, history,
};
use portolan_core::run::{Actor, Change, EventKind, FramePath, Place, Run, Spend, Verdict, WaitReason};
use portolan_core::value::{CheckId, PASSED, Timestamp};

use super::hold::HeldRun;
use super::questions::reached;
use super::request::RunAddress;
use super::{Caller, Service};
use crate::carrier::Address;
use crate::error::ServiceError;
use crate::store::Record;

/// Why a run does not continue by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Halt {
    /// Who must act.
    pub turn: NextActor,
    /// The present step.
    pub step: String,
    /// The name of the step for people.
    pub step_name: String,
    /// The name of the step in a drawing.
    pub node: String,
    /// The branch, if there are several.
    pub branch: Option<String>,
    /// The time since when the run is at this position.
    pub since: Timestamp,
    /// The question to a person, or why a state of a model waits.
    pub asks: Option<String>,
    /// Whether only a person's own answer counts.
    pub person_only: bool,
    /// The last failures.
    pub failed: Vec<NodeFailure>,
    /// The last action of a person or an agent.
    pub last: Option<Last>,
    /// The retries of the step, or of the gate that led back to it.
    pub retries: Option<Retries>,
    /// What models have used in the whole run.
    pub spent: Spend,
}

/// Who must act for the run to continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NextActor {
    /// A person must answer.
    Person,
    /// A person must trust commands.
    Trust(TrustRequirement),
    /// A person must decide how a state of a model continues.
    Held(WaitReason),
    /// An agent works.
    Agent,
    /// Nobody must act: the run continues while it is driven.
    Engine,
    /// The run is over.
    Nobody,
}

/// A failure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeFailure {
    /// The step, by its name in a drawing if that is known.
    pub node: String,
    /// The check that failed. `None` if the step itself failed.
    pub check: Option<String>,
    /// The reason.
    pub reason: String,
    /// The end of the printed output.
    pub output: String,
}

/// An action of a person or an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Last {
    /// The number of the record.
    pub seq: u64,
    /// The time.
    pub at: Timestamp,
    /// The actor.
    pub by: Actor,
    /// The action and its effect.
    pub text: String,
}

/// The number of records read at first.
const LATEST: u64 = 200;
/// The maximum number of records read: a run may have a hundred thousand.
const MOST: u64 = 5_000;
/// The maximum length in characters of a reported action: a note may be long.
const BEGINNING: usize = 600;
/// The length in bytes of the reported end of an output.
const END: usize = 2_000;

fn spent(run: &Run) -> Spend {
    run.tallies.as_ref().map_or_else(Spend::default, |tallies| tallies.run.spend)
}

impl Service {
    /// Returns what models have used in a run.
    ///
    /// # Errors
    /// The run is unknown or cannot be read.
    pub async fn spent(&self, address: &Address) -> Result<Spend, ServiceError> {
        Ok(spent(&self.peek(address).await?.run))
    }

    /// Returns why a run does not continue, or `None` if it has succeeded. A caller that has read the whole journal
    /// passes the values to hide as `hidden`. Without it, the result is also `None` for a long run that hides anything.
    ///
    /// # Errors
    /// The run is unknown, or it or its journal cannot be read.
    pub async fn halt(
        &self,
        address: &Address,
        hidden: Option<Redaction>,
        caller: &Caller,
    ) -> Result<Option<Halt>, ServiceError> {
        let held = self.peek(address).await?;
        if has_succeeded(&held.run.root.place) {
            return Ok(None);
        }
        let (hidden, is_whole) = match hidden {
            Some(hidden) => (hidden, true),
            None => (self.hidden_of(&held), false),
        };
        let learns = !is_whole && !hidden.is_empty();
        if learns && held.seq > MOST {
            return Ok(None);
        }
        let records = self.latest(address, &held, if learns { MOST } else { LATEST }).await?;
        hidden.learn_from(records.iter().map(|record| (&record.event, record.changes.as_slice())));
        let (path, revision) = standing(&held.run);
        let since = reached(&records, revision, &held.run);
        let node = held.run.frame(&path).map(|frame| drawn_as(&held.run, &path, frame.place.node()));
        let held_back = held.run.frame(&path).and_then(|frame| frame.place.held()).cloned();
        let spent = spent(&held.run);
        let is_function = held.definition.workflow.root().interface.is_some();
        let grip = RunAddress::of(held, None);
        let view = self.present(&grip, Some(path), caller)?;
        let situation = &view.situation;
        let asks = held_back.as_ref().map(WaitReason::text).or_else(|| asks(situation));
        let journal = JournalView { records: &records, hidden: &hidden };
        Ok(Some(Halt {
            turn: held_back.map_or_else(|| turn(situation, is_function), NextActor::Held),
            step: situation.position.step.clone(),
            step_name: situation.position.step_name.clone(),
            node: node.unwrap_or_else(|| situation.position.step.clone()),
            branch: situation.position.branch.clone(),
            since,
            asks: asks.map(|text| hidden.text(&text)),
            person_only: view.asks_person,
            failed: journal.failed(situation),
            last: journal.last(),
            retries: situation.position.retries.clone(),
            spent,
        }))
    }

    /// Returns the last `count` records of a run, or more if they are needed to find when it reached its position.
    async fn latest(&self, address: &Address, held: &HeldRun, count: u64) -> Result<Vec<Record>, ServiceError> {
        let page = async |count: u64| {
            let count = count.min(held.seq);
            self.page(address, held.seq - count, usize::try_from(count).unwrap_or(usize::MAX)).await
        };
        let records = page(count).await?;
        let (_, revision) = standing(&held.run);
        let changes: u64 = records.iter().map(|record| record.changes.len() as u64).sum();
        match held.run.revision.saturating_sub(changes) < revision {
            true => Ok(records),
            false => page(MOST).await,
        }
    }
}

fn has_succeeded(place: &Place) -> bool {
    match place {
        Place::Ended { result, .. } => *result == EndResult::Success,
        Place::Arrived { outcome, .. } => outcome.as_str() == PASSED,
        _ => false,
    }
}

/// Returns the position that represents a run, and the revision at which it was reached: a position that waits for a
/// person, else one with feedback, else the first.
fn standing(run: &Run) -> (FramePath, u64) {
    let positions = run.positions();
    let waits = |place: &Place| matches!(place, Place::Waiting { .. }) || place.held().is_some();
    let waiting = positions.iter().find(|(_, frame)| waits(&frame.place));
    let failed = || positions.iter().find(|(_, frame)| frame.feedback.is_some());
    let found = waiting.or_else(failed).or(positions.first());
    found.map_or((FramePath::default(), run.root.since), |(path, frame)| (path.clone(), frame.since))
}

fn turn(situation: &Situation, is_function: bool) -> NextActor {
    match (situation.state, &situation.untrusted) {
        (RunStatus::Ended, _) if situation.over => NextActor::Nobody,
        (RunStatus::Waiting, _) => NextActor::Person,
        (RunStatus::Working, Some(untrusted)) => NextActor::Trust(untrusted.clone()),
        (RunStatus::Checking, _) => NextActor::Engine,
        (RunStatus::Working | RunStatus::Ended, _) if is_function => NextActor::Engine,
        (RunStatus::Working | RunStatus::Ended, _) => NextActor::Agent,
    }
}

fn asks(situation: &Situation) -> Option<String> {
    match (&situation.question, &situation.point) {
        // Such a question has its step's name. The description of the step is the question.
        (Some(question), _) if question.why == AskReason::Step => {
            Some(situation.work.description.as_ref().unwrap_or(&question.asked.message).clone())
        }
        (Some(question), _) => Some(question.asked.message.clone()),
        (None, Point::Held { told }) => Some(told.clone()),
        (None, _) => None,
    }
}

/// The journal, read for a halt.
struct JournalView<'t> {
    records: &'t [Record],
    hidden: &'t Redaction,
}

impl JournalView<'_> {
    fn last(&self) -> Option<Last> {
        let by_somebody = |record: &&Record| record.event.by != Actor::Engine;
        let Record { seq, event, changes } = self.records.iter().rev().find(by_somebody)?;
        let text = self.hidden.text(&history(event, changes)).chars().take(BEGINNING).collect();
        Some(Last { seq: *seq, at: event.at, by: event.by.clone(), text })
    }

    /// Returns the failures in the feedback to the position, or else the last failure.
    fn failed(&self, situation: &Situation) -> Vec<NodeFailure> {
        let feedback = situation.feedback.iter();
        let failures: Vec<NodeFailure> = feedback
            .flat_map(|feedback| {
                let node = feedback.from.as_ref().map_or_else(String::new, ToString::to_string);
                feedback
                    .failures
                    .iter()
                    .map(move |failure| self.failure(&node, Some(&failure.check), &failure.reason, &failure.output))
            })
            .collect();
        if failures.is_empty() { self.failed_last().into_iter().collect() } else { failures }
    }

    /// Returns the last node that failed, or the last check that failed and has not passed since.
    fn failed_last(&self) -> Option<NodeFailure> {
        let mut mended: BTreeSet<String> = BTreeSet::new();
        for Record { event, changes, .. } in self.records.iter().rev() {
            let node = match &event.what {
                EventKind::Settled { effect, .. } => effect.node.to_string(),
                _ => String::new(),
            };
            for change in changes.iter().rev() {
                match change {
                    // A run that reaches its limits ends without executing the node.
                    Change::Executed { fault: Some(fault), .. } | Change::Finished { fault: Some(fault), .. } => {
                        let output = fault.detail.as_str();
                        return Some(self.failure(&fault.node, None, &fault.message, output));
                    }
                    Change::Executed { node, fault: None, .. } => drop(mended.insert(node.to_string())),
                    Change::Settled { check, verdict, .. } => {
                        let key = format!("{node}\0{check}");
                        match broken(verdict) {
                            Some((reason, output)) if !mended.contains(&key) => {
                                return Some(self.failure(&node, Some(check), reason, output));
                            }
                            Some(_) => {}
                            None => drop(mended.insert(key)),
                        }
                    }
                    _ => {}
                }
            }
        }
        None
    }

    fn failure(&self, node: &str, check: Option<&CheckId>, reason: &str, output: &str) -> NodeFailure {
        let check = check.map(ToString::to_string);
        let output = end_of(&self.hidden.text(output)).to_owned();
        NodeFailure { node: node.to_owned(), check, reason: self.hidden.text(reason), output }
    }
}

fn broken(verdict: &Verdict) -> Option<(&str, &str)> {
    match verdict {
        Verdict::Broken { reason, output } => Some((reason, output)),
        Verdict::ForPerson { reason } | Verdict::Unknown { reason } => Some((reason, "")),
        Verdict::Held | Verdict::Shown { .. } | Verdict::Excused { .. } => None,
    }
}

/// Returns the end of a text, in whole lines if it has any.
fn end_of(text: &str) -> &str {
    let text = text.trim_end();
    if text.len() <= END {
        return text;
    }
    let from = (text.len() - END..).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
    let end = &text[from..];
    end.split_once('\n').map_or(end, |(_, lines)| lines)
}

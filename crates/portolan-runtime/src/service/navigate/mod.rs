//! Navigation: an agent is led by what it holds of a run, a short handle or a token, and by one position at a time.
//!
//! ```text
//! state → the run, held → what is due by itself → the deed, if it is open → checks → state', situation
//! ```
//! What may be done is what the [`Situation`] offers: a deed that it does not offer is refused here, with where the run is,
//! and changes nothing.

mod deeds;
mod drift;
mod state;

use std::sync::Arc;

use portolan_core::present::Situation;
use portolan_core::run::{Actor, Branches, EffectId, EffectResult, Event, EventKind, Opening, Place, Raised, Rules};
use portolan_core::value::{Outcome, Timestamp};
use serde_json::{Map, Value};

use super::flow::asks_a_person;
use super::hold::{Carrier, Held, Refused};
use super::moves::{MAX_CONFLICTS, too_busy};
use super::report::Led;
use super::{Caller, Service};
use crate::error::ServiceError;
use crate::store::{Record, RunId};
use crate::view::Claim;
use deeds::Doing;
use state::Grip;

/// What agents hold of the runs that they begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum States {
    /// A short handle: the run is in the store.
    #[default]
    Handles,
    /// A token, which is all that there is of the run.
    Tokens,
    /// A token of a run that is in the store too: only its last one counts.
    Ledger,
}

/// What a run begins with.
#[derive(Clone, Debug, Default)]
pub struct Begin {
    /// The workflow, as the library knows it.
    pub workflow: String,
    /// What the user wants done, in the user's words.
    pub description: Option<String>,
    /// What its variables hold at first.
    pub variables: Option<Map<String, Value>>,
    /// What the agent says that it is able to do.
    pub effectivities: Option<Vec<String>>,
}

/// What a call of a navigation tool is about.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// The workflow that the caller believes to be in, where it says so.
    pub workflow: Option<String>,
    /// What the caller holds of the run.
    pub state: String,
    /// What the agent says that it is able to do, this once.
    pub effectivities: Option<Vec<String>>,
    /// How to go on where the definition is not the one that the run began with.
    pub drift: Option<Drift>,
}

/// How to go on with a run whose definition has changed since it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drift {
    /// With the definition as it was, as without a word.
    Pinned,
    /// With the definition as it is, which only a person may decide.
    Migrate,
}

/// What the caller does.
#[derive(Clone, Debug)]
pub enum Deed {
    /// It looks.
    Look,
    /// A step came to an outcome.
    Complete {
        /// The step, as the situation names it.
        step: String,
        /// The outcome.
        outcome: Outcome,
        /// What was done.
        summary: Option<String>,
        /// Values of variables: an object.
        outputs: Option<Arc<Value>>,
    },
    /// A question is answered.
    Answer {
        /// The question, as the situation names it.
        checkpoint: String,
        /// The option; nothing where the person themselves is to be asked.
        option: Option<Outcome>,
        /// What the person said besides.
        note: Option<String>,
        /// Values of variables that were in the way: an object.
        outputs: Option<Arc<Value>>,
    },
    /// Something is asked that the workflow does not ask.
    Raise(Raised),
    /// The run is ended early.
    End {
        /// Why.
        reason: String,
    },
}

/// Where a call led.
#[derive(Clone, Debug, PartialEq)]
pub struct Bearing {
    /// What the agent holds of the run from now on.
    pub state: String,
    /// Whether that is a token: all that there is of the run, or of a run that is in the store too.
    pub is_token: bool,
    /// The handle of the run, where it is in the store.
    pub run: Option<String>,
    /// What calls call its workflow.
    pub workflow: String,
    /// Where it is, and what is open there.
    pub situation: Situation,
    /// What the caller should know besides.
    pub notes: Vec<String>,
}

/// A call that was refused, with where the run is, when that is known.
#[derive(Clone, Debug)]
pub struct Astray {
    /// Why.
    pub error: ServiceError,
    /// Where the run is.
    pub bearing: Option<Box<Bearing>>,
}

impl From<ServiceError> for Astray {
    fn from(error: ServiceError) -> Astray {
        Astray { error, bearing: None }
    }
}

/// The longest description, in bytes: tokens carry it.
const MAX_DESCRIPTION_BYTES: usize = 4 << 10;
/// How many capabilities an agent may have, and how long the name of one may be, in bytes.
const MAX_EFFECTIVITIES: (usize, usize) = (64, 200);

impl Service {
    /// Begins a run, and leads to its first step.
    ///
    /// # Errors
    /// The workflow is not known or has faults, its variables are given what they do not take, or the run cannot be
    /// kept.
    pub async fn begin(&self, wanted: &Begin, caller: &Caller) -> Result<Bearing, Astray> {
        within_bounds(wanted.description.as_deref(), wanted.effectivities.as_deref())?;
        let definition = self.library.definition(&wanted.workflow)?;
        if definition.workflow.root().interface.is_some() {
            let message = format!("`{}` is a function: nobody is led through it", wanted.workflow);
            return Err(ServiceError::refused("no_workflow", message, "call it as a tool").into());
        }
        let rules = Rules { human: self.options.human, branches: Branches::Inside, is_branch: false };
        let opening = Opening {
            description: wanted.description.clone(),
            rules,
            input: wanted.variables.clone().map(|variables| Arc::new(Value::Object(variables))),
            effectivities: wanted.effectivities.clone(),
            ..Opening::of(definition.workflow.id().clone())
        };
        let (run, changes) = super::init::opened(&definition, &opening)?;
        let event = Event { at: self.options.clock.now(), by: caller.by.clone(), what: EventKind::Opened(opening) };
        let mut notes = Vec::new();
        let carrier = if self.options.states == States::Tokens {
            // Without a copy the run goes on for as long as the definition stays as it is.
            if let Err(error) = self.pinned.keep(&definition) {
                notes.push(format!("no copy of the workflow is kept, in case that it changes: {}", error.message));
            }
            Carrier::Token { id: RunId::random(), workflow: wanted.workflow.clone(), behind: false }
        } else {
            let record = Record { seq: 1, event, changes };
            Carrier::Stored(self.create(&definition, &run, record).await?)
        };
        let as_token = self.options.states != States::Handles;
        let mut grip = Grip { held: Held { definition, run, seq: 1, carrier }, known: None, as_token };
        let note = self.catch_up(&mut grip.held, caller).await.map_err(|refused| match refused {
            Refused::Failed(error) => error,
            Refused::Conflict => too_busy(),
        })?;
        notes.extend(note);
        Ok(self.bearing(&grip, None, caller, notes)?)
    }

    /// Does something with a run, or only looks where it is.
    ///
    /// # Errors
    /// What the caller holds is nothing that was given out, or is no longer the last that was; or what it does is not
    /// open. Nothing has changed then.
    pub async fn navigate(&self, course: &Course, deed: &Deed, caller: &Caller) -> Result<Bearing, Astray> {
        within_bounds(None, course.effectivities.as_deref())?;
        let able = course.effectivities.as_deref();
        for _ in 0..MAX_CONFLICTS {
            let mut grip = self.grip(course, caller).await?;
            // A person who answers is not told that nobody did, unless somebody else has seen to that already.
            let answers = matches!(deed, Deed::Answer { .. }) && !matches!(caller.by, Actor::Agent(_));
            let caught_up = if answers { Ok(None) } else { self.catch_up(&mut grip.held, caller).await };
            let mut notes: Vec<String> = match caught_up {
                Ok(note) => note.into_iter().collect(),
                Err(Refused::Conflict) => continue,
                Err(Refused::Failed(error)) => return Err(self.astray(error, &grip, able, caller)),
            };
            if matches!(deed, Deed::Look) {
                notes.extend(self.behind(&grip.held));
                return Ok(self.bearing(&grip, able, caller, notes)?);
            }
            let doing = match self.doing(&grip, deed, caller) {
                Ok(doing) => doing,
                Err(error) => return Err(self.astray(error, &grip, able, caller)),
            };
            let Doing { event, by, settles } = doing;
            match self.step(&mut grip.held, event, &by).await {
                Ok(()) => {}
                Err(Refused::Conflict) => continue,
                Err(Refused::Failed(error)) => return Err(self.astray(error, &grip, able, caller)),
            }
            let Grip { held, known, as_token } = grip;
            let led = match settles {
                Some((path, outcome)) => self.settle(held, &path, &outcome).await?,
                None => Led { held, claim: None, notes: Vec::new() },
            };
            notes.extend(led.claim.as_ref().and_then(Claim::refused));
            notes.extend(led.notes);
            let mut grip = Grip { held: led.held, known, as_token };
            // What follows by itself: where somebody else moved the run on, that is shown.
            if let Ok(note) = self.catch_up(&mut grip.held, caller).await {
                notes.extend(note);
            }
            return Ok(self.bearing(&grip, able, caller, notes)?);
        }
        Err(too_busy().into())
    }

    /// Whether what the run asks is a person's alone to answer.
    ///
    /// # Errors
    /// What the caller holds is nothing that was given out, or is no longer the last that was.
    pub async fn state_asks_a_person(&self, course: &Course, caller: &Caller) -> Result<bool, ServiceError> {
        let grip = self.grip(course, caller).await.map_err(|astray| astray.error)?;
        Ok(asks_a_person(&grip.held.run))
    }

    /// Does what needs nobody: a run that has not begun begins, questions whose time is over answer themselves,
    /// functions are driven. What the agent should know of it, if anything.
    async fn catch_up(&self, held: &mut Held, caller: &Caller) -> Result<Option<String>, Refused> {
        let at_start = Place::Ready { node: held.definition.workflow.root().start.clone() };
        if held.run.root.place == at_start {
            self.step(held, EventKind::Begun { revision: None }, caller).await?;
        }
        self.time_out(held).await?;
        self.log_end(held).await;
        self.go_on(held).await.map_err(Refused::Failed)
    }

    /// Has the questions answer themselves whose time is over.
    pub(super) async fn time_out(&self, held: &mut Held) -> Result<(), Refused> {
        let engine = Caller { by: Actor::Engine, can_ask: false };
        // Each answer may lead to the next question; that one's time begins only now.
        self.pass(held).await.map_err(Refused::Failed)?;
        while let Some(timer) = self.overdue(held) {
            let before = held.run.revision;
            self.step(held, timer.settled(EffectResult::Due, 0), &engine).await?;
            if held.run.revision == before {
                break;
            }
        }
        Ok(())
    }
}

impl Service {
    /// A question whose time is over. The clock is looked at only where there is one whose time passes.
    pub(super) fn overdue(&self, held: &Held) -> Option<EffectId> {
        if held.run.overdue(Timestamp(i64::MAX)).is_empty() {
            return None;
        }
        held.run.overdue(self.options.clock.now()).into_iter().next()
    }
}

fn within_bounds(description: Option<&str>, effectivities: Option<&[String]>) -> Result<(), ServiceError> {
    if description.is_some_and(|text| text.len() > MAX_DESCRIPTION_BYTES) {
        let message = format!("the description has more than {MAX_DESCRIPTION_BYTES} bytes");
        let help = "say what is wanted in short, and name a file for the rest";
        return Err(ServiceError::refused("too_large", message, help));
    }
    let (most, longest) = MAX_EFFECTIVITIES;
    let names = effectivities.unwrap_or_default();
    if names.len() > most || names.iter().any(|name| name.len() > longest) {
        let message = format!("`effectivities` are at most {most} names of at most {longest} bytes");
        return Err(ServiceError::refused("too_large", message, "name only what steps may need"));
    }
    Ok(())
}

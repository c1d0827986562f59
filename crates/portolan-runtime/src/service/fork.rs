//! Forks a run: begins a run with the past of another, on the same definition or migrated to the current one.

use std::sync::Arc;

use portolan_core::engine::{self, changes_of, migrate};
use portolan_core::present::focus;
use portolan_core::run::{Branches, Change, Event, EventKind, FramePath, Migration, Opening, Origin, Place, Run};
use portolan_core::value::Timestamp;
use serde_json::{Map, Value};

use super::hold::{Carrier, HeldRun};
use super::navigate::may_migrate;
use super::past::{Past, no_record};
use super::request::RunAddress;
use super::{Caller, Service};
use crate::carrier::Address;
use crate::definition::Definition;
use crate::error::{ErrorKind, ServiceError};
use crate::store::{Record, RunId, StoreError, store_error};
use crate::view::View;

/// The parameters of a fork.
#[derive(Clone, Debug)]
pub struct Fork {
    /// The last record that both runs share.
    pub seq: u64,
    /// Values set first: of variables, and of nodes in the run of a function. An object.
    pub values: Option<Arc<Value>>,
    /// The definition of the fork.
    pub onto: Onto,
}

/// The definition of a fork.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Onto {
    /// The definition of the other run.
    #[default]
    Pinned,
    /// The same workflow as it is now.
    Current,
}

impl Fork {
    /// Returns a fork at a record that changes nothing else.
    pub fn at(seq: u64) -> Fork {
        Fork { seq, values: None, onto: Onto::Pinned }
    }
}

impl Service {
    /// Begins a run in the store with the past of another, up to a record. The new run records its origin. The other
    /// run is not changed.
    ///
    /// Decisions of persons up to that record count in the fork as well, so only a person may fork a run that has any.
    /// Values are set first, by the rules of the step that the run is at. In the run of a function they may also be set
    /// for nodes, and count as the nodes' results. Only a person may migrate a fork that an agent navigates.
    ///
    /// # Errors
    /// There is no such record. A person is needed. The run was over by then, or was or had a branch that is a task of
    /// its own. It cannot be migrated. The values may not be set there. The fork cannot be stored.
    pub async fn fork(&self, address: &Address, fork: Fork, caller: &Caller) -> Result<View, ServiceError> {
        let Fork { seq, values, onto } = fork;
        let past = self.past(address).await?;
        if seq == 0 || seq > past.head() {
            return Err(no_record(&past, seq));
        }
        let mut records = self.page(address, 0, usize::try_from(seq).unwrap_or(usize::MAX)).await?;
        if !caller.is_person() && records.iter().any(|record| is_word_of_person(&record.event)) {
            return Err(needs_person());
        }
        let then = past.definition_at(seq);
        let definition = match onto {
            Onto::Pinned => then.clone(),
            Onto::Current => self.current(then)?,
        };
        let last = records.last().ok_or_else(|| no_record(&past, seq))?.event.at;
        let begun =
            ForkStart { origin: origin(address, seq, &past, &definition), passed: self.now().0.saturating_sub(last.0) };
        begin_anew(&mut records[0], &begun)?;
        let run = Run::fold(records.iter().flat_map(|record| &record.changes));
        let mut run = run.ok_or_else(|| no_record(&past, seq))?;
        may_be_forked(&run)?;
        if definition.digest != then.digest {
            self.carry_over(then, &definition, &mut run, &mut records, caller)?;
            self.pin(then).await?;
        }
        if let Some(values) = values {
            let what = EventKind::Noted { frame: focus(&run).0, values };
            let event = Event { at: self.now(), by: caller.by.clone(), what };
            let changes = engine::decide(&definition.workflow, &run, &event).map_err(ServiceError::from)?;
            add(&mut records, &mut run, event, changes);
        }
        let seq = records.len() as u64;
        self.hooks().may_begin(&definition.workflow, &run).await?;
        let id = loop {
            let id = RunId::random();
            match self.create_as(&id, &definition, &run, records.clone()).await {
                Ok(()) => break id,
                Err(StoreError::Taken) => {}
                Err(error) => return Err(store_error(error)),
            }
        };
        let mut held = HeldRun { definition, run, seq, carrier: Carrier::Stored(id) };
        // A function continues when it is driven. An agent is never led to a node that needs no agent.
        if held.definition.workflow.root().interface.is_none() {
            self.pass(&mut held).await?;
        }
        self.present(&RunAddress::of(held, None), None, caller)
    }

    /// Returns whether a definition is the one that its file has now. `None` if no file has a valid one of its name.
    pub fn is_current(&self, definition: &Definition) -> Option<bool> {
        self.current(definition).ok().map(|now| now.digest == definition.digest)
    }

    /// Returns a definition as it is now in its file.
    fn current(&self, then: &Definition) -> Result<Arc<Definition>, ServiceError> {
        let name = then.workflow.id().as_str();
        if then.workflow.root().interface.is_none() {
            return self.library.definition(name);
        }
        let mut found = self.library.functions_called(name).into_iter();
        let help = "fix the file that has it, or fork the run with the definition that it began with";
        match (found.next(), found.next()) {
            (Some((_, definition)), None) => Ok(definition),
            (None, _) => {
                let message = format!("no file of the project has a valid `{name}` now");
                Err(ServiceError::refused("no_definition", message, help))
            }
            (Some((one, _)), Some((other, _))) => {
                let message = format!("`{}` and `{}` both define `{name}`", one.display(), other.display());
                Err(ServiceError::refused("no_definition", message, "rename one of them"))
            }
        }
    }

    /// Migrates a run to another definition.
    fn carry_over(
        &self,
        then: &Arc<Definition>,
        now: &Arc<Definition>,
        run: &mut Run,
        records: &mut Vec<Record>,
        caller: &Caller,
    ) -> Result<(), ServiceError> {
        if now.workflow.root().interface.is_none() {
            let help = "fork it with the definition that it began with; or ask the person to run `portolan runs \
                fork RUN --at RECORD --definition current` in a terminal";
            may_migrate(caller, help)?;
        }
        let held = |definition: &Arc<Definition>| HeldRun {
            definition: definition.clone(),
            run: run.clone(),
            seq: 0,
            carrier: Carrier::Stored(RunId::random()),
        };
        if !self.hidden_of(&held(now)).hides_all_of(&self.hidden_of(&held(then))) {
            let message = "the definition hides less now than when the run began, so the run's past would be shown";
            let help = "make it hide what it hid then, or fork the run with the definition that it began with";
            return Err(ServiceError::refused("hides_less", message, help));
        }
        let carried = migrate(&then.workflow, &now.workflow, run).map_err(|why| {
            let message = format!("the run cannot be migrated to the current definition: {why}");
            let help = "fork it at an earlier record, or with the definition that it began with";
            ServiceError::refused("definition_changed", message, help)
        })?;
        let changes = changes_of(run, &carried);
        if !changes.is_empty() {
            let given = changes.iter().filter_map(|change| match change {
                Change::Set { name, value, .. } => Some((name.clone(), value.clone())),
                _ => None,
            });
            let values = Arc::new(Value::Object(given.collect::<Map<String, Value>>()));
            let what = EventKind::Noted { frame: FramePath::default(), values };
            let event = Event { at: self.now(), by: caller.by.clone(), what };
            add(records, run, event, changes);
        }
        Ok(())
    }
}

fn add(records: &mut Vec<Record>, run: &mut Run, event: Event, changes: Vec<Change>) {
    changes.iter().for_each(|change| run.apply(change));
    records.push(Record { seq: records.len() as u64 + 1, event, changes });
}

/// Returns the origin of a fork, including the migrations of the other run up to that record.
fn origin(address: &Address, seq: u64, past: &Past, definition: &Definition) -> Origin {
    let known = past.trail().run().and_then(|run| run.opening.origin.as_ref());
    let mut carried: Vec<Migration> = known.map(|origin| origin.carried.clone()).unwrap_or_default();
    carried.retain(|carried| carried.seq < seq);
    let (from, to) = (past.definition_at(seq).digest.to_string(), definition.digest.to_string());
    if from != to {
        carried.push(Migration { seq, from, to });
    }
    Origin { run: address.to_string(), seq, carried }
}

/// The beginning of a fork.
struct ForkStart {
    origin: Origin,
    /// The milliseconds between the last common record and the fork. They do not count as time of the run: it would
    /// reach its time limit at once.
    passed: i64,
}

/// Marks the first record of a run as forked.
fn begin_anew(first: &mut Record, begun: &ForkStart) -> Result<(), ServiceError> {
    let fork = |opening: &mut Opening| {
        opening.origin = Some(begun.origin.clone());
        opening.since = opening.since.map(|since| Timestamp(since.0.saturating_add(begun.passed)));
        // Branches of a task file are tasks beside it, and here is no task file.
        opening.rules.branches = Branches::Inside;
        !opening.rules.is_branch
    };
    let mut whole = match &mut first.event.what {
        EventKind::Opened(opening) => fork(opening),
        _ => false,
    };
    for change in &mut first.changes {
        if let Change::Opened { opening, .. } = change {
            whole &= fork(opening);
        }
    }
    if whole {
        return Ok(());
    }
    Err(ServiceError::refused("not_forked", "the run is a branch of another task", "fork the task that it belongs to"))
}

/// Checks whether a person decided something that an agent may not decide.
fn is_word_of_person(event: &Event) -> bool {
    let is_decision = matches!(
        event.what,
        EventKind::Reported { .. } | EventKind::Resumed { .. } | EventKind::Noted { .. } | EventKind::Bypassed { .. }
    );
    is_decision && Caller { by: event.by.clone(), can_ask: false }.is_person()
}

fn needs_person() -> ServiceError {
    let message = "only a person is allowed to fork a run in which a person has decided something";
    let help = "ask a person to run `portolan runs fork` in a terminal that was not opened by an agent's program";
    ServiceError::of(ErrorKind::NeedsPerson, "needs_person", message, help)
}

fn may_be_forked(run: &Run) -> Result<(), ServiceError> {
    if run.is_over() {
        let help = "choose an earlier record: `portolan runs events` lists them";
        return Err(ServiceError::refused("over", "the run had ended by that record", help));
    }
    let positions = run.positions();
    if positions.iter().any(|(_, frame)| matches!(frame.place, Place::Gathering { .. })) {
        let message = "at that record, the run waits for branches that are separate tasks";
        return Err(ServiceError::refused("not_forked", message, "choose a record before the fork, or after its join"));
    }
    Ok(())
}

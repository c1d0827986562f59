//! A run to store, made by hand: a stored run need not come from the engine.

use portolan_core::run::{Actor, Change, Event, EventKind, FramePath, Opening, Place, Run};
use portolan_core::value::{Outcome, Timestamp};

/// A run, with its last event and changes.
#[derive(Clone)]
pub(crate) struct Sample {
    pub(crate) run: Run,
    pub(crate) event: Event,
    pub(crate) changes: Vec<Change>,
}

impl Sample {
    /// Returns a run that was opened for `description` and is at its start.
    pub(crate) fn opened(description: &str) -> Sample {
        let description = Some(description.to_owned());
        let opening = Opening { description, ..Opening::of("sample") };
        let changes = vec![Change::Opened { opening: opening.clone(), place: Place::Ready { node: "start".into() } }];
        let run = Run::fold(&changes).expect("a journal that begins with `Opened` folds");
        Sample { run, event: event("opener", EventKind::Opened(opening)), changes }
    }

    /// Returns the same run one move further, at `node`, moved by `agent`.
    pub(crate) fn moved(self, agent: &str, node: &str) -> Sample {
        self.placed(agent, Place::Ready { node: node.into() })
    }

    /// Returns the same run one move further, at any place.
    pub(crate) fn placed(self, agent: &str, place: Place) -> Sample {
        let Sample { mut run, .. } = self;
        let (frame, revision) = (FramePath::default(), Some(run.root.since));
        let what = EventKind::Reported {
            frame: frame.clone(),
            outcome: Outcome::passed(),
            revision,
            note: None,
            outputs: None,
        };
        let changes = vec![Change::Moved { frame, place, feedback: None }];
        changes.iter().for_each(|change| run.apply(change));
        Sample { run, event: event(agent, what), changes }
    }
}

fn event(agent: &str, what: EventKind) -> Event {
    Event { at: Timestamp(1_700_000_000_000), by: Actor::Agent(agent.to_owned()), what }
}

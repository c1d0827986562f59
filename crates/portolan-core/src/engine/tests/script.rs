//! The script of a story, one word for each event, and its result, one line for each.
//!
//! - `passed`, `failed` and any other word: the agent reports it at the only position. `b:passed` and `audit/b:passed`
//!   name the position, `/:passed` the root. `passed{"n":1}` also reports values of variables. Reports quote the
//!   revision at which they were made; `unquoted:b:passed` quotes none.
//! - `@passed`: a person answers.
//! - `tests=held`, `b:tests=broken`, `tests=unknown`, `tests=asked`: settle a check that is or was pending.
//! - `gather:a=passed,b=failed`: gives the outcomes of branches that live outside.
//! - `begin`: leaves the start. `cancel`: cancels the run.
//! - `replay#2`: repeats the second event exactly.
//! - `ask:a,b`: the agent asks a question.
//! - `late`, `early`: the timeout of a question, when it is due and a moment before.
//! - `note:{"n":1}`: sets values during work.
//! - `bypass:I-4`: bypasses a rule here, `I-4@node` there, `I-4!` once. `used:b1`: uses a bypass.
//!
//! Options in square brackets before the first word set how the run is opened: `[verified]`, `[outside]`, `[branch]`,
//! `[at step]`, `[with {"n":1}]`. `queued` leaves the run at the start.

use std::sync::Arc;

use crate::engine::{Effect, EffectKind};
use crate::graph::Workflow;
use crate::run::{
    Actor, BranchState, Branches, BypassSource, Change, Channel, EffectId, EffectPart, EffectResult, Event, EventKind,
    Frame, FramePath, Human, Opening, Place, RaisedQuestion, Rules, Run, Verdict, WaitingFor,
};
use crate::value::{NodeId, Timestamp};

/// Returns the opening and the words of a script.
pub(super) fn opening<'m>(workflow: &Workflow, moves: &'m str) -> (Opening, Vec<&'m str>) {
    let (options, moves) = match moves.trim().strip_prefix('[') {
        Some(rest) => rest.split_once("] ").unwrap_or_else(|| (rest.trim_end_matches(']'), "")),
        None => ("", moves),
    };
    let options: Vec<&str> = options.split_whitespace().collect();
    let has = |word: &str| options.contains(&word);
    let at = options.iter().position(|word| *word == "at").map(|at| NodeId::from(options[at + 1]));
    let rules = Rules {
        human: if has("verified") { Human::Verified } else { Human::Attested },
        branches: if has("outside") { Branches::Outside } else { Branches::Inside },
        is_branch: has("branch"),
    };
    let with = options.iter().position(|word| *word == "with").map(|at| options[at + 1]);
    let input = with.map(|with| Arc::new(serde_json::from_str(with).expect("an object")));
    let opening = Opening { at, rules, input, ..Opening::of(workflow.id().clone()) };
    (opening, moves.split_whitespace().collect())
}

/// Returns an event by the engine.
pub(super) fn event(what: EventKind) -> Event {
    Event { at: Timestamp(0), by: Actor::Engine, what }
}

/// The events and checks so far, for words that refer to them.
#[derive(Default)]
pub(super) struct Script {
    events: Vec<Event>,
    pending: Vec<EffectId>,
}

impl Script {
    /// Returns the event of a word.
    pub(super) fn event(&mut self, workflow: &Workflow, run: &Run, word: &str) -> Event {
        self.pending.extend(run.pending(workflow).into_iter().filter_map(|effect| match effect {
            Effect { id, what: EffectKind::Check(_), .. } => Some(id),
            _ => None,
        }));
        if word == "early" {
            assert_eq!(run.next_due(workflow), Some(Timestamp(1_000)), "the question answers itself then");
        }
        let event = self.read(run, word);
        self.events.push(event.clone());
        event
    }

    fn read(&self, run: &Run, word: &str) -> Event {
        if let Some(index) = word.strip_prefix("replay#") {
            return self.events[index.parse::<usize>().expect("events are counted") - 1].clone();
        }
        if let Some(options) = word.strip_prefix("ask:") {
            let frame = the_position(run);
            let options = options.split(',').filter(|option| !option.is_empty()).map(Into::into).collect();
            let question = RaisedQuestion { question: "which?".to_owned(), options };
            return event(EventKind::Raised { revision: run.frame(&frame).map(|at| at.since), frame, question });
        }
        if let Some(branches) = word.strip_prefix("gather:") {
            let branches = branches.split(',').filter_map(|branch| branch.split_once('='));
            let branches = branches.map(|(name, outcome)| (name.into(), outcome.into())).collect();
            return event(EventKind::Gathered { branches });
        }
        if let Some(values) = word.strip_prefix("note:") {
            let values = serde_json::from_str(values).expect("an object");
            return event(EventKind::Noted { frame: the_position(run), values });
        }
        if let Some(bypass) = word.strip_prefix("bypass:") {
            return bypassed(run, bypass);
        }
        match word {
            "late" | "early" => {
                let path = the_position(run);
                let (node, since) =
                    run.frame(&path).map(|frame| (frame.place.node().clone(), frame.since)).expect("it is there");
                let timer = EffectId { frame: path, node, since, part: EffectPart::Timer };
                let at = Timestamp(if word == "late" { 1_000 } else { 999 });
                Event { at, ..event(timer.settled(EffectResult::Due, 0)) }
            }
            "begin" => event(EventKind::Begun { revision: Some(run.root.since) }),
            "cancel" => event(EventKind::Cancelled { reason: "called off".to_owned(), outcome: None }),
            _ => match (word.strip_prefix("unquoted:"), word.strip_prefix("used:")) {
                (Some(word), _) => self.parse_event(run, word, false),
                (_, Some(bypass)) => event(EventKind::Used { bypass: bypass.to_owned() }),
                (None, None) => self.parse_event(run, word, true),
            },
        }
    }

    fn parse_event(&self, run: &Run, word: &str, quoted: bool) -> Event {
        let (word, outputs) = match word.split_once('{') {
            Some((word, outputs)) => (word, Some(serde_json::from_str(&format!("{{{outputs}")).expect("an object"))),
            None => (word, None),
        };
        let (frame, word) = match word.split_once(':') {
            Some((path, word)) => {
                (FramePath(path.split('/').filter(|name| !name.is_empty()).map(NodeId::from).collect()), word)
            }
            None => (the_position(run), word),
        };
        if let Some((check, verdict)) = word.split_once('=') {
            let of = |id: &&EffectId| id.frame == frame && id.check().is_some_and(|known| known.as_str() == check);
            let effect = self.pending.iter().rfind(of).expect("the check is or was pending").clone();
            return event(effect.settled(self::verdict(verdict), 0));
        }
        let by = match word.strip_prefix('@') {
            Some(_) => Actor::Person { name: "ada".to_owned(), via: Channel::CommandLine },
            None => Actor::Agent("agent".to_owned()),
        };
        let revision = if quoted { run.frame(&frame).map(|frame| frame.since) } else { None };
        let outcome = word.trim_start_matches('@').into();
        Event { at: Timestamp(0), by, what: EventKind::Reported { frame, outcome, revision, note: None, outputs } }
    }
}

/// Reads `I-4`, `I-4@node`, `I-4!` (once), `I-4~5` (until the time 5), `I-4?` (without a reason).
fn bypassed(run: &Run, text: &str) -> Event {
    let (text, node) = text.split_once('@').map_or((text, None), |(text, node)| (text, Some(node)));
    let (text, until) = text.split_once('~').map_or((text, None), |(text, until)| (text, Some(until)));
    let invariant = text.trim_end_matches(['!', '?']).to_owned();
    let here = run.frame(&the_position(run)).map(|frame| frame.place.node().clone());
    event(EventKind::Bypassed {
        invariant,
        node: node.map(NodeId::from).or(here).expect("a node"),
        reason: if text.ends_with('?') { " ".to_owned() } else { "a spike".to_owned() },
        source: BypassSource::Command,
        identifier: "story".to_owned(),
        expires_at: until.map(|until| Timestamp(until.parse().expect("a time"))),
        once: text.ends_with('!'),
    })
}

fn the_position(run: &Run) -> FramePath {
    match run.positions().as_slice() {
        [(path, _)] => path.clone(),
        _ => FramePath::default(),
    }
}

fn verdict(word: &str) -> Verdict {
    match word {
        "held" => Verdict::Held,
        "shown" => {
            Verdict::Shown { reason: "seen".to_owned(), sets: Some(Arc::new(serde_json::json!({ "n": 7, "x": 1 }))) }
        }
        "broken" => Verdict::Broken { reason: "exit status 1".to_owned(), output: "boom".to_owned() },
        "asked" => Verdict::ForPerson { reason: "the project does not say".to_owned() },
        _ => Verdict::Unknown { reason: "no such program".to_owned() },
    }
}

/// Returns all positions of a run as text.
pub(super) fn positions(run: &Run) -> String {
    frame(&run.root)
}

fn frame(at: &Frame) -> String {
    let node = at.place.node();
    let mut text = match &at.place {
        Place::Ready { .. } | Place::Passing { .. } => node.to_string(),
        Place::Calling { .. } => format!("{node} calling"),
        Place::Each { open, .. } => format!("{node} [{}]", open.len()),
        Place::Checking { outcome, settled, .. } => {
            let settled: Vec<String> =
                settled.iter().map(|(check, verdict)| format!(" {check}={}", short(verdict))).collect();
            format!("{node} checking {outcome}{}", settled.concat())
        }
        Place::Waiting { on: WaitingFor::Answer, .. } => format!("{node}?"),
        Place::Waiting { on: WaitingFor::Budget, .. } => format!("{node}? budget spent"),
        Place::Waiting { on: WaitingFor::Raised, .. } => format!("{node}? raised"),
        Place::Waiting { on: WaitingFor::Unchecked, .. } => format!("{node}? unchecked"),
        Place::Waiting { on: WaitingFor::Progress, .. } => format!("{node}? no progress"),
        Place::Conversing { talk, .. } => format!("{node}: {}", crate::present::state_sentence(talk)),
        Place::Gathering { .. } => format!("{node} gathering"),
        Place::Looping { pass, frame: inner, .. } => format!("{node}#{}/{}", pass + 1, frame(inner)),
        Place::Within { frame: inner, .. } => format!("{node}/{}", frame(inner)),
        Place::Arrived { outcome, .. } => format!("{node} arrived {outcome}"),
        Place::Ended { result, .. } => format!("{node} = {}", result.word()),
        Place::Forked { branches, .. } => {
            let branches: Vec<String> = branches
                .iter()
                .map(|branch| match &branch.state {
                    BranchState::Held => format!("{} held", branch.name),
                    BranchState::Open(inner) => format!("{}: {}", branch.name, frame(inner)),
                    BranchState::Done(outcome) => format!("{} {outcome}", branch.name),
                    BranchState::Cancelled => format!("{} cancelled", branch.name),
                })
                .collect();
            format!("{node} {{{}}}", branches.join(", "))
        }
    };
    if let Some(feedback) = &at.feedback
        && (!feedback.failures.is_empty() || feedback.note.is_some())
    {
        let failures = feedback.failures.iter().map(|failure| format!("{}: {}", failure.check, failure.reason));
        let said: Vec<String> = failures.chain(feedback.note.clone()).collect();
        text.push_str(&format!(" <- {}", said.join(", ")));
    }
    text
}

fn short(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Held => "held",
        Verdict::Shown { .. } => "shown",
        Verdict::Excused { .. } => "excused",
        Verdict::Broken { .. } => "broken",
        Verdict::ForPerson { .. } => "asked",
        Verdict::Unknown { .. } => "unknown",
    }
}

/// Returns the changes as text, apart from the positions.
pub(super) fn notes(changes: &[Change]) -> String {
    if changes.is_empty() {
        return "nothing new".to_owned();
    }
    let note = |change: &Change| match change {
        Change::Retried { gate, used, budget, .. } => Some(format!("{gate} retry {used} of {budget}")),
        Change::Refilled { gate: Some(gate), .. } => Some(format!("{gate} refilled")),
        Change::Refilled { gate: None, .. } => Some("all refilled".to_owned()),
        Change::Branched { branch, state, .. } => match state {
            BranchState::Held => None,
            BranchState::Open(_) => Some(format!("{branch} opened")),
            BranchState::Done(outcome) => Some(format!("{branch} {outcome}")),
            BranchState::Cancelled => Some(format!("{branch} cancelled")),
        },
        Change::Bypassed { bypass } => {
            let node = bypass.node.as_ref().expect("one of the run");
            Some(format!("{} for {} at {node}", bypass.id, bypass.invariant))
        }
        Change::Used { bypass } => Some(format!("{bypass} is used up")),
        Change::Set { name, value, .. } => Some(format!("{name} = {value}")),
        Change::Skipped { activities, .. } => Some(format!("skips {}", activities[0])),
        Change::Led { node, to, .. } => Some(format!("{node} → {to}")),
        Change::Looped { node, passes, by, .. } => Some(format!("{node} {by:?} after {passes}")),
        _ => None,
    };
    changes.iter().filter_map(note).collect::<Vec<_>>().join(", ")
}

/// Formats the lines of a story in columns.
pub(super) fn table(lines: &[(String, String, String)]) -> String {
    let words = lines.iter().map(|line| line.0.len()).max().unwrap_or(0);
    let places = lines.iter().filter(|line| !line.2.is_empty()).map(|line| line.1.chars().count()).max().unwrap_or(0);
    let line = |(word, place, note): &(String, String, String)| {
        let text = format!("{word:words$}  {place:places$}  {note}");
        format!("{}\n", text.trim_end())
    };
    lines.iter().map(line).collect()
}

//! A search for a run of the engine to a step of the analysis, for paths that values and rounds do not fill in directly.
//!
//! It follows the steps of the analysis from the opening on, those nearest to the goal first, and tries the values and
//! counts that the analysis leaves open.

use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::fmt::Write as _;
use std::rc::Rc;

use serde_json::{Map, Value};

use super::counterexample::{Counterexample, Line, Story, words};
use super::explore::is_given;
use super::model::{MISSING, Mask, Model, Names};
use super::state::{frames_and_data, is_covered};
use super::steps::{Act, Step, steps};
use crate::engine::open;
use crate::run::{Event, Frame, Opening, Place, Run};

/// The maximum number of events that are tried.
const MAX_TRIED: usize = 40_000;
/// The number of events between two checks of the time.
const STRIDE: usize = 256;
/// The maximum number of combinations of values that are tried at one step.
const MAX_COMBINATIONS: usize = 64;

/// A run of the engine, with the abstract run of the same steps.
struct ReachedRun {
    state: u32,
    of_analysis: Rc<Run>,
    run: Run,
    by: Origin,
}

/// The origin of a reached run.
enum Origin {
    Opening(Opening),
    Step { from: usize, events: Vec<Event>, line: Line },
}

struct Search<'s> {
    story: &'s Story<'s>,
    distances: Vec<u32>,
    reached: Vec<ReachedRun>,
    known: BTreeSet<(u32, String)>,
    /// The nearest first, and of these the latest.
    waiting: BinaryHeap<(std::cmp::Reverse<u32>, usize)>,
    tried: usize,
}

impl Story<'_> {
    /// Finds a run that ends with a step of the analysis; `None` if there is none within the bounds.
    pub(super) fn searched(&self, edge: u32, out_of_time: &mut dyn FnMut() -> bool) -> Option<Counterexample> {
        let distances = self.distances(self.found.edges[edge as usize].from);
        let (reached, known, waiting) = (Vec::new(), BTreeSet::new(), BinaryHeap::new());
        let mut search = Search { story: self, distances, reached, known, waiting, tried: 0 };
        search.open();
        let mut due = STRIDE;
        while let Some((_, at)) = search.waiting.pop() {
            if let Some(last) = search.follow(at, edge) {
                return Some(search.counterexample(last));
            }
            let is_over = search.tried > due && {
                due = search.tried + STRIDE;
                out_of_time()
            };
            if is_over || search.tried > MAX_TRIED {
                return None;
            }
        }
        None
    }

    /// Returns the number of steps from each state to a goal; `u32::MAX` for a state that does not lead there.
    fn distances(&self, goal: u32) -> Vec<u32> {
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); self.found.states.len()];
        self.found.edges.iter().for_each(|edge| before[edge.to as usize].push(edge.from));
        let mut distances = vec![u32::MAX; before.len()];
        distances[goal as usize] = 0;
        let mut waiting = VecDeque::from([goal]);
        while let Some(at) = waiting.pop_front() {
            for from in &before[at as usize] {
                if distances[*from as usize] == u32::MAX {
                    distances[*from as usize] = distances[at as usize] + 1;
                    waiting.push_back(*from);
                }
            }
        }
        distances
    }

    /// Returns the values that a step may set, in the combinations that are tried.
    fn values_at(&self, step: &Step) -> Vec<Map<String, Value>> {
        let site = self.model.site(&step.flow, &step.node);
        let (gives, live) = match (site, &step.act) {
            (Some(site), _) if step.helps => (&site.helps[..], site.live),
            (Some(site), Act::Report(_)) => (&site.gives[..], site.live),
            _ => (&[][..], 0),
        };
        combinations(self.model, gives.iter().copied(), live)
    }

    /// Returns the values that an opening may set, likewise.
    fn inputs(&self) -> Vec<Map<String, Value>> {
        let flow = self.workflow.root();
        let given = flow.variables.iter().filter(|variable| is_given(variable)).filter_map(|variable| {
            let name = self.model.names.get_index_of(&variable.name.value)?;
            Some((name, self.model.any_of(Some(variable.kind), name)))
        });
        let live = self.model.site(self.workflow.id(), &flow.start).map_or(0, |site| site.live);
        combinations(self.model, given, live)
    }
}

impl Search<'_> {
    /// Adds the runs of all openings that are tried.
    fn open(&mut self) {
        let first = Rc::new(self.story.found.first.clone());
        for given in self.story.inputs() {
            let opening = self.story.opening(Some(&given));
            let Some(run) = open(self.story.workflow, &opening).ok().and_then(|changes| Run::fold(&changes)) else {
                continue;
            };
            self.reach(0, Rc::clone(&first), run, Origin::Opening(opening));
        }
    }

    /// Adds a run unless it is known.
    fn reach(&mut self, state: u32, of_analysis: Rc<Run>, run: Run, by: Origin) {
        let distance = self.distances[state as usize];
        if distance < u32::MAX && self.known.insert((state, counts(self.story.model, &run))) {
            self.waiting.push((std::cmp::Reverse(distance), self.reached.len()));
            self.reached.push(ReachedRun { state, of_analysis, run, by });
        }
    }

    /// Tries all steps from a reached run. Returns the run at the goal.
    fn follow(&mut self, at: usize, goal: u32) -> Option<ReachedRun> {
        let ReachedRun { state, of_analysis, run, .. } = &self.reached[at];
        let (state, run) = (*state, run.clone());
        let results = steps(self.story.model, of_analysis)?;
        for (number, edge) in self.story.found.edges_of(state) {
            let Some(result) = results.iter().find(|result| result.step == edge.step) else { continue };
            let of_analysis = Rc::new(result.run.clone());
            for given in self.story.values_at(&edge.step) {
                self.tried += 1;
                let given = (!given.is_empty()).then_some(&given);
                let mut next = run.clone();
                let Some(events) = self.story.performed(&mut next, &edge.step, given) else { continue };
                if !is_covered(self.story.model, next.clone(), &of_analysis) {
                    continue;
                }
                let line = Line { node: edge.step.node.clone(), what: words(&edge.step, given) };
                let by = Origin::Step { from: at, events, line };
                let of_analysis = Rc::clone(&of_analysis);
                if number == goal {
                    return Some(ReachedRun { state: edge.to, of_analysis, run: next, by });
                }
                self.reach(edge.to, of_analysis, next, by);
            }
        }
        None
    }

    /// Returns the run as a counterexample.
    fn counterexample(self, last: ReachedRun) -> Counterexample {
        let (mut events, mut lines) = (Vec::new(), Vec::new());
        let mut by = &last.by;
        let opening = loop {
            match by {
                Origin::Opening(opening) => break opening.clone(),
                Origin::Step { from, events: of_step, line } => {
                    events.extend(of_step.iter().rev().cloned());
                    lines.push(line.clone());
                    by = &self.reached[*from].by;
                }
            }
        };
        events.reverse();
        lines.reverse();
        Counterexample { opening, events, lines, assumes: Vec::new(), is_replayed: true }
    }
}

/// Returns combinations of values for variables that are read later. Beyond the limit, further variables are set alone.
fn combinations(model: &Model, given: impl Iterator<Item = (usize, Mask)>, live: Names) -> Vec<Map<String, Value>> {
    let mut all = vec![Map::new()];
    for (name, mask) in given.filter(|(name, _)| live & (1 << name) != 0) {
        let values = values(model, name, mask);
        let is_alone = all.len() * (values.len() + 1) > MAX_COMBINATIONS;
        let before = all[..if is_alone { 1 } else { all.len() }].to_vec();
        for value in values {
            all.extend(before.iter().map(|given| {
                let mut given = given.clone();
                given.insert(model.text(name).to_owned(), value.clone());
                given
            }));
        }
    }
    all
}

/// Returns a value of each cell, and for arrays with items also one with two.
fn values(model: &Model, name: usize, mask: Mask) -> Vec<Value> {
    let cells = (0..Mask::BITS).filter(|cell| mask & !MISSING & (1 << cell) != 0);
    let of_cells: Vec<&Value> = cells.filter_map(|cell| model.value(name, cell)).collect();
    let two = of_cells.iter().filter_map(|value| match value.as_array().map(Vec::as_slice) {
        Some([item]) => Some(Value::Array(vec![item.clone(); 2])),
        _ => None,
    });
    let two: Vec<Value> = two.collect();
    of_cells.into_iter().cloned().chain(two).collect()
}

/// Returns what two runs at the same place may differ in: used retries, passes, and the values of tracked variables.
fn counts(model: &Model, run: &Run) -> String {
    let mut text = String::new();
    frames_and_data(&run.root, &mut |frame, data| {
        for name in model.names.keys() {
            if let Some(value) = data.and_then(|data| data.variables.get(name)) {
                let _ = write!(text, "{name}={value} ");
            }
        }
        frame.into_iter().for_each(|frame| frame_counts(frame, &mut text));
    });
    text
}

fn frame_counts(frame: &Frame, text: &mut String) {
    for spent in &frame.spent {
        let _ = write!(text, "{}:{} ", spent.gate, spent.used);
    }
    if let Place::Looping { pass, items, .. } = &frame.place {
        let _ = write!(text, "{pass}/{} ", items.as_ref().map_or(0, |items| items.len()));
    }
    text.push(';');
}

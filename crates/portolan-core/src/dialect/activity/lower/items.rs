//! The sequence of an activity: steps, checkpoints and loops in order.

use super::super::activities::Activity;
use super::super::checkpoints::{Body, Checkpoint, Place, PlacedItem, Question, Scope};
use super::super::flow::{Action, Trigger as Started, Verb};
use super::super::loops::Loop;
use super::super::steps::{Item, Step};
use super::chain::Tail;
use super::loops::OverSteps;
use super::{Lowering, names, number, texts};
use crate::diagnostic::{Diagnostic, clip};
use crate::expr::{Condition, Expr};
use crate::graph::{self, Choice, Fallback, Instance, Kind, Phase, StepPath, Trigger};
use crate::source::{Span, Spanned};
use crate::value::{NodeId, Outcome, PASSED, SKIPPED, template};

/// The scope of lowering: an activity, and the loops around it.
#[derive(Clone)]
pub(super) struct LoweringScope<'f> {
    pub(super) at: usize,
    pub(super) activity: &'f Activity,
    pub(super) loops: Vec<NodeId>,
    /// The prefix of its nodes' ids.
    pub(super) prefix: String,
    /// The activities whose loops lead here, this one last.
    pub(super) within: Vec<&'f str>,
}

impl<'f> LoweringScope<'f> {
    pub(super) fn of(at: usize, activity: &'f Activity) -> LoweringScope<'f> {
        let id = &activity.id.value;
        LoweringScope { at, activity, loops: Vec::new(), prefix: id.clone(), within: vec![id] }
    }

    pub(super) fn seat(&self, id: &str, number: Option<u32>) -> StepPath {
        StepPath {
            activity: self.at,
            id: id.to_owned(),
            number,
            loops: self.loops.clone(),
            effectivities: Vec::new(),
            gates: false,
            reports: Some(Vec::new()),
        }
    }

    pub(super) fn node(&self, id: &str) -> NodeId {
        NodeId::from(format!("{}.{id}", self.prefix))
    }
}

/// An element of the sequence.
#[derive(Clone, Copy)]
pub(super) enum Part<'f> {
    Step(&'f Step),
    Checkpoint(&'f Checkpoint),
    Loop(&'f Loop),
}

impl<'f> Part<'f> {
    pub(super) fn of(item: &'f Item) -> Part<'f> {
        match item {
            Item::Step(step) => Part::Step(step),
            Item::Checkpoint(checkpoint) => Part::Checkpoint(checkpoint),
            Item::Loop(looping) => Part::Loop(looping),
        }
    }

    /// Its display name.
    fn name(&self) -> &'f str {
        let name = match self {
            Part::Step(step) => &step.name,
            Part::Checkpoint(checkpoint) => &checkpoint.name,
            Part::Loop(looping) => &looping.name,
        };
        name.as_ref().map_or(self.id(), |name| &name.value)
    }

    pub(super) fn id(&self) -> &'f str {
        match self {
            Part::Step(step) => &step.id.value,
            Part::Checkpoint(checkpoint) => &checkpoint.id.value,
            Part::Loop(looping) => &looping.id.value,
        }
    }
}

impl<'f> Lowering<'f, '_> {
    /// Adds the sequence of an activity.
    pub(super) fn items(&mut self, seat: &LoweringScope<'f>) {
        let row = self.row(seat.activity);
        let mut number = 0;
        for part in row {
            let of_mode = self.mode_of(seat.activity, part);
            self.part(seat, part, of_mode, &mut number);
        }
    }

    /// Returns the sequence in order, with anchored elements at their places. Steps that a loop beside the steps names
    /// are in that loop, which is at the position of the first of them.
    fn row(&mut self, activity: &'f Activity) -> Vec<Part<'f>> {
        let overrides = &activity.mode_overrides;
        let steps = activity.steps.iter().chain(overrides.iter().flat_map(|over| &over.steps));
        let steps: Vec<Part<'f>> = steps.map(Part::of).collect();
        let checkpoints = activity.checkpoints.iter().chain(overrides.iter().flat_map(|over| &over.checkpoints));
        let checkpoints: Vec<&'f PlacedItem<Checkpoint>> = checkpoints.collect();
        self.check_anchors(activity, &steps, &checkpoints);
        let loops = OverSteps::of(activity, &steps);
        let placed_loops = activity.loops.iter().filter(|placed| !loops.is_over_steps(&placed.item));
        let placed_loops: Vec<&'f PlacedItem<Loop>> = placed_loops.collect();
        let mut row: Vec<Part<'f>> = Vec::new();
        let placed = |row: &mut Vec<Part<'f>>, here: &dyn Fn(&Place) -> bool| {
            let loops = placed_loops.iter().filter(|placed| here(&placed.place));
            row.extend(loops.map(|placed| Part::Loop(&placed.item)));
            let checkpoints = checkpoints.iter().filter(|placed| here(&placed.place));
            row.extend(checkpoints.map(|placed| Part::Checkpoint(&placed.item)));
        };
        placed(&mut row, &|place| matches!(place, Place::Entry));
        for part in &steps {
            let is = |anchor: &Spanned<String>| anchor.value == part.id();
            placed(&mut row, &|place| matches!(place, Place::Before(anchor) if is(anchor)));
            match loops.of_step(part.id()) {
                Some(looping) if loops.begins_at(looping, part.id()) => row.push(Part::Loop(looping)),
                Some(_) => {}
                None => row.push(*part),
            }
            placed(&mut row, &|place| matches!(place, Place::After(anchor) if is(anchor)));
        }
        placed(&mut row, &|place| matches!(place, Place::Exit));
        row
    }

    fn check_anchors(&mut self, activity: &Activity, steps: &[Part<'_>], checkpoints: &[&PlacedItem<Checkpoint>]) {
        let known: Vec<&str> = steps.iter().map(Part::id).collect();
        let places = activity.loops.iter().map(|placed| &placed.place);
        for place in checkpoints.iter().map(|placed| &placed.place).chain(places) {
            let (Place::Before(anchor) | Place::After(anchor)) = place else { continue };
            if !known.contains(&anchor.value.as_str()) && !activity.unread.contains(&anchor.value) {
                let message = format!("there is no step `{}` in `{}`", clip(&anchor.value), activity.id.value);
                let fault = Diagnostic::error("unknown-step", message).at(anchor.span);
                self.faults.push(fault.did_you_mean(&anchor.value, known.iter().copied()).repaired("it is left out"));
            }
        }
    }

    /// Returns the conditions of modes on a part: an added one needs its mode, and a skipped one needs that mode to be
    /// off.
    pub(super) fn mode_of(&self, activity: &Activity, part: Part<'_>) -> Vec<Expr> {
        let mut conditions = Vec::new();
        for over in &activity.mode_overrides {
            let is_extra = over.steps.iter().any(|item| Part::of(item).id() == part.id())
                || over.checkpoints.iter().any(|placed| placed.item.id.value == part.id());
            let skips = over.skip_steps.iter().any(|skipped| skipped.value == part.id());
            if let Some(Expr::Condition(active)) = self.names.is_active(&over.mode.value) {
                let outside = || Condition::not(active.clone()).ok();
                conditions.extend(is_extra.then(|| active.clone()).map(Expr::Condition));
                conditions.extend(skips.then(outside).flatten().map(Expr::Condition));
            }
        }
        conditions
    }

    pub(super) fn part(&mut self, seat: &LoweringScope<'f>, part: Part<'f>, conditions: Vec<Expr>, number: &mut u32) {
        let (span, own) = match part {
            Part::Step(step) => (step.span, &step.condition),
            Part::Checkpoint(checkpoint) => (checkpoint.span, self.asked_when(checkpoint)),
            Part::Loop(looping) => (looping.span, &looping.condition),
        };
        own.iter().for_each(|condition| self.names.reads(condition, self.faults));
        let conditions = conditions.into_iter().map(|value| Spanned { value, span });
        let past = self.gates(seat, [part.id(), part.name()], span, conditions.chain(own.clone()));
        match part {
            Part::Step(step) => {
                *number += 1;
                self.step(seat, step, *number);
            }
            Part::Checkpoint(checkpoint) => self.checkpoint(seat, checkpoint),
            Part::Loop(looping) => self.looping(seat, looping),
        }
        self.chain.tails.extend(past);
    }

    /// Adds switches before a conditional element, given by id and name, and returns the edges past it.
    pub(super) fn gates(
        &mut self,
        seat: &LoweringScope<'f>,
        [id, name]: [&str; 2],
        span: Span,
        conditions: impl IntoIterator<Item = Spanned<Expr>>,
    ) -> Vec<Tail> {
        let mut past = Vec::new();
        for (nth, condition) in conditions.into_iter().enumerate() {
            let switch = seat.node(&format!("{id}.when{}", number(nth)));
            let place = StepPath { gates: true, ..seat.seat(id, None) };
            self.chain.add(&switch, span, Kind::Switch, Some(place)).name = format!("{name}?");
            past.append(&mut self.chain.tails);
            self.chain.leave_open(&switch, span, Trigger::When(condition));
        }
        past
    }

    fn step(&mut self, seat: &LoweringScope<'f>, step: &'f Step, number: u32) {
        let id = seat.node(&step.id.value);
        let spanned = |outcome: &str| Spanned { value: Outcome::from(outcome), span: step.id.span };
        let outputs = if step.required { vec![spanned(PASSED)] } else { vec![spanned(PASSED), spanned(SKIPPED)] };
        let mut place = seat.seat(&step.id.value, Some(number));
        place.effectivities = step.effectivities.iter().map(|name| name.value.clone()).collect();
        // The outputs of a technique are described in its own text, which is not read here.
        step.outputs.iter().for_each(|output| self.names.reports(&output.variable));
        let says = self.names.declares_outputs && step.technique.is_none();
        let outputs_of = || step.outputs.iter().map(|output| output.variable.value.clone()).collect();
        place.reports = says.then(outputs_of);
        let brief = texts::step(step);
        let node = self.chain.add(&id, step.id.span, Kind::Work { gate: false, outputs }, Some(place));
        node.name = step.name.as_ref().map_or_else(|| step.id.value.clone(), |name| name.value.clone());
        node.brief = brief;
        node.accept.clone_from(&step.accept);
        node.tools.clone_from(&step.tools);
        node.call_rules.clone_from(&step.call_rules);
        // No step reports a failure, so a rejected step must stay open.
        let held = || Box::new(Phase { back: None, cap: 0, counted_at: id.clone() });
        node.phase = (!step.accept.is_empty()).then(held);
        if !step.required {
            self.chain.leave_open(&id, step.id.span, Trigger::Outcome(spanned(SKIPPED)));
        }
        let name = Part::Step(step).name();
        self.actions(seat, [&format!("{}.done", step.id.value), &format!("After {name}")], &step.actions);
        for (nth, trigger) in step.triggers.iter().enumerate() {
            self.trigger(seat, &id.to_string(), nth, trigger);
        }
    }

    /// Adds nodes for actions that set variables, given by id and name. All others are texts of the step or the activity.
    pub(super) fn actions(&mut self, seat: &LoweringScope<'f>, [own, name]: [&str; 2], actions: &'f [Action]) {
        let sets = actions.iter().filter(|action| matches!(action.verb, Verb::Set));
        for (nth, action) in sets.enumerate() {
            let (Some(target), Some(value)) = (&action.target, &action.value) else { continue };
            let given = self.names.given(target, value, self.faults);
            let id = seat.node(&format!("{own}{}", number(nth)));
            action.condition.iter().for_each(|condition| self.names.reads(condition, self.faults));
            let condition = action.condition.as_ref().map(|condition| condition.value.clone());
            let sets = vec![(target.value.clone(), given)];
            let at = Spanned { value: name.to_owned(), span: target.span };
            self.assign(&id, &at, condition, sets, Some(seat.seat(own, None)));
        }
    }

    /// Adds a node of the given name that only sets variables, with an optional condition.
    pub(super) fn assign(
        &mut self,
        id: &NodeId,
        name: &Spanned<String>,
        condition: Option<Expr>,
        sets: Vec<(String, serde_json::Value)>,
        seat: Option<StepPath>,
    ) {
        let mut past = Vec::new();
        let span = name.span;
        if let Some(condition) = condition {
            let switch = NodeId::from(format!("{id}.when"));
            self.chain.add(&switch, span, Kind::Switch, seat.clone()).name = format!("{}?", name.value);
            past.append(&mut self.chain.tails);
            self.chain.leave_open(&switch, span, Trigger::When(Spanned { value: condition, span }));
        }
        let node = self.chain.add(id, span, Kind::Switch, seat);
        node.name.clone_from(&name.value);
        node.sets = sets;
        self.chain.tails.append(&mut past);
    }

    pub(super) fn trigger(&mut self, seat: &LoweringScope<'f>, after: &str, nth: usize, trigger: &'f Started) {
        let id = NodeId::from(format!("{after}.start{}", number(nth)));
        let context = trigger.pass_context.iter().map(|name| name.value.clone()).collect();
        trigger.pass_context.iter().for_each(|name| self.names.known(name, self.faults));
        let kind = Kind::Subflow { workflow: trigger.workflow.clone(), args: None, context };
        let node = self.chain.add(&id, trigger.workflow.span, kind, Some(seat.seat(&trigger.workflow.value, None)));
        node.name.clone_from(&trigger.workflow.value);
        node.brief.description = trigger.description.as_ref().map(|text| text.value.clone());
    }

    fn checkpoint(&mut self, seat: &LoweringScope<'f>, checkpoint: &'f Checkpoint) {
        let Some(question) = self.question_of(checkpoint) else { return };
        let id = seat.node(&checkpoint.id.value);
        let for_run = matches!(checkpoint.scope, Some(Scope::Run));
        let instance = checkpoint.instance.as_ref().map(|of| Instance { of: of.clone(), for_run });
        instance.iter().flat_map(|instance| template::paths(&instance.of)).for_each(|path| {
            self.names.known(&Spanned { value: path.to_owned(), span: checkpoint.id.span }, self.faults);
        });
        let answered = (for_run && instance.is_none()).then(|| names::answered(&id));
        let once = answered.as_ref().and_then(|name| Condition::not(Condition::exists(name).ok()?).ok());
        let once = once.map(|condition| Spanned { value: Expr::Condition(condition), span: checkpoint.span });
        let name = format!("{} not answered", Part::Checkpoint(checkpoint).name());
        let past = self.gates(seat, [&format!("{}.once", checkpoint.id.value), &name], checkpoint.span, once);
        let mut options: Vec<Choice> = Vec::new();
        let mut leads = Vec::new();
        for option in &question.options {
            let mut choice = self.choice(option);
            choice.sets.extend(answered.iter().map(|name| (name.clone(), serde_json::Value::Bool(true))));
            let to = option.effect.transition_to.as_ref();
            leads.push((choice.id.clone(), to.and_then(|to| self.entry_of(to, "`transitionTo`")), option.id.span));
            options.push(choice);
        }
        if !checkpoint.required && question.options.iter().all(|option| option.id.value != SKIPPED) {
            leads.push((SKIPPED.into(), None, checkpoint.id.span));
            options.push(Choice {
                id: SKIPPED.into(),
                label: "leave it open".to_owned(),
                description: None,
                sets: Vec::new(),
                skips: Vec::new(),
            });
        }
        let auto = question.auto.as_ref();
        let fallback =
            auto.map(|auto| Fallback { option: Outcome::from(auto.option.value.as_str()), after_ms: auto.after_ms });
        let graph_question = graph::Question { message: question.message.value.clone(), options, fallback, instance };
        let kind = Kind::Checkpoint { escalation: None, question: Some(Box::new(graph_question)) };
        let node = self.chain.add(&id, checkpoint.id.span, kind, Some(seat.seat(&checkpoint.id.value, None)));
        node.name = checkpoint.name.as_ref().map_or_else(|| checkpoint.id.value.clone(), |name| name.value.clone());
        node.brief.description = checkpoint.description.as_ref().map(|text| text.value.clone());
        node.brief.instructions = checkpoint.prerequisite.as_ref().map(|text| format!("First: {}", text.value));
        self.chain.tails.clear();
        for (outcome, to, span) in leads {
            let on = Trigger::Outcome(Spanned { value: outcome, span });
            match to {
                Some(to) => {
                    self.chain.edge(&id, span, &to, on);
                }
                None => self.chain.leave_open(&id, span, on),
            }
        }
        self.chain.tails.extend(past);
    }

    /// Returns the shared checkpoint of a name, with or without this workflow's prefix.
    fn shared(&self, reference: &str) -> Option<&'f Checkpoint> {
        let find = |name: &str| self.file.shared_checkpoints.iter().find(|shared| shared.id.value == name);
        let own = || reference.strip_prefix(&format!("{}::", self.file.id.as_ref()?.value)).and_then(find);
        find(reference).or_else(own)
    }

    /// Returns the condition of a checkpoint: its own, or else that of the shared one.
    fn asked_when(&self, checkpoint: &'f Checkpoint) -> &'f Option<Spanned<Expr>> {
        match &checkpoint.body {
            Body::Shared(reference) if checkpoint.condition.is_none() => {
                self.shared(&reference.value).map_or(&checkpoint.condition, |shared| &shared.condition)
            }
            _ => &checkpoint.condition,
        }
    }

    /// Returns the question of a checkpoint: its own, or that of the shared one.
    fn question_of(&mut self, checkpoint: &'f Checkpoint) -> Option<&'f Question> {
        let reference = match &checkpoint.body {
            Body::Own(question) => return Some(question),
            Body::Shared(reference) => reference,
        };
        let shared = &self.file.shared_checkpoints;
        match self.shared(&reference.value).map(|shared| &shared.body) {
            Some(Body::Own(question)) => Some(question),
            _ => {
                let message = format!("there is no shared checkpoint `{}`", clip(&reference.value));
                let fault = Diagnostic::error("unknown-checkpoint", message).at(reference.span);
                let known = shared.iter().map(|shared| shared.id.value.as_str());
                let fault = fault.did_you_mean(&reference.value, known);
                self.faults.push(fault.help("write it under `fragments.checkpoints`").repaired("it is left out"));
                None
            }
        }
    }

    fn choice(&mut self, option: &'f super::super::checkpoints::Choice) -> Choice {
        let mut sets = Vec::new();
        for (name, value) in &option.effect.set {
            sets.push((name.value.clone(), self.names.given(name, value, self.faults)));
        }
        let skips = option.effect.skip_activities.iter();
        let skips = skips.filter_map(|id| self.entry_of(id, "`skipActivities`")).collect();
        Choice {
            id: Outcome::from(option.id.value.as_str()),
            label: option.label.value.clone(),
            description: option.description.as_ref().map(|text| text.value.clone()),
            sets,
            skips,
        }
    }
}

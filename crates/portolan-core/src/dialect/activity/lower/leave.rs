//! The edges out of an activity: its decisions in order, then its transitions, then the default.

use super::super::activities::Activity;
use super::super::flow::Transition;
use super::items::LoweringScope;
use super::{Lowering, names, texts};
use crate::diagnostic::Diagnostic;
use crate::expr::Expr;
use crate::graph::{Kind, Trigger};
use crate::source::{Span, Spanned};
use crate::value::NodeId;

/// The edges out of an activity, in the order in which they are tried.
#[derive(Default)]
struct Ways {
    guarded: Vec<ConditionalEdge>,
    default: Option<(Span, NodeId)>,
}

struct ConditionalEdge {
    condition: Spanned<Expr>,
    to: NodeId,
    /// The label for people.
    label: Option<String>,
}

impl Ways {
    /// Returns whether an unconditional edge ends the list: edges after it are never tried.
    fn is_closed(&self) -> bool {
        self.default.is_some()
    }
}

impl<'f> Lowering<'f, '_> {
    pub(super) fn leave(&mut self, seat: &LoweringScope<'f>) {
        let activity = seat.activity;
        let mut ways = Ways::default();
        self.modes_that_lead_elsewhere(activity, &mut ways);
        self.decisions(activity, &mut ways);
        self.transitions(activity, &mut ways);
        if ways.guarded.is_empty() {
            let to = ways.default.map_or_else(|| self.names.done.clone(), |(_, to)| to);
            return self.chain.lead_to(&to);
        }
        let id = leave(activity);
        let name = activity.name.as_ref().map_or(&activity.id.value, |name| &name.value).clone();
        let node = self.chain.add(&id, activity.id.span, Kind::Switch, Some(seat.seat(&activity.id.value, None)));
        node.name = format!("Leaving {name}");
        node.brief.description = texts::decisions(&activity.decisions);
        self.chain.tails.clear();
        for ConditionalEdge { condition, to, label } in ways.guarded {
            self.chain.edge(&id, condition.span, &to, Trigger::When(condition)).label = label;
        }
        if let Some((span, to)) = ways.default {
            self.chain.edge(&id, span, &to, Trigger::Done);
        }
    }

    fn modes_that_lead_elsewhere(&mut self, activity: &'f Activity, ways: &mut Ways) {
        for over in &activity.mode_overrides {
            let Some(to) = &over.transition_override else { continue };
            if let (Some(active), Some(to)) =
                (self.names.is_active(&over.mode.value), self.entry_of(to, "`transitionOverride`"))
            {
                let condition = Spanned { value: active, span: over.mode.span };
                ways.guarded.push(ConditionalEdge { condition, to, label: None });
            }
        }
    }

    fn decisions(&mut self, activity: &'f Activity, ways: &mut Ways) {
        for decision in &activity.decisions {
            let mut otherwise = None;
            for branch in &decision.branches {
                let to = match &branch.to {
                    Some(to) => self.entry_of(to, "`transitionTo`"),
                    // A branch without a target ends the workflow.
                    None => Some(self.names.done.clone()),
                };
                let Some(to) = to else { continue };
                match &branch.condition {
                    Some(condition) if !branch.is_default => {
                        self.names.reads(condition, self.faults);
                        let label = branch.label.as_ref().map(|label| label.value.clone());
                        ways.guarded.push(ConditionalEdge { condition: condition.clone(), to, label });
                    }
                    _ if branch.is_default => otherwise = Some((branch.id.span, to)),
                    _ => {
                        let message =
                            format!("the branch `{}` has neither a condition nor `isDefault`", branch.id.value);
                        let fault = Diagnostic::error("undecided-branch", message).at(branch.id.span);
                        let help = "add the `condition` under which it is taken, or `isDefault: true` if it is taken \
                            when no condition holds";
                        self.faults.push(fault.help(help).repaired("it is never taken"));
                    }
                }
            }
            if ways.default.is_none() {
                ways.default = otherwise;
            }
            if ways.is_closed() {
                return;
            }
        }
    }

    fn transitions(&mut self, activity: &'f Activity, ways: &mut Ways) {
        if ways.is_closed() {
            return;
        }
        let mut default = None;
        for transition in &activity.transitions {
            let Some(to) = self.entry_of(&transition.to, "the transition") else { continue };
            match &transition.condition {
                Some(condition) if ways.is_closed() => self.never(condition.span, &transition.to),
                Some(condition) => {
                    self.names.reads(condition, self.faults);
                    ways.guarded.push(ConditionalEdge { condition: condition.clone(), to: to.clone(), label: None });
                    // Of several defaults the first one counts.
                    if transition.is_default {
                        default.get_or_insert((transition.span, to));
                    }
                }
                None if transition.is_default => drop(default.get_or_insert((transition.span, to))),
                None if ways.is_closed() => self.never(transition.span, &transition.to),
                None => ways.default = Some((transition.span, to)),
            }
        }
        match &ways.default {
            None => ways.default = default,
            Some((_, open)) => self.untaken_default(activity, open),
        }
    }

    /// Reports a default transition that is never taken, because another one is unconditional.
    fn untaken_default(&mut self, activity: &'f Activity, open: &NodeId) {
        let is_untaken =
            |it: &&Transition| it.is_default && it.condition.is_none() && self.names.place(&it.to.value) != *open;
        let Some(default) = activity.transitions.iter().find(is_untaken) else { return };
        let message =
            format!("the default transition to `{}` is never taken: another one has no condition", default.to.value);
        let fault = Diagnostic::error("shadowed-edge", message).at(default.span);
        let help = "give the other one a condition, or remove one of the two";
        self.faults.push(fault.help(help).repaired("it is never taken"));
    }

    fn never(&mut self, span: Span, to: &Spanned<String>) {
        let message = format!("the transition to `{}` is never taken: an earlier one has no condition", to.value);
        let fault = Diagnostic::error("shadowed-edge", message).at(span);
        self.faults.push(fault.help("move it before the one without a condition").repaired("it is never taken"));
    }

    /// Returns the target of a skipped activity: its default transition, or else its guarded exit, or else the end.
    pub(super) fn skip_target(&mut self, activity: &'f Activity) -> NodeId {
        let known = |id: &str| self.names.activities.contains(id) || id == names::TERMINAL;
        let of = |is: &dyn Fn(&Transition) -> bool| {
            activity.transitions.iter().find(|transition| is(transition) && known(&transition.to.value))
        };
        let default =
            of(&|transition| transition.is_default).or_else(|| of(&|transition| transition.condition.is_none()));
        match default {
            Some(transition) => self.names.place(&transition.to.value),
            None if activity.transitions.is_empty() && activity.decisions.is_empty() => self.names.done.clone(),
            None if self.has_guards(activity) => leave(activity),
            None => self.names.done.clone(),
        }
    }

    fn has_guards(&self, activity: &Activity) -> bool {
        let conditional = activity.transitions.iter().any(|transition| transition.condition.is_some());
        let decides =
            activity.decisions.iter().any(|decision| decision.branches.iter().any(|branch| branch.condition.is_some()));
        conditional || decides
    }
}

fn leave(activity: &Activity) -> NodeId {
    NodeId::from(format!("{}.leave", activity.id.value))
}

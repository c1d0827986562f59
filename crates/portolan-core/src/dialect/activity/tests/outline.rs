//! A compact outline of what was read: a line for each element, with only the fields that are set.

use super::super::activities::{Activity, Artifact};
use super::super::checkpoints::{Body, Checkpoint, Choice, Place, PlacedItem};
use super::super::flow::{Action, Branch, Decision, Transition, Trigger};
use super::super::loops::{self, Loop, LoopKind};
use super::super::modes::{Mode, ModeOverride};
use super::super::reader::Entry;
use super::super::rules::{ByAudience, Rule};
use super::super::steps::{Item, Step};
use super::super::syntax::{File, Location, Variable};
use crate::expr::Expr;
use crate::source::Spanned;

#[derive(Default)]
pub(super) struct Outline {
    text: String,
    depth: usize,
}

/// A line while it is built.
struct Line(String);

impl Line {
    fn of(first: impl Into<String>) -> Line {
        Line(first.into())
    }

    fn word(mut self, text: impl AsRef<str>) -> Line {
        self.0 += " ";
        self.0 += text.as_ref();
        self
    }

    fn flag(self, is: bool, word: &str) -> Line {
        if is { self.word(word) } else { self }
    }

    fn text(self, key: &str, text: Option<&Spanned<String>>) -> Line {
        match text {
            Some(text) => self.word(format!("{key}={:?}", text.value)),
            None => self,
        }
    }

    fn texts(self, key: &str, texts: &[Spanned<String>]) -> Line {
        if texts.is_empty() {
            return self;
        }
        let texts: Vec<&str> = texts.iter().map(|text| text.value.as_str()).collect();
        self.word(format!("{key}={texts:?}"))
    }

    fn entries(self, key: &str, entries: &[Entry]) -> Line {
        if entries.is_empty() {
            return self;
        }
        let entries: Vec<String> =
            entries.iter().map(|(name, value)| format!("{}: {}", name.value, value.value)).collect();
        self.word(format!("{key}={{{}}}", entries.join(", ")))
    }

    fn gate(self, key: &str, condition: Option<&Spanned<Expr>>) -> Line {
        match condition {
            Some(condition) => self.word(format!("{key} [{}]", condition.value.text())),
            None => self,
        }
    }
}

impl Outline {
    pub(super) fn of_file(file: &File) -> String {
        let mut outline = Outline::default();
        outline.file(file);
        outline.text
    }

    pub(super) fn of_activity(activity: &Activity) -> String {
        let mut outline = Outline::default();
        outline.activity(activity);
        outline.text
    }

    fn line(&mut self, line: Line) {
        self.text += &format!("{}{}\n", "  ".repeat(self.depth), line.0);
    }

    fn inside(&mut self, tell: impl FnOnce(&mut Outline)) {
        self.depth += 1;
        tell(self);
        self.depth -= 1;
    }

    fn file(&mut self, file: &File) {
        let line = Line::of("workflow").text("id", file.id.as_ref()).text("version", file.version.as_ref());
        let line = line.text("title", file.title.as_ref()).text("description", file.description.as_ref());
        let line = line.text("author", file.author.as_ref()).texts("tags", &file.tags);
        let line = line.text("initial", file.initial_activity.as_ref()).text("final", file.final_activity.as_ref());
        let line = line.text("dir", file.activities_dir.as_ref()).flag(file.activities.is_none(), "elsewhere");
        self.line(line.flag(!file.unread.is_empty(), &format!("unread={:?}", file.unread)));
        self.inside(|it| {
            it.rules(&file.rules);
            let techniques = &file.techniques;
            for (whose, names) in [
                ("workflow", &techniques.workflow),
                ("activity", &techniques.activity),
                ("universal", &techniques.universal),
            ] {
                if !names.is_empty() {
                    it.line(Line::of("techniques").texts(whose, names));
                }
            }
            file.variables.iter().for_each(|variable| it.variable(variable));
            file.artifact_locations.iter().for_each(|location| it.location(location));
            file.modes.iter().for_each(|mode| it.mode(mode));
            for shared in &file.shared_rules {
                it.line(Line::of("shared rules").word(&shared.name.value).texts("", &shared.texts));
            }
            file.shared_checkpoints.iter().for_each(|shared| it.checkpoint("shared checkpoint", shared));
            file.activities.iter().flatten().for_each(|activity| it.activity(activity));
        });
    }

    fn rules(&mut self, rules: &ByAudience<Rule>) {
        for (whose, rules) in
            [("workflow", &rules.workflow), ("activity", &rules.activity), ("universal", &rules.universal)]
        {
            rules.iter().for_each(|rule| self.rule(whose, rule));
        }
    }

    fn rule(&mut self, whose: &str, rule: &Rule) {
        let line = Line::of("rule").word(whose);
        self.line(match rule {
            Rule::Text(text) => line.text("text", Some(text)),
            Rule::Shared(shared) => line.text("ref", Some(shared)),
        });
    }

    fn variable(&mut self, variable: &Variable) {
        let line = Line::of("variable").word(&variable.name.value).word(format!("{:?}", variable.kind));
        let line = line.flag(variable.required, "required").text("description", variable.description.as_ref());
        self.line(match &variable.default {
            Some(default) => line.word(format!("= {}", default.value)),
            None => line,
        });
    }

    fn location(&mut self, location: &Location) {
        let line = Line::of("location").word(&location.name.value).text("path", Some(&location.path));
        let line = line.text("description", location.description.as_ref());
        self.line(line.flag(location.gitignored, "gitignored"));
    }

    fn mode(&mut self, mode: &Mode) {
        let line = Line::of("mode").word(&mode.id.value).text("name", mode.name.as_ref());
        let line = line.text("description", mode.description.as_ref()).text("on", mode.activation_variable.as_ref());
        let line = line.texts("recognition", &mode.recognition).texts("skip", &mode.skip_activities);
        self.line(line.entries("defaults", &mode.defaults).text("resource", mode.resource.as_ref()));
    }

    fn activity(&mut self, activity: &Activity) {
        let line = Line::of("activity").word(&activity.id.value).flag(!activity.required, "optional");
        let line = line.text("name", activity.name.as_ref()).text("version", activity.version.as_ref());
        let line = line.text("description", activity.description.as_ref()).text("problem", activity.problem.as_ref());
        let line = line.text("time", activity.estimated_time.as_ref()).texts("recognition", &activity.recognition);
        let line = line.text("skill", activity.skills.primary.as_ref()).texts("skills", &activity.skills.supporting);
        let line = line.texts("techniques", &activity.techniques).texts("outcome", &activity.outcome);
        let line = line.texts("context", &activity.context_to_preserve).texts("notes", &activity.notes);
        self.line(line.flag(!activity.unread.is_empty(), &format!("unread={:?}", activity.unread)));
        self.inside(|it| {
            activity.rules.iter().for_each(|rule| it.rule("activity", rule));
            it.actions("on entry", &activity.entry_actions);
            activity.steps.iter().for_each(|item| it.item(item));
            activity.loops.iter().for_each(|found| it.placed(found, |it, found| it.each(found)));
            activity
                .checkpoints
                .iter()
                .for_each(|found| it.placed(found, |it, found| it.checkpoint("checkpoint", found)));
            it.actions("on exit", &activity.exit_actions);
            activity.artifacts.iter().for_each(|artifact| it.artifact(artifact));
            activity.mode_overrides.iter().for_each(|other| it.mode_override(other));
            activity.decisions.iter().for_each(|decision| it.decision(decision));
            activity.transitions.iter().for_each(|transition| it.transition(transition));
            activity.triggers.iter().for_each(|trigger| it.trigger(trigger));
        });
    }

    fn artifact(&mut self, artifact: &Artifact) {
        let line = Line::of("artifact").word(&artifact.id.value).text("name", Some(&artifact.name));
        let line = line.text("in", artifact.location.as_ref()).text("description", artifact.description.as_ref());
        self.line(match artifact.action {
            Some(action) => line.word(format!("{action:?}")),
            None => line,
        });
    }

    fn mode_override(&mut self, other: &ModeOverride) {
        let line = Line::of("in mode").word(&other.mode.value).text("description", other.description.as_ref());
        let line = line.texts("skip", &other.skip_steps).text("to", other.transition_override.as_ref());
        self.line(line.texts("context", &other.context_to_preserve));
        self.inside(|it| {
            other.rules.iter().for_each(|rule| it.rule("activity", rule));
            other.steps.iter().for_each(|item| it.item(item));
            other.checkpoints.iter().for_each(|found| it.placed(found, |it, found| it.checkpoint("checkpoint", found)));
        });
    }

    fn placed<T>(&mut self, placed: &PlacedItem<T>, tell: impl FnOnce(&mut Outline, &T)) {
        self.line(match &placed.place {
            Place::Before(step) => Line::of("before").word(&step.value),
            Place::After(step) => Line::of("after").word(&step.value),
            Place::Entry => Line::of("at entry"),
            Place::Exit => Line::of("at exit"),
        });
        self.inside(|it| tell(it, &placed.item));
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Step(step) => self.step(step),
            Item::Checkpoint(checkpoint) => self.checkpoint("checkpoint", checkpoint),
            Item::Loop(found) => self.each(found),
        }
    }

    fn step(&mut self, step: &Step) {
        assert!(step.span.start < step.span.end, "the step has a place");
        let line = Line::of("step").word(&step.id.value).flag(!step.required, "optional");
        let line = line.gate("when", step.condition.as_ref()).text("name", step.name.as_ref());
        let line = line.text("description", step.description.as_ref()).text("guide", step.guide.as_ref());
        let line = match &step.technique {
            Some(technique) => line.text("by", Some(&technique.name)).entries("inputs", &technique.inputs),
            None => line,
        };
        let outputs: Vec<Spanned<String>> = step
            .outputs
            .iter()
            .map(|output| Spanned {
                value: format!("{} -> {}", output.name.value, output.variable.value),
                span: output.variable.span,
            })
            .collect();
        self.line(line.texts("effectivities", &step.effectivities).texts("outputs", &outputs));
        self.inside(|it| {
            it.actions("do", &step.actions);
            step.triggers.iter().for_each(|trigger| it.trigger(trigger));
        });
    }

    fn checkpoint(&mut self, word: &str, checkpoint: &Checkpoint) {
        assert!(checkpoint.span.start < checkpoint.span.end, "the checkpoint has a place");
        let line = Line::of(word).word(&checkpoint.id.value).flag(!checkpoint.required, "optional");
        let line = line.gate("when", checkpoint.condition.as_ref()).text("name", checkpoint.name.as_ref());
        let line = line.text("description", checkpoint.description.as_ref());
        let line = line.text("prerequisite", checkpoint.prerequisite.as_ref());
        let line = match checkpoint.scope {
            Some(scope) => line.word(format!("scope={scope:?}")),
            None => line,
        };
        match &checkpoint.body {
            Body::Shared(shared) => self.line(line.text("ref", Some(shared))),
            Body::Own(question) => {
                let line = line.text("message", Some(&question.message));
                self.line(match &question.auto {
                    Some(auto) => line.word(format!("-> {} after {} ms", auto.option.value, auto.after_ms)),
                    None => line,
                });
                self.inside(|it| question.options.iter().for_each(|option| it.option(option)));
            }
        }
    }

    fn option(&mut self, option: &Choice) {
        let line = Line::of("option").word(&option.id.value).text("label", Some(&option.label));
        let line = line.text("description", option.description.as_ref()).entries("set", &option.effect.set);
        let line = line.text("to", option.effect.transition_to.as_ref());
        self.line(line.texts("skip", &option.effect.skip_activities));
    }

    fn each(&mut self, found: &Loop) {
        assert!(found.span.start < found.span.end, "the loop has a place");
        let line = Line::of("loop").word(&found.id.value).flag(!found.required, "optional");
        let line = match &found.kind {
            LoopKind::ForEach { over, variable } => line.text("over", Some(over)).text("as", variable.as_ref()),
            LoopKind::While(test) => line.gate("while", Some(test)),
            LoopKind::DoWhile(test) => line.gate("do while", Some(test)),
        };
        let line = line.gate("when", found.condition.as_ref()).gate("until", found.break_condition.as_ref());
        let line = line.text("name", found.name.as_ref()).text("description", found.description.as_ref());
        let line = match &found.max_iterations {
            Some(most) => line.word(format!("at most {}", most.value)),
            None => line,
        };
        match &found.body {
            loops::Body::Steps(ids) => self.line(line.texts("steps", ids)),
            loops::Body::Activities(ids) => self.line(line.texts("activities", ids)),
            loops::Body::Items(items) => {
                self.line(line);
                self.inside(|it| items.iter().for_each(|item| it.item(item)));
            }
        }
    }

    fn actions(&mut self, word: &str, actions: &[Action]) {
        for action in actions {
            let line = Line::of(word).word(format!("{:?}", action.verb)).gate("when", action.condition.as_ref());
            let line = line.text("target", action.target.as_ref()).text("message", action.message.as_ref());
            let line = line.text("description", action.description.as_ref());
            self.line(match &action.value {
                Some(value) => line.word(format!("= {}", value.value)),
                None => line,
            });
        }
    }

    fn decision(&mut self, decision: &Decision) {
        let line = Line::of("decision").word(&decision.id.value).text("name", decision.name.as_ref());
        self.line(line.text("description", decision.description.as_ref()));
        self.inside(|it| decision.branches.iter().for_each(|branch| it.branch(branch)));
    }

    fn branch(&mut self, branch: &Branch) {
        let line = Line::of("branch").word(&branch.id.value).gate("when", branch.condition.as_ref());
        let line = line.text("label", branch.label.as_ref()).flag(branch.is_default, "default");
        self.line(line.text("to", branch.to.as_ref()).flag(branch.to.is_none(), "ends"));
    }

    fn transition(&mut self, transition: &Transition) {
        assert!(transition.span.start <= transition.to.span.start, "the transition begins before its target");
        let line = Line::of("then").word(&transition.to.value).gate("when", transition.condition.as_ref());
        self.line(line.flag(transition.is_default, "default"));
    }

    fn trigger(&mut self, trigger: &Trigger) {
        let line = Line::of("trigger").word(&trigger.workflow.value).texts("with", &trigger.pass_context);
        self.line(line.text("description", trigger.description.as_ref()));
    }
}

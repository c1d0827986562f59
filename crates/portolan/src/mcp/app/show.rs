//! What the page shows of a run.

use std::collections::BTreeSet;

use portolan_core::graph::Graph;
use portolan_core::present::{
    Act, BlockedBy, Drawing, DrawingInput, Meaning, NodeOffsets, Offer, Overlay, Situation, drawing,
};
use portolan_core::run::Actor;
use portolan_runtime::carrier::Address;
use portolan_runtime::definition::Definition;
use portolan_runtime::digest::Digest;
use portolan_runtime::service::{Caller, Request, ServiceError, View};
use rmcp::RoleServer;
use rmcp::model::{CallToolResult, MetaObject};
use rmcp::service::RequestContext;
use serde_json::{Map, Value, json};

use super::App;
use crate::mcp::arguments::Arguments;
use crate::mcp::{face, leading, sender};
use crate::words::{answer_command, tasks as words};

/// The key of the code in a result's metadata.
const CODE: &str = "portolan/code";
/// The most nodes of a drawing: a larger one would take long to lay out, and could not be read.
const MOST_NODES: usize = 300;

impl App {
    /// Returns what the page shows, or that nothing has changed.
    pub(super) async fn show(
        &self,
        mut arguments: Arguments,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ServiceError> {
        let address = App::address(&mut arguments);
        let known = arguments.string("known");
        arguments.finish()?;
        let caller = leading::caller(&self.service, context);
        // Whoever looks at the page does no work in the run: no agent is bound by it.
        let reader = match &address {
            Ok(Address::State(_)) | Err(_) => caller,
            Ok(_) => Caller { by: Actor::Engine, ..caller },
        };
        let view = self.service.view(&Request::of(address?), &reader).await?;
        self.shown(&view, known.as_deref(), context).await
    }

    /// Returns what the page shows of a view.
    pub(super) async fn shown(
        &self,
        view: &View,
        known: Option<&str>,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResult, ServiceError> {
        let mut value = self.texts(view, context);
        let version = Digest::of(Value::Object(value.clone()).to_string()).as_str()[..16].to_owned();
        value.insert("version".to_owned(), json!(version));
        let is_known = known == Some(version.as_str());
        if is_known {
            value = Map::from_iter([("version".to_owned(), json!(version)), ("unchanged".to_owned(), json!(true))]);
        } else if let Some((drawing, overlay)) = self.drawn(view).await? {
            let taken: Vec<_> = overlay.edges.iter().map(|edge| json!([edge.from, edge.to])).collect();
            value.insert("drawing".to_owned(), json!(drawing));
            value.insert("marks".to_owned(), json!(overlay.nodes));
            value.insert("taken".to_owned(), json!(taken));
        }
        value.insert("success".to_owned(), json!(true));
        let mut result = face::result(Value::Object(value), false);
        if !is_known && can_be_answered(view) {
            let code = self.codes.give(about(view, context));
            let mut meta = MetaObject::new();
            meta.insert(CODE.to_owned(), json!(code));
            result.meta = Some(meta);
        }
        Ok(result)
    }

    /// Returns the texts of the page.
    fn texts(&self, view: &View, context: &RequestContext<RoleServer>) -> Map<String, Value> {
        let situation = &view.situation;
        let title = situation.frames.first().map_or(&situation.workflow, |frame| &frame.workflow_name);
        let mut value = json!({
            "run": view.address.to_string(),
            "title": title,
            "state": situation.state,
            "step": situation.position.step_name,
            "tools": { "answer": self.names.answer, "look": self.names.look },
            "checks": situation.checks.iter().map(|check| check.id.to_string()).collect::<Vec<_>>(),
            "open": open(view),
        });
        let mut add = |name: &str, text: Value| value[name] = text;
        if let Some(wanted) = &situation.wanted {
            add("wanted", json!(wanted));
        }
        if let Some(feedback) = &situation.feedback {
            add("refused", json!(feedback.failures));
        }
        if let Some(question) = self.question(view, context) {
            add("question", question);
        }
        match value {
            Value::Object(value) => value,
            _ => unreachable!("it is written as an object"),
        }
    }

    /// Returns the open question, with its answers and the way in which the person gives one.
    fn question(&self, view: &View, context: &RequestContext<RoleServer>) -> Option<Value> {
        let answers = answers(&view.situation, self.shows_definitions);
        if answers.is_empty() {
            return None;
        }
        let message = words::bare_question(&view.situation);
        let by = match (can_be_answered(view), view.asks_person) {
            (false, _) => "agent",
            (true, false) => "button",
            (true, true) if self.may_confirm(view, context) => "dialog",
            (true, true) => "command",
        };
        let mut value = json!({ "message": message, "answers": answers, "by": by });
        if by == "command" {
            value["command"] = json!(answer_command(view));
        }
        Some(value)
    }

    /// Returns whether the client's dialog can confirm an answer that only a person may give.
    fn may_confirm(&self, view: &View, context: &RequestContext<RoleServer>) -> bool {
        leading::caller(&self.service, context).can_ask
            && leading::client_may_ask(&self.service, context, &answer_command(view)).is_ok()
    }

    /// Draws the run. An agent that is led does not see the later steps, so neither does the page, whose data a client
    /// might show to it.
    async fn drawn(&self, view: &View) -> Result<Option<(Drawing, Overlay)>, ServiceError> {
        if matches!(view.address, Address::State(_)) {
            return Ok(None);
        }
        let past = self.service.past(&view.address).await?;
        let definition = past.definition().clone();
        let overlay = past.trail().overlay(&definition.workflow);
        let shows_all = self.shows_definitions;
        let drawn = tokio::task::spawn_blocking(move || {
            let drawing = draw(&definition, &overlay, shows_all)?;
            Some((drawing, overlay))
        });
        Ok(drawn.await.unwrap_or_default())
    }
}

/// Returns whether answers to a run can be recorded here. A run that is only in an agent's token cannot be moved without
/// the agent.
pub(super) fn can_be_answered(view: &View) -> bool {
    !matches!(view.address, Address::State(_)) && !answers(&view.situation, false).is_empty()
}

/// Returns what a code is about: the client, the run, and its positions.
pub(super) fn about(view: &View, context: &RequestContext<RoleServer>) -> String {
    let name = sender::principal(context).and_then(|principal| principal.name.as_deref()).unwrap_or_default();
    let mut about = format!("{name}\n{}", view.address);
    for offer in view.situation.offers.iter().filter(|offer| matches!(offer.act, Act::Answer { .. })) {
        about += &format!("\n{} {}", offer.branch.as_deref().unwrap_or_default(), offer.revision.unwrap_or_default());
    }
    about
}

/// Returns the possible answers, as the page offers them. With `shows_steps`, they name the steps that they lead to.
fn answers(situation: &Situation, shows_steps: bool) -> Vec<Value> {
    let options = situation.question.iter().flat_map(|question| &question.asked.options);
    let described = |outcome: &str| options.clone().find(|option| option.id == outcome)?.description.clone();
    let offers = situation.offers.iter().filter_map(|offer| match &offer.act {
        Act::Answer { outcome, means } => Some((offer, outcome, means)),
        _ => None,
    });
    let answers = offers.map(|(offer, outcome, means)| {
        json!({
            "answer": outcome,
            "label": label(offer, outcome.as_str(), means, shows_steps),
            "detail": described(outcome.as_str()),
            "step": offer.name,
            "branch": offer.branch,
            "revision": offer.revision,
        })
    });
    answers.collect()
}

/// Returns the text of a button.
fn label(offer: &Offer, outcome: &str, means: &Meaning, shows_steps: bool) -> String {
    match means {
        Meaning::Option(label) => label.clone(),
        Meaning::Outcome => match &offer.leads_to {
            Some(to) if shows_steps => format!("{outcome} → {to}"),
            Some(_) | None => outcome.to_owned(),
        },
        Meaning::TryAgain => "Try again: the obstacle is removed".to_owned(),
        Meaning::GiveUp => "Give up this step".to_owned(),
        Meaning::CallOff => "Cancel the run".to_owned(),
    }
}

/// Returns the agent's actions: what it can do now, and what is blocked by what.
fn open(view: &View) -> Vec<Value> {
    let offers = view.situation.offers.iter().filter(|offer| !matches!(offer.act, Act::Answer { .. }));
    let offers = offers.filter(|offer| offer.blocked_by != Some(BlockedBy::Question));
    let calls = offers.filter_map(|offer| words::call(view, offer));
    let lines = calls.map(|(action, lifted_by)| match lifted_by {
        None => json!({ "title": action.title }),
        Some(lifted_by) => json!({ "title": action.title, "liftedBy": lifted_by }),
    });
    lines.collect()
}

/// Draws a definition with everything that a run has reached, or with all of it.
fn draw(definition: &Definition, overlay: &Overlay, shows_all: bool) -> Option<Drawing> {
    let graphs = definition.graphs();
    let root = graphs.get(definition.workflow.id().as_str())?;
    let reached = (!shows_all).then(|| reached(root, overlay));
    let graph = reached.as_ref().unwrap_or(root);
    if graph.nodes.len() > MOST_NODES {
        return None;
    }
    let none = BTreeSet::new();
    let find = |name: &str| graphs.get(name);
    let mut drawing = drawing(&DrawingInput {
        graph,
        workflow: shows_all.then_some(&definition.workflow),
        find: &find,
        folded: &none,
        opened: &none,
        moved: &NodeOffsets::new(),
    });
    // The page needs neither, and a led agent is told no checks but those of its step.
    for node in &mut drawing.nodes {
        node.span = None;
        node.checked_by.clear();
    }
    drawing.edges.iter_mut().for_each(|edge| edge.span = None);
    Some(drawing)
}

/// Returns the part of a graph that a run has reached.
fn reached(graph: &Graph, overlay: &Overlay) -> Graph {
    let roots = overlay.nodes.keys().map(|name| name.split('/').next().unwrap_or_default());
    let nodes: BTreeSet<&str> = roots.collect();
    let taken: BTreeSet<(&str, &str)> =
        overlay.edges.iter().map(|edge| (edge.from.as_str(), edge.to.as_str())).collect();
    let mut reached = graph.clone();
    reached.nodes.retain(|node| nodes.contains(node.id.as_str()));
    reached.edges.retain(|edge| taken.contains(&(edge.from.value.as_str(), edge.to.value.as_str())));
    reached.unread.clear();
    reached
}

//! Callers that know nothing but the situation: they send back the actions that they are offered.

use super::calls::Calls;
use portolan_core::present::RunStatus;
use portolan_runtime::carrier::Address;
use portolan_runtime::service::{Service, View};
use serde_json::json;

use super::words::Action;
use super::words::tasks::actions;
use super::{World, agent, send, view_line, wait};

/// The most calls of a walk.
const MOST_CALLS: usize = 400;
/// After so many calls a caller that chooses at random gives in, and takes what leads on.
const PATIENCE: usize = 60;

/// How a caller chooses among the actions that it is offered.
#[derive(Clone, Copy)]
pub(crate) enum Choice {
    /// What leads on.
    First,
    /// Any, by a sequence of numbers that begins here.
    Any(u64),
}

/// Where the calls of a walk are made.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Restart {
    Never,
    AfterEachCall,
}

pub(crate) struct Walker<'w> {
    world: &'w World,
    kept: Option<Service>,
    choice: Choice,
    calls: usize,
    children: usize,
    /// What was called, and where that led.
    pub(crate) log: String,
}

impl<'w> Walker<'w> {
    pub(crate) fn new(world: &'w World, choice: Choice, restart: Restart) -> Walker<'w> {
        let kept = (restart == Restart::Never).then(|| world.service());
        Walker { world, kept, choice, calls: 0, children: 0, log: String::new() }
    }

    /// Follows the actions until the run is over. Every offered call must be accepted; every blocked one is refused.
    pub(crate) fn walk(&mut self, address: &Address) -> View {
        let mut view = self.look(address);
        while view.situation.state != RunStatus::Ended {
            self.check_blocked(&view);
            let action = self.choose(&view);
            view = match action.tool {
                "Init" => self.lead_child(address, &action),
                _ => self.call(&action),
            };
            // A branch that is looked at by itself offers only its own actions.
            view = match &view.situation.position.branch {
                Some(_) => self.look(address),
                None => view,
            };
        }
        assert_eq!(
            self.look(address),
            View { claim: None, ..view.clone() },
            "what is shown does not depend on how one came"
        );
        view
    }

    fn lead_child(&mut self, parent: &Address, action: &Action) -> View {
        self.children += 1;
        let mut action = action.clone();
        let path = self.world.task(&format!("child-{}", self.children));
        action.arguments.insert("taskFilePath".to_owned(), json!(path));
        let child = self.call(&action).address;
        self.walk(&child);
        self.look(parent)
    }

    fn look(&self, address: &Address) -> View {
        let fresh = self.kept.is_none().then(|| self.world.service());
        let service = fresh.as_ref().or(self.kept.as_ref()).expect("there is one or the other");
        wait(service.current(address, None, &agent())).expect("a run can always be looked at")
    }

    fn call(&mut self, action: &Action) -> View {
        self.calls += 1;
        assert!(self.calls < MOST_CALLS, "it goes round in circles:\n{}", self.log);
        let fresh = self.kept.is_none().then(|| self.world.service());
        let service = fresh.as_ref().or(self.kept.as_ref()).expect("there is one or the other");
        let answer = send(service, action, &agent());
        let view = answer.unwrap_or_else(|error| panic!("{action:?} was offered and refused: {error}\n{}", self.log));
        self.log.push_str(&format!("{}: {}", action.title, view_line(&view)));
        view
    }

    fn check_blocked(&self, view: &View) {
        for blocked in &actions(view).blocked {
            let mut action = blocked.action.clone();
            if action.tool == "Init" {
                action.arguments.insert("taskFilePath".to_owned(), json!(self.world.task("blocked")));
            }
            let error = self.world.send(&action).expect_err("what is blocked is refused");
            assert!(!error.help.is_empty() && !blocked.lifted_by.is_empty());
        }
    }

    fn choose(&mut self, view: &View) -> Action {
        let actions = actions(view);
        let offered: Vec<&Action> = actions.required.iter().chain(&actions.optional).collect();
        assert!(!offered.is_empty(), "`{}` is not over and offers nothing:\n{}", view.current_step, self.log);
        let nth = match &mut self.choice {
            Choice::First => 0,
            Choice::Any(_) if self.calls > PATIENCE => 0,
            Choice::Any(state) => {
                *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                usize::try_from(*state >> 33).expect("31 bits") % offered.len()
            }
        };
        offered[nth].clone()
    }
}

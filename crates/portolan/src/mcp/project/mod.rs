//! What the sets for leading agents offer beside their tools: prompts for a person to choose, and resources to read.

mod following;
mod prompts;
mod resources;

use std::sync::Arc;

use portolan_runtime::service::Service;

use super::app::{App, Names};

pub(super) use prompts::{Call, Wording};

/// The prompts and resources of a project.
pub(super) struct Project {
    service: Arc<Service>,
    /// How the toolset's own calls are named in prompts.
    wording: Wording,
    /// Whether definitions can be read. An agent that is led does not see the later steps.
    shows_definitions: bool,
    /// The page that shows a run.
    app: App,
    /// The runs that clients are subscribed to.
    followed: Arc<following::FollowedRuns>,
}

impl Project {
    pub(super) fn new(service: Arc<Service>, wording: Wording, names: Names, shows_definitions: bool) -> Project {
        let app = App::new(Arc::clone(&service), names, shows_definitions);
        Project { service, wording, shows_definitions, app, followed: Arc::default() }
    }

    /// Returns the page that shows a run.
    pub(super) fn app(&self) -> &App {
        &self.app
    }

    /// Returns the ids of the workflows that can be run, with the beginning `start`.
    fn workflow_ids(&self, start: &str) -> Vec<String> {
        let ids = self.service.library().ids().into_iter().map(|(id, _)| id);
        ids.filter(|id| id.starts_with(start)).collect()
    }
}

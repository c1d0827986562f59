//! The workers of the states of a project's functions: models with the project's prices, and the workspace of their
//! checks.

use std::path::PathBuf;
use std::sync::Arc;

use super::Service;
use crate::error::ServiceError;
use crate::gates::CheckWorkspace;
use crate::models::{self, ModelSetup, OpenError, prices};
use crate::repository::Repository;
use crate::states::{ModelBindings, Workers};

impl Service {
    /// Returns the models for states. `model`, for example `openai:gpt-4o-mini`, is used if a definition names none. It
    /// is opened before anything begins. Paths in its name are relative to `folder`.
    ///
    /// # Errors
    /// The model cannot be opened, or the prices of the project cannot be read.
    pub fn cast(&self, model: Option<&str>, folder: PathBuf) -> Result<ModelBindings, ServiceError> {
        let refused = |error: OpenError| {
            let faults = error.faults.iter().map(|fault| format!("; {fault}")).collect::<String>();
            ServiceError::refused(error.code, format!("{}{faults}", error.message), error.help)
        };
        let setup = ModelSetup::of(folder);
        let prices = prices::load(self.project(), &setup.variables).map_err(refused)?;
        let cast = ModelBindings::of(setup.clone()).usually(model.map(str::to_owned)).priced(prices);
        Ok(match model {
            Some(name) => cast.with(name, models::open(name, &setup).map_err(refused)?),
            None => cast,
        })
    }

    /// Returns the workspace of the checks of states: the project.
    pub fn project_ground(&self) -> Arc<CheckWorkspace> {
        Arc::new(CheckWorkspace::of(Repository::of(self.project()), Vec::new()))
    }

    /// Returns all workers of states.
    ///
    /// # Errors
    /// As for [`Service::cast`].
    pub fn workers(&self, model: Option<&str>, folder: PathBuf) -> Result<Workers, ServiceError> {
        Ok(Workers { cast: self.cast(model, folder)?, ground: Some(self.project_ground()), ..Workers::default() })
    }
}

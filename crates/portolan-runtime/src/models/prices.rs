//! The prices of models: the shipped table, overridden by the project's file, and then by the user's own.

use std::path::Path;
use std::sync::Arc;

use portolan_core::chat::prices::Prices;
use portolan_core::source::Source;

use super::{AnswerFuture, Model, ModelQuestion, OpenError, Sink, Variables, read_file};

/// The shipped table.
pub const SHIPPED: &str = include_str!("prices.yaml");

/// The file of a project's prices.
pub const FILE: &str = ".portolan/prices.yaml";

/// The file of a user's prices, below `$XDG_CONFIG_HOME`, or below `~/.config` if that is not set.
pub const USER_FILE: &str = "portolan/prices.yaml";

/// Loads the shipped prices, those of the project, and those of the user, which take precedence. An agent in the
/// project can change the project's file, and must not be able to change the limits of its own spending.
///
/// # Errors
/// A file cannot be read, or has faults. All of them are reported.
pub fn load(project: &Path, variables: &Variables) -> Result<Prices, OpenError> {
    let user = match variables.get("XDG_CONFIG_HOME") {
        Some(folder) => Some(Path::new(&folder).to_path_buf()),
        None => variables.get("HOME").map(|home| Path::new(&home).join(".config")),
    };
    let mut prices = read(&Source::new("the shipped prices", SHIPPED))?;
    for file in [Some(project.join(FILE)), user.map(|folder| folder.join(USER_FILE))].into_iter().flatten() {
        if file.exists() {
            prices = prices.with(read(&read_file(&file)?)?);
        }
    }
    Ok(prices)
}

fn read(source: &Source) -> Result<Prices, OpenError> {
    let (prices, faults) = Prices::read(source);
    prices.ok_or_else(|| OpenError::of_faults("bad-prices", source, &faults))
}

/// A model whose answers include their cost, if known.
pub struct PricedModel {
    model: Arc<dyn Model>,
    prices: Arc<Prices>,
}

impl PricedModel {
    /// Adds the costs that `prices` gives for the name of `model`.
    pub fn new(model: Arc<dyn Model>, prices: Arc<Prices>) -> PricedModel {
        PricedModel { model, prices }
    }
}

impl Model for PricedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn ask<'a>(&'a self, question: ModelQuestion<'a>, sink: Option<&'a dyn Sink>) -> AnswerFuture<'a> {
        let future = self.model.ask(question, sink);
        Box::pin(async move {
            let mut answer = future.await?;
            answer.cost_microdollars = self.prices.cost(self.name(), &answer.usage);
            Ok(answer)
        })
    }
}

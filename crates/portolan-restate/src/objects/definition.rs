//! The definition bundles whose digests begin alike.

use portolan_restate_api::Definition;
use restate_sdk::prelude::*;

pub(crate) struct PortolanDefinition;

#[object(
    journal_retention = "0s",
    lazy_state,
    client_visibility = "pub(crate)",
    invocation_retry_policy(initial_interval = "50ms", factor = 2.0, max_interval = "2s", max_attempts = 1000000)
)]
impl PortolanDefinition {
    /// Stores a definition, unless it is there.
    #[handler]
    async fn keep(&self, ctx: ObjectContext<'_>, definition: Json<Definition>) -> Result<(), HandlerError> {
        let Definition { digest, text } = definition.into_inner();
        if ctx.get::<String>(&digest).await?.is_none() {
            ctx.set(&digest, text);
        }
        Ok(())
    }

    /// Returns the text of a definition.
    #[handler]
    async fn text(&self, ctx: SharedObjectContext<'_>, digest: String) -> Result<Json<Option<String>>, HandlerError> {
        Ok(Json(ctx.get::<String>(&digest).await?))
    }

    /// Returns a digest that begins like this.
    #[handler]
    async fn like(
        &self,
        ctx: SharedObjectContext<'_>,
        beginning: String,
    ) -> Result<Json<Option<String>>, HandlerError> {
        let mut digests = ctx.get_keys().await?;
        digests.sort();
        Ok(Json(digests.into_iter().find(|digest| digest.starts_with(&beginning))))
    }
}

//! The routes. `openapi.json` describes them, and a test compares both.

use std::sync::Arc;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodRouter, get, post, put};

use super::{
    Studio, answering, calls, definitions, enrolling, evaluate, events, guard, halts, inbox, listing, page, places,
    project, replies, runs, saving, servers, tries,
};
use crate::http::Refusal;

/// The largest body: all files of the largest definition, and the JSON around them.
pub(super) const MOST_BYTES: usize = 16 << 20;

/// The prefix of the interface's paths.
pub(super) const API: &str = "/api/v1";

/// Returns the paths of the interface, after [`API`].
pub(super) fn paths() -> Vec<(&'static str, MethodRouter<Arc<Studio>>)> {
    vec![
        ("/project", get(project::one)),
        ("/project/trust", get(project::trust)),
        ("/project/trust/revoke", post(project::revoke)),
        ("/project/log", get(project::log)),
        ("/project/hooks", get(project::hooks)),
        ("/project/budgets", get(project::budgets)),
        ("/project/servers", get(servers::list)),
        ("/project/servers/tools", post(servers::tools)),
        ("/project/servers/call", post(servers::call)),
        ("/definitions", get(listing::list)),
        ("/definitions/{id}", get(definitions::one)),
        ("/definitions/{id}/checks", post(definitions::check)),
        ("/definitions/{id}/edits", post(definitions::edit)),
        ("/definitions/{id}/source", put(definitions::write)),
        ("/definitions/{id}/evaluate", post(evaluate::field)),
        ("/definitions/{id}/tests", get(evaluate::tests)),
        ("/definitions/{id}/places", put(places::keep)),
        ("/definitions/{id}/try", post(tries::begin)),
        ("/runs", get(runs::list)),
        ("/runs/{run}", get(runs::one)),
        ("/runs/{run}/drawing", post(runs::drawing)),
        ("/runs/{run}/records", get(runs::records)),
        ("/runs/{run}/records/{seq}", get(runs::record)),
        ("/runs/{run}/at/{seq}", get(runs::at)),
        ("/runs/{run}/nodes/{node}", get(runs::node)),
        ("/runs/{run}/answers", get(replies::of_run)),
        ("/runs/{run}/changes", get(inbox::changes)),
        ("/runs/{run}/fork", post(runs::fork)),
        ("/runs/{run}/control", post(tries::control)),
        ("/runs/{run}/test", post(saving::save)),
        ("/runs/{run}/challenge", post(answering::challenge)),
        ("/runs/{run}/answer", post(answering::answer)),
        ("/passkeys", post(enrolling::enrol)),
        ("/passkeys/challenge", post(enrolling::challenge)),
        ("/inbox", get(inbox::list)),
        ("/inbox/calls/{token}/challenge", post(calls::challenge)),
        ("/inbox/calls/{token}/answer", post(calls::answer)),
        ("/halts", get(halts::list)),
        ("/events", get(events::stream)),
        ("/openapi.json", get(page::openapi)),
    ]
}

/// Builds the router of the page and the interface.
pub(super) fn router(studio: &Arc<Studio>) -> Router {
    let mut api = Router::new();
    for (path, methods) in paths() {
        api = api.route(path, methods);
    }
    let api = api.fallback(nothing).method_not_allowed_fallback(no_method);
    Router::new()
        .route("/", get(page::index))
        .route("/{file}", get(page::file))
        .nest(API, api)
        .fallback(nothing)
        .layer(DefaultBodyLimit::max(MOST_BYTES))
        .layer(from_fn_with_state(Arc::clone(studio), guard::guard))
        .with_state(Arc::clone(studio))
}

async fn nothing() -> Refusal {
    let help = "`/api/v1/openapi.json` lists all paths";
    Refusal::new(StatusCode::NOT_FOUND, "unknown_path", "there is nothing at this path", help)
}

async fn no_method() -> Refusal {
    let help = "`/api/v1/openapi.json` lists the methods of each path";
    Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "unknown_method", "this path does not support the method", help)
}

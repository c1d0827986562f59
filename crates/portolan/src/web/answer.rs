//! Requests and responses of the interface: JSON bodies, and errors of one shape.

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use portolan_core::source::MAX_SOURCE_BYTES;
use serde::de::DeserializeOwned;

use super::routes::MOST_BYTES;
use crate::http::Refusal;

/// The result of a request handler.
pub(super) type Answer<T> = Result<Json<T>, Refusal>;

/// Extracts the JSON body of a request.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Body<T>, Refusal> {
        let read = Json::from_request(request, state).await;
        read.map(|Json(body)| Body(body)).map_err(|error| unread(error.status(), &error.body_text()))
    }
}

/// Extracts the path parameters of a request.
pub(super) struct InPath<T>(pub(super) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for InPath<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<InPath<T>, Refusal> {
        let read = Path::from_request_parts(parts, state).await;
        read.map(|Path(path)| InPath(path)).map_err(|error| unread(StatusCode::BAD_REQUEST, &error.body_text()))
    }
}

/// Extracts the query parameters of a request.
pub(super) struct InQuery<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for InQuery<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<InQuery<T>, Refusal> {
        let read = Query::from_request_parts(parts, state).await;
        read.map(|Query(query)| InQuery(query)).map_err(|error| unread(StatusCode::BAD_REQUEST, &error.body_text()))
    }
}

fn unread(status: StatusCode, why: &str) -> Refusal {
    if status == StatusCode::PAYLOAD_TOO_LARGE {
        let message = format!("the request has more than {} MiB", MOST_BYTES >> 20);
        let help = format!("send less; each file of a definition can have {} MiB", MAX_SOURCE_BYTES >> 20);
        return Refusal::new(status, "too_large", message, &help);
    }
    let help = "`/api/v1/openapi.json` describes the requests";
    let status = if status == StatusCode::UNPROCESSABLE_ENTITY { StatusCode::BAD_REQUEST } else { status };
    Refusal::new(status, "bad_request", format!("the request cannot be read: {}", why.to_lowercase()), help)
}

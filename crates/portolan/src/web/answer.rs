//! Responses: JSON bodies and errors of one shape.

use axum::Json;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use portolan_runtime::service::{ErrorKind, ServiceError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// The result of a request handler.
pub(super) type Answer<T> = Result<Json<T>, Refusal>;

/// Why a request was refused, with its HTTP status.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) status: StatusCode,
    error: Box<ServiceError>,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>, help: &str) -> Refusal {
        Refusal { status, error: Box::new(ServiceError::refused(code, message, help)) }
    }
}

impl From<ServiceError> for Refusal {
    fn from(error: ServiceError) -> Refusal {
        let status = match error.code {
            "unknown_run" | "unknown_workflow" | "unknown_record" | "task_not_found" | "no_workflow" => {
                StatusCode::NOT_FOUND
            }
            "bad_id" | "too_large" => StatusCode::BAD_REQUEST,
            "stale" => StatusCode::CONFLICT,
            "needs_person" => StatusCode::FORBIDDEN,
            _ => match error.kind {
                ErrorKind::Refused | ErrorKind::InvalidDefinition => StatusCode::UNPROCESSABLE_ENTITY,
                ErrorKind::NeedsPerson => StatusCode::FORBIDDEN,
                ErrorKind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
            },
        };
        Refusal { status, error: Box::new(error) }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        #[derive(Serialize)]
        struct Told<'e> {
            code: &'e str,
            message: &'e str,
            help: &'e str,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            accepted: &'e [String],
        }
        let error = &self.error;
        let (code, message, help, accepted) = (error.code, &*error.message, &*error.help, &*error.accepted);
        (self.status, Json(json!({ "error": Told { code, message, help, accepted } }))).into_response()
    }
}

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
    let help = "`/api/v1/openapi.json` says what is asked for how";
    let code = if status == StatusCode::PAYLOAD_TOO_LARGE { "too_large" } else { "bad_request" };
    let status = if status == StatusCode::UNPROCESSABLE_ENTITY { StatusCode::BAD_REQUEST } else { status };
    Refusal::new(status, code, format!("the request cannot be read: {}", why.to_lowercase()), help)
}

//! Errors as HTTP responses of one shape.

use axum::Json;
use axum::http::header::WWW_AUTHENTICATE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{AppendHeaders, IntoResponse, Response};
use portolan_runtime::service::{ErrorKind, ServiceError};
use serde::Serialize;
use serde_json::json;

/// Why a request was refused, with its HTTP status.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    error: Box<ServiceError>,
    /// The `WWW-Authenticate` header.
    challenge: Option<HeaderValue>,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>, help: &str) -> Refusal {
        Refusal { status, error: Box::new(ServiceError::refused(code, message, help)), challenge: None }
    }

    /// Adds the header that tells clients how to be admitted.
    pub(crate) fn challenging(self, challenge: &str) -> Refusal {
        Refusal { challenge: HeaderValue::from_str(challenge).ok(), ..self }
    }

    /// Returns the error as responses contain it.
    pub(crate) fn body(&self) -> impl Serialize + use<> {
        #[derive(Serialize)]
        struct RefusalBody {
            code: &'static str,
            message: String,
            help: String,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            accepted: Vec<String>,
        }
        let ServiceError { code, message, help, accepted, .. } = (*self.error).clone();
        RefusalBody { code, message, help, accepted }
    }
}

impl From<ServiceError> for Refusal {
    fn from(error: ServiceError) -> Refusal {
        let status = match error.code {
            "unknown_run" | "unknown_workflow" | "unknown_record" | "task_not_found" | "no_workflow"
            | "unknown_token" => StatusCode::NOT_FOUND,
            "bad_id" | "too_large" => StatusCode::BAD_REQUEST,
            "stale" => StatusCode::CONFLICT,
            "needs_person" => StatusCode::FORBIDDEN,
            _ => match error.kind {
                ErrorKind::Refused | ErrorKind::InvalidDefinition => StatusCode::UNPROCESSABLE_ENTITY,
                ErrorKind::NeedsPerson => StatusCode::FORBIDDEN,
                ErrorKind::Failed => StatusCode::INTERNAL_SERVER_ERROR,
            },
        };
        Refusal { status, error: Box::new(error), challenge: None }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let challenge = self.challenge.clone().map(|value| [(WWW_AUTHENTICATE, value)]);
        (self.status, challenge.map(AppendHeaders), Json(json!({ "error": self.body() }))).into_response()
    }
}

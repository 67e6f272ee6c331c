//! What a request can be refused for, as a status and JSON: `{"error": {"kind": "no_texts", "message": "…"}}`.

use std::fmt;

use axum::Json;
use axum::extract::rejection::{BytesRejection, JsonRejection};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::sentence_tokenizer::TooManyTokens;

/// Why a request has no embeddings.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the messages say what they are")]
pub enum ServeError {
    InvalidJson {
        problem: String,
    },
    InvalidRequest {
        problem: String,
    },
    NotJson,
    BodyTooLarge {
        limit: usize,
    },
    BodyTimeout,
    NoTexts,
    TooManyTexts {
        texts: usize,
        limit: usize,
    },
    TextTooLarge {
        index: usize,
        bytes: usize,
        limit: usize,
    },
    TextTooLong {
        index: usize,
        problem: TooManyTokens,
    },
    QueueFull {
        waiting: usize,
        limit: usize,
    },
    Stopping,
    Timeout,
    NotFound {
        path: String,
    },
    MethodNotAllowed {
        method: String,
    },
    ReloadBusy,
    ReloadFailed {
        problem: String,
    },
    Model {
        problem: String,
    },
}

impl ServeError {
    /// The status, and the name that programs go by.
    pub fn status(&self) -> (StatusCode, &'static str) {
        match self {
            Self::InvalidJson { .. } => (StatusCode::BAD_REQUEST, "invalid_json"),
            Self::InvalidRequest { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "invalid_request"),
            Self::NotJson => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json"),
            Self::BodyTooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
            Self::BodyTimeout => (StatusCode::REQUEST_TIMEOUT, "body_timeout"),
            Self::NoTexts => (StatusCode::UNPROCESSABLE_ENTITY, "no_texts"),
            Self::TooManyTexts { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "too_many_texts"),
            Self::TextTooLarge { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "text_too_large"),
            Self::TextTooLong { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "text_too_long"),
            Self::QueueFull { .. } => (StatusCode::SERVICE_UNAVAILABLE, "queue_full"),
            Self::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "stopping"),
            Self::Timeout => (StatusCode::GATEWAY_TIMEOUT, "timeout"),
            Self::NotFound { .. } => (StatusCode::NOT_FOUND, "not_found"),
            Self::MethodNotAllowed { .. } => (StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed"),
            Self::ReloadBusy => (StatusCode::CONFLICT, "reload_busy"),
            Self::ReloadFailed { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "reload_failed"),
            Self::Model { .. } => (StatusCode::INTERNAL_SERVER_ERROR, "model"),
        }
    }

    /// That of a body that is not what is asked for.
    pub fn from_rejection(rejection: &JsonRejection, limit: usize) -> Self {
        let problem = rejection.body_text();
        match rejection {
            JsonRejection::JsonDataError(_) => Self::InvalidRequest { problem },
            JsonRejection::MissingJsonContentType(_) => Self::NotJson,
            JsonRejection::BytesRejection(BytesRejection::FailedToBufferBody(_))
                if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE =>
            {
                Self::BodyTooLarge { limit }
            }
            _ => Self::InvalidJson { problem },
        }
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidJson { problem } | Self::InvalidRequest { problem } => {
                f.write_str(problem)
            }
            Self::NotJson => f.write_str("the content-type must be application/json"),
            Self::BodyTooLarge { limit } => {
                write!(
                    f,
                    "the body has more than {limit} bytes; send fewer texts at a time"
                )
            }
            Self::BodyTimeout => f.write_str("the body did not arrive in time"),
            Self::NoTexts => f.write_str("texts is empty; send at least one"),
            Self::TooManyTexts { texts, limit } => {
                write!(
                    f,
                    "there are {texts} texts, at most {limit} are taken; send several requests"
                )
            }
            Self::TextTooLarge {
                index,
                bytes,
                limit,
            } => {
                write!(
                    f,
                    "texts[{index}] has {bytes} bytes, at most {limit} are taken; cut it into parts"
                )
            }
            Self::TextTooLong { index, problem } => write!(f, "texts[{index}]: {problem}"),
            Self::QueueFull { waiting, limit } => {
                write!(
                    f,
                    "{waiting} texts are waiting, of at most {limit}; try again later"
                )
            }
            Self::Stopping => f.write_str("the service is stopping; ask another one"),
            Self::Timeout => f.write_str("the texts were not embedded in time; try again later"),
            Self::NotFound { path } => {
                write!(
                    f,
                    "there is no {path:?}; there are /embed, /health, /metrics and /reload"
                )
            }
            Self::MethodNotAllowed { method } => {
                write!(
                    f,
                    "{method} is not for this path; POST is for /embed and /reload, GET for /health and /metrics"
                )
            }
            Self::ReloadBusy => f.write_str("weights are being loaded already; try again later"),
            Self::ReloadFailed { problem } => {
                write!(
                    f,
                    "the old weights go on serving, because the new ones do not load: {problem}"
                )
            }
            Self::Model { problem } => write!(f, "the model failed: {problem}"),
        }
    }
}

impl std::error::Error for ServeError {}

impl IntoResponse for ServeError {
    fn into_response(self) -> Response {
        let (status, kind) = self.status();
        let body = json!({"error": {"kind": kind, "message": self.to_string()}});
        let mut response = (status, Json(body)).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            let seconds = HeaderValue::from_static("1");
            let _ = response.headers_mut().insert(header::RETRY_AFTER, seconds);
        }
        response
    }
}

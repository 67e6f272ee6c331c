//! The service as HTTP and JSON.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::{Method, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout_at;

use crate::error::ServeError;
use crate::service::Service;

/// `{"texts": ["…", …]}`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Texts {
    texts: Vec<String>,
}

/// A struct from a JSON object only: what serde derives would take an array of its fields too, `[["…"]]`.
struct Object<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = deserializer.deserialize_map(ObjectVisitor(PhantomData))?;
        Ok(Self(value))
    }
}

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}

/// `{"embeddings": [[…], …], "version": 1}`.
#[derive(Serialize)]
struct Embeddings {
    embeddings: Vec<Vec<f32>>,
    version: u64,
}

const PATHS: [&str; 4] = ["/embed", "/health", "/metrics", "/reload"];

/// All paths, with what is counted of each request.
pub fn router(service: Arc<Service>) -> Router {
    Router::new()
        .route("/embed", post(embed))
        .route("/reload", post(reload))
        .route("/health", get(health))
        .route("/metrics", get(metrics))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(DefaultBodyLimit::max(service.options.max_body_bytes))
        .layer(from_fn_with_state(Arc::clone(&service), observe))
        .with_state(service)
}

async fn observe(State(service): State<Arc<Service>>, request: Request, next: Next) -> Response {
    let begin = Instant::now();
    // Names that clients make up must not become labels.
    let known = PATHS.iter().find(|&&path| path == request.uri().path());
    let response = next.run(request).await;
    let (path, status) = (known.copied().unwrap_or("other"), response.status());
    let metrics = &service.metrics;
    metrics.observe_request(path, status.as_u16(), begin.elapsed());
    response
}

async fn embed(
    State(service): State<Arc<Service>>,
    request: Request,
) -> Result<Json<Embeddings>, ServeError> {
    let deadline = tokio::time::Instant::now() + service.options.timeout;
    let body = Json::from_request(request, &());
    let body: Result<Json<Object<Texts>>, JsonRejection> = match timeout_at(deadline, body).await {
        Ok(body) => body,
        Err(_) => return Err(ServeError::BodyTimeout),
    };
    let limit = service.options.max_body_bytes;
    let Json(Object(Texts { texts })) =
        body.map_err(|error| ServeError::from_rejection(&error, limit))?;
    let embedded = service.embed(texts, deadline).await?;
    Ok(Json(Embeddings {
        embeddings: embedded.embeddings,
        version: embedded.version,
    }))
}

async fn reload(State(service): State<Arc<Service>>) -> Result<Json<Value>, ServeError> {
    let version = service.reload().await?;
    Ok(Json(json!({"version": version})))
}

async fn health(State(service): State<Arc<Service>>) -> Json<Value> {
    Json(json!({"status": "ok", "version": service.gauges().version}))
}

async fn metrics(State(service): State<Arc<Service>>) -> impl IntoResponse {
    let text = service.metrics.render(&service.gauges());
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

async fn not_found(uri: Uri) -> ServeError {
    // A client may send any length.
    let path = uri.path().chars().take(64).collect();
    ServeError::NotFound { path }
}

async fn method_not_allowed(method: Method) -> ServeError {
    let method = method.as_str().chars().take(16).collect();
    ServeError::MethodNotAllowed { method }
}

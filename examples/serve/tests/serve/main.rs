//! The service under bad requests, load, reloads and stops, on loopback; every wait is bounded.
#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)]

mod bad_requests;
mod batching;
mod deadline;
mod embeddings;
mod metrics;
mod overload;
mod reload;
mod stop;
mod support;

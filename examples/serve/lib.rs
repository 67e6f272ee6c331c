//! Embeddings of sentences, and a service of them.
//!
//! [`sentence_tokenizer`] and [`sentence_encoder`] read a directory of sentence-transformers: the texts' tokens, and what
//! a BERT makes of them. The other files are the service, from the inside out:
//!
//! | file | what it does |
//! |---|---|
//! | [`weights`] | the version of the weights that serves, and how another takes its place |
//! | [`batcher`] | texts that wait, and the threads that embed them in batches |
//! | [`service`] | a request from its texts to its embeddings, without HTTP |
//! | [`routes`], [`error`] | HTTP and JSON around it |
//! | [`metrics`] | what Prometheus is told |
//! | [`server`] | connections, and how the program stops |
//! | [`options`] | limits and sizes, by the names of the command line |
//! | [`client`] | a client of one connection, for the load test and the tests |
//! | [`load_report`] | what the load test saw |

pub mod batcher;
pub mod client;
pub mod error;
pub mod load_report;
pub mod metrics;
pub mod options;
pub mod routes;
pub mod sentence_encoder;
pub mod sentence_tokenizer;
pub mod server;
pub mod service;
pub mod weights;

use std::path::PathBuf;

/// The sentences whose embeddings are recorded, the tiny model, and what was recorded.
pub const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../data/sentence_embeddings");

/// Where `examples/fetch_minilm.sh` puts all-MiniLM-L6-v2.
pub const MINILM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/minilm");

/// The directory and the name of the model that there is: all-MiniLM-L6-v2, or else the tiny one.
pub fn available_model() -> (PathBuf, &'static str) {
    let minilm = PathBuf::from(MINILM);
    if minilm.join("model.safetensors").exists() {
        return (minilm, "minilm");
    }
    (PathBuf::from(DATA).join("tiny"), "tiny")
}

//! A service that embeds texts: one model, batches of requests that wait, limits, metrics, new weights without a stop.
//!
//! ```text
//! cargo run --release --example serve                          on 127.0.0.1:8080
//! cargo run --release --example serve -- --max-batch 64 --max-wait-ms 5
//! curl -H content-type:application/json -d '{"texts": ["Hello", "Good day"]}' http://127.0.0.1:8080/embed
//! curl -X POST http://127.0.0.1:8080/reload                    reads the weights again
//! curl http://127.0.0.1:8080/health http://127.0.0.1:8080/metrics
//! kill -TERM PID                                               answers what was accepted, and ends
//! ```
//!
//! The model is all-MiniLM-L6-v2 where `examples/fetch_minilm.sh` has fetched it, and else a tiny one with fresh weights.
//! What a request is refused for, and why, are the names in `serve/error.rs`. Whoever reaches the port may reload: the
//! service has no passwords, and belongs behind a proxy that has.
//!
//! | option | default | what it is |
//! |---|---|---|
//! | `--listen` | 127.0.0.1:8080 | the address; with port 0 the system chooses one |
//! | `--model` | what there is | a directory of sentence-transformers |
//! | `--workers` | 1 | batches that are computed at once; each uses all processors |
//! | `--max-batch` | 32 | texts of a batch |
//! | `--max-wait-ms` | 2 | how long the first text of a batch waits for others |
//! | `--max-queue` | 512 | texts that wait; beyond that requests are refused with 503 |
//! | `--max-texts` | 32 | texts of a request |
//! | `--max-text-bytes` | 8192 | bytes of a text; the model takes 256 tokens |
//! | `--max-body-bytes` | 1048576 | bytes of a body |
//! | `--max-connections` | 1024 | connections; others wait to be accepted |
//! | `--timeout-ms` | 10000 | from the head of a request to its answer |
//! | `--header-timeout-ms` | 10000 | for the head to arrive |
//! | `--drain-timeout-ms` | 30000 | for what was accepted, after SIGTERM |

use module_nn::Result;
use module_serve::options::Options;
use module_serve::server;

fn main() -> Result<()> {
    server::run(Options::from_args(std::env::args().skip(1))?)
}

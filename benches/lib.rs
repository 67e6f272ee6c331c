//! Criterion benchmarks, each a separate program next to this file, and in `peers/` the same work written for other
//! frameworks, to be run on the same machine within the same minutes.

pub mod derived;
pub mod rows;

/// Criterion with its defaults, and one thread for each operation unless `THREADS` is set; the peers
/// do the same.
pub fn criterion() -> criterion::Criterion {
    let threads = std::env::var("THREADS").ok();
    let threads = threads.and_then(|threads| threads.parse().ok());
    module_nn::set_num_threads(threads.unwrap_or(1));
    criterion::Criterion::default()
}

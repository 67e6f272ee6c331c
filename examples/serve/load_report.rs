//! What a load test saw: how long answers took, and what went wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// The latencies and errors of one connection, or of all.
#[derive(Default)]
pub struct LoadReport {
    /// One for each answer with embeddings.
    pub latencies: Vec<Duration>,
    /// How often each error occurred.
    pub errors: BTreeMap<String, usize>,
}

impl LoadReport {
    /// Adds what another connection saw.
    pub fn merge(&mut self, other: Self) {
        self.latencies.extend(other.latencies);
        for (error, count) in other.errors {
            *self.errors.entry(error).or_default() += count;
        }
    }

    /// Whether every request was answered, and there was one.
    pub fn is_clean(&self) -> bool {
        self.errors.is_empty() && !self.latencies.is_empty()
    }
}

/// Percentiles of the latencies in milliseconds, and each error with its count.
impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut sorted = self.latencies.clone();
        sorted.sort_unstable();
        let percentile = |percent: usize| {
            let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
            let latency = sorted.get(index);
            latency.map_or(f64::NAN, |latency| latency.as_secs_f64() * 1e3)
        };
        if !sorted.is_empty() {
            let [p50, p95, p99, most] = [50, 95, 99, 100].map(percentile);
            writeln!(
                f,
                "latency   p50 {p50:.1} ms, p95 {p95:.1} ms, p99 {p99:.1} ms, at most {most:.1} ms"
            )?;
        }
        let count: usize = self.errors.values().sum();
        write!(f, "errors    {count}")?;
        for (error, count) in &self.errors {
            write!(f, "\n{count:9} {error}")?;
        }
        Ok(())
    }
}

//! Counts, latencies and batch sizes in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

const SECONDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];
const TEXTS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];

/// What is counted while the service runs.
pub struct Metrics {
    /// Requests by path and status.
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    seconds: Histogram,
    batch_texts: Histogram,
    tokens: AtomicU64,
    /// Reloads that changed the weights, and those that failed.
    reloads: [AtomicU64; 2],
}

/// What is measured when it is asked for.
pub struct Gauges {
    /// Texts that wait.
    pub waiting: usize,
    /// The version of the weights.
    pub version: u64,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            requests: Mutex::default(),
            seconds: Histogram::new(SECONDS),
            batch_texts: Histogram::new(TEXTS),
            tokens: AtomicU64::new(0),
            reloads: Default::default(),
        }
    }
}

impl Metrics {
    /// Counts a request that was answered, and the time that it took if it asked for embeddings.
    pub fn observe_request(&self, path: &'static str, status: u16, time: Duration) {
        let requests = self.requests.lock();
        let mut requests = requests.unwrap_or_else(PoisonError::into_inner);
        *requests.entry((path, status)).or_default() += 1;
        if path == "/embed" {
            self.seconds.observe(time.as_secs_f64());
        }
    }

    /// Counts a batch of texts of token ids.
    pub fn observe_batch(&self, texts: &[&[u32]]) {
        let tokens: usize = texts.iter().map(|text| text.len()).sum();
        let _ = self.tokens.fetch_add(tokens as u64, Ordering::Relaxed);
        self.batch_texts.observe(texts.len() as f64);
    }

    /// Counts a reload.
    pub fn observe_reload(&self, failed: bool) {
        let _ = self.reloads[usize::from(failed)].fetch_add(1, Ordering::Relaxed);
    }

    /// All of it, as `/metrics` has it.
    pub fn render(&self, gauges: &Gauges) -> String {
        let mut page = Page::default();
        page.describe("embed_requests_total", "counter", "Requests answered.");
        let requests = self.requests.lock();
        for (&(path, status), count) in requests.unwrap_or_else(PoisonError::into_inner).iter() {
            let labels = format!("{{path=\"{path}\",status=\"{status}\"}}");
            page.line("embed_requests_total", &labels, *count as f64);
        }
        let help = "Time from the head of a request for embeddings to its answer.";
        page.histogram("embed_request_duration_seconds", help, &self.seconds);
        page.histogram("embed_batch_texts", "Texts of a batch.", &self.batch_texts);
        page.describe("embed_tokens_total", "counter", "Tokens embedded.");
        page.line("embed_tokens_total", "", load(&self.tokens));
        page.describe("embed_reloads_total", "counter", "Reloads of the weights.");
        for (result, count) in ["done", "failed"].iter().zip(&self.reloads) {
            let labels = format!("{{result=\"{result}\"}}");
            page.line("embed_reloads_total", &labels, load(count));
        }
        page.describe("embed_queue_texts", "gauge", "Texts that wait.");
        page.line("embed_queue_texts", "", gauges.waiting as f64);
        page.describe("embed_weights_version", "gauge", "Version of the weights.");
        page.line("embed_weights_version", "", gauges.version as f64);
        if let Some(bytes) = resident_bytes() {
            let name = "process_resident_memory_bytes";
            page.describe(name, "gauge", "Resident memory.");
            page.line(name, "", bytes as f64);
        }
        page.0
    }
}

/// How many values are at most each of some bounds, and their sum.
struct Histogram {
    bounds: &'static [f64],
    /// One for each bound, and one for what is larger.
    counts: Vec<AtomicU64>,
    /// In millionths.
    sum: AtomicU64,
}

impl Histogram {
    fn new(bounds: &'static [f64]) -> Self {
        Self {
            bounds,
            counts: (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
        }
    }

    fn observe(&self, value: f64) {
        let index = self.bounds.partition_point(|&bound| bound < value);
        let _ = self.counts[index].fetch_add(1, Ordering::Relaxed);
        let _ = self.sum.fetch_add((value * 1e6) as u64, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Page(String);

impl Page {
    fn describe(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a text does not fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn line(&mut self, name: &str, labels: &str, value: f64) {
        let _ = writeln!(self.0, "{name}{labels} {value}");
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.describe(name, "histogram", help);
        let bounds = histogram.bounds.iter().map(f64::to_string);
        let bounds = bounds.chain(["+Inf".to_owned()]);
        let mut total = 0.0;
        for (bound, count) in bounds.zip(&histogram.counts) {
            total += load(count);
            let labels = format!("{{le=\"{bound}\"}}");
            self.line(&format!("{name}_bucket"), &labels, total);
        }
        self.line(&format!("{name}_sum"), "", load(&histogram.sum) / 1e6);
        self.line(&format!("{name}_count"), "", total);
    }
}

fn load(count: &AtomicU64) -> f64 {
    count.load(Ordering::Relaxed) as f64
}

/// The resident memory of this process, where the system has `/proc`.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

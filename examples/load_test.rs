//! Load on the service of `serve.rs`, or on any with the same paths (`benches/peers/serve.py`): throughput, latencies,
//! errors, and the memory of the server.
//!
//! ```text
//! cargo run --release --example load_test                      8 connections for 10 seconds, one text a request
//! cargo run --release --example load_test -- --connections 32 --seconds 30 --texts 4 --address 127.0.0.1:8080
//! ```
//!
//! Each connection sends its next request when the last one is answered. The program fails if any was not answered
//! with embeddings.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use module_examples::models::pretrained::read_json;
use module_nn::{Error, Result};
use module_serve::DATA;
use module_serve::client::{Client, ClientError, memory};
use module_serve::load_report::LoadReport;

struct Load {
    address: SocketAddr,
    connections: usize,
    seconds: u64,
    texts: usize,
    words: Vec<String>,
}

impl Load {
    fn from_args() -> Result<Self> {
        let sentences: Vec<String> = read_json(format!("{DATA}/sentences.json"))?;
        let words = sentences.iter().flat_map(|text| text.split_whitespace());
        let mut load = Self {
            address: SocketAddr::from(([127, 0, 0, 1], 8080)),
            connections: 8,
            seconds: 10,
            texts: 1,
            words: words.map(str::to_owned).collect(),
        };
        let mut args = std::env::args().skip(1);
        while let (Some(name), value) = (args.next(), args.next().unwrap_or_default()) {
            let problem = || Error::custom(format!("{name} {value}: not understood"));
            match name.as_str() {
                "--address" => load.address = value.parse().map_err(|_| problem())?,
                "--connections" => load.connections = value.parse().map_err(|_| problem())?,
                "--seconds" => load.seconds = value.parse().map_err(|_| problem())?,
                "--texts" => load.texts = value.parse().map_err(|_| problem())?,
                _ => return Err(problem()),
            }
        }
        Ok(load)
    }

    /// Texts of 4 to 35 words, the same in every run.
    fn texts(&self, first: usize) -> Vec<String> {
        let text = |number: usize| {
            let words = self.words.iter().map(String::as_str).cycle();
            let words = words.skip(number * 13 % self.words.len());
            words
                .take(4 + number * 11 % 32)
                .collect::<Vec<_>>()
                .join(" ")
        };
        (first..first + self.texts).map(text).collect()
    }
}

/// Sends a request; a connection that failed is not used again.
async fn request(
    address: SocketAddr,
    client: &mut Option<Client>,
    texts: &[String],
) -> Result<(), ClientError> {
    let mut connected = match client.take() {
        Some(connected) => connected,
        None => Client::connect(address).await?,
    };
    let status = connected.embed(texts).await?.status();
    *client = Some(connected);
    match status.is_success() {
        true => Ok(()),
        false => Err(status.to_string().into()),
    }
}

async fn connection(load: Arc<Load>, number: usize, end: Instant) -> LoadReport {
    let (mut seen, mut client) = (LoadReport::default(), None);
    let mut first = number * 1000;
    while Instant::now() < end {
        let texts = load.texts(first);
        first += load.texts;
        let begin = Instant::now();
        match request(load.address, &mut client, &texts).await {
            Ok(()) => seen.latencies.push(begin.elapsed()),
            Err(error) => {
                *seen.errors.entry(error.to_string()).or_default() += 1;
                // A server that refuses is not asked again at once.
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
    }
    seen
}

async fn run(load: Load) -> Result<()> {
    println!(
        "{} connections with {} texts a request, for {} s",
        load.connections, load.texts, load.seconds
    );
    let before = memory(load.address).await;
    let load = Arc::new(load);
    let begin = Instant::now();
    let end = begin + Duration::from_secs(load.seconds);
    let connections = (0..load.connections)
        .map(|number| tokio::spawn(connection(Arc::clone(&load), number, end)))
        .collect::<Vec<_>>();
    let mut all = LoadReport::default();
    for seen in connections {
        all.merge(seen.await.map_err(Error::custom)?);
    }
    let (seconds, after) = (begin.elapsed().as_secs_f64(), memory(load.address).await);

    let answered = all.latencies.len();
    let rate = answered as f64 / seconds;
    println!(
        "answered  {answered} in {seconds:.1} s, {rate:.1} requests and {:.1} texts a second",
        rate * load.texts as f64
    );
    if let (Some(before), Some(after)) = (before, after) {
        println!("memory    {before:.0} MiB before, {after:.0} MiB after");
    }
    println!("{all}");
    match all.is_clean() {
        true => Ok(()),
        false => Err(Error::custom(
            "not every request was answered with embeddings",
        )),
    }
}

fn main() -> Result<()> {
    let load = Load::from_args()?;
    let runtime = tokio::runtime::Runtime::new().map_err(Error::custom)?;
    runtime.block_on(run(load))
}

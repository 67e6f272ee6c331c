//! A running service of the tiny model, and a model that waits at a gate.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::{Response, StatusCode};
use module_nn::{Error, Result};
use module_serve::DATA;
use module_serve::batcher::BatchOptions;
use module_serve::client::{Client, read_json};
use module_serve::options::Options;
use module_serve::sentence_encoder::SentenceEncoder;
use module_serve::sentence_tokenizer::SentenceTokenizer;
use module_serve::server::serve;
use module_serve::service::Service;
use module_serve::weights::Encode;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

pub(crate) fn tiny() -> PathBuf {
    PathBuf::from(DATA).join("tiny")
}

/// Runs a test, which fails if it takes longer than a minute.
pub(crate) fn within_a_minute(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    let test = async { tokio::time::timeout(Duration::from_secs(60), test).await };
    runtime.block_on(test).expect("a test takes a minute");
    // What a failed test left waiting is not waited for.
    runtime.shutdown_background();
}

/// Limits that a test reaches soon.
pub(crate) fn options() -> Options {
    Options {
        listen: "127.0.0.1:0".to_owned(),
        batch: BatchOptions {
            max_batch: 8,
            max_wait: Duration::from_millis(1),
            max_queue: 16,
            workers: 1,
        },
        max_texts: 4,
        max_text_bytes: 4000,
        max_body_bytes: 20_000,
        timeout: Duration::from_secs(30),
        header_timeout: Duration::from_millis(300),
        ..Options::default()
    }
}

pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) service: Arc<Service>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<std::io::Result<()>>,
}

impl Running {
    pub(crate) async fn start(service: Result<Service>) -> Self {
        let service = Arc::new(service.unwrap());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let stopped = async {
            let _ = stopped.await;
        };
        let served = tokio::spawn(serve(listener, Arc::clone(&service), stopped));
        Self {
            address,
            service,
            stop,
            served,
        }
    }

    pub(crate) async fn client(&self) -> Client {
        Client::connect(self.address).await.unwrap()
    }

    /// Sends a request on a connection of its own.
    pub(crate) fn embed(&self, texts: &[&str]) -> JoinHandle<Response<Bytes>> {
        let (address, texts) = (self.address, owned(texts));
        tokio::spawn(async move {
            let mut client = Client::connect(address).await.unwrap();
            client.embed(&texts).await.unwrap()
        })
    }

    /// Waits until so many texts wait in the queue.
    pub(crate) async fn wait_for_queue(&self, texts: usize) {
        while self.service.gauges().waiting != texts {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }

    /// Says that the service is to stop, and hands out what tells that it has.
    pub(crate) fn stop(self) -> JoinHandle<std::io::Result<()>> {
        self.stop.send(()).unwrap();
        self.served
    }
}

pub(crate) fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

/// The embeddings of an answer and the version of the weights.
pub(crate) fn embeddings(response: &Response<Bytes>) -> (Vec<Vec<f64>>, u64) {
    let json = read_json(response).unwrap();
    assert_eq!(response.status(), StatusCode::OK, "{json}");
    let rows = serde_json::from_value(json["embeddings"].clone()).unwrap();
    (rows, json["version"].as_u64().unwrap())
}

/// The kind of a refusal.
pub(crate) fn refusal(response: &Response<Bytes>) -> (u16, String) {
    let json: Value = read_json(response).unwrap();
    let kind = json["error"]["kind"].as_str().unwrap_or_default();
    assert!(json["error"]["message"].is_string(), "{json}");
    (response.status().as_u16(), kind.to_owned())
}

/// How far rows are from others.
pub(crate) fn difference(rows: &[Vec<f64>], others: &[Vec<f64>]) -> f64 {
    let lengths = |rows: &[Vec<f64>]| rows.iter().map(Vec::len).collect::<Vec<_>>();
    assert_eq!(lengths(rows), lengths(others));
    let pairs = rows.iter().flatten().zip(others.iter().flatten());
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// What a gate does with a batch.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Mode {
    Open,
    Closed,
    Failing,
    Panicking,
}

/// Where batches wait, and what they were.
pub(crate) struct Gate {
    mode: Mutex<Mode>,
    changed: Condvar,
    /// The numbers of tokens of the texts of each batch.
    pub(crate) batches: Mutex<Vec<Vec<usize>>>,
}

impl Gate {
    pub(crate) fn set(&self, mode: Mode) {
        *self.mode.lock().unwrap() = mode;
        self.changed.notify_all();
    }

    fn pass(&self) -> Mode {
        let mode = self.mode.lock().unwrap();
        let closed = |mode: &mut Mode| *mode == Mode::Closed;
        *self.changed.wait_while(mode, closed).unwrap()
    }
}

/// The gate in the hands of a test. It opens when the test ends, so that the workers of one that fails end too.
pub(crate) struct Gatekeeper(Arc<Gate>);

impl Deref for Gatekeeper {
    type Target = Gate;

    fn deref(&self) -> &Gate {
        &self.0
    }
}

impl Drop for Gatekeeper {
    fn drop(&mut self) {
        self.set(Mode::Open);
    }
}

struct Gated {
    gate: Arc<Gate>,
    encoder: SentenceEncoder,
}

impl Encode for Gated {
    fn embed(&self, texts: &[&[u32]]) -> Result<Vec<Vec<f32>>> {
        let batch = texts.iter().map(|text| text.len()).collect();
        self.gate.batches.lock().unwrap().push(batch);
        match self.gate.pass() {
            Mode::Failing => Err(Error::custom("out of memory")),
            Mode::Panicking => panic!("on purpose"),
            _ => Encode::embed(&self.encoder, texts),
        }
    }
}

/// The service of the tiny model behind a gate, which is open.
pub(crate) async fn start_gated(options: Options) -> (Running, Gatekeeper) {
    let gate = Arc::new(Gate {
        mode: Mutex::new(Mode::Open),
        changed: Condvar::new(),
        batches: Mutex::default(),
    });
    let tokenizer = Arc::new(SentenceTokenizer::from_dir(tiny()).unwrap());
    let (shared, of_tokens) = (Arc::clone(&gate), Arc::clone(&tokenizer));
    let load = move || -> Result<Box<dyn Encode>> {
        Ok(Box::new(Gated {
            gate: Arc::clone(&shared),
            encoder: SentenceEncoder::from_dir(tiny(), &of_tokens)?,
        }))
    };
    let running = Running::start(Service::new(tokenizer, Box::new(load), options)).await;
    // The probe of the first weights.
    gate.batches.lock().unwrap().clear();
    (running, Gatekeeper(gate))
}

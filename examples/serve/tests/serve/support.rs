//! A running service of the tiny model, and a model that waits at a gate.

use std::net::SocketAddr;
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use hyper::body::Bytes;
use hyper::{Method, Response, StatusCode};
use module_nn::{Error, Result};
use module_serve::DATA;
use module_serve::batcher::BatchOptions;
use module_serve::client::{self, ClientError, read_json};
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

use crate::deadline::{wait_for, wait_until};

pub(crate) fn tiny() -> PathBuf {
    PathBuf::from(DATA).join("tiny")
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
        Client::connect(self.address).await
    }

    /// Sends a request on a connection of its own.
    pub(crate) fn embed(&self, texts: &[&str]) -> JoinHandle<Response<Bytes>> {
        let (address, texts) = (self.address, owned(texts));
        tokio::spawn(async move {
            let mut client = Client::connect(address).await;
            client.embed(&texts).await.unwrap()
        })
    }

    /// Waits until so many texts wait in the queue.
    pub(crate) async fn wait_for_queue(&self, texts: usize) {
        let wait = || self.service.gauges().waiting == texts;
        wait_until(format!("{texts} texts in the queue"), wait).await;
    }

    /// Closes the gate, and sends a request that waits there and as many others as the queue holds.
    pub(crate) async fn fill_queue(&self, gate: &Gate) -> Vec<JoinHandle<Response<Bytes>>> {
        gate.set(Mode::Closed);
        let mut accepted = vec![self.embed(&["a"])];
        gate.wait_for_batch().await;
        for count in 1..=4 {
            accepted.push(self.embed(&["a"; 4]));
            self.wait_for_queue(4 * count).await;
        }
        accepted
    }

    /// Says that the service is to stop, and hands out what tells that it has.
    pub(crate) fn stop(self) -> JoinHandle<std::io::Result<()>> {
        self.stop.send(()).unwrap();
        self.served
    }
}

/// A client that does not wait long for an answer.
pub(crate) struct Client(client::Client);

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Self {
        let connected = client::Client::connect(address);
        Self(wait_for("a connection", connected).await.unwrap())
    }

    pub(crate) async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<Response<Bytes>, ClientError> {
        let answer = format!("an answer to {method} {path}");
        wait_for(answer, self.0.send(method, path, body)).await
    }

    pub(crate) async fn embed(&mut self, texts: &[String]) -> Result<Response<Bytes>, ClientError> {
        wait_for("an answer to /embed", self.0.embed(texts)).await
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Response<Bytes>, ClientError> {
        self.send(Method::GET, path, Bytes::new()).await
    }

    pub(crate) async fn metric(&mut self, name: &str) -> Result<Option<f64>, ClientError> {
        wait_for("an answer to /metrics", self.0.metric(name)).await
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
    /// Waits until a batch has come.
    pub(crate) async fn wait_for_batch(&self) {
        wait_until("a batch", || !self.batches.lock().unwrap().is_empty()).await;
    }

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

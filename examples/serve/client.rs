//! A client of one connection, which stays open from request to request.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::{Method, Request, Response, header};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// What went wrong with a connection.
pub type ClientError = Box<dyn std::error::Error + Send + Sync>;

/// A connection to a server.
pub struct Client {
    address: SocketAddr,
    sender: SendRequest<Full<Bytes>>,
}

impl Client {
    /// Connects.
    ///
    /// # Errors
    ///
    /// No server at the address.
    pub async fn connect(address: SocketAddr) -> Result<Self, ClientError> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        Ok(Self { address, sender })
    }

    /// Sends a request with a body of JSON, and waits for all of the answer.
    ///
    /// # Errors
    ///
    /// A connection that was closed.
    pub async fn send(
        &mut self,
        method: Method,
        path: &str,
        body: impl Into<Bytes>,
    ) -> Result<Response<Bytes>, ClientError> {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, self.address.to_string())
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body.into()))?;
        self.sender.ready().await?;
        let (head, body) = self.sender.send_request(request).await?.into_parts();
        Ok(Response::from_parts(head, body.collect().await?.to_bytes()))
    }

    /// Asks for the embeddings of texts.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn embed(&mut self, texts: &[String]) -> Result<Response<Bytes>, ClientError> {
        let body = json!({"texts": texts}).to_string();
        self.send(Method::POST, "/embed", body).await
    }

    /// Asks with GET.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn get(&mut self, path: &str) -> Result<Response<Bytes>, ClientError> {
        self.send(Method::GET, path, Bytes::new()).await
    }

    /// A number of `/metrics`, if it is there: a line without labels.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send).
    pub async fn metric(&mut self, name: &str) -> Result<Option<f64>, ClientError> {
        let page = self.get("/metrics").await?;
        let page = std::str::from_utf8(page.body())?;
        let mut values = page.lines().filter_map(|line| line.strip_prefix(name));
        Ok(values.find_map(|value| value.trim().parse().ok()))
    }
}

/// The JSON of an answer.
///
/// # Errors
///
/// An invalid answer.
pub fn read_json(response: &Response<Bytes>) -> Result<Value, ClientError> {
    Ok(serde_json::from_slice(response.body())?)
}

/// The memory of the server at an address in MiB, if it says.
pub async fn memory(address: SocketAddr) -> Option<f64> {
    let mut client = Client::connect(address).await.ok()?;
    let metric = client.metric("process_resident_memory_bytes").await;
    Some(metric.ok()?? / f64::from(1 << 20))
}

//! Requests that are wrong in every way that we could think of: each is refused by its name, and the service goes on.

use std::time::Duration;

use hyper::{Method, header};
use module_serve::service::Service;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::deadline::{run_async_in_time, wait_for};
use crate::support::{Running, embeddings, options, owned, refusal, tiny};

/// Fails unless the service embeds as ever.
async fn check_alive(running: &Running, after: &str) {
    let mut client = running.client().await;
    let health = client.get("/health").await.unwrap();
    assert_eq!(health.body(), r#"{"status":"ok","version":1}"#, "{after}");
    let answer = client.embed(&owned(&["a cat"])).await.unwrap();
    assert_eq!(embeddings(&answer).0.len(), 1, "{after}");
}

#[test]
fn bodies_and_paths_that_are_wrong_are_refused_by_name() {
    run_async_in_time(async || {
        let running = Running::start(Service::from_dir(&tiny(), options())).await;
        let json = |texts: &[&str]| json!({"texts": texts}).to_string().into_bytes();
        let embed = |body: Vec<u8>, status, kind| (Method::POST, "/embed", body, status, kind);
        let cases = [
            embed(b"{\"texts\": [\"a\", ".to_vec(), 400, "invalid_json"),
            embed(Vec::new(), 400, "invalid_json"),
            embed("[".repeat(5000).into_bytes(), 422, "invalid_request"),
            embed(b"{\"texts\": [\"\xff\xfe\"]}".to_vec(), 400, "invalid_json"),
            embed(b"{\"texts\": [\"\\ud800\"]}".to_vec(), 400, "invalid_json"),
            embed(b"{\"texts\": \"a\"}".to_vec(), 422, "invalid_request"),
            embed(b"{\"texts\": [\"a\", 3]}".to_vec(), 422, "invalid_request"),
            embed(b"{\"text\": [\"a\"]}".to_vec(), 422, "invalid_request"),
            embed(b"[[\"a\"]]".to_vec(), 422, "invalid_request"),
            embed(b"[]".to_vec(), 422, "invalid_request"),
            embed(b"null".to_vec(), 422, "invalid_request"),
            embed(
                b"{\"texts\": [\"a\"], \"texts\": [\"b\"]}".to_vec(),
                422,
                "invalid_request",
            ),
            embed(json(&[]), 422, "no_texts"),
            embed(json(&["a"; 5]), 422, "too_many_texts"),
            embed(json(&["a", &"a".repeat(4001)]), 422, "text_too_large"),
            embed(json(&[&"a ".repeat(300)]), 422, "text_too_long"),
            embed(json(&[&"a".repeat(30_000)]), 413, "body_too_large"),
            (Method::GET, "/embed", vec![], 405, "method_not_allowed"),
            (Method::DELETE, "/reload", vec![], 405, "method_not_allowed"),
            (Method::POST, "/embed/all", json(&["a"]), 404, "not_found"),
            (Method::GET, "/%ff%00/..", vec![], 404, "not_found"),
        ];
        for (method, path, body, status, kind) in cases {
            let case = format!("{method} {path} {kind}");
            // A connection of its own, because one whose body was not read is closed.
            let mut client = running.client().await;
            let answer = client.send(method, path, body).await.unwrap();
            assert_eq!(refusal(&answer), (status, kind.to_owned()), "{case}");
            assert_eq!(
                answer.headers().contains_key(header::ALLOW),
                status == 405,
                "{case}"
            );
            check_alive(&running, &case).await;
        }

        // A text of marks, spaces or nothing is a text, and so is one in any script.
        let mut client = running.client().await;
        let texts = ["", " \t\n", "\u{0}\u{feff}", "👩‍👩‍👧 שלום 東京"];
        let answer = client.embed(&owned(&texts)).await.unwrap();
        assert_eq!(embeddings(&answer).0.len(), texts.len());
    });
}

/// Sends bytes, and reads until the server closes the connection.
async fn exchange(running: &Running, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    // The server may close before it has read all.
    let _ = stream.write_all(bytes).await;
    let mut answer = Vec::new();
    let closed = stream.read_to_end(&mut answer);
    let _ = wait_for("the end of the connection", closed).await;
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn bytes_that_are_not_a_request_only_close_the_connection() {
    run_async_in_time(async || {
        let mut short = options();
        short.timeout = Duration::from_millis(500);
        let running = Running::start(Service::from_dir(&tiny(), short)).await;
        let head = "POST /embed HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
        let close = "Connection: close\r\n";
        let many: String = (0..500).map(|n| format!("X-{n}: 1\r\n")).collect();
        let long = format!("X: {}\r\n", "a".repeat(1 << 20));
        let cases = [
            (
                "not HTTP",
                "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n".to_owned(),
                "400",
            ),
            (
                "a head of garbage",
                "POST /embed HTTP/1.1\r\n\x01: \x02\r\n\r\n".to_owned(),
                "400",
            ),
            (
                "another protocol",
                "POST /embed HTTP/9.9\r\n\r\n".to_owned(),
                "400",
            ),
            (
                "two lengths",
                format!("{head}Content-Length: 1\r\nContent-Length: 2\r\n\r\na"),
                "400",
            ),
            (
                "a negative length",
                format!("{head}Content-Length: -1\r\n\r\n"),
                "400",
            ),
            (
                "a chunk of no size",
                format!("{head}{close}Transfer-Encoding: chunked\r\n\r\nxyz\r\n"),
                "400",
            ),
            ("many headers", format!("{head}{many}\r\n"), "431"),
            ("a long header", format!("{head}{long}\r\n"), "431"),
            (
                "no content type",
                "POST /embed HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
                    .to_owned(),
                "415",
            ),
            (
                "a huge length",
                format!(
                    "{head}{close}Content-Length: 99999999999\r\n\r\n{}",
                    "a".repeat(30_000)
                ),
                "413",
            ),
            (
                "endless chunks",
                format!(
                    "{head}{close}Transfer-Encoding: chunked\r\n\r\n{}",
                    "4\r\naaaa\r\n".repeat(9000)
                ),
                "413",
            ),
            (
                "half a body",
                format!("{head}{close}Content-Length: 100\r\n\r\n{{\"texts\""),
                "408",
            ),
            // Nothing to answer to.
            ("half a head", "POST /embed HTTP/1.1\r\nHost".to_owned(), ""),
            ("nothing", String::new(), ""),
        ];
        for (case, bytes, status) in cases {
            let answer = exchange(&running, bytes.as_bytes()).await;
            let expected = format!("HTTP/1.1 {status}");
            // A server that closes before all is read may lose its answer on the way.
            let lost = answer.is_empty() && matches!(status, "413" | "431");
            let right = match status {
                "" => answer.is_empty(),
                _ => answer.starts_with(&expected) || lost,
            };
            assert!(right, "{case}: {answer}");
            check_alive(&running, case).await;
        }
        // Clients that go away in the middle.
        let request = format!("{head}Content-Length: 100\r\n\r\n{{\"texts\": [\"");
        for count in [1, 30, head.len(), request.len()] {
            let mut stream = TcpStream::connect(running.address).await.unwrap();
            stream
                .write_all(&request.as_bytes()[..count])
                .await
                .unwrap();
            drop(stream);
            check_alive(&running, "a client that went away").await;
        }
    });
}

#[test]
fn connections_beyond_the_limit_wait() {
    run_async_in_time(async || {
        let mut two = options();
        two.max_connections = 2;
        two.header_timeout = Duration::from_secs(30);
        let running = Running::start(Service::from_dir(&tiny(), two)).await;
        let first = TcpStream::connect(running.address).await.unwrap();
        let mut second = running.client().await;
        assert!(second.get("/health").await.is_ok());
        let mut third = running.client().await;
        let mut asked = std::pin::pin!(third.get("/health"));
        let early = tokio::time::timeout(Duration::from_millis(200), &mut asked).await;
        assert!(early.is_err(), "a third connection is served");
        drop(first);
        assert!(asked.await.is_ok());
    });
}

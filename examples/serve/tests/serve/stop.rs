//! A stop answers what was accepted, and takes nothing more.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use module_serve::error::ServeError;
use tokio::net::TcpStream;

use crate::deadline::{run_async_in_time, wait_for};
use crate::support::{Mode, embeddings, options, start_gated};

#[test]
fn a_stop_finishes_accepted_requests() {
    run_async_in_time(async || {
        let (running, gate) = start_gated(options()).await;
        // A connection without a request is not waited for.
        let mut idle = running.client().await;
        assert!(idle.get("/health").await.is_ok());
        let accepted = running.fill_queue(&gate).await;
        let (address, service) = (running.address, Arc::clone(&running.service));
        let stopped = running.stop();
        let refused = async {
            while TcpStream::connect(address).await.is_ok() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        wait_for("a connection that is refused", refused).await;
        assert!(!stopped.is_finished(), "requests are waiting still");
        gate.set(Mode::Open);
        for answer in accepted {
            let _ = embeddings(&answer.await.unwrap());
        }
        wait_for("the stop", stopped).await.unwrap().unwrap();
        assert!(idle.get("/health").await.is_err());
        let deadline = tokio::time::Instant::now() + Duration::from_secs(5);
        let late = service.embed(vec!["a".to_owned()], deadline).await;
        assert!(matches!(late, Err(ServeError::Stopping)), "{late:?}");
    });
}

#[test]
fn a_stop_does_not_wait_for_ever() {
    run_async_in_time(async || {
        let mut hasty = options();
        hasty.drain_timeout = Duration::from_millis(200);
        let (running, gate) = start_gated(hasty).await;
        gate.set(Mode::Closed);
        let stuck = running.embed(&["a"]);
        gate.wait_for_batch().await;
        let stopped = wait_for("the stop", running.stop()).await;
        let error = stopped.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        gate.set(Mode::Open);
        // It had been accepted, and its connection was not cut.
        let _ = embeddings(&stuck.await.unwrap());
    });
}

/// The program itself, in a process of its own, is told by the system.
#[cfg(unix)]
#[test]
fn after_sigterm_accepted_requests_are_answered() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use module_serve::options::Options;
    use module_serve::server;

    use crate::deadline::{run_in_time, wait_until};
    use crate::support::{Client, owned, tiny};

    const CHILD: &str = "MODULE_SERVE_CHILD";
    const TEST: &str = "stop::after_sigterm_accepted_requests_are_answered";
    if std::env::var_os(CHILD).is_some() {
        let model = tiny().display().to_string();
        let args = [
            "--listen",
            "127.0.0.1:0",
            "--max-wait-ms",
            "1500",
            "--model",
            &model,
        ];
        let options = Options::from_args(args.map(str::to_owned)).unwrap();
        // One that nobody ends fails by its own deadline.
        return run_in_time(|| server::run(options).unwrap());
    }
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program)
        .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    run_async_in_time(async move || {
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = lines
            .find_map(|line| Some(line.ok()?.split_once("http://")?.1.parse().unwrap()))
            .unwrap();
        // Requests wait in their batch for a second and a half.
        let accepted = [(); 3].map(|()| {
            tokio::spawn(async move {
                let mut client = Client::connect(address).await;
                client.embed(&owned(&["a cat sleeps"])).await.unwrap()
            })
        });
        let mut client = Client::connect(address).await;
        let queued = async {
            while client.metric("embed_queue_texts").await.unwrap() != Some(3.0) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        wait_for("three texts in the queue", queued).await;
        let id = child.id().to_string();
        let kill = Command::new("kill").args(["-TERM", &id]).status();
        assert!(kill.unwrap().success());
        for answer in accepted {
            let _ = embeddings(&answer.await.unwrap());
        }
        let ended = || child.try_wait().unwrap().is_some();
        wait_until("the end of the program", ended).await;
        let status = child.wait().unwrap();
        assert!(status.success(), "{status}");
    });
}

//! A stop answers what was accepted, and takes nothing more.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;

use module_serve::error::ServeError;
use tokio::net::TcpStream;

use crate::support::{Mode, embeddings, options, start_gated, within_a_minute};

#[test]
fn a_stop_finishes_what_was_accepted() {
    within_a_minute(async {
        let (running, gate) = start_gated(options()).await;
        // A connection without a request is not waited for.
        let mut idle = running.client().await;
        assert!(idle.get("/health").await.is_ok());
        gate.set(Mode::Closed);
        let mut accepted = vec![running.embed(&["a"])];
        while gate.batches.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        for count in 1..=4 {
            accepted.push(running.embed(&["a"; 4]));
            running.wait_for_queue(4 * count).await;
        }
        let (address, service) = (running.address, Arc::clone(&running.service));
        let stopped = running.stop();
        while TcpStream::connect(address).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        assert!(!stopped.is_finished(), "requests are waiting still");
        gate.set(Mode::Open);
        for answer in accepted {
            let _ = embeddings(&answer.await.unwrap());
        }
        stopped.await.unwrap().unwrap();
        assert!(idle.get("/health").await.is_err());
        let deadline = tokio::time::Instant::now() + Duration::from_secs(5);
        let late = service.embed(vec!["a".to_owned()], deadline).await;
        assert!(matches!(late, Err(ServeError::Stopping)), "{late:?}");
    });
}

#[test]
fn a_stop_does_not_wait_for_ever() {
    within_a_minute(async {
        let mut hasty = options();
        hasty.drain_timeout = Duration::from_millis(200);
        let (running, gate) = start_gated(hasty).await;
        gate.set(Mode::Closed);
        let stuck = running.embed(&["a"]);
        while gate.batches.lock().unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let error = running.stop().await.unwrap().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
        gate.set(Mode::Open);
        // It had been accepted, and its connection was not cut.
        let _ = embeddings(&stuck.await.unwrap());
    });
}

/// The program itself, in a process of its own, is told by the system.
#[cfg(unix)]
#[test]
fn sigterm_answers_what_was_accepted_and_ends_well() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    use module_serve::client::Client;
    use module_serve::options::Options;
    use module_serve::server;

    use crate::support::{owned, tiny};

    const CHILD: &str = "MODULE_SERVE_CHILD";
    const TEST: &str = "stop::sigterm_answers_what_was_accepted_and_ends_well";
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
        server::run(Options::from_args(args.map(str::to_owned)).unwrap()).unwrap();
        return;
    }
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program)
        .args(["--exact", TEST, "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let address = lines
        .find_map(|line| Some(line.ok()?.split_once("http://")?.1.parse().unwrap()))
        .unwrap();
    within_a_minute(async {
        // Requests wait in their batch for a second and a half.
        let accepted = [(); 3].map(|()| {
            tokio::spawn(async move {
                let mut client = Client::connect(address).await.unwrap();
                client.embed(&owned(&["a cat sleeps"])).await.unwrap()
            })
        });
        let mut client = Client::connect(address).await.unwrap();
        while client.metric("embed_queue_texts").await.unwrap() != Some(3.0) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let child = child.id().to_string();
        let kill = Command::new("kill").args(["-TERM", &child]).status();
        assert!(kill.unwrap().success());
        for answer in accepted {
            let _ = embeddings(&answer.await.unwrap());
        }
    });
    let begin = std::time::Instant::now();
    while child.try_wait().unwrap().is_none() && begin.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(10));
    }
    // One that goes on in spite of the signal ends here, and not well.
    let _ended_already = child.kill();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}");
}

//! What Prometheus is told, and what the command line may say.

use std::time::Duration;

use module_serve::options::Options;
use module_serve::service::Service;

use crate::deadline::run_async_in_time;
use crate::support::{Running, options, owned, tiny};

#[test]
fn metrics_count_the_work_done() {
    run_async_in_time(async || {
        let running = Running::start(Service::from_dir(&tiny(), options())).await;
        let mut client = running.client().await;
        for texts in [["a", "a a"], ["a", "a a a"]] {
            let _ = client.embed(&owned(&texts)).await.unwrap();
        }
        let _ = client.embed(&[]).await.unwrap();
        let _ = client.get("/made/up").await.unwrap();
        let seconds = client.metric("embed_request_duration_seconds_sum").await;
        assert!(seconds.unwrap().is_some_and(|seconds| seconds > 0.0));
        let page = client.get("/metrics").await.unwrap();
        assert_eq!(page.headers()["content-type"], "text/plain; version=0.0.4");
        let page = std::str::from_utf8(page.body()).unwrap();
        for line in [
            "embed_requests_total{path=\"/embed\",status=\"200\"} 2",
            "embed_requests_total{path=\"/embed\",status=\"422\"} 1",
            "embed_requests_total{path=\"other\",status=\"404\"} 1",
            "embed_request_duration_seconds_bucket{le=\"+Inf\"} 3",
            "embed_request_duration_seconds_count 3",
            "embed_batch_texts_bucket{le=\"1\"} 0",
            "embed_batch_texts_bucket{le=\"2\"} 2",
            "embed_batch_texts_sum 4",
            "embed_tokens_total 15",
            "embed_queue_texts 0",
            "embed_weights_version 1",
        ] {
            assert!(page.lines().any(|other| other == line), "{line}:\n{page}");
        }
        // Each line is a comment, or a name with a number.
        for line in page.lines().filter(|line| !line.starts_with("# ")) {
            let (_, value) = line.rsplit_once(' ').unwrap();
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
        assert!(page.contains("process_resident_memory_bytes") || !cfg!(target_os = "linux"));
    });
}

#[test]
fn options_are_read_and_checked() {
    let read = |args: &[&str]| Options::from_args(args.iter().map(|&arg| arg.to_owned()));
    let options = read(&[
        "--max-batch",
        "64",
        "--max-wait-ms",
        "5",
        "--listen",
        "0.0.0.0:1",
    ])
    .unwrap();
    assert_eq!(options.batch.max_batch, 64);
    assert_eq!(options.batch.max_wait, Duration::from_millis(5));
    assert_eq!(options.listen, "0.0.0.0:1");
    for (args, quoted) in [
        (&["--max-batches", "64"][..], "--max-batches"),
        (&["--max-batch"], "there is no value"),
        (&["--max-batch", "-1"], "-1"),
        (&["--workers", "0"], "--workers"),
        // A request that no batch could hold would wait for ever.
        (&["--max-texts", "33"], "--max-texts 33"),
        (&["--max-queue", "31"], "--max-queue 31"),
    ] {
        let error = read(args).unwrap_err().to_string();
        assert!(error.contains(quoted), "{error}");
    }
}

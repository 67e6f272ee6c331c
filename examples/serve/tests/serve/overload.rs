//! More than can be embedded: a full queue, texts that come too late, a model that fails.

use std::time::Duration;

use hyper::header;

use crate::deadline::run_async_in_time;
use crate::support::{Mode, embeddings, options, refusal, start_gated};

#[test]
fn a_full_queue_refuses_at_once_and_keeps_what_it_has() {
    run_async_in_time(async || {
        let (running, gate) = start_gated(options()).await;
        let accepted = running.fill_queue(&gate).await;
        for _ in 0..3 {
            let answer = running.embed(&["a"]).await.unwrap();
            assert_eq!(refusal(&answer), (503, "queue_full".to_owned()));
            assert_eq!(answer.headers()[header::RETRY_AFTER], "1");
        }
        gate.set(Mode::Open);
        for answer in accepted {
            let _ = embeddings(&answer.await.unwrap());
        }
        let _ = embeddings(&running.embed(&["a"]).await.unwrap());
    });
}

#[test]
fn texts_that_come_too_late_are_not_embedded() {
    run_async_in_time(async || {
        let mut hasty = options();
        hasty.timeout = Duration::from_millis(300);
        let (running, gate) = start_gated(hasty).await;
        gate.set(Mode::Closed);
        let first = running.embed(&["a"]);
        gate.wait_for_batch().await;
        // As many as may wait.
        let late = [(); 4].map(|()| running.embed(&["a a"; 4]));
        for answer in [first].into_iter().chain(late) {
            assert_eq!(refusal(&answer.await.unwrap()), (504, "timeout".to_owned()));
        }
        // Their places in the queue are free.
        let gone = running.embed(&["a a a"; 4]);
        running.wait_for_queue(4).await;
        gone.abort();
        assert!(gone.await.is_err());
        gate.set(Mode::Open);
        let _ = embeddings(&running.embed(&["a a a a"]).await.unwrap());
        let batches = gate.batches.lock().unwrap().clone();
        assert_eq!(batches.first(), Some(&vec![3]));
        assert!(!batches.concat().contains(&4), "{batches:?}");
        // The client that left may have been noticed after its texts were taken.
        assert_eq!(batches.last(), Some(&vec![6]));
    });
}

#[test]
fn a_model_that_fails_or_panics_is_asked_again() {
    run_async_in_time(async || {
        let (running, gate) = start_gated(options()).await;
        for mode in [Mode::Failing, Mode::Panicking] {
            gate.set(mode);
            for _ in 0..2 {
                let answer = running.embed(&["a", "a a"]).await.unwrap();
                assert_eq!(refusal(&answer), (500, "model".to_owned()));
            }
            gate.set(Mode::Open);
            let (rows, _) = embeddings(&running.embed(&["a", "a a"]).await.unwrap());
            assert_eq!(rows.len(), 2);
        }
    });
}

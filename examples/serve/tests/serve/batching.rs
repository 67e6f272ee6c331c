//! What waits together is embedded together, and nobody can tell.

use std::time::Duration;

use crate::deadline::run_async_in_time;
use crate::support::{Mode, difference, embeddings, options, start_gated};

/// Of unequal lengths, so that a batch has padding.
const TEXTS: [&[&str]; 4] = [
    &["a cat sleeps"],
    &[
        "the ferry to the islands leaves at seven in the morning",
        "no",
    ],
    &["how do i bake bread without yeast?"],
    &["on monday", "shares dropped", "Naïve café"],
];

#[test]
fn a_batch_gives_the_embeddings_of_single_requests() {
    run_async_in_time(async || {
        let (running, gate) = start_gated(options()).await;
        let mut single = Vec::new();
        for texts in TEXTS {
            single.push(embeddings(&running.embed(texts).await.unwrap()));
        }
        gate.batches.lock().unwrap().clear();

        // While one is computed, the others come together.
        gate.set(Mode::Closed);
        let first = running.embed(&["first"]);
        gate.wait_for_batch().await;
        let mut answers = Vec::new();
        let mut waiting = 0;
        for texts in TEXTS {
            answers.push(running.embed(texts));
            waiting += texts.len();
            running.wait_for_queue(waiting).await;
        }
        gate.set(Mode::Open);
        let _ = embeddings(&first.await.unwrap());
        for (answer, single) in answers.into_iter().zip(single) {
            let (rows, version) = embeddings(&answer.await.unwrap());
            assert_eq!(version, single.1);
            // Sums over a longer, padded text are cut into other parts, so that the last bits may differ.
            let far = difference(&rows, &single.0);
            assert!(far <= 1e-6, "{far:e}");
        }
        let batches = gate.batches.lock().unwrap();
        let sizes: Vec<usize> = batches.iter().map(Vec::len).collect();
        assert_eq!(sizes, [1, 7]);
    });
}

#[test]
fn batches_are_whole_requests_in_their_order() {
    run_async_in_time(async || {
        let (running, gate) = start_gated(options()).await;
        gate.set(Mode::Closed);
        let mut answers = vec![running.embed(&["first"])];
        gate.wait_for_batch().await;
        // Of at most 8 texts: 4 + 3, then 4 + 4, then 1.
        let mut waiting = 0;
        for (count, text) in [(4, "a"), (3, "a a"), (4, "a a a"), (4, "a a a a"), (1, "a")] {
            answers.push(running.embed(&vec![text; count]));
            waiting += count;
            running.wait_for_queue(waiting).await;
        }
        gate.set(Mode::Open);
        for answer in answers {
            let _ = embeddings(&answer.await.unwrap());
        }
        let batches = gate.batches.lock().unwrap().clone();
        let expected: [&[usize]; 3] = [&[3, 3, 3, 3, 4, 4, 4], &[5, 5, 5, 5, 6, 6, 6, 6], &[3]];
        assert_eq!(batches[1..], expected);
    });
}

#[test]
fn the_first_request_of_a_batch_waits_at_most_the_given_time() {
    run_async_in_time(async || {
        let mut patient = options();
        patient.batch.max_wait = Duration::from_secs(2);
        let (running, gate) = start_gated(patient).await;
        let begin = std::time::Instant::now();
        let answers = [(); 2].map(|()| running.embed(&["a"; 4]));
        for answer in answers {
            let _ = embeddings(&answer.await.unwrap());
        }
        // Enough for a batch.
        assert!(begin.elapsed() < Duration::from_secs(2));
        let begin = std::time::Instant::now();
        let _ = embeddings(&running.embed(&["a"]).await.unwrap());
        let waited = begin.elapsed();
        assert!(waited >= Duration::from_secs(2), "{waited:?}");
        let sizes: Vec<usize> = gate.batches.lock().unwrap().iter().map(Vec::len).collect();
        assert_eq!(sizes, [8, 1]);
    });
}

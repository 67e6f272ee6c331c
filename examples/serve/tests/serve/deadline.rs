//! Deadlines: what never happens fails the test that waits for it, which says what it was.

use std::fmt::Display;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How long a test waits for one thing.
const OF_A_WAIT: Duration = Duration::from_secs(10);
/// How long a test takes at the most.
const OF_A_TEST: Duration = Duration::from_secs(25);

/// Runs a test on a thread of its own, and fails if it does not end in time, whatever it waits for.
pub(crate) fn run_in_time(test: impl FnOnce() + Send + 'static) {
    let (ended, wait) = channel();
    let name = thread::current().name().unwrap_or_default().to_owned();
    let thread = thread::Builder::new().name(name).spawn(move || {
        test();
        ended.send(()).unwrap();
    });
    if wait.recv_timeout(OF_A_TEST) == Err(RecvTimeoutError::Timeout) {
        panic!("the test has not ended after {OF_A_TEST:?}");
    }
    if let Err(panic) = thread.unwrap().join() {
        resume_unwind(panic);
    }
}

/// [`run_in_time`] on a runtime of its own.
pub(crate) fn run_async_in_time(test: impl AsyncFnOnce() + Send + 'static) {
    run_in_time(|| {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(test());
        // What the test left waiting is not waited for.
        runtime.shutdown_background();
    });
}

/// What a future gives, which must not take long.
pub(crate) async fn wait_for<F: IntoFuture>(what: impl Display, future: F) -> F::Output {
    match tokio::time::timeout(OF_A_WAIT, future).await {
        Ok(output) => output,
        Err(_) => panic!("waited {OF_A_WAIT:?} for {what}"),
    }
}

/// Waits until something holds, which must not take long.
pub(crate) async fn wait_until(what: impl Display, mut holds: impl FnMut() -> bool) {
    let polling = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    wait_for(what, polling).await;
}

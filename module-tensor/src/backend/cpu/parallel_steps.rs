//! Steps of work that follow each other, each of them shared among threads.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::threads::run_parts;

/// How often a thread looks whether a step is done before it lets other threads run.
const LOOKS: usize = 2000;

/// Does all parts of all steps: `work` is given a step and a part. A step begins when all parts of the one before are done.
///
/// The threads meet after each step without being woken, so that steps of a few microseconds can be shared. A thread keeps its
/// part, whose memory lies in the cache of its processor, and does that of another only if nobody has begun it. So the
/// work is also done if fewer threads join than there are parts.
///
/// # Panics
///
/// If a part did.
pub(super) fn parallel_steps(steps: usize, parts: usize, work: &(dyn Fn(usize, usize) + Sync)) {
    if parts <= 1 {
        return (0..steps * parts).for_each(|step| work(step, 0));
    }
    let begun: Vec<Line<AtomicUsize>> = (0..parts).map(|_| Line::default()).collect();
    let done = Line(AtomicUsize::new(0));
    run_parts(parts, parts, &|first| {
        for step in 0..steps {
            for part in (first..parts).chain(0..first) {
                let is_next = |begun: usize| (begun == step).then_some(step + 1);
                let begun =
                    begun[part]
                        .0
                        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, is_next);
                if begun.is_ok() {
                    let _counted = Counted(&done.0);
                    work(step, part);
                }
            }
            wait(&done.0, (step + 1) * parts);
        }
    });
}

/// A value that shares its cache line with no other, so that a thread that writes it delays nobody who reads another.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Line<T>(pub(super) T);

/// Counts a part as done when it is dropped, so that nobody waits for a part that panicked.
struct Counted<'a>(&'a AtomicUsize);

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        // What the part has written is seen by those who read this number.
        self.0.fetch_add(1, Ordering::Release);
    }
}

/// Waits until so many parts are done.
fn wait(done: &AtomicUsize, count: usize) {
    let mut looks = 0;
    while done.load(Ordering::Acquire) < count {
        if looks < LOOKS {
            looks += 1;
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::parallel_steps;

    #[test]
    fn every_part_of_a_step_is_done_once_and_after_those_of_the_step_before() {
        let times = if cfg!(miri) { 2 } else { 50 };
        for parts in [0, 1, 2, 5] {
            let work = || {
                let counts: Vec<AtomicUsize> =
                    (0..20 * parts).map(|_| AtomicUsize::new(0)).collect();
                parallel_steps(20, parts, &|step, part| {
                    let before = step
                        .checked_sub(1)
                        .map(|step| step * parts..(step + 1) * parts);
                    let is_done = |count: &AtomicUsize| count.load(Ordering::Relaxed) == 1;
                    assert!(before.is_none_or(|before| counts[before].iter().all(is_done)));
                    counts[step * parts + part].fetch_add(1, Ordering::Relaxed);
                });
                assert!(
                    counts
                        .iter()
                        .all(|count| count.load(Ordering::Relaxed) == 1)
                );
            };
            // Also by many at a time, so that threads are missing.
            std::thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| (0..times).for_each(|_| work()));
                }
            });
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_stops_nobody() {
        let done = AtomicUsize::new(0);
        let caught = std::panic::catch_unwind(|| {
            parallel_steps(10, 4, &|step, part| {
                assert!((step, part) != (3, 2), "step three");
                done.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert!(caught.is_err());
        assert_eq!(done.load(Ordering::Relaxed), 39);
    }
}

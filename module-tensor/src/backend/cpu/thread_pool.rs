//! Threads that wait for work, made when the first is needed.
//!
//! The thread that has work starts on it at once, and others join in as they wake; it waits only for
//! parts that another has begun. So small work loses little where nobody is free. Each thread begins with
//! the same share of the parts every time, because what it has just written lies in the cache of its processor.
#![allow(unsafe_code)]

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::{Duration, Instant};

use super::lock::lock;

/// The time for which a thread looks for work before it sleeps, about as long as waking it takes.
const SPIN_TIME: Duration = Duration::from_micros(50);

/// Does the parts `0..parts` of some work, on this thread and at most `threads - 1` others.
///
/// # Panics
///
/// If a part did.
pub(super) fn run_parts(parts: usize, threads: usize, work: &(dyn Fn(usize) + Sync)) {
    let pool = POOL.get_or_init(ThreadPool::start);
    // SAFETY: the pointer only forgets how long the function lives. It is read in `Job::help` alone, for
    // a part that was claimed there, and each claimed part is counted as finished after the call. This
    // function neither returns nor unwinds before all parts are finished, and then there is no part to claim.
    let work = Work(unsafe { std::mem::transmute::<&(dyn Fn(usize) + Sync), Function>(work) });
    let job = Arc::new(Job {
        work,
        claimed: (0..parts).map(|_| AtomicBool::new(false)).collect(),
        unclaimed: AtomicUsize::new(parts),
        threads: threads.max(1),
        finished: AtomicUsize::new(0),
        helpers: AtomicUsize::new(threads.saturating_sub(1)),
        owner: std::thread::current(),
        panic: Mutex::new(None),
    });
    pool.push(&job, (parts - 1).min(threads.saturating_sub(1)));
    job.help(0);
    job.wait();
    pool.remove(&job);
    if let Some(panic) = lock(&job.panic).take() {
        resume_unwind(panic);
    }
}

type Function = *const (dyn Fn(usize) + Sync + 'static);

/// A function that may be gone once all parts are finished.
struct Work(Function);

// SAFETY: what it points to is `Sync`, so that any thread may call it.
unsafe impl Send for Work {}
// SAFETY: as above.
unsafe impl Sync for Work {}

/// Some work and how far it has come.
struct Job {
    work: Work,
    /// Whether someone does the part, or has done it.
    claimed: Vec<AtomicBool>,
    /// The number of parts that nobody has claimed.
    unclaimed: AtomicUsize,
    /// The number of threads that share the parts.
    threads: usize,
    finished: AtomicUsize,
    /// The number of threads that may still join.
    helpers: AtomicUsize,
    /// Who waits for the last part.
    owner: Thread,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Job {
    /// Does parts until there are no more to claim, from the share of the thread on.
    fn help(&self, thread: usize) {
        let parts = self.claimed.len();
        let first = thread % self.threads * parts / self.threads;
        for part in (first..parts).chain(0..first) {
            if self.claimed[part].swap(true, Ordering::Relaxed) {
                continue;
            }
            self.unclaimed.fetch_sub(1, Ordering::Relaxed);
            // SAFETY: the part is claimed and not finished, so the owner still waits in `run_parts`.
            let call = || unsafe { (*self.work.0)(part) };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(call)) {
                self.keep(panic);
            }
            // What the part has written is seen by the owner, who reads this number.
            if self.finished.fetch_add(1, Ordering::Release) + 1 == parts {
                self.owner.unpark();
            }
        }
    }

    /// Keeps the first panic for the owner and drops any other. Dropping it runs code of a user, which may
    /// panic in turn, and nothing may unwind from here.
    fn keep(&self, panic: Box<dyn Any + Send>) {
        let mut first = lock(&self.panic);
        if first.is_none() {
            *first = Some(panic);
            return;
        }
        drop(first);
        if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
            // This payload may also panic when it is dropped, so it is leaked.
            std::mem::forget(again);
        }
    }

    /// Waits until all parts are finished.
    fn wait(&self) {
        let start = Instant::now();
        while self.finished.load(Ordering::Acquire) < self.claimed.len() {
            if start.elapsed() < SPIN_TIME {
                std::hint::spin_loop();
            } else {
                std::thread::park();
            }
        }
    }

    /// Joins in, if one more may help and something is left to do.
    fn join(&self) -> bool {
        let free = |helpers: usize| helpers.checked_sub(1);
        self.unclaimed.load(Ordering::Relaxed) > 0
            && self
                .helpers
                .fetch_update(Ordering::Relaxed, Ordering::Relaxed, free)
                .is_ok()
    }
}

static POOL: OnceLock<ThreadPool> = OnceLock::new();

/// The threads and the work that is open.
struct ThreadPool {
    jobs: Arc<Jobs>,
}

#[derive(Default)]
struct Jobs {
    open: Mutex<VecDeque<Arc<Job>>>,
    /// The number of jobs that there have been, readable without the lock.
    pushed: AtomicUsize,
    more: Condvar,
}

impl ThreadPool {
    /// One thread for each processor but one; fewer if the system gives no more.
    fn start() -> Self {
        let jobs = Arc::<Jobs>::default();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        for index in 1..processors {
            let jobs = jobs.clone();
            let thread = std::thread::Builder::new().name("kernel".to_owned());
            // Without it the others do its part.
            let _ = thread.spawn(move || jobs.serve(index));
        }
        Self { jobs }
    }

    fn push(&self, job: &Arc<Job>, helpers: usize) {
        let mut open = lock(&self.jobs.open);
        open.push_back(job.clone());
        self.jobs.pushed.fetch_add(1, Ordering::Relaxed);
        drop(open);
        for _ in 0..helpers {
            self.jobs.more.notify_one();
        }
    }

    fn remove(&self, job: &Arc<Job>) {
        let mut open = lock(&self.jobs.open);
        open.retain(|other| !Arc::ptr_eq(other, job));
    }
}

impl Jobs {
    fn serve(&self, thread: usize) {
        loop {
            self.find().help(thread);
        }
    }

    /// The oldest job that another thread may help with, as soon as there is one.
    fn find(&self) -> Arc<Job> {
        let mut start = Instant::now();
        let mut open = lock(&self.open);
        loop {
            if let Some(job) = open.iter().find(|job| job.join()) {
                return job.clone();
            }
            let seen = self.pushed.load(Ordering::Relaxed);
            if start.elapsed() < SPIN_TIME {
                drop(open);
                while self.pushed.load(Ordering::Relaxed) == seen && start.elapsed() < SPIN_TIME {
                    std::hint::spin_loop();
                }
                open = lock(&self.open);
            } else {
                open = self.more.wait(open).unwrap_or_else(PoisonError::into_inner);
                start = Instant::now();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::run_parts;

    #[test]
    fn every_part_is_done_once_also_by_many_at_a_time_and_within_another() {
        let counts: Vec<AtomicUsize> = (0..64).map(|_| AtomicUsize::new(0)).collect();
        let times = if cfg!(miri) { 3 } else { 500 };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..times {
                        run_parts(4, 3, &|outer| {
                            run_parts(16, 4, &|inner| {
                                counts[outer * 16 + inner].fetch_add(1, Ordering::Relaxed);
                            });
                        });
                    }
                });
            }
        });
        let done = |count: &AtomicUsize| count.load(Ordering::Relaxed) == 8 * times;
        assert!(counts.iter().all(done));
    }

    #[test]
    fn a_panic_reaches_the_caller_after_the_other_parts() {
        let done = AtomicUsize::new(0);
        let caught = std::panic::catch_unwind(|| {
            run_parts(16, 4, &|part| {
                assert!(part != 3, "part three");
                done.fetch_add(1, Ordering::Relaxed);
            });
        });
        assert!(caught.is_err());
        assert_eq!(done.load(Ordering::Relaxed), 15);
    }

    static DROPPED: AtomicUsize = AtomicUsize::new(0);

    /// The payload of a panic, which panics again when it is dropped.
    struct Bomb;

    impl Drop for Bomb {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::Relaxed);
            std::panic::panic_any(Self);
        }
    }

    #[test]
    fn what_many_parts_panic_with_may_panic_again() {
        let done = AtomicUsize::new(0);
        let caught = std::panic::catch_unwind(|| {
            run_parts(16, 4, &|part| {
                done.fetch_add(1, Ordering::Relaxed);
                if part % 2 == 0 {
                    std::panic::panic_any(Bomb);
                }
            });
        });
        // The first came here; it is not to go off.
        std::mem::forget(caught.unwrap_err());
        assert_eq!(done.load(Ordering::Relaxed), 16);
        assert_eq!(DROPPED.load(Ordering::Relaxed), 7);
        // The threads are still there.
        run_parts(16, 4, &|_| {
            done.fetch_add(1, Ordering::Relaxed);
        });
        assert_eq!(done.load(Ordering::Relaxed), 32);
    }
}

use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};

use module_nn::{Error, Result};

/// A collective that was started: PyTorch's `Work`.
///
/// Dropping it lets the collective proceed, and loses its result.
#[must_use = "the result is lost unless it is waited for"]
pub struct Work<T>(State<T>);

enum State<T> {
    Ready(Result<T>),
    Running(Receiver<Result<T>>),
    Waiting(Box<dyn Waiting<T>>),
}

/// Work that is done by whoever waits for it.
pub(super) trait Waiting<T>: Send {
    fn wait(self: Box<Self>) -> Result<T>;
    fn is_finished(&mut self) -> bool;
}

/// Where the result of a [`Work`] is handed in.
pub struct Promise<T>(Sender<Result<T>>);

impl<T> Promise<T> {
    /// Hands in the result.
    pub fn fulfill(self, result: Result<T>) {
        // Nobody may be waiting any more.
        let _ = self.0.send(result);
    }
}

impl<T: Send + 'static> Work<T> {
    /// Work whose result is known.
    pub fn ready(result: Result<T>) -> Self {
        Self(State::Ready(result))
    }

    /// Work that another thread does: a `Comm` that wraps another one hands in its result by the promise.
    pub fn promise() -> (Promise<T>, Self) {
        let (sender, receiver) = channel();
        (Promise(sender), Self(State::Running(receiver)))
    }

    pub(super) fn waiting(work: impl Waiting<T> + 'static) -> Self {
        Self(State::Waiting(Box::new(work)))
    }

    /// Work whose result is `f` of this one's, computed by whoever waits for it.
    ///
    /// # Example
    ///
    /// ```
    /// use module_dist::Work;
    ///
    /// let work = Work::ready(Ok(2)).map(|x| Ok(x + 1));
    /// assert_eq!(work.wait()?, 3);
    /// # Ok::<(), module_nn::Error>(())
    /// ```
    pub fn map<U: Send + 'static>(
        self,
        f: impl FnOnce(T) -> Result<U> + Send + 'static,
    ) -> Work<U> {
        Work::waiting(Mapped { work: self, f })
    }

    /// Waits for the result.
    ///
    /// # Errors
    ///
    /// A [`RankFailure`](crate::RankFailure); another error of the collective.
    pub fn wait(self) -> Result<T> {
        match self.0 {
            State::Ready(result) => result,
            State::Running(receiver) => receiver.recv().unwrap_or_else(|_| Err(abandoned())),
            State::Waiting(work) => work.wait(),
        }
    }

    /// Whether [`wait`](Self::wait) would return at once.
    pub fn is_finished(&mut self) -> bool {
        match &mut self.0 {
            State::Ready(_) => true,
            State::Waiting(work) => work.is_finished(),
            State::Running(receiver) => match receiver.try_recv() {
                Ok(result) => {
                    self.0 = State::Ready(result);
                    true
                }
                Err(TryRecvError::Empty) => false,
                Err(TryRecvError::Disconnected) => true,
            },
        }
    }
}

struct Mapped<T, F> {
    work: Work<T>,
    f: F,
}

impl<T: Send + 'static, U, F: FnOnce(T) -> Result<U> + Send> Waiting<U> for Mapped<T, F> {
    fn wait(self: Box<Self>) -> Result<U> {
        (self.f)(self.work.wait()?)
    }

    fn is_finished(&mut self) -> bool {
        self.work.is_finished()
    }
}

fn abandoned() -> Error {
    Error::custom(
        "the thread that communicates ended before this collective; keep the `Comm` until it has finished",
    )
}

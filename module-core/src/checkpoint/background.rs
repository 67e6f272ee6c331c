use std::fmt;
use std::path::PathBuf;
#[cfg(feature = "threads")]
use std::thread::Builder;
use std::thread::JoinHandle;

#[cfg(feature = "threads")]
use super::output::file_error;
use crate::{Error, Result};

/// A checkpoint that is being written on another thread; without the feature `threads` it has already been written.
///
/// Dropping it also waits for the end; an error that nobody asked for is then printed to standard error.
///
/// # Example
///
/// ```
/// use module_core::{StateDict, Tensor, TrainingCheckpoint};
///
/// let directory = std::env::temp_dir().join(format!("doc-background-{}", std::process::id()));
/// let state = StateDict::from_iter([("weight", Tensor::from([1.0_f32]))]);
/// let checkpoint = TrainingCheckpoint::new(0, 1);
/// let handle = checkpoint.save_async(&directory);
/// // Training continues here; a loop may look whether the last checkpoint is written before it starts another.
/// while !handle.is_finished() {
///     std::thread::yield_now();
/// }
/// handle.join()?;
/// assert_eq!(TrainingCheckpoint::load(&directory)?.step(), 1);
/// std::fs::remove_dir_all(directory)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "`join` tells whether the checkpoint was written"]
pub struct SaveHandle {
    path: PathBuf,
    /// `None` once the write has succeeded or has been joined.
    work: Option<Result<JoinHandle<Result<()>>>>,
}

impl SaveHandle {
    pub(super) fn spawn(path: PathBuf, save: impl FnOnce() -> Result<()> + Send + 'static) -> Self {
        #[cfg(feature = "threads")]
        let work = {
            let thread = Builder::new().name("checkpoint".to_owned()).spawn(save);
            Some(thread.map_err(|error| file_error(&path, error)))
        };
        #[cfg(not(feature = "threads"))]
        let work = save().err().map(Err);
        Self { path, work }
    }

    /// Waits until the checkpoint is on the disk.
    ///
    /// # Errors
    ///
    /// Those of writing the checkpoint; a thread that could not be started.
    pub fn join(mut self) -> Result<()> {
        self.wait()
    }

    /// Whether `join` would return at once.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        match &self.work {
            Some(Ok(thread)) => thread.is_finished(),
            _ => true,
        }
    }

    fn wait(&mut self) -> Result<()> {
        match self.work.take() {
            Some(work) => work?.join().unwrap_or_else(|_| {
                let path = self.path.display();
                Err(Error::custom(format!(
                    "the thread that saved {path} panicked"
                )))
            }),
            None => Ok(()),
        }
    }
}

impl Drop for SaveHandle {
    fn drop(&mut self) {
        if let Err(error) = self.wait() {
            eprintln!("saving a checkpoint failed: {error}");
        }
    }
}

impl fmt::Debug for SaveHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, finished) = (&self.path, self.is_finished());
        write!(f, "SaveHandle({}, finished: {finished})", path.display())
    }
}

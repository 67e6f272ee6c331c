//! The one error type: a boxed, typed enum that holds the offending values.
//!
//! [`ErrorKind`] has an enum for each domain: [`ShapeError`], [`DTypeError`], [`DeviceError`], [`AutogradError`] and
//! [`RngError`]. Another crate adds its own error by [`Error::custom`], and finds it again by [`Error::downcast_ref`]. Names
//! from files are quoted by [`quote`](quote()), [`passage`] and [`escape`], so that control sequences in them do not reach a
//! terminal.

mod autograd;
mod device;
mod display;
mod dtype;
mod from;
mod kind;
mod quote;
mod random;
mod shape;
mod trace;

use std::fmt;

pub use autograd::AutogradError;
pub use device::DeviceError;
pub use dtype::DTypeError;
pub use kind::ErrorKind;
pub use quote::{Quote, escape, passage, quote};
#[doc(hidden)]
pub use random::RngError;
pub use shape::ShapeError;
pub use trace::Trace;

/// The result type of everything in these crates that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error with its values, and the path of the module in which it happened.
///
/// It is one pointer wide, so that a `Result` costs nothing if there is no error.
///
/// # Example
///
/// ```
/// use module_tensor::{ErrorKind, ShapeError, Tensor};
///
/// let error = Tensor::from([1.0_f32, 2.0]).add(&Tensor::from([1.0_f32, 2.0, 3.0])).unwrap_err();
/// assert!(matches!(error.kind(), ErrorKind::Shape(ShapeError::Broadcast { .. })));
/// assert_eq!(error.to_string(), "add: shapes [2] and [3] cannot be broadcast together");
/// ```
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    kind: ErrorKind,
    trace: Option<Trace>,
}

impl Error {
    /// An error without a module path; `call` adds the path as the error leaves the modules.
    pub fn new(kind: ErrorKind) -> Self {
        Self(Box::new(Inner { kind, trace: None }))
    }

    /// An argument of `op` that cannot be used: `conv2d: groups = 3: must divide the 4 channels`.
    pub fn argument(
        op: &'static str,
        name: &'static str,
        value: impl fmt::Display,
        problem: impl Into<String>,
    ) -> Self {
        /// Compiled once, because there are many callers.
        fn of(
            op: &'static str,
            name: &'static str,
            value: &dyn fmt::Display,
            problem: String,
        ) -> Error {
            let value = value.to_string();
            Error::new(ErrorKind::Argument {
                op,
                name,
                value,
                problem,
            })
        }

        of(op, name, &value, problem.into())
    }

    /// Any other error that user code returns from a `forward`, a hook or an initializer: a message or another crate's
    /// error.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Error, Result};
    ///
    /// fn read() -> Result<String> {
    ///     std::fs::read_to_string("no such file").map_err(Error::custom)
    /// }
    ///
    /// assert!(read().is_err());
    /// assert_eq!(Error::custom("the mask is empty").to_string(), "the mask is empty");
    /// ```
    pub fn custom(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::new(ErrorKind::Custom(error.into()))
    }

    /// The kind of the error.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// The error of an [`ErrorKind::Custom`] as its own type, if it is an `E`.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::Error;
    ///
    /// let error = Error::custom("3x".parse::<i32>().unwrap_err());
    /// assert!(error.downcast_ref::<std::num::ParseIntError>().is_some());
    /// assert!(error.downcast_ref::<std::fmt::Error>().is_none());
    /// ```
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match self.kind() {
            ErrorKind::Custom(error) => error.downcast_ref(),
            _ => None,
        }
    }

    /// Converts to the kind of the error, without the module path.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Error, ErrorKind};
    ///
    /// // The source of the error, to be passed on as it came.
    /// let error = Error::custom(std::io::Error::other("the disk is full"));
    /// match error.into_kind() {
    ///     ErrorKind::Custom(source) => assert_eq!(source.to_string(), "the disk is full"),
    ///     kind => unreachable!("{kind:?}"),
    /// }
    /// ```
    pub fn into_kind(self) -> ErrorKind {
        self.0.kind
    }

    /// The path of the module in which it happened, relative to the outermost `call`: `layer1.conv2`. `None` if the error
    /// left no `call`.
    pub fn module_path(&self) -> Option<&str> {
        self.0.trace.as_ref().map(Trace::path)
    }

    /// The type of the module in which it happened: `Conv2d`.
    pub fn module_kind(&self) -> Option<&'static str> {
        self.0.trace.as_ref().map(Trace::kind)
    }

    /// The trace of modules, for `call` to extend.
    #[doc(hidden)]
    pub fn trace_mut(&mut self) -> &mut Option<Trace> {
        &mut self.0.trace
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(trace) = &self.0.trace {
            write!(f, "{trace}: ")?;
        }
        self.0.kind.fmt(f)
    }
}

/// A failed `main` or `unwrap` prints this, so it reads like the message.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            self.0.fmt(f)
        } else {
            fmt::Display::fmt(self, f)
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        std::error::Error::source(&self.0.kind)
    }
}

#[cfg(test)]
mod tests;

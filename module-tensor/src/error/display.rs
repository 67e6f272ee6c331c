//! The message of each kind of error, and its source.

use std::error::Error;
use std::fmt;

use super::ErrorKind;
use super::quote::{passage, quote};

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shape(error) => error.fmt(f),
            Self::DType(error) => error.fmt(f),
            Self::Device(error) => error.fmt(f),
            Self::Autograd(error) => error.fmt(f),
            Self::Argument {
                op,
                name,
                value,
                problem,
            } => write!(f, "{op}: {name} = {}: {}", quote(value), passage(problem)),
            Self::Factorization {
                op,
                matrix,
                problem,
            } => write!(f, "{op}: matrix {matrix} of the batch {}", passage(problem)),
            Self::NoValues { what } => write!(
                f,
                "{} has no values yet; load a checkpoint or call `reset_parameters`",
                quote(what)
            ),
            Self::Released { what } => write!(
                f,
                "the elements of {} are released; fill its memory before it is used",
                quote(what)
            ),
            Self::Random(error) => error.fmt(f),
            Self::Io(error) => error.fmt(f),
            Self::Custom(error) => error.fmt(f),
        }
    }
}

/// Most kinds print as the error inside them, so they have its source.
impl Error for ErrorKind {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Shape(error) => error.source(),
            Self::DType(error) => error.source(),
            Self::Device(error) => error.source(),
            Self::Autograd(error) => error.source(),
            Self::Random(error) => error.source(),
            Self::Io(error) => error.source(),
            Self::Custom(error) => error.source(),
            Self::Argument { .. }
            | Self::Factorization { .. }
            | Self::NoValues { .. }
            | Self::Released { .. } => None,
        }
    }
}

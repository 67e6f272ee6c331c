//! Conversions into an error, for `?` and `into`.

use super::{AutogradError, DTypeError, DeviceError, Error, ErrorKind, RngError, ShapeError};

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Self::new(kind)
    }
}

impl From<ShapeError> for ErrorKind {
    fn from(error: ShapeError) -> Self {
        Self::Shape(error)
    }
}

impl From<ShapeError> for Error {
    fn from(error: ShapeError) -> Self {
        ErrorKind::Shape(error).into()
    }
}

impl From<DTypeError> for ErrorKind {
    fn from(error: DTypeError) -> Self {
        Self::DType(error)
    }
}

impl From<DTypeError> for Error {
    fn from(error: DTypeError) -> Self {
        ErrorKind::DType(error).into()
    }
}

impl From<DeviceError> for ErrorKind {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

impl From<DeviceError> for Error {
    fn from(error: DeviceError) -> Self {
        ErrorKind::Device(error).into()
    }
}

impl From<AutogradError> for ErrorKind {
    fn from(error: AutogradError) -> Self {
        Self::Autograd(error)
    }
}

impl From<AutogradError> for Error {
    fn from(error: AutogradError) -> Self {
        ErrorKind::Autograd(error).into()
    }
}

impl From<RngError> for ErrorKind {
    fn from(error: RngError) -> Self {
        Self::Random(error)
    }
}

impl From<RngError> for Error {
    fn from(error: RngError) -> Self {
        ErrorKind::Random(error).into()
    }
}

impl From<std::io::Error> for ErrorKind {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

/// So that `?` passes on errors of the operating system.
impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        ErrorKind::Io(error).into()
    }
}

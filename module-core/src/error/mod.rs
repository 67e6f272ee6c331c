//! The errors of modules, loading and files, which [`Error`] carries and [`Error::downcast_ref`] returns, and the functions
//! that quote names from files in messages.

/// Lets `?` and `into` convert a type to an [`Error`](crate::Error).
macro_rules! error_from {
    ($type:ty) => {
        impl From<$type> for crate::Error {
            fn from(error: $type) -> Self {
                Self::custom(error)
            }
        }
    };
}

mod file;
mod load;
mod module;
mod suggest;
#[cfg(test)]
mod tests;
mod values;

pub use file::FileError;
pub use load::{LoadProblems, Mismatch};
pub(crate) use load::{SHOWN, cut};
pub use module::ModuleError;
pub use module_tensor::error::{
    AutogradError, DTypeError, DeviceError, Error, ErrorKind, Quote, Result, ShapeError, escape,
    passage, quote,
};
pub(crate) use suggest::suggest;
pub use values::ValueProblems;

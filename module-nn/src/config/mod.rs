//! Configurations: the arguments of PyTorch's constructors by their names, with its defaults.

mod argument;
mod check;
mod input;
mod table;
mod weights;

pub use argument::Argument;
pub(crate) use check::{between, positive, positive_sizes};
pub(crate) use input::input;
pub(crate) use table::{config, read_field};
pub use weights::Weights;

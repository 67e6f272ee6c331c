//! Configurations: the arguments of PyTorch's constructors by their names, with its defaults.

mod argument;
mod built;
mod check;
mod input;
mod one_or_each;
mod table;
mod weights;

pub use argument::Argument;
#[doc(hidden)]
pub use built::{ConfigArguments, Configurable};
pub(crate) use check::{Part, above_0, between, fitting_count, positive, positive_sizes};
pub(crate) use input::input;
pub use one_or_each::OneOrEach;
pub(crate) use one_or_each::tuple;
pub(crate) use table::{config, read_field};
pub use weights::Weights;

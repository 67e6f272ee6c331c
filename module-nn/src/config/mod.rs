//! Configurations: the arguments of PyTorch's constructors, with their names and defaults.
//!
//! You write layers of your own the same way as this library does: [`config!`](crate::config!) writes the configuration from a
//! table of its arguments, the functions here check them, and [`Build`] makes the layer.
//!
//! | to | use |
//! |---|---|
//! | write a configuration and its layer's `new` | [`config!`](crate::config!), [`Build`] |
//! | check an argument | [`check_positive`], [`check_positive_sizes`], [`check_between`], [`check_above_zero`] |
//! | accept several forms of an argument | [`Argument`], [`OneOrEach`], [`Weights`] |

mod argument;
mod build;
mod built;
mod check;
mod input;
mod one_or_each;
#[doc(hidden)]
pub mod serial;
mod table;
mod weights;

pub use argument::Argument;
pub use build::Build;
#[doc(hidden)]
pub use built::{ConfigArguments, Configurable};
#[cfg(any(feature = "data", feature = "generate", feature = "metrics"))]
pub(crate) use check::check_bytes_fit;
pub(crate) use check::{PartSize, check_count_fits, check_steps};
pub use check::{check_above_zero, check_between, check_positive, check_positive_sizes};
pub(crate) use input::input;
pub use one_or_each::OneOrEach;
pub(crate) use one_or_each::tuple;
pub(crate) use table::config;
pub use weights::Weights;

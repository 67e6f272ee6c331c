//! Code that the losses share.

use module_core::{Buffer, Maybe, Result};

use crate::Weights;

/// `new` and `Default` for a loss without required arguments, based on its `of`.
macro_rules! defaults {
    ($loss:ident, $config:ident) => {
        impl $loss {
            #[doc = concat!("With the defaults of [`", stringify!($config), "`].")]
            pub fn new() -> Self {
                Self::of(&$config::new())
            }
        }

        impl Default for $loss {
            fn default() -> Self {
                Self::new()
            }
        }
    };
}
pub(super) use defaults;

/// The buffer that holds the weights, if there are any.
pub(super) fn buffer(weights: Option<&Weights>) -> Maybe<Buffer> {
    match weights {
        Some(weights) => Maybe::Present(Buffer::new(weights.tensor().clone())),
        None => Maybe::Absent,
    }
}

/// The weights that a buffer holds now.
pub(super) fn weights(buffer: &Maybe<Buffer>) -> Option<Weights> {
    buffer.get().map(|buffer| Weights::from(buffer.tensor()))
}

/// Refuses class weights that are not one-dimensional.
pub(super) fn one_dimension(op: &'static str, weights: Option<&Weights>) -> Result<()> {
    let Some(weights) = weights.filter(|weights| weights.tensor().rank() != 1) else {
        return Ok(());
    };
    Err(weights.tensor().shape().error(op, "a weight [classes]"))
}

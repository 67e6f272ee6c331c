//! Random flips.

use module_core::{Result, Tensor};

use super::{Transform, functional, uniform};
use crate::config::check_between;

macro_rules! flips {
    ($($(#[$meta:meta])* $name:ident, $function:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            p: f64,
        }

        impl $name {
            /// Makes the transform with probability one half.
            pub fn new() -> Self {
                Self { p: 0.5 }
            }

            /// Makes the transform with probability `p`.
            ///
            /// # Errors
            ///
            /// A probability outside `[0, 1]`.
            pub fn with_probability(p: f64) -> Result<Self> {
                check_between(stringify!($name), "p", p, [0.0, 1.0])?;
                Ok(Self { p })
            }
        }

        impl Default for $name {
            fn default() -> Self {
                Self::new()
            }
        }

        impl Transform for $name {
            fn apply(&self, image: &Tensor) -> Result<Tensor> {
                match uniform([0.0, 1.0])? < self.p {
                    true => functional::$function(image),
                    false => Ok(image.clone()),
                }
            }
        }
    )+};
}

flips! {
    /// Mirrors the image left to right with some probability.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::{RandomHorizontalFlip, Transform};
    /// use module_nn::prelude::*;
    ///
    /// let always = RandomHorizontalFlip::with_probability(1.0)?;
    /// assert_eq!(always.apply(&Tensor::from([[[1_u8, 2]]]))?.to_vec::<u8>()?, [2, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    RandomHorizontalFlip, horizontal_flip;

    /// Mirrors the image top to bottom with some probability.
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::data::transforms::{RandomVerticalFlip, Transform};
    /// use module_nn::prelude::*;
    ///
    /// let never = RandomVerticalFlip::with_probability(0.0)?;
    /// assert_eq!(never.apply(&Tensor::from([[[1_u8], [2]]]))?.to_vec::<u8>()?, [1, 2]);
    /// # Ok::<(), Error>(())
    /// ```
    RandomVerticalFlip, vertical_flip;
}

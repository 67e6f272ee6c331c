use module_core::module::{Number, Repr};
use module_core::{Forward, Module, Result, Tensor};

use crate::config::{Build, check_between, config};

/// `x` moved toward 0 by `λ`, and 0 where `|x| ≤ λ`, elementwise.
///
/// # Shapes
///
/// Any shape to the same.
///
/// # Errors
///
/// A dtype that is not floating-point.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let y = Softshrink::new().call(Tensor::from([-2.0_f32, 0.5, 2.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [-1.5, 0.0, 1.5]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Softshrink {
    lambd: Number,
}

config! {
    /// The arguments of [`Softshrink`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let shrink = SoftshrinkConfig::new().lambd(1.0).build()?;
    /// assert_eq!(shrink.call(Tensor::from([-2.0_f32, 0.75, 3.0]))?.to_vec::<f32>()?, [-1.0, 0.0, 2.0]);
    /// assert!(SoftshrinkConfig::new().lambd(-1.0).build().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub struct SoftshrinkConfig => Softshrink {
        optional {
            /// The `λ`.
            lambd: Number = 0.5,
        }
    }
}

impl Build for SoftshrinkConfig {
    type Output = Softshrink;

    /// The activation.
    ///
    /// # Errors
    ///
    /// A `lambd` below 0.
    fn build(&self) -> Result<Softshrink> {
        let &Self { lambd } = self;
        check_between("Softshrink", "lambd", *lambd, [0.0, f64::INFINITY])?;
        Ok(Softshrink { lambd })
    }
}

impl Softshrink {
    /// Makes the layer with PyTorch's defaults; [`SoftshrinkConfig`] has the arguments.
    pub fn new() -> Self {
        Self { lambd: 0.5.into() }
    }

    fn extra_repr(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", Repr(&self.lambd))
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> SoftshrinkConfig {
        SoftshrinkConfig { lambd: self.lambd }
    }
}

impl Default for Softshrink {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Softshrink {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.softshrink(*self.lambd)
    }
}

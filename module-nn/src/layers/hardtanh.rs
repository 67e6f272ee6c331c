use module_core::module::Number;
use module_core::{Error, Forward, Module, Result, Tensor};

use crate::config::{Build, config};

/// `min(max(x, min_val), max_val)`, elementwise.
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
/// let y = Hardtanh::new().call(Tensor::from([-2.0_f32, 0.5, 2.0]))?;
/// assert_eq!(y.to_vec::<f32>()?, [-1.0, 0.5, 1.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug)]
pub struct Hardtanh {
    min_val: Number,
    max_val: Number,
}

config! {
    /// The arguments of [`Hardtanh`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let clip = HardtanhConfig::new().min_val(0.0).max_val(6.0).build()?;
    /// assert_eq!(clip.call(Tensor::from([-2.0_f32, 3.0, 9.0]))?.to_vec::<f32>()?, [0.0, 3.0, 6.0]);
    /// assert!(HardtanhConfig::new().min_val(2.0).build().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub struct HardtanhConfig => Hardtanh {
        optional {
            /// The lower bound.
            min_val: Number = -1.0,
            /// The upper bound.
            max_val: Number = 1.0,
        }
    }
}

impl Build for HardtanhConfig {
    type Output = Hardtanh;

    /// The activation.
    ///
    /// # Errors
    ///
    /// A `min_val` that is not below `max_val`.
    fn build(&self) -> Result<Hardtanh> {
        let &Self { min_val, max_val } = self;
        // So that a NaN fails.
        let ordered = *min_val < *max_val;
        if !ordered {
            let problem = format!("must be below max_val = {max_val}");
            return Err(Error::argument("Hardtanh", "min_val", min_val, problem));
        }
        Ok(Hardtanh { min_val, max_val })
    }
}

impl Hardtanh {
    /// Makes the layer with PyTorch's defaults; [`HardtanhConfig`] has the arguments.
    pub fn new() -> Self {
        Self {
            min_val: (-1.0).into(),
            max_val: 1.0.into(),
        }
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> HardtanhConfig {
        HardtanhConfig {
            min_val: self.min_val,
            max_val: self.max_val,
        }
    }
}

impl Default for Hardtanh {
    fn default() -> Self {
        Self::new()
    }
}

impl Forward for Hardtanh {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.hardtanh(*self.min_val, *self.max_val)
    }
}

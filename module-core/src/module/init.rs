use std::fmt;

use crate::rng::Generator;
use crate::{DType, Device, Result, Shape, Tensor};

/// How a parameter gets its first values; it owns its initialiser, so that it can be drawn anew.
///
/// `module-nn`'s `init` holds PyTorch's; a closure serves too.
///
/// # Example
///
/// ```
/// use module_core::{Parameter, Tensor};
///
/// let small = Parameter::with_init([2, 3], |shape, dtype, generator| {
///     Tensor::normal(shape, 0.0, 0.02, dtype, generator)
/// })?;
/// assert_eq!(small.shape().to_string(), "[2, 3]");
/// # Ok::<(), module_core::Error>(())
/// ```
pub trait Init: Send + Sync + 'static {
    /// The values of a parameter of this shape and dtype.
    ///
    /// Everything random comes from `generator`, which the caller holds: a draw from the default
    /// generator in here would not follow the seed.
    ///
    /// # Errors
    ///
    /// A shape that the initialiser does not serve.
    fn init(&self, shape: &Shape, dtype: DType, generator: &mut Generator) -> Result<Tensor>;
}

impl<F> Init for F
where
    F: Fn(&Shape, DType, &mut Generator) -> Result<Tensor> + Send + Sync + 'static,
{
    fn init(&self, shape: &Shape, dtype: DType, generator: &mut Generator) -> Result<Tensor> {
        self(shape, dtype, generator)
    }
}

/// One value everywhere, without a draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ConstantInit(pub f64);

impl Init for ConstantInit {
    fn init(&self, shape: &Shape, dtype: DType, _: &mut Generator) -> Result<Tensor> {
        Tensor::full(shape, self.0, dtype, &Device::cpu())
    }
}

impl fmt::Debug for dyn Init {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Init")
    }
}

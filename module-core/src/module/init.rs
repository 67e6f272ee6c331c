use crate::rng::Generator;
use crate::{DType, Result, Shape, Tensor};

/// How a parameter gets its initial values; it owns its initializer, so that it can be redrawn.
///
/// The `init` module of `module-nn` has PyTorch's.
///
/// # Example
///
/// ```
/// use module_core::{DType, Generator, Init, Parameter, Result, Shape, Tensor};
///
/// struct Small;
///
/// impl Init for Small {
///     fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
///         Tensor::normal(shape, 0.0, 0.02, dtype, generator)
///     }
/// }
///
/// let weight = Parameter::with_init([2, 3], Small)?;
/// assert_eq!(weight.shape().to_string(), "[2, 3]");
/// # Ok::<(), module_core::Error>(())
/// ```
///
/// ```
/// use module_core::rng::Distribution;
/// use module_core::{DType, Generator, Init, Result, Shape, Tensor};
///
/// struct Unit;
///
/// impl Init for Unit {
///     fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
///         Tensor::uniform(shape, 0.0, 1.0, dtype, generator)
///     }
///
///     fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
///         let unit = Distribution::Uniform { low: 0.0, high: 1.0 };
///         generator.skip(unit, shape.numel(), dtype)
///     }
/// }
///
/// let [drawn, skipped] = [0, 0].map(Generator::new);
/// Unit.init(&[5].into(), DType::F32, &drawn)?;
/// Unit.skip(&[5].into(), DType::F32, &skipped)?;
/// assert_eq!(drawn, skipped);
/// # Ok::<(), module_core::Error>(())
/// ```
pub trait Init: Send + Sync + 'static {
    /// The values for a parameter of this shape and dtype.
    ///
    /// All randomness comes from `generator`: a draw from the default generator here would not follow its seed. The
    /// generator is not locked, so an initializer may build tensors and modules of its own.
    ///
    /// # Errors
    ///
    /// A shape that the initializer does not support.
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor>;

    /// Advances `generator` as [`init`](Self::init) would, when the values are not needed because another initializer
    /// overwrote them.
    ///
    /// By default the values are drawn and discarded; [`Generator::skip`] advances without computing them.
    ///
    /// # Errors
    ///
    /// Those of [`init`](Self::init).
    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        self.init(shape, dtype, generator).map(drop)
    }
}

/// An initializer with several owners.
impl Init for std::sync::Arc<dyn Init> {
    fn init(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<Tensor> {
        (**self).init(shape, dtype, generator)
    }

    fn skip(&self, shape: &Shape, dtype: DType, generator: &Generator) -> Result<()> {
        (**self).skip(shape, dtype, generator)
    }
}

/// One value everywhere, without random draws.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(alias = "constant")]
pub struct ConstantInit(pub f64);

impl Init for ConstantInit {
    fn init(&self, shape: &Shape, dtype: DType, _: &Generator) -> Result<Tensor> {
        Tensor::full(shape, self.0, dtype)
    }

    fn skip(&self, _: &Shape, _: DType, _: &Generator) -> Result<()> {
        Ok(())
    }
}

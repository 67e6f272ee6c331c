use std::fmt;

use module_core::{Error, Forward, Module, Result, Tensor};

use crate::config::{Build, config, tuple};

/// Splits one dimension into several.
///
/// # Shapes
///
/// `[…, a·b·c, …]` to `[…, a, b, c, …]`; one of the sizes may be -1 and is inferred.
///
/// # Errors
///
/// A dimension that is out of range, sizes whose product is not that of the dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::zeros([2, 12], DType::F32)?;
/// assert_eq!(Unflatten::new(1, [3, -1])?.call(x)?.shape().to_string(), "[2, 3, 4]");
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, extra_repr = Self::extra_repr)]
pub struct Unflatten {
    #[module(skip)]
    config: UnflattenConfig,
}

config! {
    /// The arguments of [`Unflatten`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let split = UnflattenConfig::new(-1, [2, 2]).build()?;
    /// let x = Tensor::zeros([3, 4], DType::F32)?;
    /// assert_eq!(split.call(x)?.shape().to_string(), "[3, 2, 2]");
    /// # Ok::<(), Error>(())
    /// ```
    pub struct UnflattenConfig => Unflatten {
        required {
            /// The dimension; a negative one counts from the end.
            dim: isize,
            /// The new sizes.
            unflattened_size: Vec<isize>,
        }
    }
}

impl Build for UnflattenConfig {
    type Output = Unflatten;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A size below -1, more than one inferred size.
    fn build(&self) -> Result<Unflatten> {
        let sizes = &self.unflattened_size;
        let problem = match sizes.iter().filter(|&&size| size < 0).count() {
            0 => None,
            1 if sizes.contains(&-1) => None,
            1 => Some("must not have a size below -1"),
            _ => Some("must leave only one size to infer"),
        };
        if let Some(problem) = problem {
            let sizes = fmt::from_fn(|f| tuple(f, sizes.iter()));
            return Err(Error::argument(
                "Unflatten",
                "unflattened_size",
                sizes,
                problem,
            ));
        }
        let config = self.clone();
        Ok(Unflatten { config })
    }
}

impl Unflatten {
    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "dim={}, unflattened_size=", self.config.dim)?;
        tuple(f, self.config.unflattened_size.iter())
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> UnflattenConfig {
        self.config.clone()
    }
}

impl Forward for Unflatten {
    type Output = Tensor;

    fn forward(&self, input: Tensor) -> Result<Tensor> {
        input.unflatten(self.config.dim, self.config.unflattened_size.as_slice())
    }
}

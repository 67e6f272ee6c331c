use std::fmt;

use module_core::{Error, Forward, Module, Result, Sizes, Tensor};

use super::spatial::of_dims;
use crate::config::{Build, check_positive_sizes, config};

/// Zeros, with the elements at the positions where [`MaxPool`](super::MaxPool) found them.
///
/// [`MaxUnpool1d`], [`MaxUnpool2d`] and [`MaxUnpool3d`] are its aliases. It is called with the elements and their
/// indices, and optionally the size of the output, because pooling maps several sizes to one.
///
/// Source: Zeiler et al., *Adaptive Deconvolutional Networks for Mid and High Level Feature
/// Learning* (2011).
///
/// # Shapes
///
/// Both inputs `[batch, channels, size…]` with `N` sizes, or without the batch; each size becomes
/// `(size - 1)·stride - 2·padding + kernel`, or the requested one, which must differ from that by less than a stride.
///
/// # Errors
///
/// A wrong number of dimensions, indices with another shape or a dtype other than `I64`, or outside the output, an
/// output size that is too far from the default.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::from([[1.0_f32, 4.0, 2.0, 3.0, 0.5]]);
/// let (y, indices) = MaxPool1d::new(2)?.call(WithIndices(x))?;
/// let unpool = MaxUnpool1d::new(2)?;
/// let whole = unpool.call((y.clone(), indices.clone(), [5]))?;
/// assert_eq!(whole.to_vec::<f32>()?, [0.0, 4.0, 0.0, 3.0, 0.0]);
/// assert_eq!(unpool.call((y, indices))?.to_vec::<f32>()?, [0.0, 4.0, 0.0, 3.0]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Module)]
#[module(debug, kind = Self::NAME, extra_repr = Self::extra_repr)]
pub struct MaxUnpool<const N: usize> {
    #[module(skip)]
    config: MaxUnpoolConfig<N>,
}

/// The inverse of the pooling of sequences, [`MaxUnpool`] over one dimension.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::randn([3, 2, 8], DType::F32)?;
/// let pooled = MaxPool1d::new(2)?.call(WithIndices(x))?;
/// let y = MaxUnpool1d::new(2)?.call(pooled)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 8]");
/// # Ok::<(), Error>(())
/// ```
pub type MaxUnpool1d = MaxUnpool<1>;

/// The inverse of the pooling of images, [`MaxUnpool`] over two dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::randn([3, 2, 8, 8], DType::F32)?;
/// let pooled = MaxPool2d::new(2)?.call(WithIndices(x))?;
/// let y = MaxUnpool2d::new(2)?.call(pooled)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 8, 8]");
/// # Ok::<(), Error>(())
/// ```
pub type MaxUnpool2d = MaxUnpool<2>;

/// The inverse of the pooling of volumes, [`MaxUnpool`] over three dimensions.
///
/// # Example
///
/// ```
/// use module_nn::prelude::*;
///
/// let x = Tensor::randn([3, 2, 8, 8, 8], DType::F32)?;
/// let pooled = MaxPool3d::new(2)?.call(WithIndices(x))?;
/// let y = MaxUnpool3d::new(2)?.call(pooled)?;
/// assert_eq!(y.shape().to_string(), "[3, 2, 8, 8, 8]");
/// # Ok::<(), Error>(())
/// ```
pub type MaxUnpool3d = MaxUnpool<3>;

config! {
    /// The arguments of [`MaxUnpool`]; those of [`MaxUnpool1d`], [`MaxUnpool2d`] and [`MaxUnpool3d`] are
    /// [`MaxUnpool1dConfig`], [`MaxUnpool2dConfig`] and [`MaxUnpool3dConfig`].
    ///
    /// # Example
    ///
    /// ```
    /// use module_nn::prelude::*;
    ///
    /// let x = Tensor::from([[1.0_f32, 4.0, 2.0, 3.0]]);
    /// let pool = MaxPool1dConfig::new(2).stride(2).padding(1).build()?;
    /// let unpool: MaxUnpool<1> = MaxUnpool1dConfig::new(2).stride(2).padding(1).build()?;
    /// let (y, indices) = pool.call(WithIndices(x))?;
    /// assert_eq!(unpool.call((y, indices, [4]))?.to_vec::<f32>()?, [1.0, 4.0, 0.0, 3.0]);
    /// let text = "MaxUnpool2d(kernel_size=(2, 2), stride=(2, 2), padding=(0, 0))";
    /// assert_eq!(MaxUnpool2dConfig::new(2).build()?.tree().to_string(), text);
    /// let config: MaxUnpoolConfig<3> = MaxUnpool3dConfig::new(2);
    /// assert_eq!(config.build()?.config(), config);
    /// # Ok::<(), Error>(())
    /// ```
    pub struct MaxUnpoolConfig<const N: usize> => MaxUnpool {
        required {
            /// The window size of the pooling.
            kernel_size: Sizes<N>,
        }
        optional {
            /// The stride of the pooling.
            stride: Sizes<N> = kernel_size,
            /// The padding of the pooling.
            padding: Sizes<N> = 0,
        }
    }
}

/// The arguments of [`MaxUnpool1d`].
pub type MaxUnpool1dConfig = MaxUnpoolConfig<1>;

/// The arguments of [`MaxUnpool2d`].
pub type MaxUnpool2dConfig = MaxUnpoolConfig<2>;

/// The arguments of [`MaxUnpool3d`].
pub type MaxUnpool3dConfig = MaxUnpoolConfig<3>;

impl<const N: usize> Build for MaxUnpoolConfig<N> {
    type Output = MaxUnpool<N>;

    /// The layer.
    ///
    /// # Errors
    ///
    /// A zero window or stride.
    fn build(&self) -> Result<MaxUnpool<N>> {
        check_positive_sizes(MaxUnpool::<N>::NAME, "kernel_size", self.kernel_size)?;
        check_positive_sizes(MaxUnpool::<N>::NAME, "stride", self.stride)?;
        let config = self.clone();
        Ok(MaxUnpool { config })
    }
}

impl<const N: usize> MaxUnpool<N> {
    const NAME: &'static str = of_dims::<N>(["MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d"]);
    const OP: &'static str = of_dims::<N>(["max_unpool1d", "max_unpool2d", "max_unpool3d"]);

    fn extra_repr(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MaxUnpoolConfig {
            kernel_size,
            stride,
            padding,
        } = self.config;
        write!(
            f,
            "kernel_size={kernel_size}, stride={stride}, padding={padding}"
        )
    }

    /// The sizes that invert a pooling whose windows fill the input.
    fn default_size(&self, input: &Tensor) -> Result<[usize; N]> {
        let [kernel, stride, padding] = [
            self.config.kernel_size,
            self.config.stride,
            self.config.padding,
        ]
        .map(Sizes::get);
        let lead = input.rank().saturating_sub(N);
        let mut sizes = [0; N];
        for (d, &size) in input.shape().iter().skip(lead).enumerate() {
            // An empty dimension has a negative number of steps.
            let full = size
                .checked_mul(stride[d])
                .and_then(|n| n.checked_add(kernel[d]));
            let cut = padding[d]
                .checked_mul(2)
                .and_then(|n| n.checked_add(stride[d]));
            let size = full.zip(cut).and_then(|(full, cut)| full.checked_sub(cut));
            sizes[d] = size.ok_or_else(|| {
                let problem = format!("cuts off more than the output of {}", input.shape());
                Error::argument(Self::OP, "padding", self.config.padding, problem)
            })?;
        }
        Ok(sizes)
    }

    /// The arguments that it was built from.
    pub fn config(&self) -> MaxUnpoolConfig<N> {
        self.config.clone()
    }
}

/// The elements and their indices.
impl<const N: usize> Forward<(Tensor, Tensor)> for MaxUnpool<N> {
    type Output = Tensor;

    fn forward(&self, (input, indices): (Tensor, Tensor)) -> Result<Tensor> {
        input.max_unpool(&indices, self.default_size(&input)?)
    }
}

/// The elements, their indices and the desired spatial sizes of the output.
impl<const N: usize> Forward<(Tensor, Tensor, [usize; N])> for MaxUnpool<N> {
    type Output = Tensor;

    fn forward(
        &self,
        (input, indices, output_size): (Tensor, Tensor, [usize; N]),
    ) -> Result<Tensor> {
        let (default, stride) = (self.default_size(&input)?, self.config.stride.get());
        for d in 0..N {
            if default[d].abs_diff(output_size[d]) >= stride[d] {
                let problem = format!(
                    "must be less than the stride of {} away from {} in dimension {d}",
                    stride[d], default[d]
                );
                let given = Sizes::<N>::from(output_size);
                return Err(Error::argument(Self::OP, "output_size", given, problem));
            }
        }
        input.max_unpool(&indices, output_size)
    }
}

//! Pooling.

use crate::backend::PoolGeometry;
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Error, Result, Shape};

/// The options of [`Tensor::max_pool2d`], with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool2dOptions {
    /// The size of the window.
    pub kernel_size: [usize; 2],
    /// The step of the window.
    pub stride: [usize; 2],
    /// Places around the input that never win; at most half the window.
    pub padding: [usize; 2],
    /// The distance between neighbours of the window.
    pub dilation: [usize; 2],
    /// Whether a last window that starts inside but ends outside counts.
    pub ceil_mode: bool,
}

impl Pool2dOptions {
    /// Windows side by side, without padding.
    pub fn new(kernel_size: [usize; 2]) -> Self {
        Self {
            kernel_size,
            stride: kernel_size,
            padding: [0, 0],
            dilation: [1, 1],
            ceil_mode: false,
        }
    }
}

impl Tensor {
    /// The greatest element of each window; NaN wins.
    ///
    /// The gradient goes to the first of equal winners.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, height, width]` or without the batch.
    ///
    /// # Errors
    ///
    /// Another number of dimensions, a zero window, stride or dilation, padding of more than half
    /// the window, a window larger than the padded input.
    ///
    /// # Example
    ///
    /// ```
    /// use module_core::{Pool2dOptions, Tensor};
    ///
    /// let x = Tensor::arange(0, 16)?.reshape([1, 4, 4])?;
    /// let y = x.max_pool2d(Pool2dOptions::new([2, 2]))?;
    /// assert_eq!(y.to_vec::<i64>()?, [5, 7, 13, 15]);
    /// # Ok::<(), module_core::Error>(())
    /// ```
    pub fn max_pool2d(&self, options: Pool2dOptions) -> Result<Self> {
        const NAME: &str = "max_pool2d";
        if self.rank() == 3 {
            return self.unsqueeze(0)?.max_pool2d(options)?.squeeze(0);
        }
        let &[batch, channels, height, width] = &**self.shape() else {
            return Err(self.shape().error(NAME, "[batch, channels, height, width]"));
        };
        let output = [
            self.windows(options, 0, height)?,
            self.windows(options, 1, width)?,
        ];
        let Pool2dOptions {
            kernel_size: kernel,
            stride,
            padding,
            dilation,
            ..
        } = options;
        let geometry = PoolGeometry {
            kernel,
            stride,
            padding,
            dilation,
            output,
        };
        let shape = Shape::from([batch, channels, output[0], output[1]]);
        shape.checked_numel(NAME, crate::DType::I64.size_in_bytes())?;
        let (values, places) = self
            .device()
            .backend()
            .max_pool(self.operand(), &geometry)?;
        let places = Self::fresh(places, shape.clone());
        let out = Self::fresh(values, shape);
        Ok(out.record([self], |_| MaxPool {
            from: self.shape().clone(),
            places,
        }))
    }

    /// The number of windows along a spatial dimension.
    fn windows(&self, options: Pool2dOptions, d: usize, size: usize) -> Result<usize> {
        const NAME: &str = "max_pool2d";
        let Pool2dOptions {
            kernel_size,
            stride,
            padding,
            dilation,
            ceil_mode,
        } = options;
        for (name, sizes) in [
            ("kernel_size", kernel_size),
            ("stride", stride),
            ("dilation", dilation),
        ] {
            if sizes[d] == 0 {
                return Err(Error::argument(
                    NAME,
                    name,
                    format_args!("{sizes:?}"),
                    "must not be 0",
                ));
            }
        }
        if padding[d] > kernel_size[d] / 2 {
            let problem = format!("must be at most half of kernel_size = {kernel_size:?}");
            return Err(Error::argument(
                NAME,
                "padding",
                format_args!("{padding:?}"),
                problem,
            ));
        }
        let reach = dilation[d]
            .checked_mul(kernel_size[d] - 1)
            .and_then(|r| r.checked_add(1));
        let padded = size.checked_add(2 * padding[d]);
        let (Some(reach), Some(padded)) = (reach, padded) else {
            return Err(self.shape().error(NAME, "a window that fits memory"));
        };
        let Some(room) = padded.checked_sub(reach).filter(|_| size > 0) else {
            return Err(self.shape().error(
                NAME,
                format!(
                    "an input of at least the window of kernel {} with dilation {} after padding {} \
                     in dimension {}",
                    kernel_size[d],
                    dilation[d],
                    padding[d],
                    d + 2
                ),
            ));
        };
        // A distance that jumps over the whole input leaves a window that starts in the padding
        // without a single element.
        if padding[d] > 0 && dilation[d] > size {
            let problem = format!("leaves a window without elements of an input of size {size}");
            return Err(Error::argument(
                NAME,
                "dilation",
                format_args!("{dilation:?}"),
                problem,
            ));
        }
        let mut count = if ceil_mode {
            room.div_ceil(stride[d])
        } else {
            room / stride[d]
        } + 1;
        // The last window must start inside the input or the padding before it.
        if ceil_mode && (count - 1) * stride[d] >= size + padding[d] {
            count -= 1;
        }
        Ok(count)
    }
}

struct MaxPool {
    from: Shape,
    places: Tensor,
}

impl Function for MaxPool {
    fn name(&self) -> &'static str {
        "max_pool2d"
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let grad = ctx.grad().flatten(2, 3)?;
        let planes: Shape = [self.from[0], self.from[1], self.from[2] * self.from[3]].into();
        let zeros = Tensor::zeros(planes, grad.dtype(), &grad.device())?;
        let spread = zeros.scatter_add(2, &self.places.flatten(2, 3)?, &grad)?;
        one(spread.reshape_to(&self.from)?)
    }
}

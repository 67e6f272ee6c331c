//! Max pooling over one to three dimensions.

mod options;

pub use options::{Pool2dOptions, PoolOptions};

use super::AutocastPolicy::Float32;
use super::window::{check_positive, name_by_dims, reach};
use crate::backend::{PoolGeometry, PoolWindow, PoolWindows};
use crate::tensor::{Backward, Function, Gradients, Tensor, is_grad_enabled, one};
use crate::{DType, Error, Result, Shape};

impl Tensor {
    /// The maximum of each window of a sequence, like [`max_pool2d`](Self::max_pool2d).
    ///
    /// # Shapes
    ///
    /// `[batch, channels, length]` or without the batch.
    ///
    /// # Errors
    ///
    /// Those of [`max_pool2d`](Self::max_pool2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{PoolOptions, Tensor};
    ///
    /// let x = Tensor::from([[1_i64, 4, 2, 3, 5]]);
    /// assert_eq!(x.max_pool1d(PoolOptions::new([2]))?.to_vec::<i64>()?, [4, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn max_pool1d(&self, options: PoolOptions<1>) -> Result<Self> {
        self.max_pool(options)
    }

    /// [`max_pool1d`](Self::max_pool1d) with the indices of the maxima, as `I64`.
    ///
    /// # Errors
    ///
    /// Those of [`max_pool2d`](Self::max_pool2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{PoolOptions, Tensor};
    ///
    /// let x = Tensor::from([[1_i64, 4, 2, 3, 5]]);
    /// let (_, indices) = x.max_pool1d_with_indices(PoolOptions::new([2]))?;
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn max_pool1d_with_indices(&self, options: PoolOptions<1>) -> Result<(Self, Self)> {
        self.max_pool_with_indices(options)
    }

    /// The maximum of each window; NaN is treated as the maximum.
    ///
    /// The gradient goes to the first of equal maxima.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, height, width]` or without the batch.
    ///
    /// # Errors
    ///
    /// A wrong number of dimensions, a zero window, stride or dilation, padding of more than half the window, a window
    /// larger than the padded input.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Pool2dOptions, Tensor};
    ///
    /// let x = Tensor::arange(0, 16, ())?.reshape([1, 4, 4])?;
    /// let y = x.max_pool2d(Pool2dOptions::new([2, 2]))?;
    /// assert_eq!(y.to_vec::<i64>()?, [5, 7, 13, 15]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn max_pool2d(&self, options: PoolOptions<2>) -> Result<Self> {
        self.max_pool(options)
    }

    /// [`max_pool2d`](Self::max_pool2d) with the indices of the maxima in the flattened image, as `I64`.
    ///
    /// # Errors
    ///
    /// Those of [`max_pool2d`](Self::max_pool2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Pool2dOptions, Tensor};
    ///
    /// let x = Tensor::from([1_i64, 9, 3, 4]).reshape([1, 2, 2])?;
    /// let (y, indices) = x.max_pool2d_with_indices(Pool2dOptions::new([2, 2]))?;
    /// assert_eq!((y.to_vec::<i64>()?, indices.to_vec::<i64>()?), (vec![9], vec![1]));
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn max_pool2d_with_indices(&self, options: PoolOptions<2>) -> Result<(Self, Self)> {
        self.max_pool_with_indices(options)
    }

    /// The maximum of each window of a volume, like [`max_pool2d`](Self::max_pool2d).
    ///
    /// # Shapes
    ///
    /// `[batch, channels, depth, height, width]` or without the batch.
    ///
    /// # Errors
    ///
    /// Those of [`max_pool2d`](Self::max_pool2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{PoolOptions, Tensor};
    ///
    /// let x = Tensor::arange(0, 16, ())?.reshape([1, 2, 2, 4])?;
    /// assert_eq!(x.max_pool3d(PoolOptions::new([2, 2, 2]))?.to_vec::<i64>()?, [13, 15]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn max_pool3d(&self, options: PoolOptions<3>) -> Result<Self> {
        self.max_pool(options)
    }

    /// [`max_pool3d`](Self::max_pool3d) with the indices of the maxima in the flattened volume, as `I64`.
    ///
    /// # Errors
    ///
    /// Those of [`max_pool2d`](Self::max_pool2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{PoolOptions, Tensor};
    ///
    /// let x = Tensor::arange(0, 16, ())?.reshape([1, 2, 2, 4])?;
    /// let (_, indices) = x.max_pool3d_with_indices(PoolOptions::new([2, 2, 2]))?;
    /// assert_eq!(indices.to_vec::<i64>()?, [13, 15]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn max_pool3d_with_indices(&self, options: PoolOptions<3>) -> Result<(Self, Self)> {
        self.max_pool_with_indices(options)
    }

    /// [`max_pool2d`](Self::max_pool2d), for as many dimensions as the options have.
    ///
    /// # Errors
    ///
    /// Those of [`max_pool2d`](Self::max_pool2d), and `N` that is not 1, 2 or 3.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{PoolOptions, Tensor};
    ///
    /// let x = Tensor::from([[1_i64, 4, 2, 3, 5]]);
    /// assert_eq!(x.max_pool(PoolOptions::new([2]))?.to_vec::<i64>()?, [4, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn max_pool<const N: usize>(&self, options: PoolOptions<N>) -> Result<Self> {
        if N == 3
            && let Some(out) = Float32.apply([self], [], |[x], []| x.max_pool(options))
        {
            return out;
        }
        let (input, geometry, batched) = self.max_pool_geometry(options)?;
        input.max_of_windows(max_pool_name::<N>(), &geometry, batched)
    }

    /// [`max_pool`](Self::max_pool) with the indices of the maxima in the flattened spatial dimensions, as `I64`;
    /// [`max_unpool`](Self::max_unpool) puts them back at these positions.
    ///
    /// # Errors
    ///
    /// Those of [`max_pool`](Self::max_pool).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{PoolOptions, Tensor};
    ///
    /// let x = Tensor::from([[1_i64, 4, 2, 3, 5]]);
    /// let (_, indices) = x.max_pool_with_indices(PoolOptions::new([2]))?;
    /// assert_eq!(indices.to_vec::<i64>()?, [1, 3]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn max_pool_with_indices<const N: usize>(
        &self,
        options: PoolOptions<N>,
    ) -> Result<(Self, Self)> {
        let (input, geometry, batched) = self.max_pool_geometry(options)?;
        input.max_of_windows_with_indices(max_pool_name::<N>(), &geometry, batched)
    }

    /// The input with a batch, the windows, and whether it had a batch.
    fn max_pool_geometry<const N: usize>(
        &self,
        options: PoolOptions<N>,
    ) -> Result<(Self, PoolGeometry, bool)> {
        let name = max_pool_name::<N>();
        let (input, batched) = self.batched::<N>(name)?;
        input.check_channels(name)?;
        let geometry = self.sliding(name, &input, options)?;
        Ok((input, geometry, batched))
    }

    /// The maxima; an added batch dimension is removed again.
    pub(super) fn max_of_windows(
        &self,
        name: &'static str,
        geometry: &PoolGeometry,
        batched: bool,
    ) -> Result<Self> {
        if self.requires_grad() && is_grad_enabled() {
            // The gradient needs the indices.
            return Ok(self.max_of_windows_with_indices(name, geometry, batched)?.0);
        }
        let shape = &geometry.output;
        shape.checked_numel(name, DType::I64.size_in_bytes())?;
        let operand = self.plain(name)?;
        let values = self.device().backend().max_pool(operand, geometry)?;
        Self::fresh(values, shape.clone()).unbatched(batched)
    }

    /// The maxima and their indices; an added batch dimension is removed again.
    pub(super) fn max_of_windows_with_indices(
        &self,
        name: &'static str,
        geometry: &PoolGeometry,
        batched: bool,
    ) -> Result<(Self, Self)> {
        let shape = &geometry.output;
        shape.checked_numel(name, DType::I64.size_in_bytes())?;
        let operand = self.plain(name)?;
        let device = self.device();
        let (values, indices) = device.backend().max_pool_with_indices(operand, geometry)?;
        let indices = Self::fresh(indices, shape.clone());
        let out = Self::fresh(values, shape.clone()).record([self], |_| MaxPool {
            name,
            geometry: geometry.clone(),
            indices: indices.clone(),
        });
        Ok((out.unbatched(batched)?, indices.unbatched(batched)?))
    }

    /// The geometry of sliding windows over this tensor, which is `input` with a batch.
    pub(super) fn sliding<const N: usize>(
        &self,
        op: &'static str,
        input: &Self,
        options: PoolOptions<N>,
    ) -> Result<PoolGeometry> {
        let counts = self.count_windows(op, options)?;
        let window = |d| PoolWindow {
            kernel_size: options.kernel_size[d],
            stride: options.stride[d],
            padding: options.padding[d],
            dilation: options.dilation[d],
        };
        let windows = PoolWindows::Sliding((0..N).map(window).collect());
        Ok(input.pool_geometry(windows, counts))
    }

    /// The geometry of windows over this tensor, `[batch, channels, size…]`, with `counts` of them.
    pub(super) fn pool_geometry<const N: usize>(
        &self,
        windows: PoolWindows,
        counts: [usize; N],
    ) -> PoolGeometry {
        PoolGeometry {
            input: self.shape().clone(),
            output: self.shape().iter().copied().take(2).chain(counts).collect(),
            windows,
        }
    }

    /// The number of windows along each spatial dimension.
    fn count_windows<const N: usize>(
        &self,
        op: &'static str,
        options: PoolOptions<N>,
    ) -> Result<[usize; N]> {
        let PoolOptions {
            kernel_size,
            stride,
            padding,
            dilation,
            ceil_mode,
        } = options;
        check_positive(
            op,
            [
                ("kernel_size", kernel_size),
                ("stride", stride),
                ("dilation", dilation),
            ],
        )?;
        let sizes = self.spatial::<N>();
        let mut counts = [0; N];
        for d in 0..N {
            let (size, padding_here) = (sizes[d], padding[d]);
            if padding_here > kernel_size[d] / 2 {
                let problem = format!("must be at most half of kernel_size = {kernel_size:?}");
                let padding = format_args!("{padding:?}");
                return Err(Error::argument(op, "padding", padding, problem));
            }
            let reach = reach(kernel_size[d], dilation[d]);
            let padded = size.checked_add(2 * padding_here);
            let (Some(reach), Some(padded)) = (reach, padded) else {
                return Err(self.shape().error(op, "a window that fits memory"));
            };
            let Some(room) = padded.checked_sub(reach).filter(|_| size > 0) else {
                let (kernel, dilation) = (kernel_size[d], dilation[d]);
                let expected = format!(
                    "an input of at least the window of kernel {kernel} with dilation {dilation} \
                     after padding {padding_here} in dimension {}",
                    d + 2
                );
                return Err(self.shape().error(op, expected));
            };
            // A dilation that skips the whole input leaves a window that starts in the padding without a single element.
            if padding_here > 0 && dilation[d] > size {
                let problem =
                    format!("leaves a window without elements of an input of size {size}");
                let dilation = format_args!("{dilation:?}");
                return Err(Error::argument(op, "dilation", dilation, problem));
            }
            let mut count = if ceil_mode {
                room.div_ceil(stride[d])
            } else {
                room / stride[d]
            } + 1;
            // The last window must start inside the input or the padding before it.
            if ceil_mode && (count - 1) * stride[d] >= size + padding_here {
                count -= 1;
            }
            counts[d] = count;
        }
        Ok(counts)
    }
}

fn max_pool_name<const N: usize>() -> &'static str {
    name_by_dims::<N>(["max_pool1d", "max_pool2d", "max_pool3d"])
}

struct MaxPool {
    name: &'static str,
    geometry: PoolGeometry,
    indices: Tensor,
}

impl Function for MaxPool {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let (grad, shape) = (ctx.grad(), &self.geometry.input);
        if !is_grad_enabled() {
            let (device, operands) = (grad.device(), [grad, &self.indices].map(Tensor::operand));
            let [values, indices] = operands;
            let backend = device.backend();
            let spread = backend.max_pool_backward(values, indices, &self.geometry)?;
            return one(Tensor::fresh(spread, shape.clone()));
        }
        let (planes, sizes) = shape.split_at(2);
        let count: usize = planes.iter().product();
        // Without planes, the size of a plane cannot be inferred, and there is nothing to add.
        let flat = |x: &Tensor| x.flatten(2, -1)?.flatten(0, 1);
        let zeros: Shape = [count, sizes.iter().product()].into();
        let zeros = Tensor::zeros(zeros, (grad.dtype(), &grad.device()))?;
        let spread = zeros.scatter_add(1, &flat(&self.indices)?, &flat(grad)?)?;
        one(spread.reshape_to(shape)?)
    }
}

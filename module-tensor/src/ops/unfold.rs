//! `im2col` and `col2im`: the windows of a convolution as columns, and back.

use super::window::{check_positive, images, product, reach};
use crate::backend::{UnfoldGeometry, UnfoldOp};
use crate::tensor::{Backward, Function, Gradients, Tensor, one};
use crate::{Result, Shape};

crate::options! {
    /// The options of [`Tensor::im2col`] and [`Tensor::col2im`], with PyTorch's names and defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor, UnfoldOptions};
    ///
    /// let x = Tensor::zeros([1, 2, 4, 4], DType::F32)?;
    /// assert_eq!(x.im2col(UnfoldOptions::new([2, 2]).stride([2, 2]))?.shape().to_string(), "[1, 8, 4]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    ///
    /// ```
    /// use module_tensor::{DType, Tensor, UnfoldOptions};
    ///
    /// // One window over the corners of an image of 3 by 3.
    /// let x = Tensor::linspace(1.0, 9.0, 9, DType::F32)?.reshape([1, 1, 3, 3])?;
    /// let corners = x.im2col(UnfoldOptions::new([2, 2]).dilation([2, 2]))?;
    /// assert_eq!(corners.to_vec::<f32>()?, [1.0, 3.0, 7.0, 9.0]);
    /// let padded = x.im2col(UnfoldOptions::new([1, 1]).padding([1, 1]))?;
    /// assert_eq!(padded.shape().to_string(), "[1, 1, 25]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct UnfoldOptions<const N: usize> {
        required {
            /// The size of the window.
            kernel_size: [usize; N],
        }
        optional {
            /// The distance between neighbors of the window.
            dilation: [usize; N] = [1; N],
            /// Zeros around the image.
            padding: [usize; N] = [0; N],
            /// The step of the window.
            stride: [usize; N] = [1; N],
        }
    }
}

impl Tensor {
    /// Extracts the windows over an image as columns: `torch.nn.functional.unfold`.
    ///
    /// A convolution is the product of its weight, as a matrix, with these columns. The gradient is
    /// [`col2im`](Self::col2im).
    ///
    /// # Shapes
    ///
    /// `[batch, channels, height, width]` to `[batch, channels · kernel elements, windows]`, or both without the batch; one
    /// or three spatial dimensions are supported too.
    ///
    /// # Errors
    ///
    /// A wrong number of dimensions, a zero window, stride or dilation, a window larger than the padded image, a dtype that
    /// is not floating-point.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Tensor, UnfoldOptions};
    ///
    /// let x = Tensor::from([1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0]).reshape([1, 2, 3])?;
    /// let columns = x.im2col(UnfoldOptions::new([2, 2]))?;
    /// assert_eq!(columns.shape().to_string(), "[4, 2]");
    /// assert_eq!(columns.to_vec::<f32>()?, [1.0, 2.0, 2.0, 3.0, 4.0, 5.0, 5.0, 6.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "unfold")]
    pub fn im2col<const N: usize>(&self, options: UnfoldOptions<N>) -> Result<Self> {
        const NAME: &str = "im2col";
        let (input, batched) = self.batched::<N>(NAME)?;
        input.check_floating(NAME)?;
        let geometry = self.geometry(NAME, input.shape().clone(), options)?;
        unfold(NAME, UnfoldOp::Unfold, &input, geometry)?.unbatched(batched)
    }

    /// Adds columns to an image at their windows: `torch.nn.functional.fold`.
    ///
    /// Where windows overlap, their elements are added. The gradient is [`im2col`](Self::im2col).
    ///
    /// # Shapes
    ///
    /// `[batch, channels · kernel elements, windows]` to `[batch, channels, height, width]`, or both without the batch,
    /// where `output_size` is `[height, width]`; one or three spatial dimensions are supported too.
    ///
    /// # Errors
    ///
    /// Those of [`im2col`](Self::im2col), and columns that are not those of such an image.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{DType, Tensor, UnfoldOptions};
    ///
    /// let columns = Tensor::ones([4, 2], DType::F32)?;
    /// let counts = columns.col2im([2, 3], UnfoldOptions::new([2, 2]))?;
    /// assert_eq!(counts.to_vec::<f32>()?, [1.0, 2.0, 1.0, 1.0, 2.0, 1.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "fold")]
    pub fn col2im<const N: usize>(
        &self,
        output_size: [usize; N],
        options: UnfoldOptions<N>,
    ) -> Result<Self> {
        const NAME: &str = "col2im";
        self.check_floating(NAME)?;
        let expected = "[batch, channels · kernel elements, windows] or without the batch";
        let (columns, batched) = match self.rank() {
            3 => (self.clone(), true),
            2 => (self.unsqueeze(0)?, false),
            _ => return Err(self.shape().error(NAME, expected)),
        };
        check_positive(NAME, [("kernel_size", options.kernel_size)])?;
        let (batch, rows) = (columns.shape()[0], columns.shape()[1]);
        let kernel = product(&options.kernel_size);
        let Some(channels) = kernel.filter(|&k| rows.is_multiple_of(k)).map(|k| rows / k) else {
            let kernel = options.kernel_size;
            let expected =
                format!("a multiple of the elements of kernel_size = {kernel:?} as rows");
            return Err(self.shape().error(NAME, expected));
        };
        let image: Shape = [batch, channels].into_iter().chain(output_size).collect();
        image.checked_numel(NAME, self.dtype().size_in_bytes())?;
        let geometry = self.geometry(NAME, image, options)?;
        if product(&geometry.output) != Some(columns.shape()[2]) {
            let expected = format!(
                "a column for each of the {:?} windows over output_size = {output_size:?}",
                geometry.output
            );
            return Err(self.shape().error(NAME, expected));
        }
        unfold(NAME, UnfoldOp::Fold, &columns, geometry)?.unbatched(batched)
    }

    fn geometry<const N: usize>(
        &self,
        op: &'static str,
        input: Shape,
        options: UnfoldOptions<N>,
    ) -> Result<UnfoldGeometry> {
        let UnfoldOptions {
            kernel_size,
            dilation,
            padding,
            stride,
        } = options;
        check_positive(
            op,
            [
                ("kernel_size", kernel_size),
                ("dilation", dilation),
                ("stride", stride),
            ],
        )?;
        let mut output = Vec::with_capacity(N);
        for d in 0..N {
            let size = input[d + 2];
            let padded = padding[d].checked_mul(2).and_then(|p| p.checked_add(size));
            let reach = reach(kernel_size[d], dilation[d]);
            let room = reach
                .zip(padded)
                .and_then(|(reach, padded)| padded.checked_sub(reach));
            let Some(room) = room.filter(|_| size > 0) else {
                let expected = format!(
                    "{} with at least the window of kernel_size = {kernel_size:?} and dilation = \
                     {dilation:?} after padding = {padding:?}",
                    images::<N>(["batch", "channels"])
                );
                return Err(input.error(op, expected));
            };
            output.push(room / stride[d] + 1);
        }
        Ok(UnfoldGeometry {
            input,
            output,
            kernel: kernel_size.to_vec(),
            stride: stride.to_vec(),
            padding: padding.to_vec(),
            dilation: dilation.to_vec(),
        })
    }
}

/// One of the two directions; the geometry has been checked.
fn unfold(
    name: &'static str,
    op: UnfoldOp,
    x: &Tensor,
    geometry: UnfoldGeometry,
) -> Result<Tensor> {
    let &[batch, channels, ..] = &*geometry.input else {
        return Err(geometry.input.error(name, "[batch, channels, size…]"));
    };
    let columns = product(&geometry.kernel).and_then(|kernel| {
        Some(Shape::from([
            batch,
            channels.checked_mul(kernel)?,
            product(&geometry.output)?,
        ]))
    });
    let Some(columns) = columns else {
        return Err(geometry.input.error(name, "columns that fit memory"));
    };
    let element = x.dtype().size_in_bytes();
    columns.checked_numel(name, element)?;
    let shape = match op {
        UnfoldOp::Unfold => columns,
        UnfoldOp::Fold => geometry.input.clone(),
    };
    let storage = x.device().backend().unfold(op, x.plain(name)?, &geometry)?;
    Ok(Tensor::fresh(storage, shape).record([x], |_| Unfold { name, op, geometry }))
}

struct Unfold {
    name: &'static str,
    op: UnfoldOp,
    geometry: UnfoldGeometry,
}

impl Function for Unfold {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let back = match self.op {
            UnfoldOp::Unfold => UnfoldOp::Fold,
            UnfoldOp::Fold => UnfoldOp::Unfold,
        };
        one(unfold(self.name, back, ctx.grad(), self.geometry.clone())?)
    }
}

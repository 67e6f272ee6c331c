//! Convolutions over one to three dimensions.
//!
//! The output, the gradient of the input and the gradient of the weight are the same trilinear form, seen in three ways, so
//! the three operations below are each other's gradients, to any order.

use super::window::{check_positive, images, name_by_dims, reach};
use super::{AutocastPolicy, Padding, by_saved};
use crate::backend::{ConvGeometry, ConvOp};
use crate::tensor::{Backward, Function, Gradients, Tensor};
use crate::{Error, Result, Shape, ShapeError};

crate::options! {
    /// The options of [`Tensor::conv1d`], [`Tensor::conv2d`] and [`Tensor::conv3d`], with PyTorch's names
    /// and defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{ConvOptions, DType, Tensor};
    ///
    /// let (x, w) = (Tensor::zeros([1, 2, 8], DType::F32)?, Tensor::zeros([4, 2, 3], DType::F32)?);
    /// let y = x.conv1d(&w, ConvOptions::new().stride([2]).padding([1]))?;
    /// assert_eq!(y.shape().to_string(), "[1, 4, 4]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    ///
    /// ```
    /// use module_tensor::{ConvOptions, Tensor};
    ///
    /// // Each window has an element and the one after next.
    /// let x = Tensor::from([[1.0_f32, 2.0, 3.0, 4.0, 5.0]]);
    /// let w = Tensor::from([[[1.0_f32, 1.0]]]);
    /// let y = x.conv1d(&w, ConvOptions::new().dilation([2]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [4.0, 6.0, 8.0]);
    ///
    /// // With as many groups as channels, each channel has its own kernel.
    /// let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    /// let w = Tensor::from([[[10.0_f32]], [[100.0]]]);
    /// let y = x.conv1d(&w, ConvOptions::new().groups(2))?;
    /// assert_eq!(y.to_vec::<f32>()?, [10.0, 20.0, 300.0, 400.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ConvOptions<const N: usize> {
        optional {
            /// The step of the window.
            stride: [usize; N] = [1; N],
            /// Zeros around the input.
            padding: Padding<N> = Padding::Valid,
            /// The distance between neighbors of the window.
            dilation: [usize; N] = [1; N],
            /// The number of groups of channels.
            groups: usize = 1,
        }
    }
}

/// The options of [`Tensor::conv2d`].
pub type Conv2dOptions = ConvOptions<2>;

impl Tensor {
    /// The cross-correlation of a sequence with kernels: `y[n, o, i] = Σ x[n, c, i·s + a·d - p] ·
    /// w[o, c, a]`.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, length]` or without the batch, and a weight
    /// `[out_channels, channels / groups, kernel length]`.
    ///
    /// # Errors
    ///
    /// Those of [`conv2d`](Self::conv2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{ConvOptions, Tensor};
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 4.0, 8.0]]);
    /// let difference = Tensor::from([-1.0_f32, 1.0]).reshape([1, 1, 2])?;
    /// let y = x.conv1d(&difference, ConvOptions::default())?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 2.0, 4.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn conv1d(&self, weight: &Self, options: ConvOptions<1>) -> Result<Self> {
        self.conv(weight, options)
    }

    /// The cross-correlation of an image with kernels:
    /// `y[n, o, i, j] = Σ x[n, c, i·s + a·d - p, j·s + b·d - p] · w[o, c, a, b]`.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, height, width]` or without the batch, and a weight
    /// `[out_channels, channels / groups, kernel height, kernel width]`.
    ///
    /// # Errors
    ///
    /// Incompatible shapes, a zero stride or dilation, channels that the groups do not divide, a kernel larger than the
    /// padded input, `Same` with a stride, dtypes that are not floating-point or differ.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{Conv2dOptions, DType, Device, Padding, Tensor};
    ///
    /// let cpu = Device::cpu();
    /// let (x, weight) = (
    ///     Tensor::ones([1, 2, 4, 4], (DType::F32, &cpu))?,
    ///     Tensor::ones([3, 2, 3, 3], (DType::F32, &cpu))?,
    /// );
    /// let options = Conv2dOptions::new().stride([2, 2]).padding(Padding::Size([1, 1]));
    /// let y = x.conv2d(&weight, options)?;
    /// assert_eq!(y.shape().to_string(), "[1, 3, 2, 2]");
    /// assert_eq!(y.narrow(1, 0..1)?.to_vec::<f32>()?, [8.0, 12.0, 12.0, 18.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn conv2d(&self, weight: &Self, options: ConvOptions<2>) -> Result<Self> {
        self.conv(weight, options)
    }

    /// The cross-correlation of a volume with kernels.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, depth, height, width]` or without the batch, and a weight
    /// `[out_channels, channels / groups, kernel depth, kernel height, kernel width]`.
    ///
    /// # Errors
    ///
    /// Those of [`conv2d`](Self::conv2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{ConvOptions, DType, Device, Padding, Tensor};
    ///
    /// let cpu = Device::cpu();
    /// let x = Tensor::ones([1, 1, 4, 4, 4], (DType::F32, &cpu))?;
    /// let weight = Tensor::ones([2, 1, 3, 3, 3], (DType::F32, &cpu))?;
    /// let options = ConvOptions::new().padding(Padding::Same);
    /// assert_eq!(x.conv3d(&weight, options)?.shape().to_string(), "[1, 2, 4, 4, 4]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn conv3d(&self, weight: &Self, options: ConvOptions<3>) -> Result<Self> {
        self.conv(weight, options)
    }

    /// [`conv1d`](Self::conv1d), [`conv2d`](Self::conv2d) or [`conv3d`](Self::conv3d), as the options
    /// are for `N` dimensions.
    ///
    /// # Errors
    ///
    /// Those of [`conv2d`](Self::conv2d), and `N` that is not 1, 2 or 3.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{ConvOptions, Tensor};
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0, 4.0]]);
    /// let sum = Tensor::from([1.0_f32, 1.0]).reshape([1, 1, 2])?;
    /// assert_eq!(x.conv(&sum, ConvOptions::<1>::default())?.to_vec::<f32>()?, [3.0, 6.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[doc(alias = "convolution")]
    pub fn conv<const N: usize>(&self, weight: &Self, options: ConvOptions<N>) -> Result<Self> {
        if let Some(out) =
            AutocastPolicy::LowerPrecision.apply([self, weight], [], |[x, weight], []| {
                x.conv(weight, options)
            })
        {
            return out;
        }
        let name = name_by_dims::<N>(["conv1d", "conv2d", "conv3d"]);
        let (input, batched) = self.batched::<N>(name)?;
        let ConvOptions {
            stride,
            dilation,
            groups,
            ..
        } = options;
        let kernel =
            input.check_weight::<N>(name, weight, ["out_channels", "channels / groups"])?;
        check_positive(
            name,
            [
                ("stride", stride),
                ("dilation", dilation),
                ("kernel_size", kernel),
            ],
        )?;
        let (out, channels) = (weight.shape()[0], input.shape()[1]);
        if groups == 0
            || !out.is_multiple_of(groups)
            || weight.shape()[1].checked_mul(groups) != Some(channels)
        {
            return Err(ShapeError::Mismatch {
                op: name,
                lhs: input.shape().clone(),
                rhs: weight.shape().clone(),
                rule: format!(
                    "with groups = {groups} the weight must have channels / groups input channels \
                     and a multiple of groups output channels"
                ),
            }
            .into());
        }
        let mut output = vec![input.shape()[0], out];
        let mut padding = Vec::with_capacity(N);
        for d in 0..N {
            let reach = reach(kernel[d], dilation[d]);
            let (before, after) = match options.padding {
                Padding::Valid => (0, 0),
                Padding::Size(size) => (size[d], size[d]),
                Padding::Same if stride != [1; N] => {
                    let problem = "must be 1 with padding = same";
                    return Err(Error::argument(
                        name,
                        "stride",
                        format_args!("{stride:?}"),
                        problem,
                    ));
                }
                Padding::Same => {
                    let total = dilation[d].saturating_mul(kernel[d] - 1);
                    (total / 2, total.div_ceil(2))
                }
            };
            let padded = before.checked_add(after);
            let padded = padded.and_then(|p| p.checked_add(input.shape()[d + 2]));
            let room = reach
                .zip(padded)
                .and_then(|(reach, padded)| padded.checked_sub(reach));
            let Some(room) = room else {
                let (kernel, dilation) = (kernel[d], dilation[d]);
                let expected = format!(
                    "an input of at least the window of kernel {kernel} with dilation {dilation} \
                     after padding {before} in dimension {}",
                    d + 2
                );
                return Err(self.shape().error(name, expected));
            };
            output.push(room / stride[d] + 1);
            padding.push(before);
        }
        let geometry = ConvGeometry {
            input: input.shape().clone(),
            weight: weight.shape().clone(),
            output: Shape::from(output),
            stride: stride.to_vec(),
            padding,
            dilation: dilation.to_vec(),
            groups,
        };
        convolution(name, ConvOp::Forward, &input, weight, geometry)?.unbatched(batched)
    }

    /// The kernel of a weight for this input, `[batch, channels, size…]`; both are floating-point.
    pub(super) fn check_weight<const N: usize>(
        &self,
        op: &'static str,
        weight: &Self,
        lead: [&str; 2],
    ) -> Result<[usize; N]> {
        self.check_floating(op)?;
        self.check_same(op, weight)?;
        let kernel = weight
            .shape()
            .get(2..)
            .and_then(|kernel| kernel.try_into().ok());
        kernel.ok_or_else(|| {
            weight
                .shape()
                .error(op, format!("a weight {}", images::<N>(lead)))
        })
    }
}

/// One of the three forms of the convolution; the geometry has been checked.
pub(super) fn convolution(
    name: &'static str,
    op: ConvOp,
    a: &Tensor,
    b: &Tensor,
    geometry: ConvGeometry,
) -> Result<Tensor> {
    let shape = match op {
        ConvOp::Forward => geometry.output.clone(),
        ConvOp::Input => geometry.input.clone(),
        ConvOp::Weight => geometry.weight.clone(),
    };
    shape.checked_numel(name, a.dtype().size_in_bytes())?;
    let storage =
        a.device()
            .backend()
            .convolution(op, a.plain(name)?, b.plain(name)?, &geometry)?;
    Ok(
        Tensor::fresh(storage, shape).record([a, b], |_| Convolution {
            name,
            op,
            a: a.saved_for(b),
            b: b.saved_for(a),
            geometry,
        }),
    )
}

struct Convolution {
    /// The called operation, of which this is the forward pass or a gradient.
    name: &'static str,
    op: ConvOp,
    a: Option<Tensor>,
    b: Option<Tensor>,
    geometry: ConvGeometry,
}

impl Function for Convolution {
    fn name(&self) -> &'static str {
        self.name
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self {
            name,
            op,
            a,
            b,
            geometry,
        } = self;
        let grad = ctx.grad();
        let form = |op, a: &Tensor, b: &Tensor| convolution(name, op, a, b, geometry.clone());
        let first = by_saved(ctx, 0, b.as_ref(), |b| match op {
            ConvOp::Forward => form(ConvOp::Input, grad, b),
            // The gradient replaces the input.
            ConvOp::Input => form(ConvOp::Forward, grad, b),
            // The gradient replaces the weight.
            ConvOp::Weight => form(ConvOp::Input, b, grad),
        })?;
        let second = by_saved(ctx, 1, a.as_ref(), |a| match op {
            ConvOp::Forward => form(ConvOp::Weight, a, grad),
            ConvOp::Input => form(ConvOp::Weight, grad, a),
            ConvOp::Weight => form(ConvOp::Forward, a, grad),
        })?;
        Ok([first, second].into())
    }
}

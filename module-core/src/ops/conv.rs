//! Convolutions.
//!
//! The output, the gradient of the input and that of the weight are one trilinear form read three
//! ways, so the three operations below are each other's gradients, to any order.

use serde::{Deserialize, Serialize};

use crate::backend::{ConvGeometry, ConvOp};
use crate::tensor::{Backward, Function, Gradients, Tensor, two};
use crate::{Error, ErrorKind, Result, Shape};

/// Zeros around the input of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Padding {
    /// None.
    Valid,
    /// As many as keep the size; the stride must be 1. An odd number puts the extra one after.
    Same,
    /// This many before and after, for each dimension.
    Size([usize; 2]),
}

impl From<usize> for Padding {
    fn from(size: usize) -> Self {
        Self::Size([size, size])
    }
}

impl From<[usize; 2]> for Padding {
    fn from(size: [usize; 2]) -> Self {
        Self::Size(size)
    }
}

/// The options of [`Tensor::conv2d`], with PyTorch's names and defaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conv2dOptions {
    /// The step of the window.
    pub stride: [usize; 2],
    /// Zeros around the input.
    pub padding: Padding,
    /// The distance between neighbours of the window.
    pub dilation: [usize; 2],
    /// The number of blocks into which the channels fall.
    pub groups: usize,
}

impl Default for Conv2dOptions {
    fn default() -> Self {
        Self {
            stride: [1, 1],
            padding: Padding::Valid,
            dilation: [1, 1],
            groups: 1,
        }
    }
}

impl Tensor {
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
    /// Shapes that do not fit, a zero stride or dilation, channels that the groups do not divide,
    /// a kernel larger than the padded input, `Same` with a stride, dtypes that are not
    /// floating-point or differ.
    pub fn conv2d(&self, weight: &Self, options: Conv2dOptions) -> Result<Self> {
        const NAME: &str = "conv2d";
        if self.rank() == 3 {
            return self.unsqueeze(0)?.conv2d(weight, options)?.squeeze(0);
        }
        self.check_floating(NAME)?;
        self.check_same(NAME, weight)?;
        let (&[batch, channels, height, width], &[out, group_channels, kh, kw]) =
            (&**self.shape(), &**weight.shape())
        else {
            let (shape, expected) = match self.rank() {
                4 => (
                    weight.shape(),
                    "a weight [out_channels, channels / groups, height, width]",
                ),
                _ => (self.shape(), "an input [batch, channels, height, width]"),
            };
            return Err(shape.error(NAME, expected));
        };
        let Conv2dOptions {
            stride,
            dilation,
            groups,
            ..
        } = options;
        for (name, sizes) in [
            ("stride", stride),
            ("dilation", dilation),
            ("kernel_size", [kh, kw]),
        ] {
            if sizes.contains(&0) {
                return Err(Error::argument(
                    NAME,
                    name,
                    format_args!("{sizes:?}"),
                    "must not be 0",
                ));
            }
        }
        if groups == 0
            || !out.is_multiple_of(groups)
            || group_channels.checked_mul(groups) != Some(channels)
        {
            return Err(ErrorKind::ShapeMismatch {
                op: NAME,
                lhs: self.shape().clone(),
                rhs: weight.shape().clone(),
                rule: format!(
                    "with groups = {groups} the weight must have channels / groups input channels \
                     and a multiple of groups output channels"
                ),
            }
            .into());
        }
        let (padding, extra) = padding(options, [kh, kw])?;
        let input = match extra {
            [0, 0] => self.clone(),
            [bottom, right] => self.zero_pad_end(bottom, right)?,
        };
        let size = |d: usize, size: usize, kernel: usize| {
            let reach = dilation[d]
                .checked_mul(kernel - 1)
                .and_then(|reach| reach.checked_add(1));
            let padded = padding[d]
                .checked_mul(2)
                .and_then(|p| p.checked_add(size + extra[d]));
            match (reach, padded) {
                (Some(reach), Some(padded)) if reach <= padded => {
                    Ok((padded - reach) / stride[d] + 1)
                }
                _ => Err(self.shape().error(
                    NAME,
                    format!(
                        "an input of at least the window of kernel {kernel} with dilation {} after \
                         padding {} in dimension {}",
                        dilation[d],
                        padding[d],
                        d + 2
                    ),
                )),
            }
        };
        let output = Shape::from([batch, out, size(0, height, kh)?, size(1, width, kw)?]);
        let geometry = ConvGeometry {
            input: input.shape().clone(),
            weight: weight.shape().clone(),
            output,
            stride: stride.to_vec(),
            padding: padding.to_vec(),
            dilation: dilation.to_vec(),
            groups,
        };
        convolution(ConvOp::Forward, &input, weight, geometry)
    }

    /// With zeros below and to the right.
    fn zero_pad_end(&self, bottom: usize, right: usize) -> Result<Self> {
        let mut padded = self.clone();
        for (dim, size) in [(2, bottom), (3, right)] {
            if size > 0 {
                let sizes = padded.shape().iter().enumerate();
                let shape: Shape = sizes
                    .map(|(d, &s)| if d == dim { size } else { s })
                    .collect();
                let zeros = Self::zeros(shape, self.dtype(), &self.device())?;
                padded = Self::cat(&[&padded, &zeros], dim as isize)?;
            }
        }
        Ok(padded)
    }
}

/// The zeros on both sides, and those that come on top after the end.
fn padding(options: Conv2dOptions, kernel: [usize; 2]) -> Result<([usize; 2], [usize; 2])> {
    match options.padding {
        Padding::Valid => Ok(([0, 0], [0, 0])),
        Padding::Size(size) => Ok((size, [0, 0])),
        Padding::Same if options.stride != [1, 1] => {
            let stride = format!("{:?}", options.stride);
            Err(Error::argument(
                "conv2d",
                "stride",
                stride,
                "must be 1 with padding = same",
            ))
        }
        Padding::Same => {
            let total = [0, 1].map(|d| options.dilation[d].saturating_mul(kernel[d] - 1));
            Ok((total.map(|t| t / 2), total.map(|t| t % 2)))
        }
    }
}

/// One of the three readings of the form; the geometry has been checked.
fn convolution(op: ConvOp, a: &Tensor, b: &Tensor, geometry: ConvGeometry) -> Result<Tensor> {
    let shape = match op {
        ConvOp::Forward => geometry.output.clone(),
        ConvOp::Input => geometry.input.clone(),
        ConvOp::Weight => geometry.weight.clone(),
    };
    shape.checked_numel("conv2d", a.dtype().size_in_bytes())?;
    let storage = a
        .device()
        .backend()
        .convolution(op, a.operand(), b.operand(), &geometry)?;
    Ok(
        Tensor::fresh(storage, shape).record([a, b], |_| Convolution {
            op,
            a: a.clone(),
            b: b.clone(),
            geometry,
        }),
    )
}

struct Convolution {
    op: ConvOp,
    a: Tensor,
    b: Tensor,
    geometry: ConvGeometry,
}

impl Function for Convolution {
    fn name(&self) -> &'static str {
        match self.op {
            ConvOp::Forward => "conv2d",
            ConvOp::Input => "conv2d_input",
            ConvOp::Weight => "conv2d_weight",
        }
    }

    fn backward(&self, ctx: &Backward) -> Result<Gradients> {
        let Self { op, a, b, geometry } = self;
        let grad = ctx.grad();
        let form = |op, a: &Tensor, b: &Tensor| convolution(op, a, b, geometry.clone());
        match op {
            ConvOp::Forward => two(
                ctx,
                || form(ConvOp::Input, grad, b),
                || form(ConvOp::Weight, a, grad),
            ),
            // The gradient takes the input's place.
            ConvOp::Input => two(
                ctx,
                || form(ConvOp::Forward, grad, b),
                || form(ConvOp::Weight, grad, a),
            ),
            // The gradient takes the weight's place.
            ConvOp::Weight => two(
                ctx,
                || form(ConvOp::Input, b, grad),
                || form(ConvOp::Forward, a, grad),
            ),
        }
    }
}

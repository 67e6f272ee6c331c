//! Transposed convolutions: the gradient of a convolution's input, as a forward pass.

use super::AutocastPolicy;
use super::conv::convolution;
use super::window::{check_positive, name_by_dims, reach};
use crate::backend::{ConvGeometry, ConvOp};
use crate::tensor::Tensor;
use crate::{Error, Result, Shape, ShapeError};

crate::options! {
    /// The options of [`Tensor::conv_transpose1d`], [`Tensor::conv_transpose2d`] and
    /// [`Tensor::conv_transpose3d`], with PyTorch's names and defaults.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{ConvTransposeOptions, DType, Tensor};
    ///
    /// let (x, w) = (Tensor::zeros([1, 2, 4], DType::F32)?, Tensor::zeros([2, 3, 2], DType::F32)?);
    /// let y = x.conv_transpose1d(&w, ConvTransposeOptions::new().stride([2]))?;
    /// assert_eq!(y.shape().to_string(), "[1, 3, 8]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    ///
    /// ```
    /// use module_tensor::{ConvTransposeOptions, Tensor};
    ///
    /// // Each element is written to its position, and ten times as much two positions behind it.
    /// let (x, w) = (Tensor::from([[1.0_f32, 2.0]]), Tensor::from([[[1.0_f32, 10.0]]]));
    /// let y = x.conv_transpose1d(&w, ConvTransposeOptions::new().dilation([2]))?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 2.0, 10.0, 20.0]);
    ///
    /// let (x, w) = (Tensor::from([[1.0_f32], [2.0]]), Tensor::from([[[10.0_f32]], [[100.0]]]));
    /// let y = x.conv_transpose1d(&w, ConvTransposeOptions::new().groups(2))?;
    /// assert_eq!(y.to_vec::<f32>()?, [10.0, 200.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ConvTransposeOptions<const N: usize> {
        optional {
            /// The distance in the output between neighboring input elements.
            stride: [usize; N] = [1; N],
            /// The number of elements that are cropped from the output on both sides.
            padding: [usize; N] = [0; N],
            /// The number of elements that are added after the output; below the stride or the dilation.
            output_padding: [usize; N] = [0; N],
            /// The number of groups of channels.
            groups: usize = 1,
            /// The distance between neighbors of the window.
            dilation: [usize; N] = [1; N],
        }
    }
}

impl Tensor {
    /// The transposed convolution of a sequence, as [`conv_transpose2d`](Self::conv_transpose2d).
    ///
    /// # Shapes
    ///
    /// `[batch, channels, length]` or without the batch, and a weight
    /// `[channels, out_channels / groups, kernel length]`.
    ///
    /// # Errors
    ///
    /// Those of [`conv_transpose2d`](Self::conv_transpose2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{ConvTransposeOptions, Tensor};
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0]]);
    /// let weight = Tensor::from([1.0_f32, 10.0, 100.0]).reshape([1, 1, 3])?;
    /// let options = ConvTransposeOptions::new().stride([2]);
    /// let y = x.conv_transpose1d(&weight, options)?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 10.0, 102.0, 20.0, 200.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn conv_transpose1d(
        &self,
        weight: &Self,
        options: ConvTransposeOptions<1>,
    ) -> Result<Self> {
        self.conv_transpose(weight, options)
    }

    /// The transposed convolution of an image: each pixel of the input adds the kernel times its
    /// value to the output, `y[n, o, i·s + a·d - p, j·s + b·d - p] += x[n, c, i, j] · w[c, o, a, b]`.
    ///
    /// # Shapes
    ///
    /// `[batch, channels, height, width]` or without the batch, and a weight
    /// `[channels, out_channels / groups, kernel height, kernel width]`; a size becomes
    /// `(size - 1)·stride - 2·padding + dilation·(kernel - 1) + output_padding + 1`.
    ///
    /// # Errors
    ///
    /// Incompatible shapes, a zero stride or dilation, channels that the groups do not divide, an output padding that is
    /// neither below the stride nor the dilation, padding that leaves nothing of the output, dtypes that are not
    /// floating-point or differ.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{ConvTransposeOptions, DType, Device, Tensor};
    ///
    /// let cpu = Device::cpu();
    /// let x = Tensor::ones([1, 4, 8, 8], (DType::F32, &cpu))?;
    /// let weight = Tensor::ones([4, 2, 3, 3], (DType::F32, &cpu))?;
    /// let options = ConvTransposeOptions::new().stride([2, 2]).padding([1, 1]).output_padding([1, 1]);
    /// let y = x.conv_transpose2d(&weight, options)?;
    /// assert_eq!(y.shape().to_string(), "[1, 2, 16, 16]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn conv_transpose2d(
        &self,
        weight: &Self,
        options: ConvTransposeOptions<2>,
    ) -> Result<Self> {
        self.conv_transpose(weight, options)
    }

    /// The transposed convolution of a volume, as [`conv_transpose2d`](Self::conv_transpose2d).
    ///
    /// # Shapes
    ///
    /// `[batch, channels, depth, height, width]` or without the batch, and a weight
    /// `[channels, out_channels / groups, kernel depth, kernel height, kernel width]`.
    ///
    /// # Errors
    ///
    /// Those of [`conv_transpose2d`](Self::conv_transpose2d).
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{ConvTransposeOptions, DType, Device, Tensor};
    ///
    /// let cpu = Device::cpu();
    /// let x = Tensor::ones([2, 2, 2, 2], (DType::F32, &cpu))?;
    /// let weight = Tensor::ones([2, 1, 2, 2, 2], (DType::F32, &cpu))?;
    /// let y = x.conv_transpose3d(&weight, ConvTransposeOptions::default())?;
    /// assert_eq!(y.shape().to_string(), "[1, 3, 3, 3]");
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn conv_transpose3d(
        &self,
        weight: &Self,
        options: ConvTransposeOptions<3>,
    ) -> Result<Self> {
        self.conv_transpose(weight, options)
    }

    /// [`conv_transpose1d`](Self::conv_transpose1d), [`conv_transpose2d`](Self::conv_transpose2d) or
    /// [`conv_transpose3d`](Self::conv_transpose3d), as the options are for `N` dimensions.
    ///
    /// # Errors
    ///
    /// Those of [`conv_transpose2d`](Self::conv_transpose2d), and `N` that is not 1, 2 or 3.
    ///
    /// # Example
    ///
    /// ```
    /// use module_tensor::{ConvTransposeOptions, Tensor};
    ///
    /// let x = Tensor::from([[1.0_f32, 2.0]]);
    /// let weight = Tensor::from([1.0_f32, 10.0]).reshape([1, 1, 2])?;
    /// let y = x.conv_transpose(&weight, ConvTransposeOptions::<1>::default())?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.0, 12.0, 20.0]);
    /// # Ok::<(), module_tensor::Error>(())
    /// ```
    pub fn conv_transpose<const N: usize>(
        &self,
        weight: &Self,
        options: ConvTransposeOptions<N>,
    ) -> Result<Self> {
        if let Some(out) =
            AutocastPolicy::LowerPrecision.apply([self, weight], [], |[x, weight], []| {
                x.conv_transpose(weight, options)
            })
        {
            return out;
        }
        let name = name_by_dims::<N>(["conv_transpose1d", "conv_transpose2d", "conv_transpose3d"]);
        let (input, batched) = self.batched::<N>(name)?;
        let ConvTransposeOptions {
            stride,
            padding,
            output_padding,
            groups,
            dilation,
        } = options;
        let kernel =
            input.check_weight::<N>(name, weight, ["channels", "out_channels / groups"])?;
        check_positive(
            name,
            [
                ("stride", stride),
                ("dilation", dilation),
                ("kernel_size", kernel),
            ],
        )?;
        let channels = input.shape()[1];
        let out = weight.shape()[1].checked_mul(groups);
        let Some(out) = out.filter(|_| {
            groups > 0 && channels.is_multiple_of(groups) && weight.shape()[0] == channels
        }) else {
            return Err(ShapeError::Mismatch {
                op: name,
                lhs: input.shape().clone(),
                rhs: weight.shape().clone(),
                rule: format!(
                    "with groups = {groups} the weight must have as many input channels as the input, \
                     a multiple of groups"
                ),
            }
            .into());
        };
        let mut output = vec![input.shape()[0], out];
        for d in 0..N {
            if output_padding[d] >= stride[d].max(dilation[d]) {
                let value = format_args!("{output_padding:?}");
                let problem =
                    format!("must be below stride = {stride:?} or dilation = {dilation:?}");
                return Err(Error::argument(name, "output_padding", value, problem));
            }
            let full = input.shape()[d + 2].checked_sub(1).and_then(|steps| {
                let size = steps.checked_mul(stride[d])?;
                let size = size.checked_add(reach(kernel[d], dilation[d])?)?;
                size.checked_add(output_padding[d])
            });
            let cut = padding[d].checked_mul(2);
            let size = full.zip(cut).and_then(|(full, cut)| full.checked_sub(cut));
            let Some(size) = size.filter(|&size| size > 0) else {
                let expected = format!(
                    "an input whose output is larger than the padding of {} on both sides and fits \
                     memory, in dimension {}",
                    padding[d],
                    d + 2
                );
                return Err(self.shape().error(name, expected));
            };
            output.push(size);
        }
        let geometry = ConvGeometry {
            input: Shape::from(output),
            weight: weight.shape().clone(),
            output: input.shape().clone(),
            stride: stride.to_vec(),
            padding: padding.to_vec(),
            dilation: dilation.to_vec(),
            groups,
        };
        convolution(name, ConvOp::Input, &input, weight, geometry)?.unbatched(batched)
    }
}
